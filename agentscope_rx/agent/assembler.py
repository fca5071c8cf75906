"""From what a model says to events: the one place where blocks open and close (law L2).

The rules, of section 2.4 of "The event stream protocol" (事件流协议), chapter 02 on AgentScope Python, made exact:

* text closes thinking, thinking closes text, a tool-call piece closes both; data, usage, empty and finish-only
  chunks close nothing; a block that is said to be complete is closed at once;
* a tool call ends when the adapter says that it is complete, else at the end of the model call, and is never
  reopened, whatever chunk it is missing from; it starts when its name is known;
* what is still open at the end ends in the order in which it started, before MODEL_CALL_END; so it does when an
  attempt is withdrawn, before MODEL_CALL_RESET, and that comes only if the attempt has shown anything;
* empty deltas are not emitted.
"""

from __future__ import annotations

from collections.abc import Callable, Container
from typing import Any, NamedTuple

from ..event import (
    AgentEvent,
    DataBlockDeltaEvent,
    DataBlockEndEvent,
    DataBlockStartEvent,
    FinishReason,
    ModelCallEndEvent,
    ModelCallResetEvent,
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
    ResetPiece,
    TextPiece,
    ThinkingPiece,
    ToolCallPiece,
    UsagePiece,
)
from .deltas import Deltas

__all__ = ["Assembler"]


class _Call:
    """One tool call on its way."""

    __slots__ = ("deltas", "early", "ending", "given_id")

    def __init__(self) -> None:
        self.deltas: Deltas[ToolCallDeltaEvent] | None = None
        """Makes its arguments, None until it has started."""
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
        self._text: Deltas[TextBlockDeltaEvent] | None = None
        self._thinking: Deltas[ThinkingBlockDeltaEvent] | None = None
        self._data_ids: dict[str, str] = {}
        self._calls: dict[int | str, _Call] = {}
        self._open: dict[tuple[Part, str], dict[str, Any]] = {}
        """What is open, in order of start, and what its END will say."""
        self._shown = False
        """Whether the attempt has opened anything."""
        self._usage: dict[str, int] = {}
        """What the attempt has cost."""
        self._spent: dict[str, int] = {}
        """What the attempts before it have cost."""
        self._unsaid: list[AgentEvent] = []
        """The events of a chunk, until they are returned: a piece that cannot be read does not take them with it."""
        self._finish = FinishPiece(FinishReason.UNKNOWN)

    def feed(self, chunk: ModelChunk) -> list[AgentEvent]:
        """Return the events of one chunk, in order.

        Raises:
            Exception: a piece is not what it must be; `finish` returns what the pieces before it had to say.
        """
        events = self._unsaid
        for piece in chunk.pieces:
            _HANDLERS[type(piece)](self, piece, events)
        self._unsaid = []
        return events

    def finish(self, reason: FinishReason | None = None) -> list[AgentEvent]:
        """Return the ENDs of everything that is open, and MODEL_CALL_END.

        Args:
            reason: Why the call ended, when the model did not live to say it.
        """
        events = self._unsaid
        for call in self._calls.values():
            if call.deltas is None:
                self._start_call(call, "", events)
        self._end_all(events)
        events.append(
            ModelCallEndEvent(
                reply_id=self._reply_id,
                model_call_id=self._model_call_id,
                finish_reason=reason or self._finish.reason,
                raw_finish_reason=self._finish.raw,
                seq=0,
                **self._total(),
            )
        )
        return events

    # ------------------------------------------------------------------------------------------------ the pieces

    def _on_text(self, piece: TextPiece, events: list[AgentEvent]) -> None:
        if piece.text:
            if self._text is None:
                self._end_thinking(events)
                id = new_id()
                self._text = Deltas(TextBlockDeltaEvent, id, self._start(Part.TEXT, id, events))
            events.append(self._text.next(piece.text))
        if piece.complete or piece.metadata is not None:
            self._end_text(events, metadata=piece.metadata)

    def _on_thinking(self, piece: ThinkingPiece, events: list[AgentEvent]) -> None:
        proof = (piece.signature, piece.redacted_data, piece.metadata)
        if piece.text or proof != _NO_PROOF:
            if self._thinking is None:
                self._end_text(events)
                id = new_id()
                self._thinking = Deltas(ThinkingBlockDeltaEvent, id, self._start(Part.THINKING, id, events))
            if piece.text:
                events.append(self._thinking.next(piece.text))
        if piece.complete or proof != _NO_PROOF:
            self._end_thinking(
                events, signature=piece.signature, redacted_data=piece.redacted_data, metadata=piece.metadata
            )

    def _on_data(self, piece: DataPiece, events: list[AgentEvent]) -> None:
        key = piece.id or piece.media_type
        block_id = self._data_ids.get(key)
        if block_id is None:
            block_id = self._data_ids[key] = new_id()
            self._start(Part.DATA, block_id, events, media_type=piece.media_type)
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
        if call.deltas is not None and (Part.TOOL_CALL, call.deltas.id) not in self._open:
            return
        call.given_id = call.given_id or piece.id
        if call.deltas is None and piece.name:
            self._start_call(call, piece.name, events)
        for name in ("signature", "metadata"):
            if (said := getattr(piece, name)) is not None:
                call.ending[name] = said
        if piece.arguments:
            if call.deltas is None:
                call.early.append(piece.arguments)
            else:
                events.append(call.deltas.next(piece.arguments))
        if piece.complete and call.deltas is not None:
            self._end(Part.TOOL_CALL, call.deltas.id, events)

    def _on_usage(self, piece: UsagePiece, events: list[AgentEvent]) -> None:
        for name in ("input_tokens", "output_tokens", "cached_input_tokens", "reasoning_tokens"):
            if (figure := getattr(piece, name)) is not None:
                if not isinstance(figure, int):
                    raise TypeError(f"usage is in whole tokens: got {type(figure).__name__} for {name}")
                self._usage[name] = figure

    def _on_finish(self, piece: FinishPiece, events: list[AgentEvent]) -> None:
        self._finish = piece

    def _on_reset(self, piece: ResetPiece, events: list[AgentEvent]) -> None:
        """Begin anew: only the ids that were given, and what was spent, are kept."""
        self._end_all(events)
        if self._shown:
            events.append(
                ModelCallResetEvent(
                    reply_id=self._reply_id,
                    model_call_id=self._model_call_id,
                    attempt=piece.attempt,
                    reason=piece.reason,
                    seq=0,
                )
            )
        self._shown = False
        self._text = self._thinking = None
        self._data_ids.clear()
        self._calls.clear()
        self._spent, self._usage = self._total(), {}
        self._finish = FinishPiece(FinishReason.UNKNOWN)

    def _total(self) -> dict[str, Any]:
        """Return the usage of all attempts; a figure that is unknown in one is the sum of the others."""
        return {name: self._spent.get(name, 0) + self._usage.get(name, 0) for name in self._spent | self._usage}

    # ------------------------------------------------------------------------------------------------ the moves

    def _start(self, part: Part, id: str, events: list[AgentEvent], **said: Any) -> dict[str, str]:
        """Open a block; returns the fields that all its events share."""
        kind = _KINDS[part]
        shared = {"reply_id": self._reply_id, kind.key: id}
        self._open[part, id] = {}
        self._shown = True
        events.append(kind.start(**shared, **said, seq=0))
        return shared

    def _start_call(self, call: _Call, name: str, events: list[AgentEvent]) -> None:
        id = self._unused(call.given_id or f"call_{new_id()}")
        call.deltas = Deltas(ToolCallDeltaEvent, id, self._start(Part.TOOL_CALL, id, events, tool_call_name=name))
        self._open[Part.TOOL_CALL, id] = call.ending
        if call.early:
            events.append(call.deltas.next("".join(call.early)))

    def _unused(self, id: str) -> str:
        candidate, number = id, 1
        while candidate in self._given or candidate in self._taken:
            number += 1
            candidate = f"{id}~{number}"
        self._given.add(candidate)
        return candidate

    def _end_text(self, events: list[AgentEvent], **ending: Any) -> None:
        if self._text is not None:
            self._open[Part.TEXT, self._text.id] = ending
            self._end(Part.TEXT, self._text.id, events)
            self._text = None

    def _end_thinking(self, events: list[AgentEvent], **ending: Any) -> None:
        if self._thinking is not None:
            self._open[Part.THINKING, self._thinking.id] = ending
            self._end(Part.THINKING, self._thinking.id, events)
            self._thinking = None

    def _end_all(self, events: list[AgentEvent]) -> None:
        for part, id in list(self._open):
            self._end(part, id, events)

    def _end(self, part: Part, id: str, events: list[AgentEvent]) -> None:
        kind = _KINDS[part]
        events.append(kind.end(reply_id=self._reply_id, seq=0, **{kind.key: id}, **self._open.pop((part, id))))


_NO_PROOF = (None, None, None)


class _Kind(NamedTuple):
    """How a kind of block opens and closes."""

    key: str
    start: Callable[..., AgentEvent]
    end: Callable[..., AgentEvent]


_KINDS: dict[Part, _Kind] = {
    Part.TEXT: _Kind("block_id", TextBlockStartEvent, TextBlockEndEvent),
    Part.THINKING: _Kind("block_id", ThinkingBlockStartEvent, ThinkingBlockEndEvent),
    Part.DATA: _Kind("block_id", DataBlockStartEvent, DataBlockEndEvent),
    Part.TOOL_CALL: _Kind("tool_call_id", ToolCallStartEvent, ToolCallEndEvent),
}

_HANDLERS: dict[type, Callable[[Assembler, Any, list[AgentEvent]], None]] = {
    TextPiece: Assembler._on_text,
    ThinkingPiece: Assembler._on_thinking,
    DataPiece: Assembler._on_data,
    ToolCallPiece: Assembler._on_tool_call,
    UsagePiece: Assembler._on_usage,
    FinishPiece: Assembler._on_finish,
    ResetPiece: Assembler._on_reset,
}
