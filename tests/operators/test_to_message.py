"""`to_message`: replies as messages."""

from __future__ import annotations

from typing import Any

import pytest
import reactivex as rx
from hypothesis import given, strategies as st
from reactivex import operators as ops
from reactivex.testing.marbles import marbles_testing

from agentscope_rx.errors import MissingStartError, ProtocolError
from agentscope_rx.event import (
    AgentEndEvent,
    AgentEvent,
    ConfirmResult,
    CustomEvent,
    MessageBuilder,
    TextBlockDeltaEvent,
    TextBlockStartEvent,
)
from agentscope_rx.message import (
    AssistantMessage,
    GenerateReason,
    TextBlock,
    ToolCallState,
    ToolResultBlock,
    ToolUseBlock,
)
from agentscope_rx.operators import to_message

from ..reference import reference_message
from ..strategies import runs, streams
from .contract import OperatorContract
from .script import (
    R,
    answer,
    answered,
    asking,
    call,
    end,
    failed_end,
    interleaved,
    model_end,
    model_start,
    numbered,
    result,
    start,
    text,
)

CHILD = "main/child"


def messages_of(events: Any, source: str | None = None) -> list[AssistantMessage]:
    messages: list[AssistantMessage] = rx.from_iterable(events).pipe(to_message(source), ops.to_list()).run()
    return messages


def failure_of(events: Any) -> tuple[list[AssistantMessage], Exception | None]:
    messages: list[AssistantMessage] = []
    errors: list[Exception] = []
    rx.from_iterable(events).pipe(to_message()).subscribe(messages.append, errors.append)
    return messages, errors[0] if errors else None


def paused() -> list[AgentEvent]:
    """A reply that asks for a call, pauses, is answered and ends; numbered throughout."""
    block = ToolUseBlock(id="c", name="search", input={"q": 1}, raw_input='{"q":1}', state=ToolCallState.ASKING)
    before = [start(), model_start(), *text("t", "Let me see."), *call("c", '{"q":1}'), model_end(), asking(block)]
    pause = end(reason=GenerateReason.PERMISSION_ASKING)
    yes = answered(ConfirmResult(confirmed=True, tool_call=block))
    after = [yes, *result("c", "42"), model_start("m2"), *text("u", "It is 42."), model_end("m2"), end()]
    so_far = messages_of([*before, pause])[0]
    return numbered([*before, pause, start(resumed=True, message=so_far), *after])


def run_again(event: Any) -> bool:
    return str(event.type) == "AGENT_START" and event.resumed


class TestContract(OperatorContract):
    operator = staticmethod(to_message)
    events = interleaved(answer("Hello"), answer("World", "reply-2"))
    expected = ((len(events) - 1, (R, "Hello")), (len(events), ("reply-2", "World")))
    shape = staticmethod(lambda message: (message.id, message.get_text_content()))


def test_one_message_at_agent_end() -> None:
    events = answer("Hello")
    with marbles_testing(timespan=10) as (begin, cold, _hot, exp):
        source = cold("-a-b-c-d-e-f-g-h-|", dict(zip("abcdefgh", events, strict=True)), None)
        message = reference_message(events)
        assert begin(source.pipe(to_message())) == exp("---------------h-|", {"h": message}, None)


def test_several_replies_in_a_row() -> None:
    stream = [*answer("Hello"), CustomEvent(name="noise"), *answer("World", "reply-2")]
    assert [(message.id, message.get_text_content()) for message in messages_of(stream)] == [
        (R, "Hello"),
        ("reply-2", "World"),
    ]


def test_a_pause_and_the_whole_message_again_after_it() -> None:
    before, after = messages_of(paused())
    assert before.id == after.id == R
    assert before.generate_reason is GenerateReason.PERMISSION_ASKING
    assert before.get_text_content() == "Let me see."
    assert before.get_first_content_block(ToolUseBlock).state is ToolCallState.ASKING
    assert after.generate_reason is GenerateReason.MODEL_STOP
    assert after.get_text_content() == "Let me see.\nIt is 42."
    assert after.get_first_content_block(ToolUseBlock).state is ToolCallState.FINISHED
    assert after.get_first_content_block(ToolResultBlock).output == (TextBlock("42"),)


def test_a_resumed_stream_folds_to_the_whole_message_on_its_own() -> None:
    stream = paused()
    resumed = stream[next(index for index, event in enumerate(stream) if run_again(event)) :]
    assert messages_of(resumed) == messages_of(stream)[1:]


def test_a_reply_that_ended_may_go_on() -> None:
    first = [start(), *text("t", "Hel"), end(reason=GenerateReason.INTERRUPTED)]
    (so_far,) = messages_of(first)
    more = [start(resumed=True, message=so_far), *text("u", "lo"), end()]
    before, after = messages_of(numbered([*first, *more]))
    assert (before.get_text_content(), after.get_text_content()) == ("Hel", "Hel\nlo")


@pytest.mark.parametrize("again", ["last", "all", "overlap"])
def test_what_is_repeated_changes_nothing(again: str) -> None:
    for stream in (answer("Hello"), paused()):
        tail = {"last": stream[-1:], "all": stream, "overlap": stream[len(stream) // 2 :]}[again]
        assert messages_of([*stream, *tail]) == messages_of(stream)
    half = len(paused()) // 2
    stream = paused()
    assert messages_of([*stream[:half], *stream[2:half], *stream[half:]]) == messages_of(stream)


def test_an_error_comes_after_its_message() -> None:
    error = ValueError("the model broke")
    events = [start(), model_start(), *text("t", "Hel"), model_end(), failed_end()]
    source = rx.concat(rx.from_iterable(events), rx.throw(error))
    told: list[Any] = []
    source.pipe(to_message()).subscribe(told.append, told.append, lambda: told.append("completed"))
    message, failure = told
    assert message.generate_reason is GenerateReason.ERROR
    assert message.get_text_content() == "Hel"
    assert failure is error


def test_an_error_in_mid_reply_is_only_the_error() -> None:
    error = ValueError("the connection broke")
    told: list[Any] = []
    rx.concat(rx.of(start()), rx.throw(error)).pipe(to_message()).subscribe(told.append, told.append)
    assert told == [error]


def test_a_source_that_completes_with_a_reply_open() -> None:
    for stream in ([start()], answer()[:-1], paused()[:-1], [*answer(), start("reply-2")]):
        messages, error = failure_of(stream)
        assert type(error) is ProtocolError
        assert stream[-1].reply_id in str(error)
        assert "AGENT_END" in str(error)
        assert len(messages) == sum(isinstance(event, AgentEndEvent) for event in stream)


def test_an_empty_source_has_no_message() -> None:
    assert messages_of([]) == []


def test_a_reply_whose_start_was_never_seen() -> None:
    for event in answer()[1:]:
        messages, error = failure_of([event])
        assert isinstance(error, MissingStartError)
        assert messages == []


def test_a_delta_without_a_start_ends_the_stream_and_leaves_the_source() -> None:
    source: rx.subject.Subject[AgentEvent] = rx.subject.Subject()
    errors: list[Exception] = []
    source.pipe(to_message()).subscribe(on_error=errors.append)
    source.on_next(start())
    source.on_next(text("t", "x")[1])
    assert [type(error) for error in errors] == [MissingStartError]
    assert not source.observers


def test_the_messages_of_a_child_agent() -> None:
    child = [
        start("reply-2", source=CHILD, name="child"),
        *text("t1", "in", "ner", reply_id="reply-2", source=CHILD),
        end("reply-2", source=CHILD),
    ]
    stream = interleaved(answer("Hello"), child)
    assert [message.get_text_content() for message in messages_of(stream)] == ["Hello"]
    assert [(message.name, message.get_text_content()) for message in messages_of(stream, CHILD)] == [
        ("child", "inner")
    ]
    assert messages_of(stream, "main") == []


@given(streams())
def test_every_run_ends_with_the_message_so_far(stream: list[AgentEvent]) -> None:
    for source in (None, CHILD):
        ends = [n for n, event in enumerate(stream) if isinstance(event, AgentEndEvent) and event.source == source]
        assert messages_of(stream, source) == [reference_message(stream[: n + 1], source) for n in ends]


@given(streams())
def test_b2_23_the_stream_and_the_loaded_list_give_equal_messages(stream: list[AgentEvent]) -> None:
    live = messages_of(stream)
    builder = MessageBuilder()
    loaded = []
    for event in stream:
        builder.apply(event)
        if isinstance(event, AgentEndEvent) and event.source is None:
            loaded.append(builder.message())
    assert live == loaded
    assert messages_of(runs(stream)[-1]) == live[-1:]


@given(streams())
def test_b2_21_the_deltas_of_a_block_are_its_text_once(stream: list[AgentEvent]) -> None:
    final = messages_of(stream)[-1]
    texts = {block.id: block.text for block in final.get_content_blocks(TextBlock)}
    shown = {
        event.block_id: "".join(
            delta.delta
            for delta in stream
            if isinstance(delta, TextBlockDeltaEvent) and (delta.reply_id, delta.block_id) == (final.id, event.block_id)
        )
        for event in stream
        if isinstance(event, TextBlockStartEvent) and event.reply_id == final.id and event.block_id in texts
    }
    assert texts == shown


@given(st.data())
def test_repeating_events_and_replaying_an_overlap_changes_nothing(data: st.DataObject) -> None:
    stream = data.draw(streams())
    at = data.draw(st.integers(0, len(stream)))
    back = data.draw(st.integers(0, at))
    assert messages_of([*stream[:at], *stream[back:at], *stream[at:]]) == messages_of(stream)
