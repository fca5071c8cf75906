"""`stall_timeout`: give up on a model that has fallen silent."""

from __future__ import annotations

from typing import Any

from reactivex import Observable, abc
from reactivex.disposable import CompositeDisposable, SerialDisposable, SingleAssignmentDisposable

from ..errors import ConfigurationError, ModelStallError
from ..event import AgentEvent, ModelCallEndEvent, ModelCallStartEvent
from ..event.lifecycle import BLOCKS, STEPS, Phase
from ..stream import LoopScheduler, attach, loop_for
from .operator import Operator

__all__ = ["stall_timeout"]

_CONTENT = {cls for cls, step in STEPS.items() if step.part in BLOCKS and step.phase is Phase.DELTA}


def stall_timeout(seconds: float) -> Operator[AgentEvent, AgentEvent]:
    """Fail when a model call goes `seconds` without content.

    Emits the events of the source, unchanged. The clock runs within model calls of the top agent, from its start and
    from every delta on; it stands still outside of them, and while the consumer has asked the source to pause. One
    timer serves a whole model call, however many deltas it has. Completes and fails with its source.

    Raises:
        ConfigurationError: `seconds` is not positive.
        ModelStallError: as on_error, when the time has passed; the source is disposed.
    """
    if not seconds > 0:
        raise ConfigurationError(f"stall_timeout takes a positive number of seconds: got {seconds}")

    def operator(source: Observable[AgentEvent]) -> Observable[AgentEvent]:
        def subscribe(
            observer: abc.ObserverBase[AgentEvent], scheduler: abc.SchedulerBase | None = None
        ) -> abc.DisposableBase:
            clock = scheduler or LoopScheduler(loop_for(None))
            gate = clock.gate if isinstance(clock, LoopScheduler) else None
            timer, upstream = SerialDisposable(), SingleAssignmentDisposable()
            last_content = clock.now

            def arm(delay: float) -> None:
                timer.disposable = clock.schedule_relative(delay, check)

            def check(*_: Any) -> None:
                nonlocal last_content
                if gate is not None and gate.closed:
                    last_content = clock.now
                left = seconds - (clock.now - last_content).total_seconds()
                if left > 0:
                    arm(left)
                    return
                upstream.dispose()
                observer.on_error(
                    ModelStallError(f"no content came from the model for {seconds:g} seconds", seconds=seconds)
                )

            def on_next(event: Any) -> None:
                nonlocal last_content
                if type(event) in _CONTENT:
                    last_content = clock.now
                elif event.source is None and isinstance(event, ModelCallStartEvent):
                    last_content = clock.now
                    arm(seconds)
                elif event.source is None and isinstance(event, ModelCallEndEvent):
                    timer.disposable = None
                observer.on_next(event)

            attach(upstream, source, on_next, observer.on_error, observer.on_completed, scheduler)
            return CompositeDisposable(upstream, timer)

        return Observable(subscribe)

    return operator
