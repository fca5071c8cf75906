"""`accumulate_text`: the running text of each block."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from reactivex import Observable, abc

from ..errors import ConfigurationError, MissingStartError
from ..event import AgentEvent, is_progress
from ..event.lifecycle import STEPS, Part, Phase, Step, describe
from .operator import Operator

__all__ = ["AccumulatedText", "accumulate_text"]

_TEXTUAL: dict[type, Step] = {
    cls: step
    for cls, step in STEPS.items()
    if step.phase in (Phase.START, Phase.END) or (step.phase is Phase.DELTA and "delta" in cls.model_fields)
}
_KINDS = frozenset(step.part.value for step in _TEXTUAL.values() if step.phase is Phase.DELTA)


class _Growth:
    """The text of one block: its pieces, and the part of it that was joined when somebody last read it."""

    __slots__ = ("_joined", "_pieces", "length")

    def __init__(self) -> None:
        self.length = 0
        self._pieces: list[str] = []
        self._joined = (0, "")

    def append(self, piece: str) -> None:
        self._pieces.append(piece)
        self.length += len(piece)

    def prefix(self, length: int) -> str:
        count, text = self._joined
        if len(text) < length:
            new = self._pieces[count:]
            text += "".join(new)
            self._joined = (count + len(new), text)  # replaced whole, so that any thread may read
        return text[:length]


class AccumulatedText:
    """One more piece of a block, and the text of the block up to it."""

    __slots__ = ("_growth", "_length", "block_id", "delta", "done", "reply_id")

    def __init__(self, reply_id: str, block_id: str, delta: str, growth: _Growth, done: bool = False) -> None:
        self.reply_id = reply_id
        """The reply."""
        self.block_id = block_id
        """The block; of a tool call or result, the id of the call."""
        self.delta = delta
        """The new text, "" when done."""
        self.done = done
        """Whether the block has ended."""
        self._growth = growth
        self._length = growth.length

    @property
    def text(self) -> str:
        """The text of the block up to this item, whenever it is read; joined on demand."""
        return self._growth.prefix(self._length)

    def __repr__(self) -> str:
        return f"AccumulatedText(block_id={self.block_id!r}, delta={self.delta!r}, done={self.done})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, AccumulatedText) and self._key() == other._key() and self.text == other.text

    def __hash__(self) -> int:
        return hash(self._key())

    def _key(self) -> tuple[str, str, str, bool, int]:
        return self.reply_id, self.block_id, self.delta, self.done, self._length


def accumulate_text(kinds: Sequence[str] = ("text",)) -> Operator[AgentEvent, AccumulatedText]:
    """Follow the text of blocks as it grows; works on a whole stream and on a `BlockStream`.

    Emits, for every delta of a block of one of `kinds`, an `AccumulatedText` with the delta, and at the END of the
    block one with `delta=""` and `done=True`. Blocks may interleave. Completes and fails with its source.

    Args:
        kinds: `text`, `thinking`, `tool_call` (the arguments) and `tool_result` (its text, progress left out).

    Raises:
        ConfigurationError: a kind has no text.
        MissingStartError: as on_error, when a delta or end comes for a block whose start was never seen.
    """
    wanted = frozenset(kinds)
    if isinstance(kinds, str) or not wanted <= _KINDS:
        raise ConfigurationError(f"accumulate_text takes a sequence of kinds of {sorted(_KINDS)}: got {kinds!r}")
    followed = {cls: step for cls, step in _TEXTUAL.items() if step.part in wanted}

    def operator(source: Observable[AgentEvent]) -> Observable[AccumulatedText]:
        def subscribe(
            observer: abc.ObserverBase[AccumulatedText], scheduler: abc.SchedulerBase | None = None
        ) -> abc.DisposableBase:
            growing: dict[tuple[Part, str, str], _Growth] = {}

            def on_next(event: Any) -> None:
                step = followed.get(type(event))
                if step is None:
                    return
                part, phase, key_field = step
                block_id = getattr(event, key_field)
                key = (part, event.reply_id, block_id)
                if phase is Phase.START:
                    growing[key] = _Growth()
                    return
                growth = growing.get(key)
                if growth is None:
                    observer.on_error(
                        MissingStartError(f"text of a block whose start was never seen: {describe(event)}")
                    )
                elif phase is Phase.END:
                    del growing[key]
                    observer.on_next(AccumulatedText(event.reply_id, block_id, "", growth, done=True))
                elif part is not Part.TOOL_RESULT or not is_progress(event):
                    growth.append(event.delta)
                    observer.on_next(AccumulatedText(event.reply_id, block_id, event.delta, growth))

            return source.subscribe(on_next, observer.on_error, observer.on_completed, scheduler=scheduler)

        return Observable(subscribe)

    return operator
