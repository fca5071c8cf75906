"""`group_by_block`: one stream for each block, whenever it is subscribed to."""

from __future__ import annotations

import asyncio
import gc
import weakref
from collections.abc import AsyncIterator
from typing import Any

import pytest
import reactivex as rx
from hypothesis import given
from reactivex import operators as ops
from reactivex.subject import Subject
from reactivex.testing import ReactiveTest, TestScheduler
from reactivex.testing.marbles import marbles_testing

from agentscope_rx.errors import ConfigurationError, StreamCancelled
from agentscope_rx.event import AgentEvent, HintBlockEvent, ReplyEvent, TextBlockDeltaEvent
from agentscope_rx.operators import BlockKey, BlockStream, accumulate_text, group_by_block
from agentscope_rx.stream import Stream, from_async_iterable

from ..strategies import streams
from .contract import STEP, OperatorContract
from .script import R, answer, call, data, end, hint, interleaved, model_start, result, start, text, thinking

on_next, on_error, on_completed, subscribe = (
    ReactiveTest.on_next,
    ReactiveTest.on_error,
    ReactiveTest.on_completed,
    ReactiveTest.subscribe,
)


class Heard:
    """What one subscriber was told."""

    def __init__(self, stream: Any) -> None:
        self.items: list[Any] = []
        self.end: Any = None
        self.subscription = stream.subscribe(self.items.append, self._ended, lambda: self._ended("completed"))

    def _ended(self, how: Any) -> None:
        assert self.end is None, "a second end"
        self.end = how


def blocks_of(source: Any) -> list[BlockStream]:
    blocks: list[BlockStream] = []
    source.pipe(group_by_block()).subscribe(blocks.append, lambda _: None)
    return blocks


class TestContract(OperatorContract):
    operator = staticmethod(group_by_block)
    events = (*answer("Hello"), *interleaved(thinking("k", "x"), text("t2", "y")), hint("h"))
    expected = (
        (3, (R, "text", "t1")),
        (9, (R, "thinking", "k")),
        (10, (R, "text", "t2")),
        (15, (R, "hint", "h")),
    )
    shape = staticmethod(lambda block: block.key)


def test_interleaved_blocks_keep_their_order() -> None:
    a, b = text("a", "x", "y"), text("b", "z")
    lookup = dict(zip("abcdefg", interleaved(a, b), strict=True))
    with marbles_testing(timespan=10) as (begin, cold, _hot, exp):
        source = cold("-a-b-c-d-e-f-g-|", lookup, None)
        told = begin(source.pipe(group_by_block(), ops.merge_all()))
        assert told == exp("-a-b-c-d-e-f-g-|", lookup, None)


def test_a_block_says_what_it_is() -> None:
    opening = text("a", "x")
    (block,) = blocks_of(rx.from_iterable(opening))
    assert block.key == BlockKey(reply_id=R, kind="text", block_id="a")
    assert block.start is opening[0]
    assert isinstance(block, Stream)
    assert repr(block) == "BlockStream(text, 'a')"


def test_every_kind_of_block() -> None:
    parts = {
        "thinking": thinking("1", "hm"),
        "text": text("2", "yes"),
        "data": data("3", b"png"),
        "tool_call": call("4", "{}"),
        "tool_result": result("4", "ok", b"png", progress=["50 %"]),
        "hint": [hint("5")],
    }
    stream = [start(), model_start(), *(event for part in parts.values() for event in part), end()]
    blocks = blocks_of(rx.from_iterable(stream))
    assert [block.key.kind for block in blocks] == list(parts)
    assert {block.key.kind: Heard(block).items for block in blocks} == parts


def test_b2_18_the_same_id_in_two_kinds() -> None:
    words, picture = text("1", "Hello"), data("1", b"png")
    blocks = blocks_of(rx.from_iterable(interleaved(words, picture)))
    assert [Heard(block).items for block in blocks] == [words, picture]


def test_the_same_id_in_a_child_agent() -> None:
    top, child = text("1", "top"), text("1", "child", reply_id="child-reply", source="main/child")
    blocks = blocks_of(rx.from_iterable(interleaved(top, child)))
    assert [Heard(block).items for block in blocks] == [top, child]
    assert [block.key.reply_id for block in blocks] == [R, "child-reply"]


def test_events_outside_blocks_are_dropped_and_so_are_blocks_that_were_joined_late() -> None:
    assert blocks_of(rx.from_iterable([start(), model_start(), *text("t", "x")[1:], end()])) == []


def test_a_start_of_an_open_block_completes_it_and_begins_another() -> None:
    source: Subject[AgentEvent] = Subject()
    blocks = blocks_of(source)
    first, again = text("t", "a", "b"), text("t", "a", "b", "c")
    for event in first[:3]:
        source.on_next(event)
    early = Heard(blocks[0])
    for event in again:
        source.on_next(event)
    assert [block.key for block in blocks] == [(R, "text", "t")] * 2
    assert (early.items, early.end) == (first[:3], "completed")
    late = Heard(blocks[1])
    assert (late.items, late.end) == (again, "completed")


def test_a_subscriber_that_leaves_everything_when_its_block_is_begun_again() -> None:
    source: Subject[AgentEvent] = Subject()
    blocks: list[BlockStream] = []
    everything = source.pipe(group_by_block()).subscribe(blocks.append)
    opening = text("t", "a")[0]
    source.on_next(opening)
    blocks[0].subscribe(on_completed=everything.dispose)
    source.on_next(opening)
    assert len(blocks) == 1


# ---------------------------------------------------------------------------------------------- late subscribers


def test_a_late_subscriber_gets_everything_and_then_the_rest() -> None:
    source: Subject[AgentEvent] = Subject()
    blocks = blocks_of(source)
    events = text("t", "a", "b", "c")
    for event in events[:3]:
        source.on_next(event)
    heard = Heard(blocks[0])
    assert heard.items == events[:3]
    assert heard.end is None
    for event in events[3:]:
        source.on_next(event)
    assert heard.items == events
    assert heard.end == "completed"


def test_a_subscriber_that_comes_after_the_end_gets_everything() -> None:
    events = text("t", "a", "b")
    (block,) = blocks_of(rx.from_iterable(events))
    heard = Heard(block)
    assert (heard.items, heard.end) == (events, "completed")


def test_a_subscriber_that_leaves_in_the_middle_of_what_waited() -> None:
    events = text("t", "a", "b")
    (block,) = blocks_of(rx.from_iterable(events))
    heard = Heard(block.pipe(ops.take(2)))
    assert (heard.items, heard.end) == (events[:2], "completed")


def test_a_second_subscriber_is_refused_and_the_first_hears_nothing_of_it() -> None:
    source: Subject[AgentEvent] = Subject()
    blocks = blocks_of(source)
    events = text("t", "a")
    source.on_next(events[0])
    first, second = Heard(blocks[0]), Heard(blocks[0])
    assert isinstance(second.end, ConfigurationError)
    assert second.items == []
    for event in events[1:]:
        source.on_next(event)
    assert (first.items, first.end) == (events, "completed")
    assert isinstance(Heard(blocks[0]).end, ConfigurationError)


def test_a_block_that_was_left_is_not_taken_up_by_another() -> None:
    source: Subject[AgentEvent] = Subject()
    blocks = blocks_of(source)
    events = text("t", "a")
    source.on_next(events[0])
    first = Heard(blocks[0])
    first.subscription.dispose()
    source.on_next(events[1])
    assert first.items == events[:1]
    assert isinstance(Heard(blocks[0]).end, ConfigurationError)


# ------------------------------------------------------------------------------------------------------- memory


def test_what_nobody_holds_is_freed_and_not_filled() -> None:
    source: Subject[AgentEvent] = Subject()
    blocks = blocks_of(source)
    source.on_next(text("t", "a")[0])
    block, event = weakref.ref(blocks[0]), text("t", "b")[1]
    buffered = weakref.ref(event)
    source.on_next(event)
    del event
    assert buffered() is not None
    blocks.clear()
    gc.collect()
    assert block() is None
    assert buffered() is None
    late = text("t", "c")[1]
    unseen = weakref.ref(late)
    source.on_next(late)
    del late
    assert unseen() is None


def test_a_block_that_is_held_keeps_its_own_events_alone() -> None:
    source: Subject[AgentEvent] = Subject()
    blocks = blocks_of(source)
    source.on_next(text("held", "")[0])
    source.on_next(text("dropped", "")[0])
    del blocks[1]
    refs = {}
    for id in ("held", "dropped"):
        event = text(id, "x" * 100)[1]
        refs[id] = weakref.ref(event)
        source.on_next(event)
        del event
    assert refs["held"]() is not None
    assert refs["dropped"]() is None


def test_a_block_that_was_left_keeps_nothing() -> None:
    source: Subject[AgentEvent] = Subject()
    blocks = blocks_of(source)
    source.on_next(text("t")[0])
    Heard(blocks[0]).subscription.dispose()
    event = text("t", "x")[1]
    seen = weakref.ref(event)
    source.on_next(event)
    del event
    assert seen() is None


def test_a_subscription_keeps_its_block_alive() -> None:
    source: Subject[AgentEvent] = Subject()
    heard: list[Heard] = []
    source.pipe(group_by_block()).subscribe(lambda block: heard.append(Heard(block)))
    events = text("t", "a", "b")
    for event in events:
        source.on_next(event)
        gc.collect()
    assert (heard[0].items, heard[0].end) == (events, "completed")


# ------------------------------------------------------------------------------------------------------- the end


def test_an_error_of_the_source_reaches_the_open_blocks() -> None:
    source: Subject[AgentEvent] = Subject()
    blocks: list[BlockStream] = []
    outer_errors: list[Exception] = []
    source.pipe(group_by_block()).subscribe(blocks.append, outer_errors.append)
    closed, opened, late = text("closed"), text("open", "a", "b"), text("late", "c")
    for event in (*closed, *opened[:2], *late[:2]):
        source.on_next(event)
    of_closed, of_open = Heard(blocks[0]), Heard(blocks[1])
    error = ValueError("the source broke")
    source.on_error(error)
    assert (of_closed.items, of_closed.end) == (closed, "completed")
    assert (of_open.items, of_open.end) == (opened[:2], error)
    of_late = Heard(blocks[2])
    assert (of_late.items, of_late.end) == (late[:2], error)
    assert outer_errors == [error]


def test_the_end_of_the_source_completes_the_open_blocks() -> None:
    events = text("t", "a")
    (block,) = blocks_of(rx.from_iterable(events[:2]))
    heard = Heard(block)
    assert (heard.items, heard.end) == (events[:2], "completed")


def test_dispose_reaches_the_open_blocks() -> None:
    source: Subject[AgentEvent] = Subject()
    blocks: list[BlockStream] = []
    subscription = source.pipe(group_by_block()).subscribe(blocks.append)
    events = text("t", "a")
    for event in events[:2]:
        source.on_next(event)
    early = Heard(blocks[0])
    subscription.dispose()
    assert early.items == events[:2]
    assert isinstance(early.end, StreamCancelled)
    assert not source.observers


def test_the_block_at_which_the_stream_was_left_is_cancelled_too() -> None:
    scheduler, events = TestScheduler(), text("t", "a")
    xs = scheduler.create_cold_observable(*[on_next((n + 1) * STEP, event) for n, event in enumerate(events)])
    inner = scheduler.create_observer()

    def follow(block: BlockStream) -> str:
        block.subscribe(inner)
        return block.key.block_id

    told = scheduler.start(lambda: xs.pipe(group_by_block(), ops.map(follow), ops.take(1)))
    assert told.messages == [on_next(210, "t"), on_completed(210)]
    assert xs.subscriptions == [subscribe(200, 210)]
    assert [message.time for message in inner.messages] == [210, 210]
    assert inner.messages[0] == on_next(210, events[0])
    assert isinstance(inner.messages[1].value.exception, StreamCancelled)


def test_a_block_that_is_left_early_does_not_disturb_the_others() -> None:
    stream = interleaved(text("a", "1", "2"), text("b", "3", "4"))
    kept = rx.from_iterable(stream).pipe(
        group_by_block(),
        ops.flat_map(lambda block: block.pipe(ops.take(1)) if block.key.block_id == "a" else block),
        ops.to_list(),
    )
    assert kept.run() == [event for event in stream if event.block_id == "b" or event is stream[0]]


def test_a_hint_is_whole_even_when_the_stream_is_left_at_it() -> None:
    blocks: list[BlockStream] = []
    said = hint("h")
    rx.of(said, hint("i")).pipe(group_by_block(), ops.take(1)).subscribe(blocks.append)
    heard = Heard(blocks[0])
    assert (heard.items, heard.end) == ([said], "completed")


# ------------------------------------------------------------------------------------------------------- asyncio


def test_blocks_are_streams_for_asyncio_too() -> None:
    stream = [*text("a", *"Hello"), *interleaved(text("b", *"How"), text("c", *"are", "you"))]

    async def events() -> AsyncIterator[AgentEvent]:
        for event in stream:
            await asyncio.sleep(0)
            yield event

    async def main() -> dict[str, str]:
        texts = {}
        async for block in from_async_iterable(events).pipe(group_by_block()):
            texts[block.key.block_id] = (await block.pipe(accumulate_text())).text
        return texts

    assert asyncio.run(asyncio.wait_for(main(), 5)) == {"a": "Hello", "b": "How", "c": "areyou"}


# ------------------------------------------------------------------------------------------------------ property


def _key(event: Any) -> tuple[str, str, str] | None:
    """The block that an event is of, told from its type alone."""
    kinds = {
        "TEXT_BLOCK": "text",
        "THINKING_BLOCK": "thinking",
        "DATA_BLOCK": "data",
        "TOOL_CALL": "tool_call",
        "TOOL_RESULT": "tool_result",
        "HINT_BLOCK": "hint",
    }
    for prefix, kind in kinds.items():
        if str(event.type).startswith(prefix):
            return event.reply_id, kind, event.tool_call_id if kind.startswith("tool") else event.block_id
    return None


@pytest.mark.parametrize("late", [False, True])
@given(stream=streams())
def test_every_event_of_a_block_is_in_its_stream_and_nothing_else(late: bool, stream: list[AgentEvent]) -> None:
    blocks: list[BlockStream] = []
    heard: list[Heard] = []

    def take(block: BlockStream) -> None:
        blocks.append(block)
        if not late:
            heard.append(Heard(block))

    rx.from_iterable(stream).pipe(group_by_block()).subscribe(take)
    if late:
        heard = [Heard(block) for block in blocks]
    expected: dict[Any, list[Any]] = {}
    for event in stream:
        if (key := _key(event)) is not None:
            expected.setdefault(key, []).append(event)
    assert [block.key for block in blocks] == list(expected)
    assert [listener.items for listener in heard] == list(expected.values())
    assert all(listener.end == "completed" for listener in heard)
    assert all(isinstance(block.start, ReplyEvent) for block in blocks)


def test_a_thousand_blocks_of_which_one_is_wanted() -> None:
    stream = [event for n in range(1_000) for event in (*text(f"t{n}", "x"), hint(f"h{n}"))]
    wanted = rx.from_iterable(stream).pipe(
        group_by_block(),
        ops.filter(lambda block: block.key.block_id == "t500"),
        ops.merge_all(),
        ops.to_list(),
    )
    kept = wanted.run()
    assert [type(event) for event in kept].count(TextBlockDeltaEvent) == 1
    assert not any(isinstance(event, HintBlockEvent) for event in kept)
