"""`redact`: keep a pattern out of every text that is shown."""

from __future__ import annotations

import re
from typing import Any

from reactivex import Observable, abc

from ..errors import ConfigurationError
from ..event import AgentEvent, BaseEvent, is_progress
from ..event.lifecycle import STEPS, Part, Phase
from ..identity import new_id
from .operator import Operator

__all__ = ["redact"]

_DELTAS = {cls: step for cls, step in STEPS.items() if step.phase is Phase.DELTA and "delta" in cls.model_fields}
_ENDS = {cls: step for cls, step in STEPS.items() if step.phase is Phase.END}


def redact(
    pattern: str | re.Pattern[str], replacement: str = "[redacted]", max_length: int = 256
) -> Operator[AgentEvent, AgentEvent]:
    """Replace a pattern in the deltas of text, thinking, tool calls and tool results, over the borders of deltas.

    Emits every event of the source; a delta carries the text that can no longer be part of a match, and is left out
    when there is none. At most `max_length` characters of a block are held back; they come before its END, in a delta
    without a number of its own. Completes and fails with its source; what is held back when it fails is dropped.

    The events are changed, not the agent: put it into a `hook` of the agent to keep a secret out of the history too.

    Args:
        pattern: What must not be seen.
        replacement: What is seen instead; as in `re.sub`.
        max_length: The longest match that is found when it is cut by the borders of deltas, in characters.

    Raises:
        ConfigurationError: the pattern is no regular expression, matches nothing at all, or `max_length` is below 1.
    """
    try:
        compiled = re.compile(pattern)
        compiled.sub(replacement, "")
    except (re.error, IndexError) as error:
        raise ConfigurationError(f"redact takes a regular expression: {error}") from error
    if compiled.match("") or max_length < 1:
        raise ConfigurationError("redact takes a pattern that matches no empty text, and a max_length of at least 1")

    def operator(source: Observable[AgentEvent]) -> Observable[AgentEvent]:
        def subscribe(
            observer: abc.ObserverBase[AgentEvent], scheduler: abc.SchedulerBase | None = None
        ) -> abc.DisposableBase:
            held: dict[tuple[str, Part, str, bool], _Held] = {}

            def on_next(event: Any) -> None:
                step = _DELTAS.get(type(event))
                if step is not None:
                    # Progress is apart: what is held back of it must not be shown as a piece of the result.
                    key = (event.reply_id, step.part, getattr(event, step.key), is_progress(event))
                    block = held.get(key)
                    if block is None:
                        block = held[key] = _Held(compiled, replacement, max_length)
                    block.last = event
                    shown = block.add(event.delta)
                    if shown:
                        observer.on_next(event.model_copy(update={"delta": shown}))
                    return
                step = _ENDS.get(type(event))
                if step is not None:
                    for progress in (True, False):
                        block = held.pop((event.reply_id, step.part, getattr(event, step.key), progress), None)
                        if block is not None and (rest := block.rest()):
                            observer.on_next(_last_words(block.last, rest))
                observer.on_next(event)

            return source.subscribe(on_next, observer.on_error, observer.on_completed, scheduler=scheduler)

        return Observable(subscribe)

    return operator


def _last_words(delta: BaseEvent, text: str) -> Any:
    """One more delta after the last one: an event of its own, which takes nobody's number."""
    return delta.model_copy(update={"id": new_id(), "delta": text, "seq": None if delta.seq else delta.seq})


class _Held:
    """The end of one block's text, which may be the beginning of a match."""

    __slots__ = ("_max_length", "_pattern", "_replacement", "_start", "_text", "last")

    last: BaseEvent
    """The last delta."""

    def __init__(self, pattern: re.Pattern[str], replacement: str, max_length: int) -> None:
        self._pattern = pattern
        self._replacement = replacement
        self._max_length = max_length
        self._text = ""
        self._start = 0  # what comes before was shown, and stays only for patterns that look behind

    def add(self, delta: str) -> str:
        """Take more text; return what can be shown."""
        self._text += delta
        return self._show(len(self._text) - self._max_length)

    def rest(self) -> str:
        """Return the rest, at the end of the block."""
        return self._show(len(self._text))

    def _show(self, certain: int) -> str:
        """Show up to `certain`, where no match begins any more that could still grow."""
        if certain <= self._start:
            return ""
        shown: list[str] = []
        position = self._start
        for match in self._pattern.finditer(self._text, self._start):
            if match.start() >= certain:
                break
            shown += self._text[position : match.start()], match.expand(self._replacement)
            position = match.end()
        end = max(position, certain)
        shown.append(self._text[position:end])
        keep = max(0, end - self._max_length)
        self._text, self._start = self._text[keep:], end - keep
        return "".join(shown)
