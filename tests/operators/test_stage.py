"""`stage`: an operator of one's own keeps the rules of the house."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, ClassVar

import pytest
import reactivex as rx
from reactivex import operators as ops
from reactivex.subject import Subject

from agentscope_rx.errors import ConfigurationError
from agentscope_rx.event import AgentEvent, TextBlockDeltaEvent
from agentscope_rx.operators import Stage, stage

from .contract import OperatorContract
from .script import answer


class Passed(Stage[AgentEvent, AgentEvent]):
    def on_next(self, item: AgentEvent) -> Iterable[AgentEvent]:
        return (item,)


class TestContract(OperatorContract):
    operator: ClassVar = staticmethod(lambda: stage(Passed))
    events: ClassVar = answer("Hello")
    expected: ClassVar = list(enumerate(events, 1))


class Pairs(Stage[int, tuple[int, ...]]):
    """Pairs, and what is left over."""

    def __init__(self) -> None:
        self._held: list[int] = []

    def on_next(self, item: int) -> Iterable[tuple[int, ...]]:
        self._held.append(item)
        if len(self._held) == 2:
            yield tuple(self._held)
            self._held = []

    def on_completed(self) -> Iterable[tuple[int, ...]]:
        if self._held:
            yield tuple(self._held)


def test_one_to_many_many_to_one_and_what_is_left_at_the_end() -> None:
    assert rx.of(1, 2, 3).pipe(stage(Pairs), ops.to_list()).run() == [(1, 2), (3,)]


def test_an_error_of_the_stage_ends_the_stream_and_leaves_the_source() -> None:
    class Fails(Stage[int, int]):
        def on_next(self, item: int) -> Iterable[int]:
            yield 1 // item

        def on_completed(self) -> Iterable[int]:
            raise AssertionError("not after an error")

    got: list[Any] = []
    subject: Subject[int] = Subject()
    subject.pipe(stage(Fails)).subscribe(got.append, got.append)
    subject.on_next(1)
    subject.on_next(0)
    assert got[0] == 1
    assert isinstance(got[1], ZeroDivisionError)
    assert not subject.observers


def test_an_error_at_the_end_is_an_error_and_no_completion() -> None:
    class Fails(Stage[int, int]):
        def on_next(self, item: int) -> Iterable[int]:
            return ()

        def on_completed(self) -> Iterable[int]:
            raise ValueError("left over")

    got: list[Any] = []
    rx.of(1).pipe(stage(Fails)).subscribe(got.append, got.append, lambda: got.append("completed"))
    assert [type(item) for item in got] == [ValueError]


def test_deltas_can_be_changed() -> None:
    class Upper(Stage[AgentEvent, AgentEvent]):
        def on_next(self, event: AgentEvent) -> Iterable[AgentEvent]:
            if isinstance(event, TextBlockDeltaEvent):
                event = event.model_copy(update={"delta": event.delta.upper()})
            yield event

    out = rx.from_iterable(answer("hello")).pipe(stage(Upper), ops.to_list()).run()
    assert "".join(event.delta for event in out if isinstance(event, TextBlockDeltaEvent)) == "HELLO"


def test_what_a_stage_holds_is_released_however_it_ends() -> None:
    released: list[str] = []

    class Holding(Stage[int, int]):
        def on_next(self, item: int) -> Iterable[int]:
            yield 1 // item

        def dispose(self) -> None:
            released.append("released")

    rx.of(1).pipe(stage(Holding)).subscribe()
    rx.of(1, 1).pipe(stage(Holding), ops.take(1)).subscribe()
    rx.of(0).pipe(stage(Holding)).subscribe(on_error=lambda error: None)
    rx.never().pipe(stage(Holding)).subscribe().dispose()
    assert released == ["released"] * 4


@pytest.mark.parametrize("given", [None, "text", answer()[0], 5])
def test_what_is_no_iterable_of_items_is_refused_by_name(given: Any) -> None:
    class Returns(Stage[int, Any]):
        def on_next(self, item: int) -> Any:
            return given

    got: list[Any] = []
    rx.of(1).pipe(stage(Returns)).subscribe(got.append, got.append)
    [error] = got
    assert isinstance(error, ConfigurationError)
    assert "Returns.on_next" in str(error)


def test_a_stage_without_on_next_is_named() -> None:
    class Misspelled(Stage[int, int]):
        def onNext(self, item: int) -> Iterable[int]:
            yield item

    got: list[Any] = []
    rx.of(1).pipe(stage(Misspelled)).subscribe(got.append, got.append)
    [error] = got
    assert isinstance(error, NotImplementedError)
    assert str(error) == "Misspelled has no method on_next(self, item)"


def test_an_instance_is_refused_at_once() -> None:
    with pytest.raises(ConfigurationError):
        stage(Pairs())  # type: ignore[arg-type]


def test_what_was_given_before_an_error_is_emitted() -> None:
    class Late(Stage[int, int]):
        def on_next(self, item: int) -> Iterable[int]:
            yield item
            raise ValueError("late")

    got: list[Any] = []
    rx.of(1).pipe(stage(Late)).subscribe(got.append, got.append)
    assert got[0] == 1
    assert isinstance(got[1], ValueError)
