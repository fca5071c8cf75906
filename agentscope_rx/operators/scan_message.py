"""`scan_message`: the message so far, after every event."""

from __future__ import annotations

from typing import Any

from reactivex import Observable, abc

from ..errors import LocalProtocolError, ProtocolError
from ..event import AgentEvent, AgentStartEvent, MessageBuilder
from ..message import AssistantMessage
from .operator import Operator

__all__ = ["MessageView", "scan_message"]


class _Fold:
    """The builder of the reply that runs, and how many events it has been shown."""

    __slots__ = ("builder", "count")

    def __init__(self) -> None:
        self.builder = MessageBuilder()
        self.count = 0

    def apply(self, event: Any) -> None:
        if isinstance(event, AgentStartEvent) and event.source is None and event.reply_id != self.builder.reply_id:
            self.builder = MessageBuilder()
        self.builder.apply(event)
        self.count += 1


class MessageView:
    """One event, and the message up to it: read it before the next event comes."""

    __slots__ = ("_count", "_fold", "event")

    def __init__(self, event: AgentEvent, fold: _Fold) -> None:
        self.event = event
        """The event."""
        self._fold = fold
        self._count = fold.count

    def message(self) -> AssistantMessage:
        """Return the message up to the event; O(number of blocks), plus what is new in them.

        Raises:
            LocalProtocolError: the next event has come already.
            MissingStartError: no AGENT_START has come yet.
        """
        if self._fold.count != self._count:
            raise LocalProtocolError(
                "a MessageView is read before the next event comes; to keep a message, call message() at once"
            )
        return self._fold.builder.message()

    def __repr__(self) -> str:
        return f"MessageView({self.event.type})"


def scan_message() -> Operator[AgentEvent, MessageView]:
    """Fold the reply of the top agent and look at it on the way.

    Emits a `MessageView` after every event of the source, whichever agent it is of; events of children leave the
    message as it is. A new reply starts a new message. Completes and fails with its source.

    Raises:
        ProtocolError: as on_error, when the events do not fold.
    """

    def operator(source: Observable[AgentEvent]) -> Observable[MessageView]:
        def subscribe(
            observer: abc.ObserverBase[MessageView], scheduler: abc.SchedulerBase | None = None
        ) -> abc.DisposableBase:
            fold = _Fold()

            def on_next(event: AgentEvent) -> None:
                try:
                    fold.apply(event)
                except ProtocolError as error:
                    observer.on_error(error)
                    return
                observer.on_next(MessageView(event, fold))

            return source.subscribe(on_next, observer.on_error, observer.on_completed, scheduler=scheduler)

        return Observable(subscribe)

    return operator
