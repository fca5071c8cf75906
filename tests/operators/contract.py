"""What every operator owes its callers, whatever it does with the events."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, ClassVar

import pytest
import reactivex as rx
from reactivex import Observable, operators as ops
from reactivex.disposable import Disposable
from reactivex.scheduler import ImmediateScheduler
from reactivex.subject import Subject
from reactivex.testing import ReactiveTest, TestScheduler
from reactivex.testing.mockobserver import MockObserver

on_next, on_error, on_completed, subscribe = (
    ReactiveTest.on_next,
    ReactiveTest.on_error,
    ReactiveTest.on_completed,
    ReactiveTest.subscribe,
)

STEP = 10
"""Virtual time between two events of a cold source."""


class OperatorContract:
    """Tests for one operator; a subclass says which, and on what.

    The source is cold: its n-th event comes at 10 n after the subscription, its end one step later.
    """

    operator: ClassVar[Callable[[], Any]]
    """Makes the operator."""
    events: ClassVar[Sequence[Any]]
    """A stream."""
    expected: ClassVar[Sequence[tuple[int, Any]]]
    """What comes out of it: after which event, counted from 1, and what `shape` makes of it."""

    @staticmethod
    def shape(item: Any) -> Any:
        """What is compared of an item, at the moment when it comes."""
        return item

    def _piped(self, source: Observable[Any]) -> Observable[Any]:
        return source.pipe(type(self).operator(), ops.map(type(self).shape))

    def _cold(self, scheduler: TestScheduler, *, error: Exception | None = None) -> Any:
        messages = [on_next((index + 1) * STEP, event) for index, event in enumerate(self.events)]
        at = (len(self.events) + 1) * STEP
        return scheduler.create_cold_observable(*messages, on_error(at, error) if error else on_completed(at))

    def _expected(self, subscribed: int) -> list[Any]:
        return [on_next(subscribed + index * STEP, item) for index, item in self.expected]

    def test_emits_what_it_should_and_completes_with_its_source(self) -> None:
        scheduler = TestScheduler()
        xs = self._cold(scheduler)
        ended = 200 + (len(self.events) + 1) * STEP
        assert scheduler.start(lambda: self._piped(xs)).messages == [*self._expected(200), on_completed(ended)]
        assert xs.subscriptions == [subscribe(200, ended)]

    def test_fails_with_its_source(self) -> None:
        scheduler, error = TestScheduler(), ValueError("the source broke")
        xs = self._cold(scheduler, error=error)
        ended = 200 + (len(self.events) + 1) * STEP
        assert scheduler.start(lambda: self._piped(xs)).messages == [*self._expected(200), on_error(ended, error)]
        assert xs.subscriptions == [subscribe(200, ended)]

    def test_take_one_leaves_the_source_at_once(self) -> None:
        scheduler = TestScheduler()
        xs = self._cold(scheduler)
        first = 200 + self.expected[0][0] * STEP
        messages = scheduler.start(lambda: self._piped(xs).pipe(ops.take(1))).messages
        assert messages == [self._expected(200)[0], on_completed(first)]
        assert xs.subscriptions == [subscribe(200, first)]

    def test_two_subscribers_are_independent(self) -> None:
        scheduler = TestScheduler()
        stream = self._piped(self._cold(scheduler))
        observers: list[MockObserver[Any]] = [scheduler.create_observer() for _ in range(2)]
        for at, observer in zip((300, 315), observers, strict=True):
            scheduler.schedule_absolute(
                float(at), lambda *_, observer=observer: stream.subscribe(observer, scheduler=scheduler)
            )
        scheduler.start(rx.never)
        for at, observer in zip((300, 315), observers, strict=True):
            assert observer.messages == [*self._expected(at), on_completed(at + (len(self.events) + 1) * STEP)]

    def test_forwards_the_scheduler(self) -> None:
        seen: list[Any] = []

        def source(observer: Any, scheduler: Any = None) -> Disposable:
            seen.append(scheduler)
            return Disposable()

        scheduler = ImmediateScheduler()
        self._piped(Observable(source)).subscribe(scheduler=scheduler)
        assert seen == [scheduler]

    def test_dispose_is_total(self) -> None:
        subject: Subject[Any] = Subject()
        heard: list[Any] = []
        subscription = self._piped(subject).subscribe(heard.append, heard.append, lambda: heard.append("completed"))
        half = len(self.events) // 2
        for event in self.events[:half]:
            subject.on_next(event)
        before = list(heard)
        assert before == [item for index, item in self.expected if index <= half]
        subscription.dispose()
        assert not subject.observers
        for event in self.events[half:]:
            subject.on_next(event)
        subject.on_completed()
        assert heard == before

    def test_a_consumer_that_raises_is_not_hidden(self) -> None:
        subject: Subject[Any] = Subject()

        def refuse(_: Any) -> None:
            raise ZeroDivisionError

        self._piped(subject).subscribe(refuse)
        first = self.expected[0][0] - 1
        for event in self.events[:first]:
            subject.on_next(event)
        with pytest.raises(ZeroDivisionError):
            subject.on_next(self.events[first])
