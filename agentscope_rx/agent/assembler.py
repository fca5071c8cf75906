"""From what a model says to events: the one place where blocks open and close (law L2).

The rules, of section 2.4 of the second source document, made exact:

* text closes thinking, thinking closes text, a tool-call piece closes both; data, usage, empty and finish-only
  chunks close nothing; a block that is said to be complete is closed at once;
* a tool call ends when the adapter says that it is complete, else at the end of the model call, and is never
  reopened, whatever chunk it is missing from; it starts when its name is known;
* what is still open at the end ends in the order in which it started, before MODEL_CALL_END;
* empty deltas are not emitted.
"""

from __future__ import annotations

from collections.abc import Callable, Container
from typing import Any

from ..event import (
    AgentEvent,
    DataBlockDeltaEvent,
    DataBlockEndEvent,
    DataBlockStartEvent,
    FinishReason,
    ModelCallEndEvent,
    Part,
    TextBlockDeltaEvent,
    TextBlockEndEvent,
    TextBlockStartEvent,
    ThinkingBlockDeltaEvent,
    ThinkingBlockEndEvent,
    ThinkingBlockStartEvent,
    ToolCallDeltaEvent,
    ToolCallEndEvent,
    ToolCallStartEvent,
)
from ..identity import new_id
from ..model import (
    DataPiece,
    FinishPiece,
    ModelChunk,
    TextPiece,
    ThinkingPiece,
    ToolCallPiece,
    UsagePiece,
)

__all__ = ["Assembler"]


class _Call:
    """One tool call on its way."""

    __slots__ = ("early", "ending", "given_id", "id")

    def __init__(self) -> None:
        self.id: str | None = None
        """Its id in events, None until it has started."""
        self.given_id: str | None = None
        """The provider's id, if it came in time."""
        self.early: list[str] = []
        """Arguments that came before the name."""
        self.ending: dict[str, Any] = {}
        """What its END will say."""


class Assembler:
    """Turns the chunks of one model call into events, all fresh: numbered 0, for publication to stamp.

    Args:
        reply_id: The reply that the events belong to.
        model_call_id: The model call.
        taken_ids: The tool call ids of the reply so far; a provider's id that is among them gets `~2`, `~3`, ...
    """

    def __init__(self, reply_id: str, model_call_id: str, taken_ids: Container[str] = ()) -> None:
        self._reply_id = reply_id
        self._model_call_id = model_call_id
        self._taken = taken_ids
        self._given: set[str] = set()
        self._text_id: str | None = None
        self._thinking_id: str | None = None
        self._data_ids: dict[str, str] = {}
        self._calls: dict[int | str, _Call] = {}
        self._open: dict[tuple[Part, str], dict[str, Any]] = {}
        """What is open, in order of start, and what its END will say."""
        self._usage: dict[str, Any] = {}
        self._finish = FinishPiece(FinishReason.UNKNOWN)

    def feed(self, chunk: ModelChunk) -> list[AgentEvent]:
        """Return the events of one chunk, in order."""
        events: list[AgentEvent] = []
        for piece in chunk.pieces:
            _HANDLERS[type(piece)](self, piece, events)
        return events

    def finish(self, reason: FinishReason | None = None) -> list[AgentEvent]:
        """Return the ENDs of everything that is open, and MODEL_CALL_END.

        Args:
            reason: Why the call ended, when the model did not live to say it.
        """
        events: list[AgentEvent] = []
        for call in self._calls.values():
            if call.id is None:
                self._start_call(call, "", events)
        for part, id in list(self._open):
            self._end(part, id, events)
        events.append(
            ModelCallEndEvent(
                reply_id=self._reply_id,
                model_call_id=self._model_call_id,
                finish_reason=reason or self._finish.reason,
                raw_finish_reason=self._finish.raw,
                seq=0,
                **self._usage,
            )
        )
        return events

    # ------------------------------------------------------------------------------------------------ the pieces

    def _on_text(self, piece: TextPiece, events: list[AgentEvent]) -> None:
        if piece.text:
            if self._text_id is None:
                self._end_thinking(events)
                self._text_id = new_id()
                self._open[Part.TEXT, self._text_id] = {}
                events.append(TextBlockStartEvent(reply_id=self._reply_id, block_id=self._text_id, seq=0))
            events.append(TextBlockDeltaEvent(reply_id=self._reply_id, block_id=self._text_id, delta=piece.text, seq=0))
        if piece.complete or piece.metadata is not None:
            self._end_text(events, metadata=piece.metadata)

    def _on_thinking(self, piece: ThinkingPiece, events: list[AgentEvent]) -> None:
        proof = (piece.signature, piece.redacted_data, piece.metadata)
        if piece.text or proof != _NO_PROOF:
            if self._thinking_id is None:
                self._end_text(events)
                self._thinking_id = new_id()
                self._open[Part.THINKING, self._thinking_id] = {}
                events.append(ThinkingBlockStartEvent(reply_id=self._reply_id, block_id=self._thinking_id, seq=0))
            if piece.text:
                events.append(
                    ThinkingBlockDeltaEvent(
                        reply_id=self._reply_id, block_id=self._thinking_id, delta=piece.text, seq=0
                    )
                )
        if piece.complete or proof != _NO_PROOF:
            self._end_thinking(
                events, signature=piece.signature, redacted_data=piece.redacted_data, metadata=piece.metadata
            )

    def _on_data(self, piece: DataPiece, events: list[AgentEvent]) -> None:
        key = piece.id or piece.media_type
        block_id = self._data_ids.get(key)
        if block_id is None:
            block_id = self._data_ids[key] = new_id()
            self._open[Part.DATA, block_id] = {}
            events.append(
                DataBlockStartEvent(reply_id=self._reply_id, block_id=block_id, media_type=piece.media_type, seq=0)
            )
        if piece.data or piece.url:
            events.append(
                DataBlockDeltaEvent(
                    reply_id=self._reply_id,
                    block_id=block_id,
                    media_type=piece.media_type,
                    data=piece.data or None,
                    url=piece.url,
                    seq=0,
                )
            )
        if piece.metadata is not None:
            self._open[Part.DATA, block_id]["metadata"] = piece.metadata

    def _on_tool_call(self, piece: ToolCallPiece, events: list[AgentEvent]) -> None:
        self._end_thinking(events)
        self._end_text(events)
        call = self._calls.get(piece.key)
        if call is None:
            call = self._calls[piece.key] = _Call()
        if call.id is not None and (Part.TOOL_CALL, call.id) not in self._open:
            return
        call.given_id = call.given_id or piece.id
        if call.id is None and piece.name:
            self._start_call(call, piece.name, events)
        for name in ("signature", "metadata"):
            if (said := getattr(piece, name)) is not None:
                call.ending[name] = said
        if piece.arguments:
            if call.id is None:
                call.early.append(piece.arguments)
            else:
                self._more_arguments(call.id, piece.arguments, events)
        if piece.complete and call.id is not None:
            self._end(Part.TOOL_CALL, call.id, events)

    def _on_usage(self, piece: UsagePiece, events: list[AgentEvent]) -> None:
        for name in ("input_tokens", "output_tokens", "cached_input_tokens", "reasoning_tokens"):
            if (figure := getattr(piece, name)) is not None:
                self._usage[name] = figure

    def _on_finish(self, piece: FinishPiece, events: list[AgentEvent]) -> None:
        self._finish = piece

    # ------------------------------------------------------------------------------------------------ the moves

    def _start_call(self, call: _Call, name: str, events: list[AgentEvent]) -> None:
        call.id = self._unused(call.given_id or f"call_{new_id()}")
        self._open[Part.TOOL_CALL, call.id] = call.ending
        events.append(ToolCallStartEvent(reply_id=self._reply_id, tool_call_id=call.id, tool_call_name=name, seq=0))
        if call.early:
            self._more_arguments(call.id, "".join(call.early), events)

    def _more_arguments(self, call_id: str, arguments: str, events: list[AgentEvent]) -> None:
        events.append(ToolCallDeltaEvent(reply_id=self._reply_id, tool_call_id=call_id, delta=arguments, seq=0))

    def _unused(self, id: str) -> str:
        candidate, number = id, 1
        while candidate in self._given or candidate in self._taken:
            number += 1
            candidate = f"{id}~{number}"
        self._given.add(candidate)
        return candidate

    def _end_text(self, events: list[AgentEvent], **ending: Any) -> None:
        if self._text_id is not None:
            self._open[Part.TEXT, self._text_id] = ending
            self._end(Part.TEXT, self._text_id, events)
            self._text_id = None

    def _end_thinking(self, events: list[AgentEvent], **ending: Any) -> None:
        if self._thinking_id is not None:
            self._open[Part.THINKING, self._thinking_id] = ending
            self._end(Part.THINKING, self._thinking_id, events)
            self._thinking_id = None

    def _end(self, part: Part, id: str, events: list[AgentEvent]) -> None:
        event, key = _ENDS[part]
        events.append(event(reply_id=self._reply_id, seq=0, **{key: id}, **self._open.pop((part, id))))


_NO_PROOF = (None, None, None)

_ENDS: dict[Part, tuple[Callable[..., AgentEvent], str]] = {
    Part.TEXT: (TextBlockEndEvent, "block_id"),
    Part.THINKING: (ThinkingBlockEndEvent, "block_id"),
    Part.DATA: (DataBlockEndEvent, "block_id"),
    Part.TOOL_CALL: (ToolCallEndEvent, "tool_call_id"),
}

_HANDLERS: dict[type, Callable[[Assembler, Any, list[AgentEvent]], None]] = {
    TextPiece: Assembler._on_text,
    ThinkingPiece: Assembler._on_thinking,
    DataPiece: Assembler._on_data,
    ToolCallPiece: Assembler._on_tool_call,
    UsagePiece: Assembler._on_usage,
    FinishPiece: Assembler._on_finish,
}
