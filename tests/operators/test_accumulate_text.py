"""`accumulate_text`: the text of each block as it grows."""

from __future__ import annotations

import threading
import tracemalloc
from collections import defaultdict
from typing import Any

import pytest
import reactivex as rx
from hypothesis import given
from reactivex import operators as ops
from reactivex.testing.marbles import marbles_testing

from agentscope_rx.errors import ConfigurationError, MissingStartError
from agentscope_rx.event import (
    AgentEvent,
    TextBlockDeltaEvent,
    TextBlockStartEvent,
    ThinkingBlockDeltaEvent,
    ToolCallDeltaEvent,
    ToolResultTextDeltaEvent,
)
from agentscope_rx.operators import AccumulatedText, accumulate_text, group_by_block

from ..strategies import streams
from .contract import OperatorContract
from .script import R, answer, call, data, interleaved, result, text, thinking

KINDS = ("text", "thinking", "tool_call", "tool_result")


def shape(item: AccumulatedText) -> tuple[str, str, str, bool]:
    return item.block_id, item.delta, item.text, item.done


def shapes(stream: Any, *kinds: str) -> list[tuple[str, str, str, bool]]:
    texts: list[AccumulatedText] = rx.from_iterable(stream).pipe(accumulate_text(kinds), ops.to_list()).run()
    return [shape(item) for item in texts]


class TestContract(OperatorContract):
    operator = staticmethod(accumulate_text)
    events = answer("Hello")
    expected = (
        (4, ("t1", "He", "He", False)),
        (5, ("t1", "llo", "Hello", False)),
        (6, ("t1", "", "Hello", True)),
    )
    shape = staticmethod(shape)


def test_interleaved_blocks_grow_apart() -> None:
    a, b = text("a", "He", "llo"), text("b", "yo")
    lookup = {"a": a[0], "b": b[0], "c": a[1], "d": b[1], "e": a[2], "f": b[2], "g": a[3]}
    out = {
        "c": ("a", "He", "He", False),
        "d": ("b", "yo", "yo", False),
        "e": ("a", "llo", "Hello", False),
        "f": ("b", "", "yo", True),
        "g": ("a", "", "Hello", True),
    }
    with marbles_testing(timespan=10) as (start, cold, _hot, exp):
        source = cold("-a-b-c-d-e-f-g-|", lookup, None)
        assert start(source.pipe(accumulate_text(), ops.map(shape))) == exp("-----c-d-e-f-g-|", out, None)


def test_only_the_kinds_that_are_asked_for() -> None:
    stream = [*thinking("1", "hm"), *text("1", "yes"), *call("1", "{}"), *result("1", "ok"), *data("1", b"png")]
    assert shapes(stream) == []
    for kind, said in zip(KINDS, ("yes", "hm", "{}", "ok"), strict=True):
        assert shapes(stream, kind) == [("1", said, said, False), ("1", "", said, True)]


def test_the_same_id_in_two_kinds_and_in_two_replies() -> None:
    stream = interleaved(text("1", "a", "b"), thinking("1", "x", "y"), text("1", "1", "2", reply_id="other"))
    texts = [item for item in shapes(stream, "text", "thinking") if item[3]]
    assert texts == [("1", "", "ab", True), ("1", "", "xy", True), ("1", "", "12", True)]


def test_arguments_and_results_of_calls() -> None:
    stream = [*call("c", '{"q"', ":1}"), *result("c", "one ", b"bytes between", "two", progress=["10 %", "20 %"])]
    assert shapes(stream, "tool_call")[-1] == ("c", "", '{"q":1}', True)
    assert shapes(stream, "tool_result") == [
        ("c", "one ", "one ", False),
        ("c", "two", "one two", False),
        ("c", "", "one two", True),
    ]


def test_an_empty_block_is_done_with_no_text() -> None:
    assert shapes(text("t"), "text") == [("t", "", "", True)]


def test_the_stream_of_one_block() -> None:
    stream = interleaved(text("a", "He", "llo"), text("b", "yo"))
    texts = rx.from_iterable(stream).pipe(
        group_by_block(), ops.flat_map(lambda block: block.pipe(accumulate_text())), ops.map(shape), ops.to_list()
    )
    assert texts.run() == shapes(stream, "text")


def test_text_is_the_same_whenever_and_wherever_it_is_read() -> None:
    stream = text("t", *"abcdef")
    read_at_once = shapes(stream, "text")
    items: list[AccumulatedText] = rx.from_iterable(stream).pipe(accumulate_text(), ops.to_list()).run()
    read: list[Any] = []
    threads = [
        threading.Thread(target=lambda order=order: read.append([shape(item) for item in items[::order]][::order]))
        for order in (1, -1)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert read == [read_at_once, read_at_once]


def test_equal_items_have_equal_hashes() -> None:
    fine: list[AccumulatedText] = (
        rx.from_iterable(text("t", "a", "b", "c")).pipe(accumulate_text(), ops.to_list()).run()
    )
    coarse = rx.from_iterable(text("t", "ab", "c")).pipe(accumulate_text(), ops.to_list()).run()
    assert fine[2:] == coarse[1:]
    assert list(map(hash, fine[2:])) == list(map(hash, coarse[1:]))
    assert fine[2] != fine[3]
    assert fine[0] != coarse[0]
    assert fine[0] != "a"
    other_text = rx.from_iterable(text("t", "xy", "c")).pipe(accumulate_text(), ops.to_list()).run()
    assert other_text[1] != coarse[1]


def test_the_text_is_not_in_the_representation() -> None:
    first = rx.from_iterable(text("t", "a", "b")).pipe(accumulate_text(), ops.first()).run()
    assert repr(first) == "AccumulatedText(block_id='t', delta='a', done=False)"
    assert (first.reply_id, first.block_id, first.delta, first.done) == (R, "t", "a", False)


def test_kept_items_cost_memory_in_proportion_to_their_number() -> None:
    def cost(pieces: int) -> int:
        events = text("t", *["word "] * pieces)
        tracemalloc.start()
        try:
            kept = rx.from_iterable(events).pipe(accumulate_text(), ops.to_list()).run()
            for item in kept:
                assert item.text
            return tracemalloc.get_traced_memory()[0]
        finally:
            tracemalloc.stop()

    assert cost(4_000) < 6 * cost(1_000)


def test_a_delta_whose_start_was_never_seen() -> None:
    for lost in text("t", "secret")[1:]:
        failures: list[Any] = []
        rx.of(lost).pipe(accumulate_text()).subscribe(failures.append, failures.append)
        (error,) = failures
        assert isinstance(error, MissingStartError)
        assert "'t'" in str(error)
        assert "secret" not in str(error)


def test_the_source_is_left_at_the_error() -> None:
    source = rx.subject.Subject()
    source.pipe(accumulate_text()).subscribe(on_error=lambda _: None)
    source.on_next(text("t", "x")[1])
    assert not source.observers


def test_a_block_that_ended_has_no_more_deltas() -> None:
    first = text("t", "x")
    failures: list[Any] = []
    rx.from_iterable([*first, first[1]]).pipe(accumulate_text()).subscribe(on_error=failures.append)
    assert [type(error) for error in failures] == [MissingStartError]


@pytest.mark.parametrize("kinds", [("data",), ("text", "hint"), "text", ("",)])
def test_kinds_that_have_no_text(kinds: Any) -> None:
    with pytest.raises(ConfigurationError, match="thinking"):
        accumulate_text(kinds)


@given(streams())
def test_every_item_is_the_sum_of_its_deltas(stream: list[AgentEvent]) -> None:
    items: list[AccumulatedText] = rx.from_iterable(stream).pipe(accumulate_text(KINDS), ops.to_list()).run()
    expected = []
    so_far: dict[Any, str] = defaultdict(str)
    textual = (TextBlockDeltaEvent, ThinkingBlockDeltaEvent, ToolCallDeltaEvent, ToolResultTextDeltaEvent)
    for event in stream:
        if isinstance(event, textual) and not (event.metadata or {}).get("progress"):
            block_id = getattr(event, "block_id", None) or event.tool_call_id
            so_far[event.reply_id, type(event), block_id] += event.delta
            expected.append((block_id, event.delta, so_far[event.reply_id, type(event), block_id], False))
    assert [shape(item) for item in items if not item.done] == expected
    assert len([item for item in items if item.done]) == len([event for event in stream if _opens_text(event)])


def _opens_text(event: AgentEvent) -> bool:
    kinds = ("TEXT_BLOCK_START", "THINKING_BLOCK_START", "TOOL_CALL_START", "TOOL_RESULT_START")
    return str(event.type) in kinds


@given(streams())
def test_b2_21_the_deltas_of_a_block_add_up_to_its_text_once(stream: list[AgentEvent]) -> None:
    done = rx.from_iterable(stream).pipe(accumulate_text(), ops.filter(lambda item: item.done), ops.to_list()).run()
    for item in done:
        deltas = [
            event.delta
            for event in stream
            if isinstance(event, TextBlockDeltaEvent)
            and (event.reply_id, event.block_id) == (item.reply_id, item.block_id)
        ]
        assert item.text == "".join(deltas)
    assert len(done) == sum(isinstance(event, TextBlockStartEvent) for event in stream)
