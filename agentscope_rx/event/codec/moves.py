"""What moves inside a reply - model calls, blocks, tool calls, results - each brought to where it may move."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...identity import new_id
from ...message import Msg, TextBlock, ToolResultState, ToolUseBlock
from ..lifecycle import BLOCKS, STEPS, Part, Phase
from ..types import (
    ModelCallEndEvent,
    ModelCallResetEvent,
    ModelCallStartEvent,
    ToolCallDeltaEvent,
    ToolCallEndEvent,
    ToolCallStartEvent,
    ToolResultDataDeltaEvent,
    ToolResultEndEvent,
    ToolResultStartEvent,
    ToolResultTextDeltaEvent,
)
from .calls import NO_RESULT, OpenCalls, Result
from .track import Track

__all__ = ["Moves"]

_SUSPENDED = "agentscope_suspended"


class Moves:
    """The parts of one reply, as they come and as they may go.

    Args:
        track: Where they go.
    """

    def __init__(self, track: Track) -> None:
        self.calls = OpenCalls()
        """The calls without a result."""
        self.rounds = 0
        """How many model calls made tool calls."""
        self.has_spoken = False
        """Whether there was text since the last model call began."""
        self._track = track
        self._held: dict[str, ToolResultStartEvent] = {}
        self._model_calls = 0
        self._calls_of_model: list[str] = []

    def take(self, event: Any, name: str) -> None:
        """Let an event happen that moves a part, in its place; empty deltas are nothing.

        Args:
            event: The event.
            name: The tool's name, when the event came with one.
        """
        if self._track.numbered or getattr(event, "delta", None) != "":
            part, phase, _ = STEPS[type(event)]
            _MOVES[part, phase](self, event, part, name)

    def remember(self, message: Msg) -> None:
        """Take what a message holds for what came before."""
        self._track.remember(message)
        for call in message.get_content_blocks(ToolUseBlock):
            self.calls.begin(call.id, call.name)

    # ---------------------------------------------------------------------------------------------- model calls

    def _start_model_call(self, event: ModelCallStartEvent, part: Part, name: str) -> None:
        track = self._track
        if not track.numbered:
            self.settle()
        track.make_way(part, Phase.START, "")
        self._model_calls += 1
        self.has_spoken, self._calls_of_model = False, []
        # One implementation has an id of its own for each call, where the other and we have that of the reply.
        id = track.rename(part, event.model_call_id or event.reply_id or track.reply_id)
        track.send(event, model_call_id=id, iteration=self._model_calls)

    def _reset_model_call(self, event: ModelCallResetEvent, part: Part, name: str) -> None:
        for id in self._track.opened(part):
            # A reset withdraws all that came since the call began: nothing of it may still be open.
            self._track.end_all((*BLOCKS, Part.TOOL_RESULT))
            self._track.send(event, model_call_id=id)
            self.calls.end(self._calls_of_model)

    def _end_model_call(self, event: ModelCallEndEvent, part: Part, name: str) -> None:
        track = self._track
        if not any(track.opened(part)):
            if event.input_tokens is None and event.output_tokens is None:
                return
            track.open(part, track.rename(part, event.reply_id or track.reply_id), model_name="")
        for id in track.opened(part):
            track.make_way(part, Phase.END, id)
            track.send(event, model_call_id=id)

    # ---------------------------------------------------------------------------------------------- blocks

    def _start_block(self, event: Any, part: Part, name: str) -> None:
        if (id := self._track.open_as(part, event.block_id)) is not None:
            self._track.end(part, id)
        self._track.send(event, block_id=self._track.rename(part, event.block_id))

    def _add_to_block(self, event: Any, part: Part, name: str) -> None:
        track = self._track
        id = track.open_as(part, event.block_id)
        if id is None:
            id = track.rename(part, event.block_id)
            track.open(part, id, **({"media_type": event.media_type} if part is Part.DATA else {}))
        track.send(event, block_id=id)
        self.has_spoken |= part is Part.TEXT

    def _end_block(self, event: Any, part: Part, name: str) -> None:
        if (id := self._track.open_as(part, event.block_id)) is not None:
            self._track.send(event, block_id=id)

    # ---------------------------------------------------------------------------------------------- tool calls

    def call_of(self, came_as: str, name: str = "", raw_input: str = "") -> str:
        """Return the call that an event about a made call means; one that was never made is made now.

        Args:
            came_as: The id that the event has.
            name: The tool's name, "" when the event has none.
            raw_input: The arguments, when the event has them.
        """
        track = self._track
        id = track.id_of(Part.TOOL_CALL, came_as)
        if id is None and (id := next(filter(self._lacks_result, self.calls.of(name)), None)) is not None:
            track.know(Part.TOOL_CALL, came_as, id)
        if id is not None:
            if track.is_open(Part.TOOL_CALL, id):
                track.end(Part.TOOL_CALL, id)
            return id
        in_model_call = any(track.opened(Part.MODEL_CALL))
        id = self._open_call(came_as, name)
        if raw_input:
            track.send(track.make(ToolCallDeltaEvent, tool_call_id=id, delta=raw_input))
        track.end_all((Part.TOOL_CALL,) if in_model_call else (*BLOCKS, Part.MODEL_CALL))
        return id

    def _lacks_result(self, id: str) -> bool:
        return id not in self._held and not self._track.is_used(Part.TOOL_RESULT, id)

    def _start_call(self, event: ToolCallStartEvent, part: Part, name: str) -> None:
        if (id := self._track.open_as(part, event.tool_call_id)) is not None:
            self._track.end_later(part, id, None)
        else:
            self._open_call(event.tool_call_id, event.tool_call_name, event)

    def _open_call(self, came_as: str, name: str, event: ToolCallStartEvent | None = None) -> str:
        track, part = self._track, Part.TOOL_CALL
        id = track.rename(part, came_as or new_id())
        track.know(part, came_as, id)
        track.make_way(part, Phase.START, id)
        track.send(event or track.make(ToolCallStartEvent, tool_call_id=id, tool_call_name=name), tool_call_id=id)
        self.calls.begin(id, name)
        self.rounds += not self._calls_of_model
        self._calls_of_model.append(id)
        return id

    def _add_to_call(self, event: ToolCallDeltaEvent, part: Part, name: str) -> None:
        track = self._track
        id = track.open_as(part, event.tool_call_id)
        if id is None:
            is_fragment = not event.tool_call_id or name.startswith("__")
            id = (track.last_opened(part) if is_fragment else None) or self._open_call(event.tool_call_id, name)
        track.end_later(part, id, None)
        track.send(event, tool_call_id=id)

    def _end_call(self, event: ToolCallEndEvent, part: Part, name: str) -> None:
        id = self._track.open_as(part, event.tool_call_id)
        if id is not None and self._track.numbered:
            self._track.send(event, tool_call_id=id)
        elif id is not None:
            self._track.end_later(part, id, event)

    # ---------------------------------------------------------------------------------------------- tool results

    def start_held_results(self) -> None:
        """Let those results start that are known not to be parked, by something else having happened since."""
        for id in list(self._held):
            if not self.calls.is_parked(id):
                self._open_result(id)

    def settle(self) -> None:
        """Give every call its result: what an answer said, else that there is none."""
        track = self._track
        track.end_all((*BLOCKS, Part.MODEL_CALL))
        for id in self.calls:
            answer = self.calls.result(id)
            if not track.is_used(Part.TOOL_RESULT, id):
                self._open_result(id)
            elif answer is None and track.cut is NO_RESULT:
                continue  # it has said something, and nothing went wrong
            if track.is_open(Part.TOOL_RESULT, id):
                self._tell(id, answer or track.cut.result)
        self.calls.end(self.calls)

    def _start_result(self, event: ToolResultStartEvent, part: Part, name: str) -> None:
        id = self.call_of(event.tool_call_id, event.tool_call_name)
        self.calls.answer(id, self.calls.result(id))
        if self._track.is_used(part, id):
            return
        self._held[id] = event
        if self._track.numbered and event.seq is not None:
            self._open_result(id)

    def _add_to_result(self, event: Any, part: Part, name: str) -> None:
        id = self.call_of(event.tool_call_id, name)
        if (event.metadata or {}).get(_SUSPENDED) is not True:
            self._go_on_with_result(id, event)

    def _end_result(self, event: ToolResultEndEvent, part: Part, name: str) -> None:
        id = self.call_of(event.tool_call_id, name)
        if event.state is ToolResultState.RUNNING and not self._track.is_open(part, id):
            self._held.pop(id, None)
            return
        self._go_on_with_result(id, event)
        self.calls.end([id])

    def _go_on_with_result(self, id: str, event: Any) -> None:
        if not self._track.is_used(Part.TOOL_RESULT, id):
            self._open_result(id)
        if self._track.is_open(Part.TOOL_RESULT, id):
            self._track.send(event, tool_call_id=id)

    def _open_result(self, id: str) -> None:
        track, event = self._track, self._held.pop(id, None)
        track.make_way(Part.TOOL_RESULT, Phase.START, id)
        started = event or track.make(ToolResultStartEvent, tool_call_id=id, tool_call_name=self.calls.name(id))
        track.send(started, tool_call_id=id)

    def _tell(self, id: str, result: Result) -> None:
        """Say a whole result, as its events would have."""
        track = self._track
        for block in result.output:
            if isinstance(block, TextBlock):
                track.send(track.make(ToolResultTextDeltaEvent, tool_call_id=id, delta=block.text))
                continue
            source = block.source
            track.send(
                track.make(
                    ToolResultDataDeltaEvent,
                    tool_call_id=id,
                    block_id=block.id,
                    media_type=source.media_type or "application/octet-stream",
                    data=getattr(source, "data", None),
                    url=getattr(source, "url", None),
                )
            )
        track.send(track.make(ToolResultEndEvent, tool_call_id=id, state=result.state, metadata=result.metadata))


_MOVES: dict[tuple[Part, Phase], Callable[[Moves, Any, Part, str], None]] = {
    (Part.MODEL_CALL, Phase.START): Moves._start_model_call,
    (Part.MODEL_CALL, Phase.RESET): Moves._reset_model_call,
    (Part.MODEL_CALL, Phase.END): Moves._end_model_call,
    (Part.TOOL_CALL, Phase.START): Moves._start_call,
    (Part.TOOL_CALL, Phase.DELTA): Moves._add_to_call,
    (Part.TOOL_CALL, Phase.END): Moves._end_call,
    (Part.TOOL_RESULT, Phase.START): Moves._start_result,
    (Part.TOOL_RESULT, Phase.DELTA): Moves._add_to_result,
    (Part.TOOL_RESULT, Phase.END): Moves._end_result,
}
for _part in (Part.TEXT, Part.THINKING, Part.DATA):
    _MOVES[_part, Phase.START] = Moves._start_block
    _MOVES[_part, Phase.DELTA] = Moves._add_to_block
    _MOVES[_part, Phase.END] = Moves._end_block
