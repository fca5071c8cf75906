"""`stage`: an operator of your own, in the house's manner."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Generic, TypeVar

from reactivex import Observable, abc

from .operator import Operator

__all__ = ["Stage", "stage"]

A = TypeVar("A")
B = TypeVar("B")


class Stage(Generic[A, B]):
    """What an operator does with one subscription; its state lives on the instance.

    Override `on_next`, and `on_completed` if something is held back. Both give what is to be emitted, in order: a list,
    a tuple, or the method is a generator. What they raise goes to the subscriber's `on_error`, and ends the stream.
    """

    def on_next(self, item: A) -> Iterable[B]:
        """Take an item of the source; return what is to be emitted for it, nothing if nothing is."""
        raise NotImplementedError

    def on_completed(self) -> Iterable[B]:
        """Return what is left to be emitted when the source completes."""
        return ()


def stage(make: Callable[[], Stage[A, B]]) -> Operator[A, B]:
    """Make an operator of a `Stage`.

    It keeps the rules of the house: every subscription has an instance of its own, the scheduler is forwarded (and with
    it back-pressure), an error of the source passes through, an error of the stage leaves the source at once, and an
    error of the subscriber is not mistaken for one of the stage.

    Args:
        make: Makes the stage for one subscription: the class, or a function that returns an instance.
    """

    def operator(source: Observable[A]) -> Observable[B]:
        def subscribe(observer: abc.ObserverBase[B], scheduler: abc.SchedulerBase | None = None) -> abc.DisposableBase:
            state = make()

            def emit(give: Callable[[], Iterable[B]]) -> bool:
                try:
                    items = list(give())
                except Exception as error:
                    observer.on_error(error)
                    return False
                for item in items:
                    observer.on_next(item)
                return True

            def on_next(item: A) -> None:
                emit(lambda: state.on_next(item))

            def on_completed() -> None:
                if emit(state.on_completed):
                    observer.on_completed()

            return source.subscribe(on_next, observer.on_error, on_completed, scheduler=scheduler)

        return Observable(subscribe)

    return operator
