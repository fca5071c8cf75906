"""Random streams through a foreign wire: the reader returns a lawful stream that folds to the same message.

"The same" is what the codec itself says: every event of the native stream is put through `encode` and `decode` on its
own, which leaves out what the dialect cannot carry; only what a reader knows of the stream is left as it was.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import pytest
from hypothesis import given, settings, strategies as st

from agentscope_rx.event import (
    AgentEvent,
    EventReader,
    EventWriter,
    MessageBuilder,
    ToolResultDataDeltaEvent,
    ToolResultEndEvent,
    ToolResultStartEvent,
    decode,
    encode,
)
from agentscope_rx.message import PAUSES, AssistantMessage, Msg, ToolResultBlock, ToolResultState
from agentscope_rx.testing import assert_valid_stream
from tests.strategies import breaches, streams

DIALECTS: tuple[Any, ...] = ("java", "python")
KNOWN_TO_THE_READER = {"reply_id", "model_call_id", "resumed", "message", "generate_reason", "structured_output"}
"""What an event loses on its way alone, and not in its stream."""

pytestmark = pytest.mark.law

many = settings(max_examples=3_000 if settings.get_current_profile_name() == "ci" else 200)


def read(dialect: Any, events: Iterable[AgentEvent]) -> list[AgentEvent]:
    writer, reader = EventWriter(dialect), EventReader(dialect)
    told = [told for event in events for line in writer.write(event) for told in reader.read(line)]
    return told + reader.close()


def fold(events: Iterable[AgentEvent], source: str | None = None) -> AssistantMessage:
    builder = MessageBuilder(source=source)
    for event in events:
        builder.apply(event)
    return builder.message()


def carried(event: Any, dialect: Any) -> Any:
    """The event as the dialect carries it, but for what a reader makes up for."""
    known = {name: getattr(event, name) for name in KNOWN_TO_THE_READER & type(event).model_fields.keys()}
    return decode(encode(event, dialect), dialect).model_copy(update=known)


def without_numbers(events: Iterable[Any]) -> list[Any]:
    return [event.model_copy(update={"seq": None}) for event in events]


def sources(events: Iterable[Any]) -> set[str | None]:
    return {event.source for event in events}


def by_call(message: Msg) -> list[Any]:
    """The blocks, but results by the order of their calls: a stream of Java tells them as they come."""
    results = sorted(message.get_content_blocks(ToolResultBlock), key=lambda block: block.id)
    return [*(block for block in message.content if not isinstance(block, ToolResultBlock)), *results]


def rest(message: AssistantMessage) -> AssistantMessage:
    """All but the blocks; without numbers, a pause is told before its AGENT_END has come."""
    pause = {"structured_output": None} if message.generate_reason in PAUSES else {}
    return message.with_content().model_copy(update=pause)


@many
@given(streams())
def test_a_stream_folds_to_the_same_message(events: Sequence[AgentEvent]) -> None:
    bare = without_numbers(events)
    for dialect in DIALECTS:
        told = read(dialect, events)
        assert_valid_stream(told)
        assert [(event.id, event.seq) for event in told] == [(event.id, event.seq) for event in events]
        told_of_bare = read(dialect, bare)
        assert_valid_stream(told_of_bare)
        for source in sources(events):
            expected = fold([carried(event, dialect) for event in events], source)
            assert fold(told, source) == expected
            message = fold(told_of_bare, source)
            assert by_call(message) == by_call(expected)
            assert rest(message) == rest(expected)


@given(streams(), st.data())
def test_a_stream_that_stops_anywhere_is_brought_to_a_lawful_end(
    events: Sequence[AgentEvent], data: st.DataObject
) -> None:
    events = events[: data.draw(st.integers(1, len(events)))]
    for dialect in DIALECTS:
        assert_valid_stream(read(dialect, events))
        assert_valid_stream(read(dialect, without_numbers(events)))


@given(streams(), st.data())
def test_a_stream_that_begins_anywhere_is_brought_to_a_lawful_start(
    events: Sequence[AgentEvent], data: st.DataObject
) -> None:
    events = events[data.draw(st.integers(0, len(events) - 1)) :]
    for dialect in DIALECTS:
        assert_valid_stream(read(dialect, without_numbers(events)))


@given(streams(), st.data())
def test_a_stream_in_any_disorder_becomes_lawful(events: Sequence[AgentEvent], data: st.DataObject) -> None:
    events = data.draw(breaches(without_numbers(events)))
    for dialect in DIALECTS:
        assert_valid_stream(read(dialect, events))


@given(streams(), st.data())
def test_a_replayed_overlap_changes_nothing(events: Sequence[AgentEvent], data: st.DataObject) -> None:
    for dialect in DIALECTS:
        writer, reader = EventWriter(dialect), EventReader(dialect)
        lines = [line for event in events for line in writer.write(event)]
        end = data.draw(st.integers(1, len(lines)))
        start = data.draw(st.integers(0, end))
        told = [told for line in [*lines[:end], *lines[start:]] for told in reader.read(line)]
        assert told == read(dialect, events)


@given(streams())
def test_a_native_stream_is_returned_as_it_is(events: Sequence[AgentEvent]) -> None:
    assert read("native", [*events, *events]) == events


@pytest.mark.parametrize("dialect", DIALECTS)
def test_results_of_calls_that_nobody_saw_are_not_taken_for_one(dialect: Any) -> None:
    """A stream that is joined late has results whose calls came before; their names alone do not pair them."""
    reply: dict[str, Any] = {"reply_id": "r"}
    picture: dict[str, Any] = {"block_id": "link", "media_type": "image/png", "url": "x:y"}
    events = [
        *(ToolResultStartEvent(**reply, tool_call_id=id, tool_call_name="search") for id in ("a", "b")),
        *(ToolResultDataDeltaEvent(**reply, tool_call_id=id, **picture) for id in ("b", "a")),
        *(ToolResultEndEvent(**reply, tool_call_id=id, state=ToolResultState.SUCCESS) for id in ("b", "a")),
    ]
    told = read(dialect, events)
    assert_valid_stream(told)
    assert [len(block.output) for block in fold(told).get_content_blocks(ToolResultBlock)] == [1, 1]
