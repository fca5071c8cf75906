"""`of_type`: filters by class."""

from __future__ import annotations

from typing import Any

import pytest
import reactivex as rx
from hypothesis import given
from reactivex import operators as ops
from reactivex.testing.marbles import marbles_testing

from agentscope_rx.errors import ConfigurationError
from agentscope_rx.event import (
    AgentEvent,
    BaseEvent,
    CustomEvent,
    ReplyEvent,
    TextBlockDeltaEvent,
    TextBlockEndEvent,
    UnknownEvent,
)
from agentscope_rx.operators import of_type

from ..strategies import streams
from .contract import OperatorContract
from .script import answer

EVENTS = answer("Hello")
_, _, _, HE, LLO, END, *_ = EVENTS


class TestContract(OperatorContract):
    operator = staticmethod(lambda: of_type(TextBlockDeltaEvent))
    events = EVENTS
    expected = ((4, HE), (5, LLO))


def test_several_classes_keep_their_order() -> None:
    with marbles_testing(timespan=10) as (start, cold, _hot, exp):
        source = cold("-a-b-c-d-|", {"a": EVENTS[0], "b": HE, "c": END, "d": LLO}, None)
        kept = exp("---b-c-d-|", {"b": HE, "c": END, "d": LLO}, None)
        assert start(source.pipe(of_type(TextBlockDeltaEvent, TextBlockEndEvent))) == kept


def test_a_base_class_keeps_all_its_events() -> None:
    custom = CustomEvent(name="state_updated")
    stream = [*EVENTS, custom, UnknownEvent(type="TELEPATHY", raw={"type": "TELEPATHY"})]
    assert rx.from_iterable(stream).pipe(of_type(ReplyEvent), ops.to_list()).run() == EVENTS
    assert rx.from_iterable(stream).pipe(of_type(BaseEvent), ops.to_list()).run() == stream
    assert rx.from_iterable(stream).pipe(of_type(CustomEvent), ops.to_list()).run() == [custom]


def test_a_union_is_as_good_as_its_classes() -> None:
    union: Any = TextBlockDeltaEvent | TextBlockEndEvent
    assert rx.from_iterable(EVENTS).pipe(of_type(union), ops.to_list()).run() == [HE, LLO, END]


@pytest.mark.parametrize("wrong", [(), ("TEXT_BLOCK_DELTA",), (TextBlockDeltaEvent, HE)])
def test_what_is_no_class_is_refused_at_once(wrong: tuple[Any, ...]) -> None:
    with pytest.raises(ConfigurationError, match="of_type takes"):
        of_type(*wrong)


@given(streams())
def test_keeps_what_isinstance_keeps(stream: list[AgentEvent]) -> None:
    classes = (TextBlockDeltaEvent, CustomEvent)
    kept = rx.from_iterable(stream).pipe(of_type(*classes), ops.to_list()).run()
    assert kept == [event for event in stream if isinstance(event, classes)]
