from __future__ import annotations

import json
from typing import Any

import pytest

from agentscope_rx.errors import ModelStreamError, ModelTruncatedError
from agentscope_rx.event import FinishReason
from agentscope_rx.model import (
    FinishPiece,
    ModelChunk,
    TextPiece,
    ThinkingPiece,
    ToolCallPiece,
    UsagePiece,
)
from agentscope_rx.model.openai_chat import ChatDecoder
from agentscope_rx.stream import ServerSentEvent

from ...feeding import every_way
from ..outcome import Call
from .decoding import DONE, STOP, call, decode, decode_chunks, delta, sse

TEXT = delta(content="Hello")


def usage(prompt: int | None, completion: int | None, **more: Any) -> dict[str, Any]:
    return {"prompt_tokens": prompt, "completion_tokens": completion, **more}


# --- one frame ------------------------------------------------------------------------------------------------------


def test_one_frame_is_one_chunk_in_the_order_thinking_text_calls() -> None:
    frame = delta(tool_calls=[call("{}", id="a", name="f")], content="text", reasoning_content="thought")
    chunks, error = decode_chunks([sse(frame, delta("tool_calls"), DONE)])
    assert error is None
    assert chunks == [
        ModelChunk(ThinkingPiece("thought"), TextPiece("text"), ToolCallPiece(0, "a", "f", "{}")),
        ModelChunk(FinishPiece(FinishReason.TOOL_CALLS, "tool_calls")),
    ]


@pytest.mark.parametrize("name", ["reasoning_content", "reasoning"])
def test_thinking_has_two_names(name: str) -> None:
    outcome = decode(sse(delta(**{name: "a"}), delta(**{name: "b"}), STOP))
    assert (outcome.thinking, outcome.error) == ("ab", None)


def test_thinking_under_both_names_is_said_once() -> None:
    assert decode(sse(delta(reasoning_content="a", reasoning="a"), STOP)).thinking == "a"


def test_content_may_be_a_list_of_parts() -> None:
    parts = [
        {"type": "thinking", "thinking": [{"type": "text", "text": "hm"}]},
        {"type": "text", "text": "Hi"},
        {"type": "image_url", "image_url": {"url": "https://example.org/x.png"}},
        "odd",
    ]
    outcome = decode(sse(delta(content=parts), STOP))
    assert (outcome.thinking, outcome.text) == ("hm", "Hi")


def test_a_refusal_is_text_and_the_finish_reason() -> None:
    outcome = decode(sse(delta(refusal="I can"), delta(refusal="not."), STOP))
    assert (outcome.text, outcome.finish, outcome.raw_finish) == ("I cannot.", FinishReason.REFUSAL, "stop")


def test_only_choice_0_is_read() -> None:
    frames = [
        delta(index=1, content="x"),
        delta(index=0, content="a"),
        delta("length", index=1),
        delta(index=0, content="b"),
    ]
    outcome = decode(sse(*frames, STOP))
    assert (outcome.text, outcome.finish) == ("ab", FinishReason.STOP)


def test_a_choice_without_an_index_is_choice_0() -> None:
    assert decode(sse({"choices": [{"delta": {"content": "a"}}]}, delta(index=None, content="b"), STOP)).text == "ab"


def test_legacy_function_call() -> None:
    frames = [delta(function_call={"name": "f", "arguments": ""}), delta(function_call={"arguments": '{"x"'})]
    outcome = decode(sse(*frames, delta(function_call={"arguments": ":1}"}), delta("function_call"), DONE))
    assert (outcome.calls, outcome.finish) == ([Call(None, "f", '{"x":1}')], FinishReason.TOOL_CALLS)


def test_legacy_function_call_beside_tool_calls_is_not_read() -> None:
    legacy = {"name": "f", "arguments": "{}"}
    frames = [delta(function_call=legacy, tool_calls=[call("{}", id="a", name="f")]), delta("tool_calls")]
    assert decode(sse(*frames)).calls == [Call("a", "f", "{}")]


@pytest.mark.parametrize(
    ("raw", "reason"),
    [
        ("stop", FinishReason.STOP),
        ("length", FinishReason.LENGTH),
        ("content_filter", FinishReason.CONTENT_FILTER),
        ("max_tokens", FinishReason.LENGTH),
        ("something_new", FinishReason.UNKNOWN),
    ],
)
def test_finish_reasons(raw: str, reason: FinishReason) -> None:
    outcome = decode(sse(TEXT, delta(raw), DONE))
    assert (outcome.finish, outcome.raw_finish, outcome.error) == (reason, raw, None)


@pytest.mark.parametrize("raw", ["", None])
def test_a_blank_finish_reason_is_none(raw: str | None) -> None:
    outcome = decode(sse(delta(raw, content="a"), delta(raw, content="b"), STOP))
    assert (outcome.text, outcome.finish) == ("ab", FinishReason.STOP)


def test_half_a_surrogate_pair_is_no_character() -> None:
    frames = [json.dumps(delta(content=text)) for text in ("a\ud83d", "\ud83d\ude42")]
    assert "\\ud83d" in frames[0]
    assert decode(sse(*frames, STOP)).text == "a\ufffd🙂"


# --- B5: traits of providers ----------------------------------------------------------------------------------------


def test_b5_52_empty_choices_null_deltas_and_a_usage_only_chunk() -> None:
    frames = [
        {"choices": [], "prompt_filter_results": []},
        {"choices": None},
        {},
        {"choices": [{"index": 0, "delta": None}]},
        delta(role="assistant", content=None),
        delta(content=""),
        delta(content="Hel"),
        delta(content="lo"),
        STOP,
        {"choices": [], "usage": usage(3, 2)},
    ]
    for pieces in every_way(sse(*frames, DONE)):
        outcome = decode(*pieces)
        assert (outcome.text, outcome.usage, outcome.error) == ("Hello", UsagePiece(3, 2), None)


def test_b5_52_a_usage_only_chunk_says_no_more_than_usage() -> None:
    chunks, _ = decode_chunks([sse(TEXT, STOP, {"choices": [], "usage": usage(3, 2)}, DONE)])
    assert chunks[-1] == ModelChunk(UsagePiece(3, 2))


def test_b5_55_finish_stop_with_calls_keeps_the_calls() -> None:
    outcome = decode(sse(delta(tool_calls=[call("{}", id="a", name="f")]), STOP, DONE))
    assert (outcome.calls, outcome.finish, outcome.error) == ([Call("a", "f", "{}")], FinishReason.STOP, None)


def test_b5_55_finish_length_with_a_whole_call_reports_length() -> None:
    outcome = decode(sse(delta(tool_calls=[call("{}", id="a", name="f")]), delta("length"), DONE))
    assert (outcome.calls, outcome.finish, outcome.error) == ([Call("a", "f", "{}")], FinishReason.LENGTH, None)


@pytest.mark.parametrize("raw", ["tool_calls", "function_call"])
@pytest.mark.parametrize("frames", [[], [TEXT], [delta(tool_calls=[])], [delta(tool_calls=[call("{}")])]])
def test_b5_56_finish_tool_calls_without_a_call_is_an_error(raw: str, frames: list[Any]) -> None:
    outcome = decode(sse(*frames, delta(raw), {"choices": [], "usage": usage(3, 2)}, DONE))
    assert isinstance(outcome.error, ModelStreamError)
    assert "no tool call" in str(outcome.error)
    assert outcome.usage == UsagePiece(3, 2)


def test_b5_58_usage_is_absolute_and_the_last_word_counts() -> None:
    frames = [{**TEXT, "usage": usage(10, 1)}, {**TEXT, "usage": usage(10, 15)}, {**STOP, "usage": usage(10, 15)}]
    assert decode(sse(*frames, DONE)).usage == UsagePiece(10, 15)


def test_b5_58_no_usage_is_unknown_not_zero() -> None:
    assert decode(sse(TEXT, STOP, DONE)).usage is None
    assert decode(sse(TEXT, {**STOP, "usage": None}, {"choices": [], "usage": {}}, DONE)).usage is None
    assert decode(sse(TEXT, {**STOP, "usage": usage(None, 4)}, DONE)).usage == UsagePiece(None, 4)


def test_usage_details() -> None:
    details = {"prompt_tokens_details": {"cached_tokens": 6}, "completion_tokens_details": {"reasoning_tokens": 5}}
    assert decode(sse(TEXT, {**STOP, "usage": usage(10, 9, **details)})).usage == UsagePiece(10, 9, 6, 5)
    null = {"prompt_tokens_details": None, "completion_tokens_details": None, "prompt_cache_hit_tokens": 4}
    assert decode(sse(TEXT, {**STOP, "usage": usage(10, 9, **null)})).usage == UsagePiece(10, 9, 4)


def test_usage_inside_the_last_choice() -> None:
    last = {"choices": [{"index": 0, "delta": {}, "finish_reason": "stop", "usage": usage(10, 9)}]}
    assert decode(sse(TEXT, last, DONE)).usage == UsagePiece(10, 9)


@pytest.mark.parametrize(
    "odd",
    [
        {},
        {"choices": {}},
        {"choices": "x"},
        {"choices": [None, 1, "x", []]},
        {"choices": [{}]},
        {"choices": [{"delta": []}]},
        {"choices": [{"delta": {"content": 5, "reasoning_content": {}, "refusal": [], "tool_calls": "x"}}]},
        {"choices": [{"delta": {"content": [1, None, {}, {"text": 3}]}}]},
        {
            "choices": [
                {"delta": {"tool_calls": [None, {}, {"function": None}, {"index": "0", "function": {"name": 4}}]}}
            ]
        },
        {"choices": [{"delta": {"function_call": "x"}}]},
        {"choices": [], "usage": "many", "error": None, "new_field": {"deep": [1]}},
        {"choices": [], "usage": {"prompt_tokens": "3", "completion_tokens": None, "prompt_tokens_details": 4}},
        {"object": "chat.completion.chunk", "obfuscation": "xyz"},
        [],
        17,
        "text",
        None,
    ],
)
def test_b5_59_unknown_and_missing_fields_are_passed_over(odd: Any) -> None:
    outcome = decode(sse(TEXT), sse(json.dumps(odd)), sse(delta(content="!"), STOP, DONE))
    assert (outcome.text, outcome.finish, outcome.error) == ("Hello!", FinishReason.STOP, None)


# --- B6: errors -----------------------------------------------------------------------------------------------------

ERROR = {"error": {"message": "too much", "type": "rate_limit_error", "code": "rate_limit_exceeded"}}


def test_b6_65_keep_alives_are_nothing() -> None:
    data = b": PING\n\n:\n\ndata\n\ndata:\n\nevent: ping\ndata: now\n\nevent:\n\nretry: x\n\n" + sse(TEXT, STOP)
    for pieces in every_way(data):
        outcome = decode(*pieces)
        assert (outcome.text, outcome.error) == ("Hello", None)


@pytest.mark.parametrize("before", [[], [TEXT], [TEXT, STOP]])
def test_b6_66_an_error_object_anywhere(before: list[Any]) -> None:
    for pieces in every_way(sse(*before, ERROR, delta(content="late"))):
        outcome = decode(*pieces)
        assert isinstance(outcome.error, ModelStreamError)
        assert (outcome.error.kind, outcome.error.code) == ("rate_limit_error", "rate_limit_exceeded")
        assert "too much" in str(outcome.error)
        assert outcome.text == ("Hello" if before else "")


@pytest.mark.parametrize("body", [ERROR, [ERROR], {"object": "error", **ERROR["error"]}])
@pytest.mark.parametrize("indent", [None, 2])
def test_b6_66_an_error_as_plain_json_without_data(body: Any, indent: int | None) -> None:
    text = json.dumps(body, indent=indent).encode()
    for data in (text, text + b"\n", b"\n\n" + text):
        for pieces in every_way(data):
            error = decode(*pieces).error
            assert isinstance(error, ModelStreamError)
            assert (error.kind, error.code) == ("rate_limit_error", "rate_limit_exceeded")


def test_b6_66_an_error_as_plain_json_after_events() -> None:
    for pieces in every_way(sse(TEXT) + json.dumps(ERROR).encode()):
        outcome = decode(*pieces)
        assert isinstance(outcome.error, ModelStreamError)
        assert (outcome.error.kind, outcome.text) == ("rate_limit_error", "Hello")


@pytest.mark.parametrize(
    ("error", "kind", "code"),
    [
        ({"error": "model not found"}, None, None),
        ({"error": {"code": 500, "message": "m", "type": "server_error"}}, "server_error", 500),
        ({"error": {"code": 503, "message": "m", "status": "UNAVAILABLE"}}, "UNAVAILABLE", 503),
        ({"error": {"message": "m", "code": "bad"}, "choices": [delta()["choices"][0]]}, "bad", "bad"),
        ({"code": "InvalidApiKey", "message": "m", "request_id": "r"}, "InvalidApiKey", "InvalidApiKey"),
        ({"object": "error", "message": "m", "type": "BadRequestError", "code": 400}, "BadRequestError", 400),
        ({"choices": [{"finish_reason": "error", "error": {"code": 502, "message": "m"}}]}, None, 502),
        ({"choices": [{"finish_reason": "insufficient_system_resource"}]}, "insufficient_system_resource", None),
    ],
)
def test_b6_66_shapes_of_errors(error: Any, kind: str | None, code: Any) -> None:
    outcome = decode(sse(TEXT, error, STOP))
    assert isinstance(outcome.error, ModelStreamError)
    assert (outcome.text, outcome.error.kind, outcome.error.code) == ("Hello", kind, code)


@pytest.mark.parametrize(
    ("data", "kind"),
    [
        ('{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}', "overloaded_error"),
        ('{"code":529,"message":"Overloaded","type":"overloaded_error"}', "overloaded_error"),
        ("Overloaded", "error"),
    ],
)
def test_b6_67_an_error_event_after_pings_and_text(data: str, kind: str) -> None:
    stream = b"event: ping\ndata: {}\n\n" + sse(TEXT) + f"event: error\ndata: {data}\n\n".encode()
    for pieces in every_way(stream):
        outcome = decode(*pieces)
        assert isinstance(outcome.error, ModelStreamError)
        assert (outcome.text, outcome.error.kind) == ("Hello", kind)
        assert "Overloaded" in str(outcome.error)


# --- how a stream ends ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("ending", [[STOP], [STOP, DONE]])
def test_finish_with_or_without_done_is_normal(ending: list[Any]) -> None:
    outcome = decode(sse(TEXT, *ending))
    assert (outcome.text, outcome.finish, outcome.error) == ("Hello", FinishReason.STOP, None)


@pytest.mark.parametrize(
    "ending", [b"data: [DONE]\n\n", b"data: [DONE]\n", b"data: [DONE]", b"data:[DONE]", b"data: [DONE] "]
)
def test_done_without_finish_after_content_is_normal_and_the_reason_unknown(ending: bytes) -> None:
    for content in (TEXT, delta(reasoning="x"), delta(tool_calls=[call("{}", id="a", name="f")])):
        outcome = decode(sse(content) + ending)
        assert (outcome.finish, outcome.raw_finish, outcome.error) == (FinishReason.UNKNOWN, None, None)


def test_done_and_nothing_else_is_an_error() -> None:
    outcome = decode(sse(delta(role="assistant"), DONE))
    assert isinstance(outcome.error, ModelStreamError)


@pytest.mark.parametrize("frames", [[TEXT], [delta(role="assistant")], [TEXT, {"choices": [], "usage": usage(1, 1)}]])
def test_the_end_of_the_body_without_finish_or_done_is_truncation(frames: list[Any]) -> None:
    outcome = decode(sse(*frames))
    assert isinstance(outcome.error, ModelTruncatedError)
    assert outcome.finish is None


def test_b6_69_cut_inside_tool_arguments_is_truncation() -> None:
    data = sse(delta(tool_calls=[call("", id="a", name="f")]), delta(tool_calls=[call('{"x":')]))
    outcome = decode(data)
    assert isinstance(outcome.error, ModelTruncatedError)
    assert outcome.calls == [Call("a", "f", '{"x":')]


@pytest.mark.parametrize(
    ("body", "said"),
    [
        (b"", "an empty body"),
        (b"\n\n", "an empty body"),
        (b": keep-alive\n\n: keep-alive\n\n", "an empty body"),
        (b"<!DOCTYPE html>\n<html><body>data: 502\n</body></html>", "a web page"),
        (b"Bad gateway", "other text"),
        (b'{"object":"list","data":[]}', "other text"),
        (b"event: x\n\n", "an empty body"),
    ],
)
def test_b6_71_a_body_without_events_is_an_error(body: bytes, said: str) -> None:
    for pieces in every_way(body):
        error = decode(*pieces).error
        assert isinstance(error, ModelStreamError)
        assert said in str(error)
        assert "Bad gateway" not in str(error)


def test_an_event_that_is_not_json_is_an_error() -> None:
    outcome = decode(sse(TEXT, "{not json", STOP))
    assert isinstance(outcome.error, ModelStreamError)
    assert outcome.text == "Hello"
    assert "{not" not in str(outcome.error)


def test_text_after_the_end_is_ignored() -> None:
    late = [delta(content="late", tool_calls=[call("{}", id="a", name="f")]), delta("length")]
    for ending in ([STOP, *late], [STOP, *late, DONE], [STOP, DONE, *late, ERROR, "{not json"]):
        outcome = decode(sse(TEXT, *ending))
        assert (outcome.text, outcome.calls, outcome.finish, outcome.error) == ("Hello", [], FinishReason.STOP, None)


def test_the_decoder_says_when_the_model_is_finished_and_when_the_stream_is_done() -> None:
    decoder = ChatDecoder()
    states = []
    for frame in (TEXT, STOP, {"choices": [], "usage": usage(1, 1)}):
        decoder.feed(ServerSentEvent(json.dumps(frame)))
        states.append((decoder.finished, decoder.done))
    decoder.feed(ServerSentEvent(DONE))
    assert [*states, (decoder.finished, decoder.done)] == [(False, False), (True, False), (True, False), (True, True)]


# --- servers that do not stream -------------------------------------------------------------------------------------

COMPLETION = {
    "id": "x",
    "object": "chat.completion",
    "choices": [
        {
            "index": 0,
            "message": {
                "role": "assistant",
                "content": "Hi",
                "tool_calls": [{"id": "a", "function": {"name": "f", "arguments": "{}"}}],
            },
            "finish_reason": "tool_calls",
        }
    ],
    "usage": usage(3, 2),
}


@pytest.mark.parametrize("indent", [None, 2])
def test_a_completion_from_a_server_that_does_not_stream_is_one_chunk(indent: int | None) -> None:
    for pieces in every_way(json.dumps(COMPLETION, indent=indent).encode()):
        chunks, error = decode_chunks(pieces)
        assert error is None
        assert chunks == [
            ModelChunk(
                TextPiece("Hi"),
                ToolCallPiece(0, "a", "f", "{}"),
                FinishPiece(FinishReason.TOOL_CALLS, "tool_calls"),
                UsagePiece(3, 2),
            )
        ]


def test_a_completion_as_the_only_event_is_read_too() -> None:
    outcome = decode(sse(COMPLETION, DONE))
    assert (outcome.text, outcome.calls, outcome.error) == ("Hi", [Call("a", "f", "{}")], None)


def test_a_summary_after_the_deltas_is_not_said_twice() -> None:
    summary = {"choices": [{"index": 0, "message": {"content": "Hello"}, "finish_reason": "stop"}]}
    assert decode(sse(TEXT, summary, DONE)).text == "Hello"


@pytest.mark.parametrize(("finish", "content"), [("stop", ""), (None, "Hi")])
def test_a_completion_may_lack_content_or_the_finish_reason(finish: str | None, content: str) -> None:
    body = {"choices": [{"message": {"content": content}, "finish_reason": finish}]}
    outcome = decode(json.dumps(body).encode())
    assert (outcome.text, outcome.raw_finish, outcome.error) == (content, finish, None)
    assert outcome.finish is (FinishReason.STOP if finish else FinishReason.UNKNOWN)


def test_a_cut_completion_is_an_error() -> None:
    body = json.dumps(COMPLETION).encode()
    outcome = decode(body[: len(body) // 2])
    assert isinstance(outcome.error, ModelStreamError)


# --- secrets --------------------------------------------------------------------------------------------------------


def test_messages_of_the_provider_go_through_the_mask() -> None:
    decoder = ChatDecoder(mask=lambda message: message.replace("sk-1234", "***"))
    with pytest.raises(ModelStreamError, match=r"\*\*\* is no key") as caught:
        decoder.feed(ServerSentEvent('{"error":{"message":"sk-1234 is no key"}}'))
    assert "sk-1234" not in str(caught.value)
