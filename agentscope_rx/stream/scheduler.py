"""The scheduler of one subscription: timed work on an asyncio loop, and what travels upstream with it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, TypeVar

from reactivex.abc import DisposableBase, ScheduledAction, SchedulerBase
from reactivex.disposable import CompositeDisposable, Disposable, SingleAssignmentDisposable
from reactivex.scheduler import CurrentThreadScheduler, NewThreadScheduler
from reactivex.scheduler.periodicscheduler import PeriodicScheduler
from reactivex.typing import AbsoluteTime, RelativeTime

from .gate import Gate
from .loops import call_on, running_loop
from .portal import portal_loop

__all__ = ["LoopScheduler", "home_of", "loop_for"]

S = TypeVar("S")

_NO_CONTEXT: Mapping[str, Any] = MappingProxyType({})


class LoopScheduler(PeriodicScheduler):
    """The scheduler of one subscription.

    Immediate work runs on the trampoline of the calling thread, as RxPY does by default; timed work runs on the
    asyncio loop, in the contextvars of whoever scheduled it. RxPY hands the scheduler of `subscribe` to every source
    upstream, so it also carries what they need to know about the subscriber.
    """

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        gate: Gate | None = None,
        context: Mapping[str, Any] | None = None,
    ) -> None:
        super().__init__()
        self.loop = loop
        """The loop that sources run on."""
        self.gate = Gate() if gate is None else gate
        """The subscriber's demand; always open when nobody bounds the subscription."""
        self.context = _NO_CONTEXT if context is None else context
        """What the subscriber wants its sources to know, by name."""
        self.tasks: set[asyncio.Task[Any]] = set()
        """The tasks of the sources of this subscription; each leaves the set when its cleanup has finished."""
        self.take: Callable[[Exception], bool] = _nobody
        """Takes the error of an operator that failed when it was told of the end, and so did not pass that on; returns
        whether somebody was still waiting for it."""

    def child(self) -> LoopScheduler:
        """Return a scheduler for a part of this subscription: same loop, gate and context, but tasks of its own."""
        part = LoopScheduler(self.loop, self.gate, self.context)
        part.take = self.take
        return part

    def with_gate(self, gate: Gate) -> LoopScheduler:
        """Return a scheduler for the sources of this subscription that pauses them by another gate."""
        gated = LoopScheduler(self.loop, gate, self.context)
        gated.tasks, gated.take = self.tasks, self.take
        return gated

    def with_take(self, take: Callable[[Exception], bool]) -> LoopScheduler:
        """Return a scheduler for the sources of this subscription that gives unheard errors to `take`."""
        taking = self.with_gate(self.gate)
        taking.take = take
        return taking

    async def joined(self) -> None:
        """Wait, on the loop, until every source of this subscription has finished its cleanup.

        If the waiting task is cancelled for the first time, the wait goes on and the cancellation is raised after it;
        a second one ends the wait at once.
        """
        this = asyncio.current_task()
        cancelled: asyncio.CancelledError | None = None
        while rest := [task for task in self.tasks if task is not this]:
            try:
                await asyncio.wait(rest)
            except asyncio.CancelledError as error:
                if this is None or this.cancelling() > 1:
                    raise
                cancelled = error
        if cancelled is not None:
            raise cancelled

    def schedule(self, action: ScheduledAction[S], state: S | None = None) -> DisposableBase:
        """Run `action` on the trampoline of this thread."""
        # The action gets *this* scheduler: operators such as expand() pass on the one they are called with.
        return CurrentThreadScheduler.singleton().schedule(lambda _, state: action(self, state), state)

    def schedule_relative(
        self, duetime: RelativeTime, action: ScheduledAction[S], state: S | None = None
    ) -> DisposableBase:
        """Run `action` on the loop after `duetime` (seconds or a timedelta)."""
        seconds = max(0.0, self.to_seconds(duetime))
        result = SingleAssignmentDisposable()
        timer: asyncio.TimerHandle | None = None

        def fire() -> None:
            result.disposable = self.invoke_action(action, state=state)

        def arm() -> None:
            nonlocal timer
            if not result.is_disposed:
                timer = self.loop.call_later(seconds, fire)

        def disarm() -> None:
            if timer is not None:
                timer.cancel()

        def cancel() -> None:
            call_on(self.loop, disarm)

        call_on(self.loop, arm)
        return CompositeDisposable(result, Disposable(cancel))

    def schedule_absolute(
        self, duetime: AbsoluteTime, action: ScheduledAction[S], state: S | None = None
    ) -> DisposableBase:
        """Run `action` on the loop at `duetime` (a datetime, or seconds since the epoch)."""
        return self.schedule_relative(self.to_datetime(duetime) - self.now, action, state)


def _nobody(error: Exception) -> bool:
    return False


def home_of(scheduler: SchedulerBase | None) -> asyncio.AbstractEventLoop | None:
    """Return the loop of whoever subscribes here with this scheduler, None when there is none."""
    if isinstance(scheduler, LoopScheduler):
        return scheduler.loop
    if isinstance(scheduler, NewThreadScheduler):  # RxPY's own run() is about to block this thread
        return portal_loop()
    return running_loop()


def loop_for(scheduler: SchedulerBase | None) -> asyncio.AbstractEventLoop:
    """Return the loop that a source runs on: that of a `LoopScheduler`, else the running one, else the portal's."""
    return home_of(scheduler) or portal_loop()
