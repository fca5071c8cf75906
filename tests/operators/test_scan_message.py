"""`scan_message`: the message so far, after every event."""

from __future__ import annotations

import gc
import weakref

import pytest
import reactivex as rx
from hypothesis import given
from reactivex import operators as ops
from reactivex.subject import Subject
from reactivex.testing.marbles import marbles_testing

from agentscope_rx.errors import LocalProtocolError, MissingStartError, ProtocolError
from agentscope_rx.event import AgentEvent, CustomEvent
from agentscope_rx.message import GenerateReason
from agentscope_rx.operators import MessageView, scan_message

from ..reference import reference_message
from ..strategies import streams
from .contract import OperatorContract
from .script import R, answer, end, start, text

EVENTS = answer("Hello")


class TestContract(OperatorContract):
    operator = staticmethod(scan_message)
    events = EVENTS
    expected = tuple(enumerate(zip(EVENTS, ["", "", "", "He", *["Hello"] * 4], strict=True), 1))
    shape = staticmethod(lambda view: (view.event, view.message().get_text_content()))


def test_the_message_grows_with_every_event() -> None:
    with marbles_testing(timespan=10) as (begin, cold, _hot, exp):
        lookup = dict(zip("abcdefgh", EVENTS, strict=True))
        source = cold("-a-b-c-d-e-f-g-h-|", lookup, None)
        views = begin(source.pipe(scan_message(), ops.map(lambda view: (view.event, view.message()))))
        out = {key: (lookup[key], reference_message(EVENTS[: n + 1])) for n, key in enumerate("abcdefgh")}
        assert views == exp("-a-b-c-d-e-f-g-h-|", out, None)


def test_a_view_is_read_before_the_next_event() -> None:
    source: Subject[AgentEvent] = Subject()
    views: list[MessageView] = []
    source.pipe(scan_message()).subscribe(views.append)
    for event in EVENTS[:3]:
        source.on_next(event)
    assert views[2].message().id == R
    kept = views[2].message()
    source.on_next(EVENTS[3])
    for old in views[:3]:
        with pytest.raises(LocalProtocolError, match="before the next event"):
            old.message()
        assert old.event in EVENTS
    assert kept.get_text_content() == ""
    assert views[3].message().get_text_content() == "He"


def test_the_last_view_may_be_read_after_the_end() -> None:
    last = rx.from_iterable(EVENTS).pipe(scan_message()).run()
    assert last.message() == reference_message(EVENTS)
    assert last.message().generate_reason is GenerateReason.MODEL_STOP


def test_a_view_may_be_read_twice() -> None:
    view = rx.from_iterable(EVENTS[:4]).pipe(scan_message()).run()
    assert view.message() == view.message()
    assert repr(view) == "MessageView(TEXT_BLOCK_DELTA)"


def test_events_that_are_no_part_of_the_message_are_seen_too() -> None:
    child = [start("c", source="main/child"), *text("t", "inner", reply_id="c", source="main/child")]
    stream = [EVENTS[0], *child, CustomEvent(name="noise"), *EVENTS[1:]]
    views = rx.from_iterable(stream).pipe(
        scan_message(), ops.map(lambda view: (view.event, view.message())), ops.to_list()
    )
    seen = views.run()
    assert [event for event, _ in seen] == stream
    assert {message.id for _, message in seen} == {R}
    assert seen[-1][1].get_text_content() == "Hello"


def test_a_new_reply_starts_a_new_message() -> None:
    stream = [*EVENTS, *answer("World", "reply-2")]
    texts = rx.from_iterable(stream).pipe(
        scan_message(), ops.map(lambda view: (view.message().id, view.message().get_text_content())), ops.to_list()
    )
    seen = texts.run()
    assert seen[len(EVENTS) - 1 : len(EVENTS) + 1] == [(R, "Hello"), ("reply-2", "")]
    assert seen[-1] == ("reply-2", "World")


def test_there_is_no_message_before_agent_start() -> None:
    (view,) = rx.of(CustomEvent(name="early")).pipe(scan_message(), ops.to_list()).run()
    with pytest.raises(MissingStartError):
        view.message()


@pytest.mark.parametrize(
    ("good", "bad"),
    [
        ([], EVENTS[3]),
        (EVENTS[:1], EVENTS[3]),
        ([start()], start()),
        ([start(), text("t")[0]], text("t")[0]),
    ],
    ids=["no reply", "no block", "the reply twice", "a block twice"],
)
def test_events_that_do_not_fold(good: list[AgentEvent], bad: AgentEvent) -> None:
    source: Subject[AgentEvent] = Subject()
    views: list[MessageView] = []
    errors: list[Exception] = []
    source.pipe(scan_message()).subscribe(views.append, errors.append)
    for event in (*good, bad):
        source.on_next(event)
    (error,) = errors
    assert isinstance(error, ProtocolError)
    assert not source.observers
    assert [view.event for view in views] == good
    if good:
        assert views[-1].message().id == R, "what was shown before the error stands"


def test_old_views_do_not_keep_the_events_of_later_ones() -> None:
    source: Subject[AgentEvent] = Subject()
    views: list[MessageView] = []
    source.pipe(scan_message(), ops.take(1)).subscribe(views.append)
    source.on_next(start())
    late = end()
    seen = weakref.ref(late)
    source.on_next(late)
    del late
    gc.collect()
    assert seen() is None


@given(streams())
def test_every_view_is_the_fold_so_far(stream: list[AgentEvent]) -> None:
    messages = rx.from_iterable(stream).pipe(scan_message(), ops.map(lambda view: view.message()), ops.to_list())
    assert messages.run() == [reference_message(stream[: n + 1]) for n in range(len(stream))]
