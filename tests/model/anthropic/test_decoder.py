from __future__ import annotations

import json
from typing import Any

import pytest

from agentscope_rx.errors import ModelStreamError, ModelTruncatedError
from agentscope_rx.event import FinishReason
from agentscope_rx.message import AssistantMessage, TextBlock, ThinkingBlock, ToolUseBlock, UserMessage
from agentscope_rx.model import (
    FinishPiece,
    ModelChunk,
    ModelRequest,
    TextPiece,
    ToolCallPiece,
    UsagePiece,
)
from agentscope_rx.model.anthropic import encode_request
from agentscope_rx.model.native import native

from ...feeding import every_way
from ..outcome import Call
from ..replying import answered, reply_of
from .decoding import (
    BEGIN_TEXT,
    END,
    begin,
    call,
    decode,
    decode_chunks,
    finish,
    json_piece,
    more,
    sse,
    start,
    stop,
    text,
    think,
)

HELLO = [start(input_tokens=3, output_tokens=1), BEGIN_TEXT, text("Hel"), text("lo"), stop(0)]


def chunks_of(*frames: Any) -> list[ModelChunk]:
    chunks, error = decode_chunks([sse(*frames)])
    assert error is None
    return chunks


def content_of(*frames: Any) -> tuple[Any, ...]:
    """The blocks that a stream becomes, without their ids."""
    return tuple(
        block if isinstance(block, ToolUseBlock) else block.model_copy(update={"id": None})
        for block in reply_of(chunks_of(*frames)).content
    )


def said_again(*frames: Any) -> list[dict[str, Any]]:
    """What the assistant said, in the next request."""
    history = [UserMessage("q"), answered(reply_of(chunks_of(*frames))), UserMessage("go on")]
    messages = encode_request("m", ModelRequest(history))["messages"]
    return [block for message in messages if message["role"] == "assistant" for block in message["content"]]


# --- blocks ---------------------------------------------------------------------------------------------------------


def test_text_comes_as_it_is_said_and_ends_when_it_stops() -> None:
    assert chunks_of(*HELLO, finish(output_tokens=2), END) == [
        ModelChunk(UsagePiece(3, 1)),
        ModelChunk(TextPiece("Hel")),
        ModelChunk(TextPiece("lo")),
        ModelChunk(TextPiece(complete=True)),
        ModelChunk(FinishPiece(FinishReason.STOP, "end_turn"), UsagePiece(3, 2)),
    ]


def test_however_the_bytes_are_cut() -> None:
    frames = [*HELLO[:-1], text("你🌍"), stop(0), *call(1, "a", '{"city"', ':"Zürich"}'), finish("tool_use"), END]
    for pieces in every_way(sse(*frames)):
        outcome = decode(*pieces)
        assert (outcome.text, outcome.calls, outcome.error) == (
            "Hello你🌍",
            [Call("a", "f", '{"city":"Zürich"}')],
            None,
        )


def test_blocks_in_a_row_stay_apart() -> None:
    frames = [begin(0, "text", text=""), text("a"), stop(0), begin(1, "text", text=""), text("b", 1), stop(1), finish()]
    assert content_of(*frames) == (TextBlock("a"), TextBlock("b"))


def test_a_thought_carries_its_signature() -> None:
    frames = [
        begin(0, "thinking", thinking="", signature=""),
        think("hm"),
        more(0, "signature_delta", signature="sig"),
        stop(0),
        begin(1, "thinking", thinking="", signature=""),
        more(1, "signature_delta", signature="of nothing shown"),
        stop(1),
        begin(2, "redacted_thinking", data="secret"),
        stop(2),
        finish(),
    ]
    assert content_of(*frames) == (
        ThinkingBlock("hm", signature="sig", metadata=native("anthropic")),
        ThinkingBlock("", signature="of nothing shown", metadata=native("anthropic")),
        ThinkingBlock("", redacted_data="secret", metadata=native("anthropic")),
    )


def test_an_empty_signature_is_none() -> None:
    frames = [begin(0, "thinking", thinking=""), think("hm"), more(0, "signature_delta", signature=""), stop(0)]
    assert content_of(*frames, finish()) == (ThinkingBlock("hm"),)


def test_a_call_is_named_at_once_and_complete_when_it_stops() -> None:
    assert chunks_of(*call(0, "a", "", '{"x"', ":1}"), finish("tool_use")) == [
        ModelChunk(ToolCallPiece(0, "a", "f")),
        ModelChunk(ToolCallPiece(0, arguments='{"x"')),
        ModelChunk(ToolCallPiece(0, arguments=":1}")),
        ModelChunk(ToolCallPiece(0, complete=True)),
        ModelChunk(FinishPiece(FinishReason.TOOL_CALLS, "tool_use")),
    ]


def test_a_block_may_begin_with_its_content() -> None:
    frames = [begin(0, "text", text="a"), stop(0), begin(1, "thinking", thinking="b", signature="s"), stop(1), finish()]
    outcome = decode(sse(*frames))
    assert (outcome.text, outcome.thinking, outcome.proofs) == ("a", "b", ["s"])


def test_an_empty_block_is_no_content() -> None:
    assert chunks_of(BEGIN_TEXT, stop(0), begin(1, "thinking", thinking=""), stop(1), finish()) == [
        ModelChunk(FinishPiece(FinishReason.STOP, "end_turn"))
    ]


CITATION = {"type": "char_location", "cited_text": "rain", "document_index": 0}
SEARCH = {"type": "server_tool_use", "id": "s1", "name": "web_search"}
FOUND = {
    "type": "web_search_tool_result",
    "tool_use_id": "s1",
    "content": [{"type": "web_search_result", "url": "https://x.org", "encrypted_content": "e"}],
}


def test_sources_and_the_providers_own_work_come_back_as_they_were_and_in_their_place() -> None:
    frames = [
        begin(0, "text", text="", citations=[]),
        text("It rains"),
        more(0, "citations_delta", citation=CITATION),
        more(0, "citations_delta", citation={**CITATION, "document_index": 1}),
        stop(0),
        begin(1, **{"kind": SEARCH["type"], **{k: v for k, v in SEARCH.items() if k != "type"}}, input={}),
        json_piece('{"que', 1),
        json_piece('ry": "q"}', 1),
        stop(1),
        {"type": "content_block_start", "index": 2, "content_block": FOUND},
        stop(2),
        begin(3, "text", text=""),
        text(".", 3),
        stop(3),
        *call(4, "a", "{}", caller={"type": "direct"}),
        begin(5, "compaction", content=None),
        more(5, "compaction_delta", content="so far", encrypted_content="e"),
        stop(5),
        finish("tool_use"),
        END,
    ]
    assert said_again(*frames) == [
        {"type": "text", "text": "It rains", "citations": [CITATION, {**CITATION, "document_index": 1}]},
        {**SEARCH, "input": {"query": "q"}},
        FOUND,
        {"type": "text", "text": "."},
        {"type": "tool_use", "id": "a", "name": "f", "input": {}, "caller": {"type": "direct"}},
        {"type": "compaction", "content": "so far", "encrypted_content": "e"},
    ]


def test_an_answer_that_pauses_is_told_as_such_and_goes_on_from_where_it_is() -> None:
    search = {"type": "server_tool_use", "id": "s1", "name": "web_search", "input": {"q": "x"}}
    frames = [*HELLO, {"type": "content_block_start", "index": 1, "content_block": search}, stop(1)]
    chunks = chunks_of(*frames, finish("pause_turn"), END)
    assert chunks[-1].pieces[-1] == FinishPiece(FinishReason.PAUSE, "pause_turn")
    messages = encode_request("m", ModelRequest([UserMessage("q"), reply_of(chunks)]))["messages"]
    assert messages[-1] == {"role": "assistant", "content": [{"type": "text", "text": "Hello"}, search]}


def test_the_providers_own_work_is_no_call_and_no_text() -> None:
    outcome = decode(sse(begin(0, "server_tool_use", id="s", name="web_search", input={"q": 1}), stop(0), finish()))
    assert (outcome.text, outcome.thinking, outcome.calls, outcome.error) == ("", "", [], None)


@pytest.mark.parametrize("piece", ['{"q', "[1]", None])
def test_input_of_the_providers_work_that_cannot_be_read_leaves_what_it_began_with(piece: Any) -> None:
    frames = [begin(0, "server_tool_use", id="s", input={"began": 1}), json_piece(piece), stop(0), finish()]
    [block] = content_of(*frames)
    assert block.metadata["block"]["input"] == {"began": 1}


# --- blocks that overlap --------------------------------------------------------------------------------------------


def test_a_thought_that_is_not_stopped_ends_where_text_begins() -> None:
    frames = [
        begin(0, "thinking", thinking=""),
        think("a"),
        begin(1, "text", text=""),
        text("b", 1),
        more(0, "signature_delta", signature="too late"),
        stop(0),
        text("c", 1),
        stop(1),
        finish(),
    ]
    assert content_of(*frames) == (ThinkingBlock("a"), TextBlock("bc"))


def test_two_texts_that_overlap_stay_apart() -> None:
    frames = [BEGIN_TEXT, text("a"), begin(1, "text", text=""), text("b", 1), stop(0), text("c", 1), stop(1), finish()]
    assert content_of(*frames) == (TextBlock("a"), TextBlock("bc"))


def test_text_that_goes_on_after_another_block_is_not_lost() -> None:
    frames = [BEGIN_TEXT, text("a"), begin(1, "thinking"), think("b", 1), text("c"), stop(1), stop(0), finish()]
    assert content_of(*frames) == (TextBlock("a"), ThinkingBlock("b"), TextBlock("c"))


def test_calls_may_interleave() -> None:
    frames = [
        begin(0, "tool_use", id="a", name="f"),
        json_piece('{"x"', 0),
        begin(1, "tool_use", id="b", name="g"),
        json_piece('{"y"', 1),
        json_piece(":1}", 0),
        json_piece(":2}", 1),
        stop(0),
        stop(1),
        finish("tool_use"),
    ]
    assert decode(sse(*frames)).calls == [Call("a", "f", '{"x":1}'), Call("b", "g", '{"y":2}')]


def test_blocks_that_are_never_stopped_end_with_the_message() -> None:
    frames = [begin(0, "thinking"), think("a"), more(0, "signature_delta", signature="s")]
    calls = [begin(1, "tool_use", id="a", name="f", input={"x": 1})]
    outcome = decode(sse(*frames, *calls, finish("tool_use"), END))
    assert (outcome.proofs, outcome.calls) == (["s"], [Call("a", "f", '{"x": 1}')])


# --- B4: which call is it? ------------------------------------------------------------------------------------------

TWO = [Call("a", "f", '{"x":1}'), Call("b", "f", '{"y":2}')]
B4 = {
    "b4-38 every block has index 0": ([*call(0, "a", '{"x":1}'), *call(0, "b", '{"y":2}')], TWO),
    "b4-39 the index is missing": ([*call(None, "a", '{"x"', ":1}"), *call(None, "b", '{"y"', ":2}")], TWO),
    "b4-41 index but never an id": (call(0, None, '{"x":1}'), [Call(None, "f", '{"x":1}')]),
    "b4-42 the id is an empty string": (call(0, "", '{"x":1}'), [Call(None, "f", '{"x":1}')]),
    "b4-44 the first index is 1": ([*call(1, "a", '{"x":1}'), *call(3, "b", '{"y":2}')], TWO),
    "b4-46 the tails have an unknown index": (
        [begin(0, "tool_use", id="a", name="f"), json_piece('{"x"', 7), json_piece(":1}", 8), stop(9)],
        [TWO[0]],
    ),
    "b4-47 no arguments at all": (call(0, "a"), [Call("a", "f", "")]),
    "b4-47 empty arguments": (call(0, "a", "", input=None), [Call("a", "f", "")]),
    "the input whole, without pieces": (call(0, "a", input={"x": 1}), [Call("a", "f", '{"x": 1}')]),
    "b2-19 the input whole and in pieces": (call(0, "a", '{"x"', ":1}", input={"x": 1}), [TWO[0]]),
    "no stop": (call(0, "a", '{"x":1}')[:-1] + call(1, "b", '{"y":2}')[:-1], TWO),
    "a start without input": ([begin(0, "tool_use", id="a", name="f"), json_piece('{"x":1}'), stop(0)], [TWO[0]]),
}


@pytest.mark.parametrize("fault", B4)
def test_b4(fault: str) -> None:
    frames, calls = B4[fault]
    outcome = decode(sse(start(), *frames, finish("tool_use"), END))
    assert (outcome.calls, outcome.finish, outcome.error) == (calls, FinishReason.TOOL_CALLS, None)


def test_b4_46_a_piece_of_arguments_without_any_call_is_passed_over() -> None:
    outcome = decode(sse(json_piece('{"x"'), BEGIN_TEXT, text("a"), finish()))
    assert (outcome.text, outcome.calls, outcome.error) == ("a", [], None)


# --- B5 -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("raw", "reason"),
    [
        ("end_turn", FinishReason.STOP),
        ("stop_sequence", FinishReason.STOP),
        ("max_tokens", FinishReason.LENGTH),
        ("model_context_window_exceeded", FinishReason.LENGTH),
        ("refusal", FinishReason.REFUSAL),
        ("pause_turn", FinishReason.PAUSE),
        ("something_new", FinishReason.UNKNOWN),
    ],
)
def test_stop_reasons(raw: str, reason: FinishReason) -> None:
    outcome = decode(sse(*HELLO, finish(raw), END))
    assert (outcome.finish, outcome.raw_finish, outcome.error) == (reason, raw, None)


def test_b5_55_a_stop_of_any_kind_keeps_the_calls() -> None:
    outcome = decode(sse(*call(0, "a", "{}"), finish("end_turn"), END))
    assert (outcome.calls, outcome.finish) == ([Call("a", "f", "{}")], FinishReason.STOP)


@pytest.mark.parametrize("frames", [[], HELLO, call(0, "a", "{}", name=None)], ids=["nothing", "text", "no name"])
def test_b5_56_a_stop_to_use_tools_without_a_call_is_an_error(frames: list[Any]) -> None:
    outcome = decode(sse(*frames, finish("tool_use", output_tokens=2), END))
    assert isinstance(outcome.error, ModelStreamError)
    assert "no tool call" in str(outcome.error)


def test_b5_58_counts_are_totals_and_the_last_word_on_each_stands() -> None:
    begun = start(input_tokens=4, cache_creation_input_tokens=10, cache_read_input_tokens=100, output_tokens=1)
    assert decode(sse(begun, *HELLO[1:], finish(output_tokens=5), END)).usage == UsagePiece(114, 5, 100)
    later = finish(input_tokens=6, output_tokens=5, output_tokens_details={"thinking_tokens": 3})
    assert decode(sse(begun, *HELLO[1:], later, END)).usage == UsagePiece(116, 5, 100, 3)


def test_b5_58_no_usage_is_unknown_not_zero() -> None:
    assert decode(sse(*HELLO[1:], finish(), END)).usage is None
    assert decode(sse(*HELLO[1:], finish(output_tokens=2), END)).usage == UsagePiece(None, 2)


def test_b5_59_missing_and_unknown_fields_are_passed_over() -> None:
    frames = [
        {"type": "message_start"},
        {"type": "message_start", "message": {"usage": None, "content": None}},
        {"type": "content_block_start"},
        {"type": "content_block_delta"},
        {"type": "content_block_delta", "delta": {"type": "new_delta", "x": 1}},
        {"type": "content_block_stop"},
        {"type": "something_new", "index": 0},
        {"type": "message_delta"},
        {"type": "message_delta", "delta": {"stop_reason": None}, "usage": {"output_tokens": None}},
        BEGIN_TEXT,
        more(0, "text_delta"),
        more(0, "text_delta", text=None),
        {"type": "content_block_delta", "delta": {"text": "a"}, "index": 0, "new": True},
        finish(),
    ]
    outcome = decode(sse(*frames))
    assert (outcome.text, outcome.finish, outcome.error) == ("a", FinishReason.STOP, None)


def test_b5_59_text_whose_beginning_was_never_sent_is_not_lost() -> None:
    assert decode(sse(think("a"), think("b"), finish())).thinking == "ab"
    assert decode(sse(text("a"), text("b"), finish())).text == "ab"


def test_the_name_of_the_event_stands_in_for_a_missing_type() -> None:
    data = sse(*HELLO, finish(), END).replace(b'"type": "content_block_delta", ', b"")
    assert b"event: content_block_delta" in data
    assert decode(data).text == "Hello"


def test_what_comes_after_the_stop_reason_is_only_usage() -> None:
    outcome = decode(
        sse(*HELLO, finish(), text("x"), begin(1, "text", text="y"), finish("refusal", output_tokens=9), END)
    )
    assert (outcome.text, outcome.finish, outcome.usage) == ("Hello", FinishReason.STOP, UsagePiece(3, 9))


# --- how a stream ends ----------------------------------------------------------------------------------------------


def test_b6_67_pings_are_ignored_and_an_error_event_is_an_error_of_its_kind() -> None:
    error = {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}
    outcome = decode(sse({"type": "ping"}, *HELLO, {"type": "ping"}, error, finish(), END))
    assert isinstance(outcome.error, ModelStreamError)
    assert (outcome.error.kind, str(outcome.error)) == (
        "overloaded_error",
        "the model's stream carried an error: overloaded_error: Overloaded",
    )
    assert (outcome.text, outcome.finish) == ("Hello", None)


def test_b6_67_an_error_needs_no_name_of_its_event() -> None:
    error = {"type": "error", "error": {"type": "api_error", "message": "m"}}
    outcome = decode(b"data: " + json.dumps(error).encode() + b"\n\n")
    assert isinstance(outcome.error, ModelStreamError)
    assert outcome.error.kind == "api_error"


def test_b6_69_a_stream_that_ends_in_the_middle_of_arguments_is_truncated() -> None:
    outcome = decode(sse(*call(0, "a", '{"x"')[:-1]))
    assert isinstance(outcome.error, ModelTruncatedError)
    assert outcome.calls == [Call("a", "f", '{"x"')]


def test_the_last_event_may_be_missing() -> None:
    outcome = decode(sse(*HELLO, finish()))
    assert (outcome.finish, outcome.error) == (FinishReason.STOP, None)


@pytest.mark.parametrize("last", [END, "[DONE]"], ids=["message_stop", "[DONE]"])
def test_an_end_without_a_reason_after_content_is_unknown(last: Any) -> None:
    outcome = decode(sse(*HELLO, last))
    assert (outcome.text, outcome.finish, outcome.error) == ("Hello", FinishReason.UNKNOWN, None)


def test_an_end_before_any_content_is_an_error() -> None:
    outcome = decode(sse(start(input_tokens=1), END))
    assert isinstance(outcome.error, ModelStreamError)
    assert "before the model said anything" in str(outcome.error)


@pytest.mark.parametrize(
    ("body", "what"),
    [(b"", "an empty body"), (b"<html>busy</html>", "a web page"), (b"hello", "other text")],
)
def test_b6_71_no_event_stream_is_an_error(body: bytes, what: str) -> None:
    outcome = decode(body)
    assert isinstance(outcome.error, ModelStreamError)
    assert what in str(outcome.error)
    assert "Anthropic Messages protocol" in str(outcome.error)


def test_b6_66_an_error_as_plain_json() -> None:
    outcome = decode(b'{"type":"error","error":{"type":"authentication_error","message":"invalid x-api-key"}}')
    assert isinstance(outcome.error, ModelStreamError)
    assert outcome.error.kind == "authentication_error"


WHOLE = {
    "type": "message",
    "content": [
        {"type": "thinking", "thinking": "hm", "signature": "s"},
        {"type": "text", "text": "a"},
        {"type": "text", "text": "b"},
        {"type": "tool_use", "id": "a", "name": "f", "input": {"x": 1}},
        "odd",
    ],
    "stop_reason": "tool_use",
    "usage": {"input_tokens": 3, "output_tokens": 2},
}


@pytest.mark.parametrize("indent", [None, 2])
def test_a_server_that_does_not_stream_is_understood(indent: int | None) -> None:
    outcome = decode(json.dumps(WHOLE, indent=indent).encode())
    assert (outcome.thinking, outcome.proofs, outcome.text) == ("hm", ["s"], "ab")
    assert (outcome.calls, outcome.finish) == ([Call("a", "f", '{"x": 1}')], FinishReason.TOOL_CALLS)
    assert (outcome.usage, outcome.error) == (UsagePiece(3, 2), None)


def test_a_whole_message_may_stand_in_its_first_event() -> None:
    outcome = decode(sse({"type": "message_start", "message": WHOLE}, END))
    assert (outcome.text, outcome.calls, outcome.error) == ("ab", [Call("a", "f", '{"x": 1}')], None)


def test_a_reply_that_is_cut_off_keeps_what_was_whole() -> None:
    chunks, error = decode_chunks([sse(begin(0, "thinking"), think("hm"), more(0, "signature_delta", signature="s"))])
    assert isinstance(error, ModelTruncatedError)
    reply = reply_of(chunks, ended=False)
    assert isinstance(reply, AssistantMessage)
    [thought] = reply.content
    assert (thought.thinking, thought.signature) == ("hm", None)
