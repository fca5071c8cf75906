"""Law L4: n events cost O(n). Work is counted, not timed; the times are measured in `benchmarks/`."""

from __future__ import annotations

import base64
import tracemalloc
from typing import Any

import pytest
from hypothesis import given

from agentscope_rx.event import (
    AgentStartEvent,
    DataBlockDeltaEvent,
    DataBlockEndEvent,
    DataBlockStartEvent,
    MessageBuilder,
    MessageSnapshot,
    TextBlockDeltaEvent,
    TextBlockEndEvent,
    TextBlockStartEvent,
    ThinkingBlockDeltaEvent,
    ThinkingBlockStartEvent,
    ToolCallDeltaEvent,
    ToolCallEndEvent,
    ToolCallStartEvent,
    ToolResultDataDeltaEvent,
    ToolResultStartEvent,
    ToolResultTextDeltaEvent,
    decode,
    encode,
)
from tests.counting import calls_of
from tests.strategies import streams

R = {"reply_id": "r"}
START = AgentStartEvent(**R, name="Friday")
PIECE = base64.b64encode(b"4 KiB" * 819).decode()


def numbered(events: list[Any]) -> list[Any]:
    return [event.model_copy(update={"seq": number}) for number, event in enumerate([START, *events], 1)]


def text(n: int) -> list[Any]:
    deltas = [TextBlockDeltaEvent(**R, block_id="b", delta="word ")] * n
    return [TextBlockStartEvent(**R, block_id="b"), *deltas, TextBlockEndEvent(**R, block_id="b")]


def thinking(n: int) -> list[Any]:
    deltas = [ThinkingBlockDeltaEvent(**R, block_id="b", delta="hm ")] * n
    return [ThinkingBlockStartEvent(**R, block_id="b"), *deltas]


def data(n: int) -> list[Any]:
    deltas = [DataBlockDeltaEvent(**R, block_id="b", media_type="x/y", data=PIECE)] * n
    start, end = DataBlockStartEvent(**R, block_id="b", media_type="x/y"), DataBlockEndEvent(**R, block_id="b")
    return [start, *deltas, end]


def arguments(n: int) -> list[Any]:
    deltas = [ToolCallDeltaEvent(**R, tool_call_id="c", delta="sixteen letters ")] * n
    key = {**R, "tool_call_id": "c"}
    opening = ToolCallDeltaEvent(**key, delta='{"q": "')
    closing = ToolCallDeltaEvent(**key, delta='"}')
    return [ToolCallStartEvent(**key, tool_call_name="f"), opening, *deltas, closing, ToolCallEndEvent(**key)]


def result(n: int) -> list[Any]:
    """Text in a thousand runs at most, cut by pieces of one data block."""
    key = {**R, "tool_call_id": "c"}
    deltas = [
        ToolResultDataDeltaEvent(**key, block_id="d", media_type="x/y", data=PIECE)
        if number % 3 == 0
        else ToolResultTextDeltaEvent(**key, delta="out ")
        for number in range(n)
    ]
    return [ToolResultStartEvent(**key, tool_call_name="f"), *deltas]


def blocks(n: int) -> list[Any]:
    return [
        cls(**R, block_id=str(number))
        for number in range(n)
        for cls in (TextBlockStartEvent, TextBlockEndEvent)
    ]  # fmt: skip


SHAPES = {shape.__name__: shape for shape in (text, thinking, data, arguments, result, blocks)}


def fold(events: list[Any]) -> MessageBuilder:
    builder = MessageBuilder()
    for event in events:
        builder.apply(event)
    builder.message()
    return builder


@pytest.mark.parametrize("shape", SHAPES)
def test_l4_each_event_more_is_the_same_work_more(shape: str) -> None:
    fold(numbered(SHAPES[shape](10)))
    one, two, four = (calls_of(fold, numbered(SHAPES[shape](n))) for n in (300, 600, 1_200))
    assert four - two == 2 * (two - one)


_REPEATABLE = (TextBlockDeltaEvent, ThinkingBlockDeltaEvent, ToolResultTextDeltaEvent)


@given(streams())
def test_l4_deltas_more_of_any_stream_are_the_same_work_more(stream: list[Any]) -> None:
    def stretched(times: int) -> list[Any]:
        events = [event for event in stream for _ in range(times if isinstance(event, _REPEATABLE) else 1)]
        return [event.model_copy(update={"seq": None}) for event in events]

    fold(stretched(1))
    one, two, four = (calls_of(fold, stretched(times)) for times in (10, 20, 40))
    assert four - two == 2 * (two - one)


@pytest.mark.parametrize("shape", SHAPES)
def test_l4_writing_and_reading_each_event_more_is_the_same_work_more(shape: str) -> None:
    def copy(log: list[Any]) -> None:
        for event in log:
            decode(encode(event))

    copy(numbered(SHAPES[shape](2)))
    one, two, four = (calls_of(copy, numbered(SHAPES[shape](n))) for n in (30, 60, 120))
    assert four - two == 2 * (two - one)


@pytest.mark.parametrize("shape", sorted(SHAPES.keys() - {"blocks"}))
def test_l4_reading_the_message_costs_by_its_blocks_and_not_by_its_events(shape: str) -> None:
    small, large = fold(numbered(SHAPES[shape](9))), fold(numbered(SHAPES[shape](900)))
    assert calls_of(large.message) == calls_of(small.message)


class _NeverAdded(str):
    """Text that must be joined once, and never be added to what was there before."""

    def _refuse(self, *_: Any) -> Any:
        raise AssertionError("a delta was joined on its own")

    __add__ = __radd__ = __format__ = __mod__ = __rmod__ = _refuse


@pytest.mark.parametrize("shape", ["text", "thinking", "arguments", "result"])
def test_l4_no_delta_is_joined_on_its_own(shape: str) -> None:
    log = [
        event.model_copy(update={"delta": _NeverAdded(event.delta)}) if hasattr(event, "delta") else event
        for event in numbered(SHAPES[shape](50))
    ]
    with pytest.raises(AssertionError):
        "" + log[4].delta
    assert fold(log).message() == fold(numbered(SHAPES[shape](50))).message()


def test_l4_no_piece_of_data_is_joined_on_its_own() -> None:
    *log, end = numbered(data(256))
    builder = MessageBuilder()
    tracemalloc.start()
    try:
        for event in log:
            builder.apply(event)
        largest = max(trace.size for trace in tracemalloc.take_snapshot().traces)
    finally:
        tracemalloc.stop()
    assert largest <= 2 * len(PIECE)
    builder.apply(end)
    assert builder.message().content == fold([*log, end]).message().content


def test_l4_binary_content_is_held_a_bounded_number_of_times() -> None:
    log, size = numbered(data(256)), 256 * len(PIECE)
    tracemalloc.start()
    try:
        fold(log)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 6 * size


def test_l4_a_snapshot_is_no_larger_than_the_message_it_holds() -> None:
    builder = fold(numbered(text(5_000)))
    stored = builder.snapshot().model_dump_json()
    assert len(stored) < len(encode(START)) + 5 * 5_000 + 500
    assert MessageBuilder(MessageSnapshot.model_validate_json(stored)).message() == builder.message()
