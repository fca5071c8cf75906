"""`stage`: an operator of your own, in the house's manner."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Generic, TypeVar

from pydantic import BaseModel
from reactivex import Observable, abc
from reactivex.disposable import CompositeDisposable, Disposable

from ..errors import ConfigurationError
from .operator import Operator

__all__ = ["Stage", "stage"]

A = TypeVar("A")
B = TypeVar("B")


class Stage(Generic[A, B]):
    """What an operator does with one subscription; its state lives on the instance.

    Override `on_next`, `on_completed` if something is held back, and `dispose` if something must be released. The first
    two give what is to be emitted, in order: a list, a tuple, or the method is a generator. What they raise goes to the
    subscriber's `on_error`, after what they gave before, and ends the stream.
    """

    def on_next(self, item: A, /) -> Iterable[B]:
        """Take an item of the source; return what is to be emitted for it, nothing if nothing is."""
        raise NotImplementedError(f"{type(self).__name__} has no method on_next(self, item)")

    def on_completed(self) -> Iterable[B]:
        """Return what is left to be emitted when the source completes."""
        return ()

    def dispose(self) -> None:
        """Release what is held: called once, after a completion, an error or a dispose."""


def stage(make: Callable[[], Stage[A, B]]) -> Operator[A, B]:
    """Make an operator of a `Stage`.

    It keeps the rules of the house: every subscription has an instance of its own, the scheduler is forwarded (and with
    it back-pressure), an error of the source passes through, an error of the stage leaves the source at once, and an
    error of the subscriber is not mistaken for one of the stage.

    Args:
        make: Makes the stage for one subscription: the class, or a function that returns an instance.

    Raises:
        ConfigurationError: at once, when `make` cannot make one; as on_error, when a method gives no iterable of items.
    """
    if not callable(make):
        raise ConfigurationError(
            f"stage() takes the class, or a function that makes an instance: got {type(make).__name__}"
        )

    def operator(source: Observable[A]) -> Observable[B]:
        def subscribe(observer: abc.ObserverBase[B], scheduler: abc.SchedulerBase | None = None) -> abc.DisposableBase:
            state = make()

            def emit(method: str, *item: A) -> bool:
                items: list[B] = []
                failure: Exception | None = None
                try:
                    items.extend(_iterable(getattr(state, method)(*item), state, method))
                except Exception as error:
                    failure = error
                for given in items:
                    observer.on_next(given)
                if failure is not None:
                    observer.on_error(failure)
                return failure is None

            def on_next(item: A) -> None:
                emit("on_next", item)

            def on_completed() -> None:
                if emit("on_completed"):
                    observer.on_completed()

            subscription = source.subscribe(on_next, observer.on_error, on_completed, scheduler=scheduler)
            return CompositeDisposable(subscription, Disposable(state.dispose))

        return Observable(subscribe)

    return operator


def _iterable(given: Any, state: Stage[Any, Any], method: str) -> Iterable[Any]:
    """A model can be iterated over too, by its fields: an event that is returned must not become a heap of pairs."""
    if isinstance(given, str | bytes | BaseModel) or not isinstance(given, Iterable):
        raise ConfigurationError(
            f"{type(state).__name__}.{method} gives an iterable of items (yield them, or return a list): got "
            f"{type(given).__name__}"
        )
    return given
