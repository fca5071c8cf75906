"""`from_source`: filters by the agent that speaks, its children included."""

from __future__ import annotations

from pathlib import PurePosixPath

import pytest
import reactivex as rx
from hypothesis import given
from reactivex import operators as ops
from reactivex.testing.marbles import marbles_testing

from agentscope_rx.event import AgentEvent, CustomEvent
from agentscope_rx.operators import from_source

from ..strategies import streams
from .contract import OperatorContract
from .script import text

TOP = text("t", "a")
CHILD = text("t", "b", reply_id="c1", source="main/researcher")
GRANDCHILD = text("t", "c", reply_id="c2", source="main/researcher/reader")
NAMESAKE = text("t", "d", reply_id="c3", source="main/researcher2")


class TestContract(OperatorContract):
    operator = staticmethod(lambda: from_source("main/researcher"))
    events = (*TOP, *CHILD, *NAMESAKE, *GRANDCHILD)
    expected = tuple((index, event) for index, event in enumerate(events, 1) if event in (*CHILD, *GRANDCHILD))


def test_marbles() -> None:
    lookup = {"t": TOP[1], "c": CHILD[1], "g": GRANDCHILD[1], "n": NAMESAKE[1]}
    with marbles_testing(timespan=10) as (start, cold, _hot, exp):
        kept = start(cold("-t-c-g-n-c-|", lookup, None).pipe(from_source("main/researcher/reader")))
        assert kept == exp("-----g-----|", lookup, None)


@pytest.mark.parametrize(
    ("path", "kept"),
    [
        (None, TOP),
        ("main", [*CHILD, *GRANDCHILD, *NAMESAKE]),
        ("main/researcher", [*CHILD, *GRANDCHILD]),
        ("main/researcher/reader", GRANDCHILD),
        ("main/researcher2", NAMESAKE),
        ("researcher", []),
    ],
)
def test_a_path_and_everything_below_it(path: str | None, kept: list[AgentEvent]) -> None:
    stream = [*TOP, *CHILD, *GRANDCHILD, *NAMESAKE]
    assert rx.from_iterable(stream).pipe(from_source(path), ops.to_list()).run() == kept


def test_events_without_a_reply_have_a_source_too() -> None:
    top, child = CustomEvent(name="x"), CustomEvent(name="x", source="main/researcher")
    stream = rx.of(top, child)
    assert stream.pipe(from_source(None), ops.to_list()).run() == [top]
    assert stream.pipe(from_source("main"), ops.to_list()).run() == [child]


@given(streams(children=2))
def test_keeps_what_lies_below_the_path(stream: list[AgentEvent]) -> None:
    for path in ("main/child", "main/child/child"):
        kept = rx.from_iterable(stream).pipe(from_source(path), ops.to_list()).run()
        below = [event for event in stream if PurePosixPath(event.source or "-").is_relative_to(path)]
        assert kept == below
    top = rx.from_iterable(stream).pipe(from_source(None), ops.to_list()).run()
    assert top == [event for event in stream if event.source is None]
