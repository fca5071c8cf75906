"""`of_reply`: filters by reply."""

from __future__ import annotations

import reactivex as rx
from hypothesis import given
from reactivex import operators as ops
from reactivex.testing.marbles import marbles_testing

from agentscope_rx.event import AgentEvent, CustomEvent, ReplyEvent, RequestStopEvent
from agentscope_rx.operators import of_reply

from ..strategies import streams
from .contract import OperatorContract
from .script import R, answer, end, interleaved, start

OTHER = "reply-2"


class TestContract(OperatorContract):
    operator = staticmethod(lambda: of_reply(OTHER))
    events = (*interleaved(answer("Hello"), answer("World", OTHER)), CustomEvent(name="noise"))
    expected = tuple((index, event) for index, event in enumerate(events[:-1], 1) if index % 2 == 0)


def test_keeps_one_of_two_interleaved_replies() -> None:
    a, b, c, d = start(), start(OTHER), end(OTHER), end()
    with marbles_testing(timespan=10) as (begin, cold, _hot, exp):
        source = cold("-a-b-c-d-|", {"a": a, "b": b, "c": c, "d": d}, None)
        assert begin(source.pipe(of_reply(R))) == exp("-a-----d-|", {"a": a, "d": d}, None)


def test_events_without_a_reply_are_dropped() -> None:
    stream = [start(), CustomEvent(name="x"), RequestStopEvent(), end()]
    kept = rx.from_iterable(stream).pipe(of_reply(R), ops.to_list()).run()
    assert kept == [stream[0], stream[3]]


@given(streams())
def test_keeps_the_reply_and_nothing_else(stream: list[AgentEvent]) -> None:
    for reply_id in ("reply-main", "reply-main-child", "none"):
        kept = rx.from_iterable(stream).pipe(of_reply(reply_id), ops.to_list()).run()
        assert kept == [event for event in stream if isinstance(event, ReplyEvent) and event.reply_id == reply_id]
