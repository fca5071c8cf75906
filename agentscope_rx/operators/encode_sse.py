"""`encode_sse`: events as server-sent events."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from reactivex import Observable, abc

from ..errors import ProtocolError
from ..event import AgentEvent
from .operator import Operator

if TYPE_CHECKING:
    from ..event import Dialect

__all__ = ["encode_sse"]


def encode_sse(
    dialect: Dialect = "native", cursor: Callable[[AgentEvent], str | None] | None = None
) -> Operator[AgentEvent, bytes]:
    """Write a stream as the body of a `text/event-stream` response.

    Emits one frame for each JSON object that the dialect has for an event, in order: an `id:` line when the event has a
    cursor, one `data:` line with the JSON, and a blank line. There is no `event:` line, because a browser's
    `EventSource` would then not hand the frame to `onmessage`. Completes and fails with its source.

    Args:
        dialect: Whose JSON to write.
        cursor: Where a client that reconnects would go on after an event; its number by default, no `id:` when None.

    Raises:
        ConfigurationError: at once, when there is no such dialect.
        LocalProtocolError: as on_error, when an event holds what JSON cannot.
    """
    from ..event import EventWriter  # loaded when it is used, see event/__init__

    EventWriter(dialect)

    def operator(source: Observable[AgentEvent]) -> Observable[bytes]:
        def subscribe(
            observer: abc.ObserverBase[bytes], scheduler: abc.SchedulerBase | None = None
        ) -> abc.DisposableBase:
            writer = EventWriter(dialect)

            def on_next(event: AgentEvent) -> None:
                try:
                    frames = [f"data: {json}\n\n" for json in writer.write(event)]
                except ProtocolError as error:
                    observer.on_error(error)
                    return
                position = _number(event) if cursor is None else cursor(event)
                if position is not None:
                    frames[-1] = f"id: {position}\n{frames[-1]}"
                for frame in frames:
                    observer.on_next(frame.encode())

            return source.subscribe(on_next, observer.on_error, observer.on_completed, scheduler=scheduler)

        return Observable(subscribe)

    return operator


def _number(event: AgentEvent) -> str | None:
    return str(event.seq) if event.seq and event.source is None else None
