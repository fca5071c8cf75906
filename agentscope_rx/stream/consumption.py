"""A subscription that a coroutine waits for."""

from __future__ import annotations

import asyncio
from typing import Generic, TypeVar

from reactivex import Observable
from reactivex.abc import SchedulerBase
from reactivex.disposable import SingleAssignmentDisposable
from reactivex.typing import OnNext

from .attach import attach
from .loops import on_loop, wake
from .scheduler import LoopScheduler

__all__ = ["Consumption", "last_value"]

T = TypeVar("T")


class Consumption(Generic[T]):
    """One subscription whose end, cleanup included, a coroutine waits for. Notifications may come from any thread."""

    def __init__(self, loop: asyncio.AbstractEventLoop, scheduler: SchedulerBase) -> None:
        """Prepare a subscription with `scheduler`, which a task of `loop` will wait for."""
        self._scheduler = scheduler.with_take(self._take) if isinstance(scheduler, LoopScheduler) else scheduler
        self._subscription = SingleAssignmentDisposable()
        self._end: asyncio.Future[None] = loop.create_future()
        self._settled = False
        self._error: BaseException | None = None

    async def run(self, source: Observable[T], on_next: OnNext[T]) -> None:
        """Subscribe, wait for the end and for the cleanup, and raise the error; disposes the source if cancelled."""
        try:
            attach(self._subscription, source, on_next, self._settle, self._settle, self._scheduler)
            await self._end
        finally:
            self._subscription.dispose()
            if isinstance(self._scheduler, LoopScheduler) and on_loop(self._scheduler.loop):
                await self._scheduler.joined()
        if self._error is not None:
            raise self._error

    def stop(self) -> None:
        """Dispose the source at once; `run` then raises CancelledError, when the cleanup has finished."""
        self._subscription.dispose()
        self._settle(asyncio.CancelledError("the stream was disposed"))

    def _take(self, error: Exception) -> bool:
        """Hear of an operator on the way that failed when it was told of the end, and so did not tell of it."""
        if self._settled:
            return False
        self._settle(error)
        return True

    def _settle(self, error: BaseException | None = None) -> None:
        # The future holds no error: it would refuse a StopIteration, and the waiter would never wake.
        if not self._settled:
            self._settled = True
            self._error = error
            wake(self._end)


async def last_value(source: Observable[T], scheduler: SchedulerBase | None = None) -> T | None:
    """Subscribe to `source` and return its last item, None if it has none, when all cleanup has finished."""
    loop = asyncio.get_running_loop()
    last: T | None = None

    def keep(item: T) -> None:
        nonlocal last
        last = item

    await Consumption[T](loop, scheduler or LoopScheduler(loop)).run(source, keep)
    return last
