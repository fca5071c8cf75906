"""Streams in files: record one, replay it later. One event in native JSON on each line."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator
from contextlib import suppress
from pathlib import Path

from reactivex import Observable, abc
from reactivex.disposable import CompositeDisposable, Disposable

from ..errors import ProtocolError, RemoteProtocolError
from ..event import AgentEvent, decode, encode
from ..operators import Operator
from ..stream import Stream, from_async_iterable

__all__ = ["record", "replay"]


def record(path: str | os.PathLike[str]) -> Operator[AgentEvent, AgentEvent]:
    """Write every event to a file on its way; the file is written anew for each subscription.

    Emits the events of the source, unchanged, each after it was written; completes and fails with its source. The
    file is closed with the subscription, and replays up to the last event that was emitted.
    """

    def operator(source: Observable[AgentEvent]) -> Observable[AgentEvent]:
        def subscribe(
            observer: abc.ObserverBase[AgentEvent], scheduler: abc.SchedulerBase | None = None
        ) -> abc.DisposableBase:
            file = Path(path).open("w", encoding="utf-8", newline="\n")  # noqa: SIM115 - closed with the subscription

            def on_next(event: AgentEvent) -> None:
                try:
                    file.write(encode(event) + "\n")
                except (OSError, ProtocolError) as error:
                    observer.on_error(error)
                    return
                observer.on_next(event)

            def on_error(error: Exception) -> None:
                with suppress(OSError):  # what made the stream fail is what the subscriber must hear of
                    file.close()
                observer.on_error(error)

            def on_completed() -> None:
                try:
                    file.close()  # writes what is left, and the disk may be full
                except OSError as error:
                    observer.on_error(error)
                    return
                observer.on_completed()

            return CompositeDisposable(
                source.subscribe(on_next, on_error, on_completed, scheduler=scheduler), Disposable(file.close)
            )

        return Observable(subscribe)

    return operator


def replay(path: str | os.PathLike[str]) -> Stream[AgentEvent]:
    """Emit the events of a recorded file, in order, for every subscription afresh; at the pace of the consumer.

    Raises:
        RemoteProtocolError: as on_error, for a line that is not an event; the message names the line.
        OSError: as on_error, when the file cannot be read.
    """

    async def events() -> AsyncIterator[AgentEvent]:
        with Path(path).open("rb") as lines:  # noqa: ASYNC230 - a local file, line by line
            for number, line in enumerate(lines, 1):
                if line.strip():
                    try:
                        event = decode(line)
                    except RemoteProtocolError as error:
                        raise RemoteProtocolError(f"line {number} of {Path(path).name}: {error}") from error
                    yield event

    return from_async_iterable(events)
