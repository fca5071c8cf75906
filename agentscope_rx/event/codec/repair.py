"""One reply of a foreign stream, brought under the laws as it comes.

Before an event is let through, what its rule wants closed is closed, and what it goes on with is opened (`track.py`,
`moves.py`). On top of that come the habits of the two implementations:

    ids       a call that is taken up again in the same model call is one call; a delta of a call without an id goes
              on with the call that was opened last; the result of a call that is not known is that of the first call
              of the same name that has none
    pauses    the start of a result is held until it is known not to be parked: a parked call has no result
    answers   what a resumed stream says of a denied or external call, without result events, becomes its result
    ends      AGENT_RESULT is the fold of what came; every call has a result, unless the reply is paused

A reply that is numbered was written by this package: its order is kept to the letter, and nothing is held back.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import Any, NamedTuple

from ...message import (
    PAUSES,
    GenerateReason,
    Msg,
    TextBlock,
    ToolCallState,
    ToolResultBlock,
    ToolResultState,
    ToolUseBlock,
)
from ..lifecycle import STEPS, Part, Phase
from ..types import (
    AgentEndEvent,
    AgentErrorInfo,
    AgentResultEvent,
    AgentStartEvent,
    AllToolsDeniedEvent,
    ExceedMaxItersEvent,
    ExternalExecutionResultEvent,
    RequireExternalExecutionEvent,
    RequireUserConfirmEvent,
    TextBlockDeltaEvent,
    ToolResultEndEvent,
    ToolResultStartEvent,
    UserConfirmResultEvent,
)
from .calls import ERROR, INTERRUPTED, NO_RESULT, Result
from .moves import Moves
from .track import Track

__all__ = ["Habits", "Reply"]


class Habits(NamedTuple):
    """What an implementation does with its streams."""

    restarts: bool
    """Every run begins with an AGENT_START and an id of its own; else a resumed run goes on under the same id."""
    pauses_in_silence: bool
    """A paused reply just stops, with no AGENT_END."""
    batches_results: bool
    """All results of a turn start at once, long before it is known which of them are parked."""
    result_speaks: bool
    """AGENT_RESULT may hold text that no event said."""


_CUTS = {GenerateReason.INTERRUPTED: INTERRUPTED, GenerateReason.ERROR: ERROR}
_DENIED = "The tool call was denied by the user."
_MAY_PARK = (ToolResultStartEvent, RequireUserConfirmEvent, RequireExternalExecutionEvent)
"""What may come between the start of a result and the word that it is parked."""


class Reply:
    """One reply, from its first AGENT_START to its last AGENT_END.

    Args:
        reply_id: Its id.
        source: The agent whose reply it is, None for the top.
        habits: What to expect.
        send: Takes the events that come out, in order.
    """

    def __init__(self, reply_id: str, source: str | None, habits: Habits, send: Callable[[Any], None]) -> None:
        self.running = False
        """Whether it is between AGENT_START and AGENT_END."""
        self.is_paused = False
        """Whether it has ended in a way that lets it go on."""
        self._habits = habits
        self._track = Track(reply_id, source, send)
        self._moves = Moves(self._track)
        self._calls = self._moves.calls
        self._ending: dict[str, Any] | None = None
        self._held_result: AgentResultEvent | None = None
        self._knows_answers = True

    @property
    def reply_id(self) -> str:
        """Its id."""
        return self._track.reply_id

    @property
    def last_seq(self) -> int:
        """The number of its last event."""
        return self._track.last_seq

    def waits_for(self, call_id: str) -> bool:
        """Tell whether a call that came under this id has no result yet."""
        id = self._track.id_of(Part.TOOL_CALL, call_id)
        return id is not None and id in self._calls

    # ---------------------------------------------------------------------------------------------- from outside

    def next_start(self, moment: datetime) -> AgentStartEvent:
        """Make the AGENT_START with which the reply goes on."""
        self._track.moment = moment
        return self._track.make(AgentStartEvent, name=self._track.builder.message().name)

    def start(
        self,
        event: AgentStartEvent,
        *,
        resumed: bool,
        message: Msg | None = None,
        numbered: bool = False,
        after: int | None = None,
    ) -> None:
        """Begin, or go on after a pause.

        Args:
            event: The AGENT_START, which is made to say so.
            resumed: Whether the reply goes on.
            message: What it goes on from, when it was paused before this stream.
            numbered: Whether the events after it are numbered, even if it is not.
            after: The number to go on from, when that is not the reply's own.
        """
        track = self._track
        track.moment, track.numbered = event.created_at, numbered or event.seq is not None
        track.last_seq = track.last_seq if after is None else after
        if message is not None:
            self._moves.remember(message)
        elif resumed:
            message = track.builder.message()
        track.send(event, resumed=resumed, message=message)
        self.running, self._knows_answers = True, not resumed

    def admit(self, event: Any, name: str = "") -> None:
        """Let an event of the reply happen, in its place.

        Args:
            event: The event.
            name: The tool's name, when the event came with one.
        """
        track = self._track
        track.moment = event.created_at
        if not (self._habits.batches_results or track.numbered or isinstance(event, _MAY_PARK)):
            self._moves.start_held_results()
        if STEPS[type(event)].part is Part.REPLY:
            _MARKS.get(type(event), Reply._mark)(self, event)
        else:
            self._moves.take(event, name)
        if self._habits.pauses_in_silence and not track.numbered and self._completes_a_pause(event):
            self._end(track.make(AgentEndEvent, generate_reason=self._calls.pause))

    def pass_on(self, event: Any) -> None:
        """Let an event happen that belongs to no reply."""
        self._track.pass_on(event)

    def close(self) -> None:
        """End the reply because its stream has ended: as paused if it waits for an answer, else with an error."""
        if not self.running:
            return
        track = self._track
        track.numbered = False
        reason, error = self._calls.pause, None
        if self._ending is None and (reason is None or not track.is_idle):
            reason = GenerateReason.ERROR
            error = AgentErrorInfo(type="RemoteProtocolError", message="the stream ended before the reply did")
        self._end(track.make(AgentEndEvent, generate_reason=reason or GenerateReason.MODEL_STOP, error=error))

    def _completes_a_pause(self, event: Any) -> bool:
        """Tell whether nothing more can happen after this event, until somebody answers."""
        is_last = isinstance(event, RequireUserConfirmEvent | RequireExternalExecutionEvent) or (
            isinstance(event, ToolResultEndEvent) and event.state is not ToolResultState.INTERRUPTED
        )
        return is_last and self._knows_answers and self._track.is_idle and self._calls.all_parked

    # ---------------------------------------------------------------------------------------------- marks

    def _mark(self, event: Any) -> None:
        self._track.send(event)

    def _exceed(self, event: ExceedMaxItersEvent) -> None:
        done = self._moves.rounds
        self._track.send(event, max_iters=event.max_iters or done, current_iter=event.current_iter or done)

    def _require_confirm(self, event: RequireUserConfirmEvent) -> None:
        self._park(event, ToolCallState.ASKING, GenerateReason.PERMISSION_ASKING)

    def _require_external(self, event: RequireExternalExecutionEvent) -> None:
        self._park(event, ToolCallState.SUBMITTED, GenerateReason.TOOL_SUSPENDED)

    def _park(self, event: Any, state: ToolCallState, reason: GenerateReason) -> None:
        calls = tuple(self._own(call, state=state) for call in event.tool_calls)
        self._track.send(event, tool_calls=calls)
        for call in calls:
            self._calls.park(call.id, reason)

    def _confirm(self, event: UserConfirmResultEvent) -> None:
        answers = tuple(
            answer.model_copy(update={"tool_call": self._own(answer.tool_call)}) for answer in event.confirm_results
        )
        self._track.send(event, confirm_results=answers)
        self._knows_answers = True
        for answer in answers:
            denied = Result(ToolResultState.DENIED, (TextBlock(answer.reason or _DENIED),))
            self._calls.answer(answer.tool_call.id, None if answer.confirmed else denied)

    def _execute(self, event: ExternalExecutionResultEvent) -> None:
        results = tuple(
            result.model_copy(update={"id": self._moves.call_of(result.id, result.name)})
            for result in event.tool_results
        )
        self._track.send(event, tool_results=results)
        self._knows_answers = True
        for result in results:
            self._calls.answer(result.id, _whole(result))

    def _deny_all(self, event: AllToolsDeniedEvent) -> None:
        self._track.send(event, denied_tool_calls=tuple(self._own(call) for call in event.denied_tool_calls))

    def _own(self, call: ToolUseBlock, **changes: Any) -> ToolUseBlock:
        """Return a call that came in an event, under the id that it has here."""
        return call.model_copy(update={"id": self._moves.call_of(call.id, call.name, call.raw_input), **changes})

    # ---------------------------------------------------------------------------------------------- the end

    def _result(self, event: AgentResultEvent) -> None:
        """Take what the reply has become; it is told when the reply ends, or at once where the order is kept."""
        reason = event.result.generate_reason or GenerateReason.MODEL_STOP
        self._ending = {"generate_reason": reason, "structured_output": event.result.structured_output}
        if self._track.numbered:
            self._conclude(reason)
            self._track.send(event, result=self._message(self._ending))
        else:
            self._held_result = event

    def _end(self, event: AgentEndEvent) -> None:
        ending = self._ending or {
            "generate_reason": event.generate_reason,
            "structured_output": event.structured_output,
        }
        was_told = self._ending is not None and self._held_result is None
        self._conclude(ending["generate_reason"])
        if not (was_told or self._track.numbered):
            result = self._held_result or self._track.make(AgentResultEvent, result=self._message(ending))
            self._track.send(result, result=self._message(ending))
        self._track.send(event, **ending)
        self._ending = self._held_result = None
        self.running, self.is_paused = False, ending["generate_reason"] in PAUSES

    def _conclude(self, reason: GenerateReason) -> None:
        track = self._track
        track.cut = _CUTS.get(reason, NO_RESULT)
        if reason not in PAUSES and not track.numbered:
            self._moves.settle()
        track.make_way(Part.REPLY, Phase.END, "")
        track.cut = NO_RESULT
        is_news = reason is GenerateReason.INTERRUPTED or not self._moves.has_spoken
        if self._held_result is not None and self._habits.result_speaks and is_news:
            self._say(self._held_result.result)

    def _say(self, result: Msg) -> None:
        """Say the text of a result that no event has said."""
        track = self._track
        said = track.builder.message().get_text_content()
        unsaid = [block.text for block in result.get_content_blocks(TextBlock) if block.text not in said]
        for text in unsaid if result.structured_output is None else ():
            id = track.rename(Part.TEXT, "text")
            track.open(Part.TEXT, id)
            track.send(track.make(TextBlockDeltaEvent, block_id=id, delta=text))
            track.end(Part.TEXT, id)

    def _message(self, ending: dict[str, Any]) -> Msg:
        return self._track.builder.message().model_copy(update=ending)


_MARKS: dict[type, Callable[[Reply, Any], None]] = {
    AgentResultEvent: Reply._result,
    AgentEndEvent: Reply._end,
    ExceedMaxItersEvent: Reply._exceed,
    RequireUserConfirmEvent: Reply._require_confirm,
    RequireExternalExecutionEvent: Reply._require_external,
    UserConfirmResultEvent: Reply._confirm,
    ExternalExecutionResultEvent: Reply._execute,
    AllToolsDeniedEvent: Reply._deny_all,
}


def _whole(result: ToolResultBlock) -> Result:
    state = ToolResultState.SUCCESS if result.state is ToolResultState.RUNNING else result.state
    return Result(state, result.output, result.metadata)
