"""`verify_events`: pass a stream on while it keeps the rules."""

from __future__ import annotations

from typing import Any

from reactivex import Observable, abc

from ..errors import ProtocolError
from ..event import (
    AgentEndEvent,
    AgentEvent,
    AgentResultEvent,
    AgentStartEvent,
    Lifecycle,
    MessageBuilder,
    MessageSnapshot,
    Part,
    PartKey,
    ReplyEvent,
)
from ..event.lifecycle import State, describe, refusal
from ..message import PAUSES
from .operator import Operator

__all__ = ["verify_events"]


def verify_events(snapshot: MessageSnapshot | None = None, strict: bool = False) -> Operator[AgentEvent, AgentEvent]:
    """Check every event against the lifecycle table, and AGENT_RESULT against the fold.

    Emits the events of the source, unchanged, up to the first that breaks a rule. Replies are kept apart by their
    id, those of child agents included; of one that is over, only the id is. Completes and fails with its source.

    Args:
        snapshot: Where the stream goes on from, when it does not begin with AGENT_START.
        strict: Also demand that the top agent's events are numbered without gaps.

    Raises:
        ProtocolError: as on_error, in place of the event that broke a rule, or when the source completes with a
            reply open; the message names the rule, the event, what is open and what should have come.
    """

    def operator(source: Observable[AgentEvent]) -> Observable[AgentEvent]:
        def subscribe(
            observer: abc.ObserverBase[AgentEvent], scheduler: abc.SchedulerBase | None = None
        ) -> abc.DisposableBase:
            verifier = _Verifier(snapshot, strict)

            def on_next(event: AgentEvent) -> None:
                try:
                    verifier.check(event)
                except ProtocolError as error:
                    observer.on_error(error)
                    return
                observer.on_next(event)

            def on_completed() -> None:
                try:
                    verifier.check_end()
                except ProtocolError as error:
                    observer.on_error(error)
                    return
                observer.on_completed()

            return source.subscribe(on_next, observer.on_error, on_completed, scheduler=scheduler)

        return Observable(subscribe)

    return operator


class _Verifier:
    """What has been seen of every reply that may go on, and the number of the last event."""

    def __init__(self, snapshot: MessageSnapshot | None, strict: bool) -> None:
        self._strict = strict
        self._replies: dict[str, _Reply] = {}
        self._over: set[str] = set()
        self._last_seq = 0
        if snapshot is not None:
            self._last_seq = snapshot.last_seq
            if snapshot.message is not None:
                self._replies[snapshot.message.id] = _Reply(snapshot.source, snapshot)

    def check(self, event: Any) -> None:
        if isinstance(event, ReplyEvent):
            self._check_reply(event)
        if self._strict and event.source is None:
            self._check_number(event)

    def _check_reply(self, event: Any) -> None:
        reply_id = event.reply_id
        if reply_id in self._over:
            if not (isinstance(event, AgentStartEvent) and event.resumed):
                raise refusal(event, PartKey(Part.REPLY, reply_id), State.CLOSED, ())
            self._over.remove(reply_id)
        reply = self._replies.get(reply_id)
        if reply is None:
            reply = self._replies[reply_id] = _Reply(event.source)
        reply.check(event)
        if isinstance(event, AgentEndEvent) and event.generate_reason not in PAUSES:
            del self._replies[reply_id]
            self._over.add(reply_id)

    def check_end(self) -> None:
        for reply_id, reply in self._replies.items():
            if PartKey(Part.REPLY, reply_id) in reply.lifecycle.open:
                raise ProtocolError(
                    f"AGENT_END comes last: the stream completed while reply {reply_id!r} was open; expected AGENT_END"
                )

    def _check_number(self, event: Any) -> None:
        starts = isinstance(event, AgentStartEvent)
        expected = 1 if starts and not event.resumed else self._last_seq + 1
        seq = event.seq or 0
        taken_up = starts and event.resumed and seq >= expected
        if seq != expected and not taken_up:
            raise ProtocolError(f"events are numbered without gaps: got {describe(event)}, expected seq {expected}")
        self._last_seq = seq


class _Reply:
    """What has been seen of one reply."""

    def __init__(self, source: str | None, snapshot: MessageSnapshot | None = None) -> None:
        self.lifecycle = Lifecycle()
        self._builder = MessageBuilder(snapshot, source=source)
        if snapshot is not None and snapshot.message is not None:
            running = () if snapshot.ended else (PartKey(Part.REPLY, snapshot.message.id), *self._builder.open)
            self.lifecycle = Lifecycle(snapshot.message, running)

    def check(self, event: Any) -> None:
        self.lifecycle.advance(event)
        if isinstance(event, AgentResultEvent):
            self._check_result(event)
        else:
            self._builder.apply(event)

    def _check_result(self, event: AgentResultEvent) -> None:
        # The ending is said by AGENT_END, which comes after.
        ending = {name: getattr(event.result, name) for name in ("generate_reason", "structured_output")}
        folded = self._builder.message().model_copy(update=ending)
        if event.result != folded:
            differing = [
                name for name in type(folded).model_fields if getattr(folded, name) != getattr(event.result, name)
            ]
            raise ProtocolError(
                f"AGENT_RESULT is the fold of the events before it: got {describe(event)} with other "
                f"{', '.join(differing) or 'class'}; expected the message that MessageBuilder makes"
            )
