"""An asynchronous step in the middle of a pipe."""

from __future__ import annotations

from collections.abc import AsyncIterable, AsyncIterator, Callable
from typing import TypeVar

from reactivex import Observable
from reactivex.abc import DisposableBase, ObserverBase, SchedulerBase

from .iterate import StreamIterator
from .scheduler import LoopScheduler
from .scope import using_async
from .source import from_async_iterable
from .stream import Stream

__all__ = ["through"]

A = TypeVar("A")
B = TypeVar("B")


def through(
    step: Callable[[AsyncIterator[A]], AsyncIterable[B]], buffer: int = 16
) -> Callable[[Observable[A]], Stream[B]]:
    """Make an operator of an async generator function that takes an async iterator.

    ```python
    async def translated(texts):
        async for text in texts:
            yield await translate(text)

    stream.pipe(through(translated))
    ```

    It is bounded on both sides: at most `buffer` items wait in front of the step, and the step is not asked for the
    next item while the subscriber's gate is closed. On dispose the step is left first, then the source.

    Args:
        step: Takes the items of the source and returns an async iterable; called once per subscription.
        buffer: How many items may wait for the step before the source is asked to pause.

    Returns:
        An operator whose stream emits what the step yields; an error of the source is raised inside the step.
    """

    def operator(source: Observable[A]) -> Stream[B]:
        def subscribe(observer: ObserverBase[B], scheduler: SchedulerBase | None = None) -> DisposableBase:
            context = scheduler.context if isinstance(scheduler, LoopScheduler) else None
            stream = using_async(
                lambda: StreamIterator(source, buffer, context),
                lambda items: from_async_iterable(lambda: step(items)),
            )
            return stream.subscribe(observer, scheduler=scheduler)

        return Stream(Observable(subscribe))

    return operator
