"""The transcript: a reply as people read it, written while it happens."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, TypeAlias

from reactivex import Observable, abc

from ..event import (
    AgentEvent,
    AgentResultEvent,
    DataBlockDeltaEvent,
    DataBlockStartEvent,
    ExceedMaxItersEvent,
    HintBlockEvent,
    ModelCallResetEvent,
    RequestStopEvent,
    TextBlockDeltaEvent,
    ThinkingBlockDeltaEvent,
    ToolCallDeltaEvent,
    ToolCallStartEvent,
    ToolResultDataDeltaEvent,
    ToolResultEndEvent,
    ToolResultTextDeltaEvent,
    is_progress,
)
from ..message import PAUSES, ChatUsage, GenerateReason, TextBlock, ToolResultState
from ..operators import Operator
from .controls import visible

__all__ = ["Fragment", "Style", "Transcript", "transcript"]


class Style(StrEnum):
    """What a fragment is, for whoever paints it."""

    TEXT = "text"
    THINKING = "thinking"
    CALL = "call"
    RESULT = "result"
    PROGRESS = "progress"
    NOTE = "note"
    USAGE = "usage"


@dataclass(frozen=True, slots=True)
class Fragment:
    """A piece of the transcript, to be written as it is, directly after the one before."""

    text: str
    """What to write; free of control characters but for tabs and line feeds."""
    style: Style = Style.TEXT
    """What it is."""


def transcript() -> Operator[AgentEvent, Fragment]:
    """Write replies as people read them.

    Emits the fragments of each event as it comes: text, thinking, tool calls with their arguments, progress and
    results, and the usage at AGENT_RESULT. Completes and fails with its source.
    """

    def operator(source: Observable[AgentEvent]) -> Observable[Fragment]:
        def subscribe(
            observer: abc.ObserverBase[Fragment], scheduler: abc.SchedulerBase | None = None
        ) -> abc.DisposableBase:
            written = Transcript()

            def on_next(event: AgentEvent) -> None:
                for fragment in written.fragments(event):
                    observer.on_next(fragment)

            return source.subscribe(on_next, observer.on_error, observer.on_completed, scheduler=scheduler)

        return Observable(subscribe)

    return operator


@dataclass(frozen=True, slots=True)
class _Passage:
    """Something that is written piece by piece, and named again whenever something else came in between."""

    key: tuple[str, str]
    style: Style
    heading: str = ""
    indent: str = ""


class Transcript:
    """Turns events into fragments, and knows what is on the line that is being written."""

    def __init__(self) -> None:
        self._passage: tuple[str, str] | None = None
        self._at_line_start = True
        self._labels: dict[str, str] = {}
        self._named: Counter[str] = Counter()

    def fragments(self, event: AgentEvent) -> Iterator[Fragment]:
        """Return what `event` adds; nothing for most."""
        write = _WRITERS.get(type(event))
        return iter(()) if write is None else write(self, event)

    # ------------------------------------------------------------------------------------------------ the page

    def _write(self, passage: _Passage, text: str) -> Iterator[Fragment]:
        if passage.key != self._passage:
            yield from self._line_feed()
            self._passage = passage.key
            text = passage.heading + text
        elif self._at_line_start:
            text = passage.indent + text
        text = _INNER_LINE.sub("\n" + passage.indent, visible(text))
        if text:
            self._at_line_start = text.endswith("\n")
            yield Fragment(text, passage.style)

    def _line(self, style: Style, text: str, heading: str = "") -> Iterator[Fragment]:
        """Write a line of its own."""
        self._passage = None
        yield from self._write(_Passage(("line", ""), style, heading, "    "), f"{text}\n")

    def _line_feed(self) -> Iterator[Fragment]:
        if not self._at_line_start:
            self._at_line_start = True
            yield Fragment("\n")

    # ------------------------------------------------------------------------------------------------ the events

    def _text(self, event: TextBlockDeltaEvent) -> Iterator[Fragment]:
        return self._write(_Passage(("text", event.block_id), Style.TEXT), event.delta)

    def _thinking(self, event: ThinkingBlockDeltaEvent) -> Iterator[Fragment]:
        return self._write(_Passage(("thinking", event.block_id), Style.THINKING, "(thinking) "), event.delta)

    def _data_start(self, event: DataBlockStartEvent) -> Iterator[Fragment]:
        return self._line(Style.NOTE, f"[{event.media_type}]")

    def _data(self, event: DataBlockDeltaEvent) -> Iterator[Fragment]:
        return self._line(Style.NOTE, event.url) if event.url else iter(())

    def _call_start(self, event: ToolCallStartEvent) -> Iterator[Fragment]:
        name = event.tool_call_name
        self._named[name] += 1
        self._labels[event.tool_call_id] = name if self._named[name] == 1 else f"{name}#{self._named[name]}"
        return self._call(event.tool_call_id, "")

    def _call_delta(self, event: ToolCallDeltaEvent) -> Iterator[Fragment]:
        return self._call(event.tool_call_id, event.delta)

    def _call(self, id: str, text: str) -> Iterator[Fragment]:
        return self._write(_Passage(("call", id), Style.CALL, f"▸ {self._label(id)} ", "  "), text)

    def _result_text(self, event: ToolResultTextDeltaEvent) -> Iterator[Fragment]:
        if is_progress(event):
            return self._line(Style.PROGRESS, event.delta, f"  {self._label(event.tool_call_id)} … ")
        return self._result(event.tool_call_id, event.delta)

    def _result_data(self, event: ToolResultDataDeltaEvent) -> Iterator[Fragment]:
        passage = _Passage(("data", event.block_id), Style.RESULT, f"  {self._label(event.tool_call_id)} → ")
        shown = event.url or f"[{event.media_type}]"
        return iter(()) if passage.key == self._passage else self._write(passage, shown)

    def _result_end(self, event: ToolResultEndEvent) -> Iterator[Fragment]:
        if event.state is ToolResultState.SUCCESS:
            return iter(())
        return self._result(event.tool_call_id, f" [{event.state}]", Style.NOTE)

    def _result(self, id: str, text: str, style: Style = Style.RESULT) -> Iterator[Fragment]:
        return self._write(_Passage(("result", id), style, f"  {self._label(id)} → ", "    "), text)

    def _hint(self, event: HintBlockEvent) -> Iterator[Fragment]:
        blocks = (TextBlock(event.hint),) if isinstance(event.hint, str) else event.hint
        text = "\n".join(block.text if isinstance(block, TextBlock) else f"[{block.type}]" for block in blocks)
        return self._line(Style.NOTE, f"{event.hint_source or 'hint'}: {text}")

    def _reset(self, event: ModelCallResetEvent) -> Iterator[Fragment]:
        return self._line(Style.NOTE, f"attempt {event.attempt} is withdrawn: {event.reason}")

    def _max_iters(self, event: ExceedMaxItersEvent) -> Iterator[Fragment]:
        return self._line(Style.NOTE, f"the limit of {event.max_iters} iterations is reached")

    def _stop(self, event: RequestStopEvent) -> Iterator[Fragment]:
        return self._line(Style.NOTE, f"stop: {event.reason}")

    def _end(self, event: AgentResultEvent) -> Iterator[Fragment]:
        reason = event.result.generate_reason
        parts = [] if reason in _NOT_TOLD else [f"{reason}"]
        if event.result.usage is not None:
            parts += _usage(event.result.usage)
        yield from self._line(Style.USAGE, " · ".join(parts)) if parts else self._line_feed()
        self._passage = None
        if reason not in PAUSES:  # the calls of a pause still have results to come
            self._labels.clear()
            self._named.clear()

    def _label(self, call_id: str) -> str:
        return self._labels.get(call_id, call_id)


_INNER_LINE = re.compile(r"\n(?!\Z)")
"""A line feed that more of the same piece follows."""

_NOT_TOLD = {None, GenerateReason.MODEL_STOP, GenerateReason.ERROR}
"""Reasons that go without saying; an error is told by whoever the stream fails to."""

_USAGE_PARTS = (
    ("input_tokens", "tokens in"),
    ("cached_input_tokens", "cached"),
    ("output_tokens", "tokens out"),
    ("reasoning_tokens", "reasoning"),
)


def _usage(usage: ChatUsage) -> list[str]:
    known = ((getattr(usage, name), label) for name, label in _USAGE_PARTS)
    return [f"{count:,} {label}" for count, label in known if count is not None]


_Writer: TypeAlias = Callable[[Transcript, Any], Iterator[Fragment]]

_WRITERS: dict[type, _Writer] = {
    TextBlockDeltaEvent: Transcript._text,
    ThinkingBlockDeltaEvent: Transcript._thinking,
    DataBlockStartEvent: Transcript._data_start,
    DataBlockDeltaEvent: Transcript._data,
    ToolCallStartEvent: Transcript._call_start,
    ToolCallDeltaEvent: Transcript._call_delta,
    ToolResultTextDeltaEvent: Transcript._result_text,
    ToolResultDataDeltaEvent: Transcript._result_data,
    ToolResultEndEvent: Transcript._result_end,
    HintBlockEvent: Transcript._hint,
    ModelCallResetEvent: Transcript._reset,
    ExceedMaxItersEvent: Transcript._max_iters,
    RequestStopEvent: Transcript._stop,
    AgentResultEvent: Transcript._end,
}
