"""A subscription that one asyncio task feeds."""

from __future__ import annotations

import asyncio
from abc import abstractmethod
from typing import Generic, Self, TypeVar

from reactivex.abc import DisposableBase, ObserverBase, SchedulerBase

from .attach import as_error
from .loops import call_on, on_loop, report
from .scheduler import LoopScheduler, loop_for

__all__ = ["TaskSubscription"]

T = TypeVar("T")

_alive: dict[asyncio.AbstractEventLoop, set[asyncio.Task[None]]] = {}
"""The tasks of all subscriptions, by their loop: asyncio itself keeps only weak references."""


def _keep(task: asyncio.Task[None]) -> None:
    """Keep a task until it has ended, or its loop has been closed over it."""
    loop = task.get_loop()
    if loop not in _alive:
        for closed in [other for other in tuple(_alive) if other.is_closed()]:
            _alive.pop(closed, None)
        _alive[loop] = set()
    _alive[loop].add(task)
    task.add_done_callback(_let_go)


def _let_go(task: asyncio.Task[None]) -> None:
    loop = task.get_loop()
    _alive[loop].remove(task)
    if not _alive[loop]:
        del _alive[loop]


class TaskSubscription(DisposableBase, Generic[T]):
    """One task that feeds one observer, and tells it of the end when all cleanup has finished.

    The task runs in a copy of the subscriber's contextvars, on the loop of the subscriber's scheduler. Exactly one
    end is told, unless the subscriber has disposed: completed, the error that `_feed` raised, or `StreamCancelled`
    when somebody else cancelled the task, which may be before it ran at all.
    """

    def __init__(self, observer: ObserverBase[T], scheduler: SchedulerBase | None) -> None:
        self._observer = observer
        self._scheduler = scheduler if isinstance(scheduler, LoopScheduler) else LoopScheduler(loop_for(scheduler))
        self._disposed = False
        self._told = False
        self._task: asyncio.Task[None] | None = None

    def start(self) -> Self:
        """Start the task; returns the subscription."""
        if on_loop(self._scheduler.loop):
            self._start()
        else:
            self._scheduler.loop.call_soon_threadsafe(self._start)
        return self

    @abstractmethod
    async def _feed(self) -> None:
        """Emit every item and clean up; what goes wrong is raised."""

    def _stop(self) -> None:
        """Make the task leave, after a dispose; called on the loop."""
        if self._task is not None and not self._task.cancelling():  # else it leaves already; do not disturb that
            self._task.cancel()

    def dispose(self) -> None:
        """Stop emitting at once and let the task clean up; any thread may call this, and again."""
        if not self._disposed:
            self._disposed = True
            call_on(self._scheduler.loop, self._stop)

    def _start(self) -> None:
        if self._disposed:
            return
        task = self._scheduler.loop.create_task(self._main())
        self._task = task
        _keep(task)
        self._scheduler.tasks.add(task)
        task.add_done_callback(self._scheduler.tasks.discard)
        task.add_done_callback(self._ended)

    async def _main(self) -> None:
        try:
            await self._feed()
        except Exception as error:
            self._tell(error)
        else:
            self._tell(None)

    def _ended(self, task: asyncio.Task[None]) -> None:
        error = None if task.cancelled() else task.exception()
        if not self._told and not (self._disposed and error is None):
            self._tell(as_error(error or asyncio.CancelledError()))

    def _tell(self, error: Exception | None) -> None:
        self._told = True
        if self._disposed:
            if error is not None:
                report(self._scheduler.loop, "error in a stream after it was disposed", error)
            return
        try:
            if error is None:
                self._observer.on_completed()
            else:
                self._observer.on_error(error)
        except Exception as unheard:  # no on_error callback was given, or a callback itself failed
            if not self._scheduler.take(unheard):
                report(self._scheduler.loop, "error in a stream that its subscriber does not handle", unheard)
