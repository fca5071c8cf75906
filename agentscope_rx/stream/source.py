"""From an async iterable to a stream."""

from __future__ import annotations

from collections.abc import AsyncIterable, AsyncIterator, Callable
from typing import TypeVar

from reactivex import Observable
from reactivex.abc import DisposableBase, ObserverBase, SchedulerBase

from ..errors import ConfigurationError
from .stream import Stream
from .subscription import TaskSubscription
from .unwind import unwind

__all__ = ["from_async_iterable"]

T = TypeVar("T")


def from_async_iterable(factory: Callable[[], AsyncIterable[T]]) -> Stream[T]:
    """Make a cold stream of what `factory()` yields.

    Every subscription calls the factory and drives what it returns in one task of its own, cleanup included, in a copy
    of the subscriber's contextvars. The next item is pulled when `on_next` has returned and the subscriber's gate is
    open. A dispose from inside `on_next` means that nothing more is pulled; from anywhere else it cancels the task.
    An async generator that is left in the middle sees `asyncio.CancelledError` at its `yield` or `await`.

    Args:
        factory: Returns a new async iterable, such as an async generator function.

    Returns:
        A stream that emits the items in order and then, when the cleanup of the iterable has finished, completes or
        emits the error that the iterable raised. `StreamCancelled` is emitted when somebody else cancelled the task,
        such as the end of the event loop.
    """

    def subscribe(observer: ObserverBase[T], scheduler: SchedulerBase | None = None) -> DisposableBase:
        return _Pump(factory, observer, scheduler).start()

    return Stream(Observable(subscribe))


class _Pump(TaskSubscription[T]):
    def __init__(
        self, factory: Callable[[], AsyncIterable[T]], observer: ObserverBase[T], scheduler: SchedulerBase | None
    ) -> None:
        super().__init__(observer, scheduler)
        self._factory = factory
        self._busy = False

    def _stop(self) -> None:
        if not self._busy:  # with on_next, after which _feed sees that it is disposed; or with leaving
            super()._stop()

    async def _feed(self) -> None:
        on_next, gate = self._observer.on_next, self._scheduler.gate
        iterator = self._iterator()
        try:
            async for item in iterator:
                self._busy = True
                on_next(item)
                self._busy = False
                if self._disposed:
                    break
                if gate.closed:
                    await gate.wait()
        finally:
            self._busy = True
            await unwind(iterator)

    def _iterator(self) -> AsyncIterator[T]:
        iterable: object = self._factory()
        if not isinstance(iterable, AsyncIterable):
            raise ConfigurationError(
                f"from_async_iterable() needs a factory that returns an async iterable, and it returned "
                f"{type(iterable).__name__}; give it an async generator function"
            )
        return aiter(iterable)
