"""`decode_sse`: server-sent events as events."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING

from reactivex import Observable, abc

from ..errors import ModelStreamError, ProtocolError, RemoteProtocolError
from ..event import AgentEvent
from ..stream import SSEParser
from .operator import Operator

if TYPE_CHECKING:
    from ..event import Dialect

__all__ = ["decode_sse"]


def decode_sse(dialect: Dialect | None = None) -> Operator[bytes, AgentEvent]:
    """Read the body of a `text/event-stream` response, cut into pieces of any size.

    Emits the events, in order; laws L1 to L3 hold for them whatever the peer's habits are (see `EventReader`).
    Comments, keep-alives and frames without data are skipped. When the source ends, what the stream has left open is
    closed first; then it completes or fails with its source.

    Args:
        dialect: Whose JSON it is; None finds out, from the first event.

    Raises:
        ConfigurationError: at once, when there is no such dialect.
        RemoteProtocolError: as on_error, for a frame that is no event, or is larger than 32 MiB.
    """
    from ..event import EventReader  # loaded when it is used, see event/__init__

    EventReader(dialect)

    def operator(source: Observable[bytes]) -> Observable[AgentEvent]:
        def subscribe(
            observer: abc.ObserverBase[AgentEvent], scheduler: abc.SchedulerBase | None = None
        ) -> abc.DisposableBase:
            parser, reader = SSEParser(), EventReader(dialect)

            def tell(read: Callable[[], Iterable[AgentEvent]]) -> bool:
                """Emit what is read; False when that has failed, and the observer knows."""
                events: list[AgentEvent] = []
                failure: Exception | None = None
                try:
                    events.extend(read())
                except ProtocolError as error:
                    failure = error
                except ModelStreamError as error:
                    failure = RemoteProtocolError(str(error))
                for event in events:
                    observer.on_next(event)
                if failure is not None:
                    observer.on_error(failure)
                return failure is None

            def read_piece(piece: bytes) -> Iterator[AgentEvent]:
                for frame in parser.feed(piece):
                    if frame.data:
                        yield from reader.read(frame.data)

            def read_rest() -> Iterator[AgentEvent]:
                for frame in parser.flush():
                    if frame.data:
                        yield from reader.read(frame.data)
                yield from reader.close()

            def on_next(piece: bytes) -> None:
                tell(lambda: read_piece(piece))

            def end() -> bool:
                return tell(read_rest)

            def on_error(error: Exception) -> None:
                if end():
                    observer.on_error(error)

            def on_completed() -> None:
                if end():
                    observer.on_completed()

            return source.subscribe(on_next, on_error, on_completed, scheduler=scheduler)

        return Observable(subscribe)

    return operator
