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
from ..event.lifecycle import describe
from .operator import Operator

__all__ = ["verify_events"]


def verify_events(snapshot: MessageSnapshot | None = None, strict: bool = False) -> Operator[AgentEvent, AgentEvent]:
    """Check every event against the lifecycle table, and AGENT_RESULT against the fold.

    Emits the events of the source, unchanged, up to the first that breaks a rule. Replies are kept apart by their
    id, those of child agents included. Completes and fails with its source.

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
    """What has been seen of each reply."""

    def __init__(self, snapshot: MessageSnapshot | None, strict: bool) -> None:
        self._strict = strict
        self._lifecycles: dict[str, Lifecycle] = {}
        self._open: set[str] = set()
        self._builder = MessageBuilder(snapshot)
        self._last_seq = self._builder.last_seq
        if snapshot is not None and snapshot.message is not None:
            reply_id = snapshot.message.id
            opened = [] if snapshot.ended else [PartKey(Part.REPLY, reply_id), *self._builder.open]
            self._lifecycles[reply_id] = Lifecycle(snapshot.message, opened)
            if not snapshot.ended:
                self._open.add(reply_id)

    def check(self, event: Any) -> None:
        if isinstance(event, ReplyEvent):
            lifecycle = self._lifecycles.get(event.reply_id)
            if lifecycle is None:
                lifecycle = self._lifecycles[event.reply_id] = Lifecycle()
            lifecycle.advance(event)
            if isinstance(event, AgentStartEvent):
                self._open.add(event.reply_id)
            elif isinstance(event, AgentEndEvent):
                self._open.discard(event.reply_id)
        if event.source is None:
            self._check_number(event)
            self._check_result(event)

    def check_end(self) -> None:
        if self._open:
            raise ProtocolError(
                f"AGENT_END comes last: the stream completed while reply {min(self._open)!r} was open; "
                "expected AGENT_END"
            )

    def _check_number(self, event: Any) -> None:
        if not self._strict:
            return
        starts = isinstance(event, AgentStartEvent)
        afresh = starts and not event.resumed
        expected = 1 if afresh else self._last_seq + 1
        seq = event.seq or 0
        taken_up = starts and event.resumed and seq >= expected
        if seq != expected and not taken_up:
            raise ProtocolError(f"events are numbered without gaps: got {describe(event)}, expected seq {expected}")
        self._last_seq = seq

    def _check_result(self, event: Any) -> None:
        if isinstance(event, AgentStartEvent) and event.reply_id != self._builder.reply_id:
            self._builder = MessageBuilder()
        if isinstance(event, AgentResultEvent):
            folded = self._builder.message()
            ending = {
                "generate_reason": event.result.generate_reason,
                "structured_output": event.result.structured_output,
            }
            if event.result != folded.model_copy(update=ending):
                differing = [
                    name
                    for name in type(folded).model_fields
                    if name not in ending and getattr(folded, name) != getattr(event.result, name)
                ]
                raise ProtocolError(
                    f"AGENT_RESULT is the fold of the events before it: got {describe(event)} with other "
                    f"{', '.join(differing) or 'class'}; expected the message that MessageBuilder makes"
                )
        else:
            self._builder.apply(event)
