"""A stream that lives inside an async context manager."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from typing import Generic, TypeVar

from reactivex import Observable
from reactivex.abc import DisposableBase, ObserverBase, SchedulerBase

from .consumption import Consumption
from .stream import Stream
from .subscription import TaskSubscription

__all__ = ["using_async"]

R = TypeVar("R")
T = TypeVar("T")


def using_async(
    resource: Callable[[], AbstractAsyncContextManager[R]], body: Callable[[R], Observable[T]]
) -> Stream[T]:
    """Make a cold stream that enters `resource()`, emits what `body(value)` emits, and leaves the resource.

    Every subscription has one task that does `async with resource() as value` and waits inside for the end of the body.
    Items are forwarded as they are emitted: there is no queue and no task switch. The resource is left when all
    cleanup of the body has finished, and the subscriber is told of the end when the resource has been left.

    `__aexit__` sees the error of the body, or CancelledError after a dispose. If it suppresses the error, the stream
    completes; if it raises another one, that is emitted (after a dispose: given to the loop's exception handler). A
    dispose interrupts `__aenter__`, but never the cleanup of the body or `__aexit__`.

    Args:
        resource: Returns a new async context manager.
        body: Returns the Observable to run inside it; its scheduler is a child of the subscriber's.

    Returns:
        A stream of the items of the body.
    """

    def subscribe(observer: ObserverBase[T], scheduler: SchedulerBase | None = None) -> DisposableBase:
        return _Scope(resource, body, observer, scheduler).start()

    return Stream(Observable(subscribe))


class _Scope(TaskSubscription[T], Generic[R, T]):
    def __init__(
        self,
        resource: Callable[[], AbstractAsyncContextManager[R]],
        body: Callable[[R], Observable[T]],
        observer: ObserverBase[T],
        scheduler: SchedulerBase | None,
    ) -> None:
        super().__init__(observer, scheduler)
        self._resource = resource
        self._body = body
        self._entered = False
        self._consumption = Consumption[T](self._scheduler.loop, self._scheduler.child())

    def _stop(self) -> None:
        if self._entered:
            self._consumption.stop()
        elif asyncio.current_task() is not self._task:  # else it is `__aenter__` that disposes, and it may finish
            super()._stop()

    async def _feed(self) -> None:
        async with self._resource() as value:
            self._entered = True
            if self._disposed:
                raise asyncio.CancelledError("the stream was disposed")
            await self._consumption.run(self._body(value), self._observer.on_next)
