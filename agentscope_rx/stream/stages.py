"""A generator of stages, run as one stream."""

from __future__ import annotations

import asyncio
import contextvars
import threading
from collections.abc import AsyncIterator, Callable, Generator
from contextlib import suppress
from typing import Any, Generic, TypeAlias, TypeVar

from reactivex import Observable
from reactivex.abc import DisposableBase, ObserverBase, SchedulerBase
from reactivex.disposable import Disposable, SerialDisposable, SingleAssignmentDisposable
from reactivex.scheduler import CurrentThreadScheduler
from reactivex.typing import OnCompleted, OnNext

from .attach import as_error, attach
from .gate import Gate
from .loops import call_on, report
from .portal import portal_loop
from .scheduler import LoopScheduler, home_of
from .source import from_async_iterable
from .stream import Stream

__all__ = ["StageCut", "concat_stages"]

T = TypeVar("T")

_Step: TypeAlias = tuple[Callable[[Any], Any], Any]
"""How to make the generator go on: its `send` or its `throw`, and with what."""


class StageCut:
    """Cuts one run of stages short, from outside: the live stage is disposed and an error thrown into the generator.

    It works once, from any thread, and never inside an `on_next`. A cut that comes before the run has started does
    nothing by itself: the generator finds its error here.
    """

    def __init__(self) -> None:
        self.error: Exception | None = None
        """The error that was thrown, None while there was no cut."""
        self.early = False
        """Whether it was thrown before the run had started."""
        self.armed = True
        """Whether the run can still be cut short."""
        self._run: _Stages[Any] | None = None
        self._lock = threading.Lock()

    def disarm(self) -> None:
        """Let the run come to its end; the generator calls this when it is too late for a cut."""
        self.armed = False

    def throw(self, error: Exception) -> bool:
        """Cut the run short; returns False, and does nothing, when that was done before or is too late."""
        with self._lock:
            if self.error is not None or not self.armed:
                return False
            self.error = error
            run = self._run
        if run is not None:
            run.cut_short(self, error)
        return True

    def _watch(self, run: _Stages[Any]) -> None:
        with self._lock:
            self._run, self.early = run, self.error is not None


def concat_stages(make_generator: Callable[[], Generator[Any, Any, Any]], cut: StageCut | None = None) -> Stream[Any]:
    """Make a cold stream from a generator of stages.

    ```python
    def stages():
        yield Started()                     # any other value is emitted as it is
        last = yield reasoning()            # an Observable is run to its end; its last item is sent back
        try:
            yield acting(last)
        except ToolError:                   # its error is thrown in
            yield Failed()
    ```

    One stage is alive at a time. It starts in a copy of the contextvars that the generator runs in, which is itself a
    copy of the subscriber's, and not in those of the stage before. Before the generator goes on, the subscriber's gate
    must be open. However many stages finish at once, the stack stays flat.

    The stream completes when the generator returns, and emits the error that the generator raises. An error that the
    subscriber raises in `on_next` ends the stream; the generator does not see it. On dispose the live stage is
    disposed and the generator closed.

    Args:
        make_generator: Returns a new generator, such as a generator function; called once per subscription.
        cut: What can cut the run short; a stream with one has one subscription.

    Returns:
        A stream of everything that the stages emit, in order.
    """

    def subscribe(observer: ObserverBase[Any], scheduler: SchedulerBase | None = None) -> DisposableBase:
        run = _Stages(make_generator(), observer, scheduler)
        if cut is not None:
            cut._watch(run)
        return run.start()

    return Stream(Observable(subscribe))


class _Stages(DisposableBase, Generic[T]):
    """One run of a generator.

    Whoever posts a step while nobody drives becomes the driver; a stage that ends while it is being started finds a
    driver and leaves its step for it. That makes a loop of what would be a recursion.
    """

    def __init__(
        self, generator: Generator[Any, Any, Any], observer: ObserverBase[T], scheduler: SchedulerBase | None
    ) -> None:
        self._generator = generator
        self._observer = observer
        self._take_further: Callable[[Exception], bool] = lambda error: False
        self._scheduler = scheduler
        if isinstance(scheduler, LoopScheduler):
            self._take_further, self._scheduler = scheduler.take, scheduler.with_take(self._take)
        self._loop: asyncio.AbstractEventLoop | None = None  # where the generator has run last
        self._gate = scheduler.gate if isinstance(scheduler, LoopScheduler) else Gate()
        self._context = contextvars.copy_context()
        self._stage = SerialDisposable()
        self._lock = threading.Lock()
        self._step: _Step | None = None
        self._driving = False
        self._done = False
        self._disposed = False
        self._error: Exception | None = None

    def start(self) -> DisposableBase:
        """Begin, when the subscriber has got its subscription; returns that."""
        first = (self._generator.send, None)
        CurrentThreadScheduler.singleton().schedule(lambda *_: self._post(first))
        return self

    def cut_short(self, cut: StageCut, error: Exception) -> None:
        """Dispose the live stage and throw into the generator, soon, in the thread of the stream."""
        with suppress(RuntimeError):  # the loop is closed, and the run has ended with it
            self._home().call_soon_threadsafe(self._cut_short, cut, error)

    def _cut_short(self, cut: StageCut, error: Exception) -> None:
        if cut.armed and not self._done:
            self._stage.disposable = Disposable()
            self._post((self._generator.throw, error))

    def dispose(self) -> None:
        """Dispose the live stage at once and close the generator, in the thread of the stream."""
        self._disposed = True
        self._stage.dispose()
        if self._must_close(None):
            if self._loop is None:
                self._close()
            else:
                call_on(self._loop, self._close)

    def _home(self) -> asyncio.AbstractEventLoop:
        return self._loop or portal_loop()

    def _post(self, step: _Step) -> None:
        with self._lock:
            self._step = step
            if self._driving or self._done:
                return
            self._driving = True
        self._loop = home_of(self._scheduler)
        rested = False
        try:
            while not (self._done or rested):
                self._context.run(self._drive)
                rested = self._rest()
        except BaseException as error:
            self._must_close(as_error(error))
            raise
        finally:
            if not rested:
                self._close()

    def _rest(self) -> bool:
        """Stop driving, unless there is something left to do; returns whether it did."""
        with self._lock:
            if self._done or self._step is not None:
                return False
            self._driving = False
            return True

    def _drive(self) -> None:
        send = self._generator.send
        while not self._done and (step := self._step) is not None:
            self._step = None
            if self._gate.closed:
                self._wait(step)
                continue
            go_on, value = step
            try:
                stage = go_on(value)
            except StopIteration:
                self._end()
            except (Exception, asyncio.CancelledError) as error:
                self._end(as_error(error))
            else:
                if isinstance(stage, Observable):
                    self._run(stage)
                else:
                    self._emit(stage)
                    self._step = (send, None)

    def _wait(self, step: _Step) -> None:
        """Take the step when the gate is open."""

        async def opened() -> AsyncIterator[Any]:
            await self._gate.wait()
            return
            yield

        self._attach(from_async_iterable(opened), lambda _: None, lambda: self._post(step))

    def _run(self, stage: Observable[T]) -> None:
        on_next = self._observer.on_next
        last: T | None = None

        def forward(item: T) -> None:
            nonlocal last
            last = item
            try:
                on_next(item)
            except Exception as error:
                self._end(error)

        def completed() -> None:
            try:
                self._stage.disposable = Disposable()
            except Exception as error:  # the cleanup of an operator failed
                self._throw(error)
            else:
                self._post((self._generator.send, last))

        self._attach(stage, forward, completed)

    def _emit(self, item: T) -> None:
        try:
            self._observer.on_next(item)
        except Exception as error:
            self._end(error)

    def _attach(self, stage: Observable[T], on_next: OnNext[T], on_completed: OnCompleted) -> None:
        slot = SingleAssignmentDisposable()
        self._stage.disposable = slot
        self._context.copy().run(attach, slot, stage, on_next, self._throw, on_completed, self._scheduler)

    def _throw(self, error: Exception) -> None:
        self._post((self._generator.throw, error))

    def _take(self, error: Exception) -> bool:
        """Hear of an operator in the live stage that failed when it was told of the end: nothing more comes of it."""
        if self._done:
            return self._take_further(error)
        self._throw(error)
        return True

    def _end(self, error: Exception | None = None) -> None:
        if self._must_close(error):
            self._close()

    def _must_close(self, error: Exception | None) -> bool:
        """Make this the end, unless it is over; a driver closes by itself, when the generator has come to rest."""
        with self._lock:
            if self._done:
                return False
            self._done, self._error = True, error
            return not self._driving

    def _close(self) -> None:
        for clean_up in (self._stage.dispose, lambda: self._context.run(self._generator.close)):
            try:
                clean_up()
            except Exception as error:
                self._error = self._error or error
        if self._disposed:
            if self._error is not None:
                report(self._home(), "error in a stream after it was disposed", self._error)
        elif self._error is None:
            self._observer.on_completed()
        else:
            self._observer.on_error(self._error)
