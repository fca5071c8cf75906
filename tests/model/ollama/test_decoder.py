from __future__ import annotations

import json
from typing import Any

import pytest

from agentscope_rx.errors import ModelStreamError, ModelTruncatedError
from agentscope_rx.event import FinishReason
from agentscope_rx.message import TextBlock, ThinkingBlock, ToolUseBlock, UserMessage
from agentscope_rx.model import (
    FinishPiece,
    ModelChunk,
    ModelRequest,
    TextPiece,
    ThinkingPiece,
    ToolCallPiece,
    UsagePiece,
)
from agentscope_rx.model.native import native
from agentscope_rx.model.ollama import encode_request

from ...feeding import every_way
from ..outcome import Call
from ..replying import answered, reply_of
from ..rules import OLLAMA, violations
from .decoding import call, decode, decode_chunks, done, lines, say

COUNTS: dict[str, Any] = {
    "total_duration": 4883583458,
    "load_duration": 1334875,
    "prompt_eval_count": 26,
    "prompt_eval_duration": 342546000,
    "eval_count": 282,
    "eval_duration": 4535599000,
}
HELLO = [say("Hel"), say("lo")]


def chunks_of(*frames: Any) -> list[ModelChunk]:
    chunks, error = decode_chunks([lines(*frames)])
    assert error is None
    return chunks


def content_of(*frames: Any) -> tuple[Any, ...]:
    """The blocks that a stream becomes, without their ids."""
    return tuple(block.model_copy(update={"id": None}) for block in reply_of(chunks_of(*frames)).content)


def said_again(*frames: Any) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """What the assistant said in the next request, and the results of its calls."""
    history = [UserMessage("q"), answered(reply_of(chunks_of(*frames))), UserMessage("go on")]
    body = encode_request("m", ModelRequest(history))
    assert violations(OLLAMA, body) == []
    _, said, *results, _ = body["messages"]
    return said, results


# --- messages -------------------------------------------------------------------------------------------------------


def test_each_line_is_a_chunk_and_the_last_one_counts() -> None:
    assert chunks_of(say(thinking="hm"), *HELLO, done(**COUNTS)) == [
        ModelChunk(ThinkingPiece("hm")),
        ModelChunk(TextPiece("Hel")),
        ModelChunk(TextPiece("lo")),
        ModelChunk(FinishPiece(FinishReason.STOP, "stop"), UsagePiece(26, 282)),
    ]


def test_one_line_may_say_everything() -> None:
    message = say("t", thinking="hm", tool_calls=[call(arguments={"city": "Paris"})])
    [chunk] = chunks_of({**message, "done": True, "done_reason": "stop", **COUNTS})
    assert chunk == ModelChunk(
        ThinkingPiece("hm"),
        TextPiece("t"),
        ToolCallPiece(0, None, "f", '{"city": "Paris"}', complete=True),
        FinishPiece(FinishReason.STOP, "stop"),
        UsagePiece(26, 282),
    )


def test_however_the_bytes_are_cut() -> None:
    frames = [*HELLO, say("你🌍"), say(tool_calls=[call(arguments={"city": "Zürich \u2028"})]), done()]
    for data in (lines(*frames), lines(*frames).replace(b"\n", b"\r\n\r\n"), lines(*frames)[:-1]):
        for pieces in every_way(data):
            outcome = decode(*pieces)
            assert (outcome.text, outcome.error) == ("Hello你🌍", None)
            assert [json.loads(c.arguments) for c in outcome.calls] == [{"city": "Zürich \u2028"}]


def test_half_a_character_waits_for_the_other_half() -> None:
    half = ['{"message":{"content":"\\ud83c"}}', '{"message":{"content":"\\udf0d"}}']
    assert decode(lines(*half, done())).text == "🌍"


@pytest.mark.parametrize(
    "odd",
    [
        {},
        {"message": None},
        {"message": {}},
        {"message": {"content": None, "thinking": None, "tool_calls": None}},
        {"message": {"content": ["x"], "thinking": 1, "tool_calls": {}}},
        {"message": {"content": "", "tool_calls": [None, "x", {}, {"function": None}]}},
        {"message": "text", "done": "no"},
        {"created_at": "now", "logprobs": [], "_debug_info": {}},
    ],
)
def test_b5_59_what_is_missing_or_not_understood_is_passed_over(odd: dict[str, Any]) -> None:
    outcome = decode(lines(odd, *HELLO, odd, done(**COUNTS)))
    assert (outcome.text, outcome.calls, outcome.error) == ("Hello", [], None)


# --- the end --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("reason", "finish"),
    [
        ("stop", FinishReason.STOP),
        ("length", FinishReason.LENGTH),
        ("load", FinishReason.UNKNOWN),
        ("unload", FinishReason.UNKNOWN),
        ("", FinishReason.UNKNOWN),
        (None, FinishReason.UNKNOWN),
    ],
)
def test_why_it_is_done(reason: str | None, finish: FinishReason) -> None:
    outcome = decode(lines(*HELLO, done(reason)))
    assert (outcome.text, outcome.finish, outcome.raw_finish, outcome.error) == ("Hello", finish, reason, None)


def test_b5_58_counts_that_are_not_given_are_unknown() -> None:
    assert decode(lines(*HELLO, done())).usage is None
    assert decode(lines(*HELLO, done(eval_count=2))).usage == UsagePiece(None, 2)
    assert decode(lines(*HELLO, done(prompt_eval_count=0, eval_count=0))).usage == UsagePiece(0, 0)


def test_text_after_the_end_is_ignored() -> None:
    outcome = decode(lines(*HELLO, done(), say("more"), {"error": "late"}))
    assert (outcome.text, outcome.finish, outcome.error) == ("Hello", FinishReason.STOP, None)


@pytest.mark.parametrize("rest", [b"", b'{"message":{"cont', b"\n\n"])
def test_b4_69_without_the_last_line_it_is_truncated(rest: bytes) -> None:
    outcome = decode(lines(*HELLO, say(tool_calls=[call()])) + rest)
    assert isinstance(outcome.error, ModelTruncatedError)
    assert (outcome.text, outcome.finish, len(outcome.calls)) == ("Hello", None, 1)


@pytest.mark.parametrize("error", ["out of memory", {"message": "out of memory"}])
@pytest.mark.parametrize("before", [[], HELLO])
def test_b6_66_an_error_line_keeps_what_came_before(error: Any, before: list[Any]) -> None:
    outcome = decode(lines(*before, {"error": error, "status": 500}, done()))
    assert isinstance(outcome.error, ModelStreamError)
    assert "out of memory" in str(outcome.error)
    assert (outcome.text, outcome.finish) == ("Hello" if before else "", None)


def test_an_error_line_says_its_status() -> None:
    error = decode(lines({"error": "an error was encountered", "status": 503})).error
    assert isinstance(error, ModelStreamError)
    assert error.code == 503


@pytest.mark.parametrize(
    ("body", "said"),
    [
        (b"", "an empty body"),
        (b"\n\n", "an empty body"),
        (b"<!DOCTYPE html>\n<p>Welcome</p>", "a web page"),
        (b"Ollama is running", "other text"),
        (b'data: {"choices": []}\n\n', "other text"),
    ],
)
def test_b6_71_what_is_no_stream_of_lines_is_told(body: bytes, said: str) -> None:
    error = decode(body).error
    assert isinstance(error, ModelStreamError)
    assert said in str(error)
    assert "the base URL is that of an Ollama server" in str(error)


def test_a_line_that_is_no_json_is_an_error() -> None:
    outcome = decode(lines(*HELLO, '{"message":', done()))
    assert isinstance(outcome.error, ModelStreamError)
    assert (outcome.text, "not valid JSON" in str(outcome.error)) == ("Hello", True)


# --- calls ----------------------------------------------------------------------------------------------------------


def calls_of(*frames: Any) -> list[Call]:
    outcome = decode(lines(*frames, done()))
    assert (outcome.finish, outcome.error) == (FinishReason.STOP, None)
    return outcome.calls


@pytest.mark.parametrize("index", [{}, {"index": 0}])
@pytest.mark.parametrize("ids", [("a", "b", "c"), (None, None, None)])
@pytest.mark.parametrize("at_once", [True, False])
def test_b4_38_every_call_has_index_0(index: dict[str, int], ids: tuple[str | None, ...], at_once: bool) -> None:
    calls = [call("f", {"n": n}, id, **index) for n, id in enumerate(ids)]
    frames = [say(tool_calls=calls)] if at_once else [say(tool_calls=[each]) for each in calls]
    assert calls_of(*frames) == [Call(id, "f", json.dumps({"n": n})) for n, id in enumerate(ids)]


def test_b4_41_a_call_without_an_id_gets_one_that_is_not_sent_to_the_server() -> None:
    frames = [say(tool_calls=[call("f"), call("f")]), done()]
    one, other = reply_of(chunks_of(*frames)).get_content_blocks(ToolUseBlock)
    assert one.id
    assert one.id != other.id
    said, results = said_again(*frames)
    assert said["tool_calls"] == [call("f"), call("f")]
    assert results == [{"role": "tool", "content": "ok", "tool_name": "f"}] * 2


def test_b4_42_an_empty_id_is_none() -> None:
    assert calls_of(say(tool_calls=[call(id=""), call(id="")])) == [Call(None, "f", "{}")] * 2


def test_b4_43_a_call_that_is_repeated_is_one_call() -> None:
    again = [say(tool_calls=[call("f", {"a": 1}, "x")])] * 3
    assert calls_of(*again) == [Call("x", "f", '{"a": 1}')]


def test_b4_50_the_same_call_twice_in_one_message_is_two_calls() -> None:
    assert calls_of(say(tool_calls=[call("f", {"a": 1}), call("f", {"a": 1})])) == [Call(None, "f", '{"a": 1}')] * 2


@pytest.mark.parametrize("arguments", ["", None, {}])
def test_b4_47_no_arguments_are_an_empty_object(arguments: Any) -> None:
    frame = say(tool_calls=[{"function": {"name": "f", "arguments": arguments}}])
    [block] = reply_of(chunks_of(frame, done())).content
    assert isinstance(block, ToolUseBlock)
    assert block.input == {}


def test_arguments_as_text_are_taken_too() -> None:
    assert calls_of(say(tool_calls=[call("f", '{"a": 1}')])) == [Call(None, "f", '{"a": 1}')]


def test_a_call_without_a_name_is_none(caplog: pytest.LogCaptureFixture) -> None:
    assert calls_of(say("t", tool_calls=[call(None, {"a": 1})])) == []
    assert "was ignored" in caplog.text


def test_an_id_may_come_later() -> None:
    assert calls_of(say(tool_calls=[{"function": {"name": "f"}}]), say(tool_calls=[{"id": "a", "function": None}])) == [
        Call("a", "f", "")
    ]


def test_text_goes_on_after_a_call() -> None:
    frames = [say("Look. "), say(tool_calls=[call()]), say("Done."), done()]
    text, use, rest = content_of(*frames)
    assert (text, type(use), rest) == (TextBlock("Look. "), ToolUseBlock, TextBlock("Done."))
    assert said_again(*frames)[0]["content"] == "Look. Done."


# --- the next request -----------------------------------------------------------------------------------------------


def test_thoughts_calls_and_their_ids_go_back_as_they_came() -> None:
    calls = [call("f", {"b": [1.5, None], "a": "ä"}, "call_1", index=0), call("g", id="call_2", index=1)]
    frames = [say(thinking="I need "), say(thinking="both."), say("Look."), say(tool_calls=calls), done()]
    thought, *_ = content_of(*frames)
    assert thought == ThinkingBlock("I need both.")
    said, results = said_again(*frames)
    assert said == {"role": "assistant", "content": "Look.", "thinking": "I need both.", "tool_calls": calls}
    assert results == [
        {"role": "tool", "content": "ok", "tool_name": "f", "tool_call_id": "call_1"},
        {"role": "tool", "content": "ok", "tool_name": "g", "tool_call_id": "call_2"},
    ]


def test_what_a_server_adds_to_a_call_is_kept() -> None:
    odd = {**call("f", id="a"), "type": "function", "extra": {"x": 1}}
    frames = [say(tool_calls=[odd]), done()]
    [block] = reply_of(chunks_of(*frames)).content
    own = {"id": "a", "type": "function", "extra": {"x": 1}}
    assert getattr(block, "metadata", None) == native("ollama-native", call=own)
    assert said_again(*frames)[0]["tool_calls"] == [odd]
