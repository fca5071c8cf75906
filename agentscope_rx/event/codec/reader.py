"""The reader of a stream: every event decoded, none twice, and a foreign stream brought under the laws."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping
from typing import Any

from ...message import PAUSES, AssistantMessage, GenerateReason, ToolCallState, ToolUseBlock
from ..base import BaseEvent
from ..lifecycle import STEPS
from ..types import (
    AgentEndEvent,
    AgentEvent,
    AgentResultEvent,
    AgentStartEvent,
    ExternalExecutionResultEvent,
    RequestStopEvent,
    ToolResultStartEvent,
    UserConfirmResultEvent,
)
from .detection import Dialect, dialect_of_event
from .dialects import decode, foreign
from .repair import Habits, Reply
from .text import Json, to_object

__all__ = ["EventReader"]

_HABITS: Mapping[str, Habits] = {
    "java": Habits(restarts=True, pauses_in_silence=False, batches_results=True, result_speaks=True),
    "python": Habits(restarts=False, pauses_in_silence=True, batches_results=False, result_speaks=False),
}
_SEEN = 4_096
_REPLIES = 64


class EventReader:
    """Reads the events of one stream, in order; whatever the stream is like, laws L1 to L3 hold for what it returns.

    An event whose id was among the last 4,096 is dropped. A native stream is otherwise returned as it is. A foreign
    one is numbered as it arrives unless it is numbered already, and repaired:

    * All events of a reply get one `reply_id`, across its pauses. AgentScope Java has ids of its own for every model
      call and every batch of tools; there a reply is what lies between AGENT_START and AGENT_END of one `source`. Its
      AGENT_START is held until the next event tells whether a paused reply goes on.
    * A block or call whose id was used before in the reply gets `~2`; model calls get ids.
    * What is left open is closed, what was never opened is opened, and a call without a result gets one.
    * A reply that pauses without AGENT_END gets one, and an AGENT_START when it goes on; the results of parked calls
      come only then.
    * AGENT_RESULT, directly before every AGENT_END, is the fold of what was returned.

    Args:
        dialect: Whose JSON it is; None finds out, from the first event.

    Raises:
        ConfigurationError: there is no such dialect.
    """

    def __init__(self, dialect: Dialect | None = None) -> None:
        self._dialect: Dialect | None = None
        self._habits: Habits | None = None
        if dialect is not None:
            self._settle_on(dialect)
        self._recent: deque[str] = deque()
        self._seen: set[str] = set()
        self._replies: dict[tuple[str | None, str], Reply] = {}
        self._latest: dict[str | None, Reply] = {}
        self._held: dict[str | None, AgentStartEvent] = {}
        self._before_any = 0
        self._out: list[AgentEvent] = []

    def read(self, data: Json) -> list[AgentEvent]:
        """Return the events that can be told now that this one has come.

        Args:
            data: The event, as JSON or as its parsed object.

        Raises:
            RemoteProtocolError: it is no event, or a known one with a bad field; nothing has changed.
        """
        fields = to_object(data, "an event")
        dialect = self._dialect or dialect_of_event(fields)
        event = decode(fields, dialect)
        self._settle_on(dialect)
        if self._is_new(event.id):
            if self._habits is None:
                self._out.append(event)
            else:
                self._repair(event, self._habits, _tool_name(fields))
        return self._told()

    def close(self) -> list[AgentEvent]:
        """Return what ends the replies that the stream left open: an error, or a pause if they wait for an answer."""
        if self._habits is not None:
            for source in list(self._held):
                self._release(source, self._habits, None)
        for reply in reversed(self._replies.values()):
            reply.close()
        return self._told()

    def _settle_on(self, dialect: Dialect) -> None:
        foreign(dialect)
        self._dialect, self._habits = dialect, _HABITS.get(dialect)

    def _tell(self, event: AgentEvent) -> None:
        self._out.append(event)

    def _told(self) -> list[AgentEvent]:
        told, self._out = self._out, []
        return told

    def _is_new(self, id: str) -> bool:
        if id in self._seen:
            return False
        if len(self._recent) == _SEEN:
            self._seen.remove(self._recent.popleft())
        self._recent.append(id)
        self._seen.add(id)
        return True

    # ---------------------------------------------------------------------------------------------- which reply

    def _repair(self, event: Any, habits: Habits, name: str) -> None:
        for source in list(self._held):
            self._release(source, habits, event if event.source == source else None)
        if isinstance(event, AgentStartEvent):
            self._start(event, habits)
            return
        if type(event) not in STEPS:
            self._pass_on(event)
            return
        key = _key(event, habits)
        reply = self._replies.get(key)
        if reply is None:
            reply = self._join(event, habits)
        elif not reply.running and not self._go_on(reply, event):
            return
        reply.admit(event, name)

    def _start(self, event: AgentStartEvent, habits: Habits) -> None:
        reply = self._replies.get(_key(event, habits))
        if reply is not None and reply.running:
            if not habits.restarts:
                return
            reply.close()
        if reply is not None and reply.reply_id == event.reply_id:
            self._run(reply, event, resumed=True)
        elif habits.restarts and event.seq is None:
            self._held[event.source] = event
        else:
            self._begin(event, habits)

    def _release(self, source: str | None, habits: Habits, following: BaseEvent | None) -> None:
        """Let a held AGENT_START happen; the event that follows tells whether a paused reply goes on."""
        event = self._held.pop(source)
        reply = self._replies.get(_key(event, habits))
        answered = _answered(following)
        if reply is not None and any(map(reply.waits_for, answered)):
            self._run(reply, event, resumed=True)
        else:
            self._begin(event, habits, _paused(event, following))

    def _join(self, event: Any, habits: Habits) -> Reply:
        """Begin a reply whose AGENT_START was not seen."""
        start = AgentStartEvent(
            reply_id=event.reply_id or event.id, name="", source=event.source, created_at=event.created_at
        )
        return self._begin(start, habits, _paused(start, event), numbered=event.seq is not None)

    def _go_on(self, reply: Reply, event: Any) -> bool:
        """Let a paused reply go on; what ends it a second time, or comes when it has ended for good, is too late."""
        ends_again = isinstance(event, AgentResultEvent) or (
            isinstance(event, AgentEndEvent) and event.generate_reason in PAUSES
        )
        if reply.is_paused and not ends_again:
            self._run(reply, reply.next_start(event.created_at), resumed=True)
        return reply.running

    def _begin(
        self, event: AgentStartEvent, habits: Habits, message: AssistantMessage | None = None, *, numbered: bool = False
    ) -> Reply:
        key = _key(event, habits)
        reply = Reply(event.reply_id or event.id, event.source, habits, self._tell)
        self._replies[key] = reply
        if len(self._replies) > _REPLIES:
            self._forget_one()
        before = self._latest.get(event.source)
        after = before.last_seq if before is not None and message is not None else None
        self._run(reply, event, resumed=message is not None, message=message, numbered=numbered, after=after)
        return reply

    def _forget_one(self) -> None:
        oldest = next((key for key, reply in self._replies.items() if not reply.running), None)
        if oldest is not None:
            del self._replies[oldest]

    def _run(self, reply: Reply, event: AgentStartEvent, **how: Any) -> None:
        self._latest[event.source] = reply
        reply.start(event, **how)

    def _pass_on(self, event: Any) -> None:
        reply = self._latest.get(event.source)
        if _says_only_pause(event):
            return
        if reply is not None:
            reply.pass_on(event)
            return
        if event.source is None and event.seq is None:
            self._before_any += 1
            object.__setattr__(event, "seq", self._before_any)
        self._out.append(event)


def _key(event: Any, habits: Habits) -> tuple[str | None, str]:
    """Tell which reply an event is of: where ids are of no use, the only one of its agent."""
    return (event.source, "" if habits.restarts else event.reply_id)


def _tool_name(fields: Mapping[str, Any]) -> str:
    name = fields.get("toolCallName") or fields.get("tool_call_name")
    return name if isinstance(name, str) else ""


def _says_only_pause(event: BaseEvent) -> bool:
    """AgentScope Java announces a pause by an event of its own; here AGENT_END says it."""
    return (
        isinstance(event, RequestStopEvent)
        and event.seq is None
        and event.generate_reason is GenerateReason.PERMISSION_ASKING
    )


_ANSWERS: Mapping[type, Callable[[Any], list[ToolUseBlock]]] = {
    UserConfirmResultEvent: lambda event: [
        answer.tool_call.model_copy(update={"state": ToolCallState.ASKING}) for answer in event.confirm_results
    ],
    ExternalExecutionResultEvent: lambda event: [
        ToolUseBlock(id=result.id, name=result.name, state=ToolCallState.SUBMITTED) for result in event.tool_results
    ],
}
"""The calls that an answer is about, as they were before it."""


def _answered(event: BaseEvent | None) -> list[str]:
    if isinstance(event, ToolResultStartEvent):
        return [event.tool_call_id]
    return [call.id for call in _ANSWERS[type(event)](event)] if type(event) in _ANSWERS else []


def _paused(start: AgentStartEvent, event: BaseEvent | None) -> AssistantMessage | None:
    """Return what is known of a reply that was paused before this stream, None when it was not."""
    if type(event) not in _ANSWERS:
        return None
    return AssistantMessage(
        id=start.reply_id or start.id,
        name=start.name,
        content=_ANSWERS[type(event)](event),
        timestamp=start.created_at,
    )
