"""`to_message`: fold every reply of a stream into its message."""

from __future__ import annotations

from typing import Any

from reactivex import Observable, abc

from ..errors import ProtocolError
from ..event import AgentEvent, AgentStartEvent, MessageBuilder, ReplyEvent
from ..message import PAUSES, AssistantMessage
from .operator import Operator

__all__ = ["to_message"]


def to_message(source: str | None = None) -> Operator[AgentEvent, AssistantMessage]:
    """Fold the replies of one agent; replies are kept apart by their id.

    Emits one message at every AGENT_END of that agent: the whole reply so far. On a pause it carries the reason of
    the pause; when the reply goes on in the same stream, the whole message comes again under the same id. An
    AGENT_END with an error emits its message too, before the error. Events that were seen before change nothing.
    Completes and fails with its source.

    Args:
        source: The agent: the path of a child, None for the top.

    Raises:
        ProtocolError: as on_error, when the events do not fold, or the source completes with a reply open.
    """

    def operator(events: Observable[AgentEvent]) -> Observable[AssistantMessage]:
        def subscribe(
            observer: abc.ObserverBase[AssistantMessage], scheduler: abc.SchedulerBase | None = None
        ) -> abc.DisposableBase:
            builders: dict[str, MessageBuilder] = {}
            finished: dict[str, int] = {}  # the last number of each reply that has ended for good

            def on_next(event: Any) -> None:
                if event.source != source or not isinstance(event, ReplyEvent):
                    return
                reply_id = event.reply_id
                builder = builders.get(reply_id)
                if builder is None:
                    if reply_id in finished and not _goes_on(event, finished[reply_id]):
                        return
                    builder = MessageBuilder(source=source)
                running = not builder.ended
                try:
                    builder.apply(event)
                    message = builder.message() if running and builder.ended else None
                except ProtocolError as error:
                    observer.on_error(error)
                    return
                if isinstance(event, AgentStartEvent):
                    builders[reply_id] = builder
                if message is not None:
                    if message.generate_reason not in PAUSES:
                        finished[reply_id] = builders.pop(reply_id).last_seq
                    observer.on_next(message)

            def on_completed() -> None:
                still_open = [id for id, builder in builders.items() if not builder.ended]
                if still_open:
                    observer.on_error(
                        ProtocolError(
                            f"the stream completed before AGENT_END of reply {still_open[0]!r}; a source ends with "
                            "AGENT_END, or with an error"
                        )
                    )
                else:
                    observer.on_completed()

            return events.subscribe(on_next, observer.on_error, on_completed, scheduler=scheduler)

        return Observable(subscribe)

    return operator


def _goes_on(event: Any, last_seq: int) -> bool:
    """Whether an event takes up a reply that has ended; a repeat of one that was seen does not."""
    return isinstance(event, AgentStartEvent) and event.resumed and not (event.seq and event.seq <= last_seq)
