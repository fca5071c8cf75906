"""The Observable that this package's own API returns: it can also be awaited, iterated and run."""

from __future__ import annotations

from collections.abc import Callable, Generator
from typing import Any, NoReturn, TypeVar, cast, overload

from reactivex import Observable
from reactivex.abc import SchedulerBase

from .blocking import run_blocking
from .consumption import last_value
from .iterate import StreamIterator

__all__ = ["Stream"]

T_co = TypeVar("T_co", covariant=True)
A = TypeVar("A")
B = TypeVar("B")
C = TypeVar("C")
D = TypeVar("D")
E = TypeVar("E")
F = TypeVar("F")
G = TypeVar("G")


class Stream(Observable[T_co]):
    """An Observable that asyncio code can consume.

    ```python
    stream.subscribe(print)                     # Rx: push
    async for event in stream: ...              # asyncio: pull, with back-pressure
    message = await stream                      # the last item
    message = stream.run()                      # the last item, blocking, where there is no loop or even inside one
    stream.pipe(ops.filter(wanted))             # is a Stream again
    ```

    It is as cold or hot as the Observable it wraps.
    """

    def __init__(self, source: Observable[T_co]) -> None:
        """Wrap `source`."""
        super().__init__(source._subscribe_core)  # not subscribe: that would add a hop to every event

    def iterate(self, buffer: int = 64) -> StreamIterator[T_co]:
        """Return an async iterator over the items, which subscribes when the first item is asked for.

        Args:
            buffer: How many items may wait for the consumer before the source is asked to pause.

        Raises:
            ConfigurationError: `buffer` is less than 1.
        """
        return StreamIterator(self, buffer)

    def __aiter__(self) -> StreamIterator[T_co]:
        return self.iterate()

    def __await__(self) -> Generator[Any, None, T_co]:
        """Subscribe and return the last item, or None if there is none, when all cleanup has finished.

        Cancelling the awaiting task disposes the stream, waits for its cleanup and raises CancelledError.
        """
        return cast(Generator[Any, None, T_co], last_value(self).__await__())

    def run(self, scheduler: SchedulerBase | None = None) -> T_co:
        """Subscribe, block until the end and return the last item, or None if there is none.

        Works in any thread, also inside a running event loop (which stands still meanwhile, as in a notebook cell).
        Ctrl-C cancels the stream, waits for its cleanup and raises KeyboardInterrupt.

        Args:
            scheduler: What the sources get instead of a `LoopScheduler`; there is then no waiting for their cleanup.

        Raises:
            SessionBusyError: the stream needs a session that another stream of the loop that stands still has taken.
        """
        return cast(T_co, run_blocking(lambda: last_value(self, scheduler)))

    def __iter__(self) -> NoReturn:
        # Without this method, iter() would fall back on RxPY's __getitem__, which never ends.
        raise TypeError("a Stream is not an iterable: use `async for`, or `.run()` for the last item")

    # Observable.pipe returns whatever the last operator returns; here that is an Observable, and it becomes a Stream.
    # mypy and pyright each want to be told that the narrower type is meant, at different lines.
    @overload  # type: ignore[override]
    def pipe(self, op1: Callable[[Observable[T_co]], Observable[A]], /) -> Stream[A]: ...
    @overload
    def pipe(self, op1: Callable[[Observable[T_co]], A], op2: Callable[[A], Observable[B]], /) -> Stream[B]: ...
    @overload
    def pipe(
        self, op1: Callable[[Observable[T_co]], A], op2: Callable[[A], B], op3: Callable[[B], Observable[C]], /
    ) -> Stream[C]: ...
    @overload
    def pipe(
        self,
        op1: Callable[[Observable[T_co]], A],
        op2: Callable[[A], B],
        op3: Callable[[B], C],
        op4: Callable[[C], Observable[D]],
        /,
    ) -> Stream[D]: ...
    @overload
    def pipe(
        self,
        op1: Callable[[Observable[T_co]], A],
        op2: Callable[[A], B],
        op3: Callable[[B], C],
        op4: Callable[[C], D],
        op5: Callable[[D], Observable[E]],
        /,
    ) -> Stream[E]: ...
    @overload
    def pipe(
        self,
        op1: Callable[[Observable[T_co]], A],
        op2: Callable[[A], B],
        op3: Callable[[B], C],
        op4: Callable[[C], D],
        op5: Callable[[D], E],
        op6: Callable[[E], Observable[F]],
        /,
    ) -> Stream[F]: ...
    @overload
    def pipe(
        self,
        op1: Callable[[Observable[T_co]], A],
        op2: Callable[[A], B],
        op3: Callable[[B], C],
        op4: Callable[[C], D],
        op5: Callable[[D], E],
        op6: Callable[[E], F],
        op7: Callable[[F], Observable[G]],
        /,
    ) -> Stream[G]: ...
    def pipe(self, *operators: Callable[[Any], Any]) -> Any:  # pyright: ignore[reportIncompatibleMethodOverride]
        """Apply operators from left to right; the result is a Stream.

        A result that is more than a plain Observable, such as the ConnectableObservable of `publish`, or that is none,
        is returned as it is.
        """
        result: Any = self
        for operator in operators:
            result = operator(result)
        return Stream(result) if type(result) is Observable else result
