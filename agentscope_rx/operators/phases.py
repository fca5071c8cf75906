"""Phases: the stretches of a stream that belong to one stage of the agent.

A phase kind looks at the events in order and says of each whether it begins, belongs to or ends a phase. `in_phases`
applies an operator to every phase of a kind, in place: what comes before and after is untouched, and keeps its order.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Hashable
from typing import Any, NamedTuple, Protocol

from reactivex import Observable, abc
from reactivex.disposable import CompositeDisposable, Disposable, SingleAssignmentDisposable

from ..errors import BufferOverflowError
from ..event import (
    AgentEndEvent,
    AgentEvent,
    AgentStartEvent,
    AllToolsDeniedEvent,
    CustomEvent,
    ModelCallEndEvent,
    ModelCallStartEvent,
    RequestStopEvent,
    RequireExternalExecutionEvent,
    RequireUserConfirmEvent,
    SubagentExposedEvent,
    ToolResultDataDeltaEvent,
    ToolResultEndEvent,
    ToolResultStartEvent,
    ToolResultTextDeltaEvent,
)
from ..stream import Gate, JointGate, LoopScheduler, attach
from .operator import Operator

__all__ = [
    "ActingPhases",
    "AgentPhases",
    "ModelCallPhases",
    "Move",
    "PhaseKind",
    "ReasoningPhases",
    "ToolCallPhases",
    "in_phases",
]

_LIMIT = 64
_SLACK = 1024


class Move(NamedTuple):
    """What one event does to the phases of a kind."""

    key: Hashable | None = None
    """The phase that it belongs to, None for none."""
    begins: bool = False
    """Whether it is the first of its phase."""
    ends: bool = False
    """Whether it is the last of its phase."""
    closes: bool = False
    """Whether the phase that is open is over before it."""


_OUTSIDE = Move()
_AFTER = Move(closes=True)


class PhaseKind(Protocol):
    """Follows one stream."""

    def move(self, event: Any) -> Move:
        """Say what the next event does."""
        ...


class AgentPhases:
    """AGENT_START to AGENT_END of one run of the top agent, with everything in between."""

    def __init__(self) -> None:
        self._open = False

    def move(self, event: Any) -> Move:
        """Say what the next event does."""
        if event.source is None and isinstance(event, AgentStartEvent):
            self._open = True
            return Move("run", begins=True)
        if not self._open:
            return _OUTSIDE
        if event.source is None and isinstance(event, AgentEndEvent):
            self._open = False
            return Move("run", ends=True)
        return Move("run")


class ModelCallPhases:
    """MODEL_CALL_START to MODEL_CALL_END of one model call, with everything in between."""

    def __init__(self) -> None:
        self._open: str | None = None

    def move(self, event: Any) -> Move:
        """Say what the next event does."""
        if event.source is None and isinstance(event, ModelCallStartEvent):
            self._open = event.model_call_id
            return Move(self._open, begins=True)
        if self._open is None:
            return _OUTSIDE
        key = self._open
        if event.source is None and isinstance(event, ModelCallEndEvent):
            self._open = None
            return Move(key, ends=True)
        return Move(key)


class ReasoningPhases:
    """The first MODEL_CALL_START to the last MODEL_CALL_END of one iteration, with everything in between.

    That a MODEL_CALL_END was the last one shows only when the next event comes.
    """

    def __init__(self) -> None:
        self._iteration: int | None = None
        self._between_calls = False

    def move(self, event: Any) -> Move:
        """Say what the next event does."""
        if event.source is None and isinstance(event, ModelCallStartEvent):
            continues = event.iteration == self._iteration
            self._iteration, self._between_calls = event.iteration, False
            return Move(self._iteration, begins=not continues, closes=not continues)
        if self._iteration is None:
            return _OUTSIDE
        if self._between_calls:
            self._iteration = None
            return _AFTER
        self._between_calls = event.source is None and isinstance(event, ModelCallEndEvent)
        return Move(self._iteration)


_ACTING = (
    ToolResultStartEvent,
    ToolResultTextDeltaEvent,
    ToolResultDataDeltaEvent,
    ToolResultEndEvent,
    RequireUserConfirmEvent,
    RequireExternalExecutionEvent,
    AllToolsDeniedEvent,
)
_WHILE_ACTING = (*_ACTING, CustomEvent, RequestStopEvent, SubagentExposedEvent)


class ActingPhases:
    """The first event of acting until the next that is none: results, requests, and what tools say meanwhile."""

    def __init__(self) -> None:
        self._open = False

    def move(self, event: Any) -> Move:
        """Say what the next event does."""
        if not self._open:
            if event.source is not None or not isinstance(event, _ACTING):
                return _OUTSIDE
            self._open = True
            return Move("acting", begins=True)
        if event.source is not None or isinstance(event, _WHILE_ACTING):
            return Move("acting")
        self._open = False
        return _AFTER


class ToolCallPhases:
    """TOOL_RESULT_START to TOOL_RESULT_END of one call; parallel calls are phases side by side."""

    def __init__(self) -> None:
        self._open: set[str] = set()

    def move(self, event: Any) -> Move:
        """Say what the next event does."""
        key = getattr(event, "tool_call_id", None)
        if event.source is not None or key is None:
            return _OUTSIDE
        if isinstance(event, ToolResultStartEvent):
            self._open.add(key)
            return Move(key, begins=True)
        if key not in self._open:
            return _OUTSIDE
        if isinstance(event, ToolResultEndEvent):
            self._open.remove(key)
            return Move(key, ends=True)
        return Move(key)


def in_phases(
    kind: Callable[[], PhaseKind], operator: Operator[AgentEvent, AgentEvent]
) -> Operator[AgentEvent, AgentEvent]:
    """Apply an operator to every phase of a kind, in place.

    Emits the events outside of phases as they are, and in the place of each phase what the operator makes of it. Each
    phase is a subscription of its own. What comes after a phase waits until its operator has completed; when more
    than 64 events wait, the source is paused. An error of the source reaches the operators of the open phases first,
    and then ends the stream; an error of an operator ends the stream.

    Args:
        kind: Makes what finds the phases, for each subscription anew.
        operator: The operator.
    """

    def apply(source: Observable[AgentEvent]) -> Observable[AgentEvent]:
        def subscribe(
            observer: abc.ObserverBase[AgentEvent], scheduler: abc.SchedulerBase | None = None
        ) -> abc.DisposableBase:
            return _Run(kind(), operator, observer, scheduler).start(source)

        return Observable(subscribe)

    return apply


class _Feed:
    """The events of one phase, on their way into its operator; none is lost before it has subscribed."""

    def __init__(self) -> None:
        self._early: list[Any] = []
        self._taken = False
        self._observers: list[abc.ObserverBase[Any]] = []
        self._end: Callable[[abc.ObserverBase[Any]], None] | None = None

    def subscribe(
        self, observer: abc.ObserverBase[Any], scheduler: abc.SchedulerBase | None = None
    ) -> abc.DisposableBase:
        early, self._early, self._taken = self._early, [], True
        self._observers.append(observer)
        for event in early:
            observer.on_next(event)
        if self._end is not None:
            self._end(observer)
        return Disposable(lambda: self._leave(observer))

    def push(self, event: Any) -> None:
        if not self._taken:
            self._early.append(event)
        for observer in tuple(self._observers):
            observer.on_next(event)

    def end(self, error: Exception | None) -> None:
        self._end = lambda observer: observer.on_completed() if error is None else observer.on_error(error)
        for observer in tuple(self._observers):
            self._end(observer)

    def _leave(self, observer: abc.ObserverBase[Any]) -> None:
        if observer in self._observers:
            self._observers.remove(observer)


class _Phase:
    """One phase: its way in, and whether its operator has completed."""

    def __init__(self) -> None:
        self.feed = _Feed()
        self.done = False
        self.subscription = SingleAssignmentDisposable()


class _Run:
    """One subscription."""

    def __init__(
        self,
        kind: PhaseKind,
        operator: Operator[AgentEvent, AgentEvent],
        observer: abc.ObserverBase[AgentEvent],
        scheduler: abc.SchedulerBase | None,
    ) -> None:
        self._kind = kind
        self._operator = operator
        self._observer = observer
        self._scheduler = scheduler
        self._gate = Gate()
        self._paused = False
        self._open: dict[Hashable, _Phase] = {}
        self._closing: set[_Phase] = set()
        self._waiting: deque[tuple[Move, AgentEvent]] = deque()
        self._draining = False
        self._ended = False
        self._error: Exception | None = None
        self._subscription = CompositeDisposable()

    def start(self, source: Observable[AgentEvent]) -> abc.DisposableBase:
        scheduler = self._scheduler
        if isinstance(scheduler, LoopScheduler):
            self._gate = JointGate(scheduler.gate)
            scheduler = scheduler.with_gate(self._gate)
        upstream = SingleAssignmentDisposable()
        self._subscription.add(upstream)
        attach(upstream, source, self._on_next, self._on_error, self._on_completed, scheduler)
        return self._subscription

    # ------------------------------------------------------------------------------------------------ the source

    def _on_next(self, event: AgentEvent) -> None:
        move = self._kind.move(event)
        if (self._waiting and (move.begins or move.key not in self._open)) or not self._pass(move, event):
            self._wait(move, event)

    def _on_error(self, error: Exception) -> None:
        self._ended, self._error = True, error
        self._close_all(error)
        self._drain()

    def _on_completed(self) -> None:
        self._ended = True
        if not self._waiting:
            self._close_all(None)
        self._drain()

    def _wait(self, move: Move, event: AgentEvent) -> None:
        self._waiting.append((move, event))
        if len(self._waiting) > _LIMIT:
            self._paused = True
            self._gate.close()
        if len(self._waiting) > _LIMIT + _SLACK:
            self._fail(
                BufferOverflowError(
                    f"{len(self._waiting)} events wait for the operator of a phase to complete, and the source does "
                    "not pause; let the operator complete when its source does"
                )
            )

    # ------------------------------------------------------------------------------------------------ the phases

    def _pass(self, move: Move, event: AgentEvent) -> bool:
        """Let an event through, unless it must wait for a phase before it."""
        if move.closes:
            self._close_all(None)
        if self._closing and (move.begins or move.key not in self._open):
            return False
        if move.key is None:
            self._observer.on_next(event)
            return True
        phase = self._begin(move.key) if move.begins else self._open[move.key]
        phase.feed.push(event)
        if move.ends:
            self._close(move.key, None)
        return True

    def _begin(self, key: Hashable) -> _Phase:
        phase = self._open[key] = _Phase()
        self._subscription.add(phase.subscription)

        def finish() -> None:
            phase.done = True
            self._subscription.remove(phase.subscription)
            if phase in self._closing:
                self._closing.remove(phase)
                self._drain()

        def failed(error: Exception) -> None:
            # The source's own error has been to the operator and comes back: the stream ends with it, once.
            if error is self._error:
                finish()
            else:
                self._fail(error)

        try:
            output = self._operator(Observable(phase.feed.subscribe))
        except Exception as error:
            self._fail(error)
            return phase
        attach(phase.subscription, output, self._observer.on_next, failed, finish, self._scheduler)
        return phase

    def _close_all(self, error: Exception | None) -> None:
        for key in list(self._open):
            self._close(key, error)

    def _close(self, key: Hashable, error: Exception | None) -> None:
        phase = self._open.pop(key)
        if phase.done:
            return
        self._closing.add(phase)
        phase.feed.end(error)

    def _drain(self) -> None:
        """Let through what waited, as far as it goes; then the end, if it has come."""
        if self._draining:
            return
        self._draining = True
        try:
            while self._waiting and self._pass(*self._waiting[0]):
                self._waiting.popleft()
        finally:
            self._draining = False
        if self._paused and len(self._waiting) <= _LIMIT // 2:
            self._paused = False
            self._gate.open()
        if self._ended and not self._waiting:
            self._close_all(self._error)
            if not self._closing:
                self._finish()

    def _finish(self) -> None:
        if self._error is None:
            self._observer.on_completed()
        else:
            self._observer.on_error(self._error)

    def _fail(self, error: Exception) -> None:
        self._observer.on_error(error)
        self._subscription.dispose()
