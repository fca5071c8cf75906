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
    ModelOptions,
    ModelRequest,
    TextPiece,
    ThinkingPiece,
    ToolCallPiece,
    UsagePiece,
)
from agentscope_rx.model.dashscope import encode_request

from ...feeding import every_cut, every_way
from ..outcome import Call
from ..replying import answered, reply_of
from ..rules import DASHSCOPE, violations
from .decoding import call, decode, decode_chunks, events, failing, say

USAGE: dict[str, Any] = {
    "input_tokens": 26,
    "output_tokens": 4,
    "total_tokens": 30,
    "prompt_tokens_details": {"cached_tokens": 0},
}
HELLO = [say("Hel"), say("lo")]
END = say("", "stop", USAGE)


def chunks_of(*frames: Any, cumulative: bool = False) -> list[ModelChunk]:
    chunks, error = decode_chunks([events(*frames)], cumulative=cumulative)
    assert error is None
    return chunks


def content_of(*frames: Any, cumulative: bool = False) -> tuple[Any, ...]:
    """The blocks that a stream becomes, without their ids."""
    content = reply_of(chunks_of(*frames, cumulative=cumulative)).content
    return tuple(
        block if isinstance(block, ToolUseBlock) else block.model_copy(update={"id": None}) for block in content
    )


def said_again(*frames: Any, **parameters: Any) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """What the assistant said in the next request, and the results of its calls."""
    history = [UserMessage("q"), answered(reply_of(chunks_of(*frames))), UserMessage("go on")]
    body = encode_request(
        "m", ModelRequest(history, options=ModelOptions(extra_body={"parameters": parameters} if parameters else {}))
    )
    assert violations(DASHSCOPE, body) == []
    _, said, *results, _ = body["input"]["messages"]
    return said, results


# --- messages -------------------------------------------------------------------------------------------------------


def test_each_event_is_a_chunk_and_counts_so_far() -> None:
    usages = [{**USAGE, "output_tokens": count} for count in (1, 2)]
    thought, *words = say(None, reasoning_content="hm"), say("Hel", usage=usages[0]), say("lo", usage=usages[1])
    assert chunks_of(thought, *words, END) == [
        ModelChunk(ThinkingPiece("hm")),
        ModelChunk(TextPiece("Hel"), UsagePiece(26, 1, 0)),
        ModelChunk(TextPiece("lo"), UsagePiece(26, 2, 0)),
        ModelChunk(FinishPiece(FinishReason.STOP, "stop"), UsagePiece(26, 4, 0)),
    ]


def test_one_event_may_say_everything() -> None:
    calls = [call('{"city": "Paris"}', "a", "f")]
    assert chunks_of(say("t", "tool_calls", USAGE, reasoning_content="hm", tool_calls=calls)) == [
        ModelChunk(
            ThinkingPiece("hm"),
            TextPiece("t"),
            ToolCallPiece(0, "a", "f", '{"city": "Paris"}'),
            FinishPiece(FinishReason.TOOL_CALLS, "tool_calls"),
            UsagePiece(26, 4, 0),
        )
    ]


def test_however_the_bytes_are_cut() -> None:
    frames = [*HELLO, say("你🌍"), say(tool_calls=[call('{"a": "\u2028"}', "a", "f")]), say("", "tool_calls", USAGE)]
    for data in (events(*frames), events(*frames).replace(b"\n", b"\r\n")):
        for pieces in every_way(data):
            outcome = decode(*pieces)
            assert (outcome.text, outcome.calls, outcome.error) == (
                "Hello你🌍",
                [Call("a", "f", '{"a": "\u2028"}')],
                None,
            )


def test_the_content_of_a_multimodal_model_is_a_list() -> None:
    frames = [
        say([], reasoning_content="hm"),
        say([{"text": "Hel"}, {"text": "lo"}]),
        say([{"image_hw": [[1, 2]]}, None, "x", {"text": None}]),
        say([], "stop", USAGE),
    ]
    assert content_of(*frames) == (ThinkingBlock("hm"), TextBlock("Hello"))


def test_an_output_may_be_nothing_but_text() -> None:
    frames = [{"output": {"text": text, "finish_reason": finish}, "usage": USAGE}
              for text, finish in (("Hel", "null"), ("lo", None), (None, "length"))]  # fmt: skip
    outcome = decode(events(*frames))
    assert (outcome.text, outcome.finish, outcome.error) == ("Hello", FinishReason.LENGTH, None)
    both = {"output": {"text": None, "finish_reason": None, **END["output"]}}
    assert decode(events(*HELLO, both)).finish is FinishReason.STOP


@pytest.mark.parametrize(
    "odd",
    [
        {},
        {"output": None},
        {"output": {}},
        {"output": {"choices": None, "text": None}},
        {"output": {"choices": []}},
        {"output": {"choices": [None, {}, {"message": None, "finish_reason": None}]}},
        {"output": {"choices": [{"message": {"content": 1, "reasoning_content": [], "tool_calls": {}}}]}},
        {"output": {"choices": [{"message": {"content": "", "tool_calls": [None, {}, {"function": None}]}}]}},
        {"output": {"choices": [{"index": 1, "message": {"content": "another choice"}, "finish_reason": "stop"}]}},
        {"usage": None, "code": "", "message": "", "status_code": 200},
    ],
)
def test_b5_59_what_is_missing_or_not_understood_is_passed_over(odd: dict[str, Any]) -> None:
    outcome = decode(events(odd, *HELLO, odd, END))
    assert (outcome.text, outcome.calls, outcome.finish, outcome.error) == ("Hello", [], FinishReason.STOP, None)


# --- usage ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("usage", "piece"),
    [
        ({"input_tokens": 1, "output_tokens": 2, "total_tokens": 3}, UsagePiece(1, 2)),
        ({"input_tokens": 1, "output_tokens": 2, "image_tokens": 1}, UsagePiece(1, 2)),
        ({**USAGE, "prompt_tokens_details": {"cached_tokens": 9}}, UsagePiece(26, 4, 9)),
        ({"input_tokens": 9, "input_tokens_details": {"cached_tokens": 8, "text_tokens": 9}}, UsagePiece(9, None, 8)),
        ({"output_tokens": 9, "output_tokens_details": {"reasoning_tokens": 7}}, UsagePiece(None, 9, None, 7)),
        ({"prompt_tokens": 1, "completion_tokens": 2}, UsagePiece(1, 2)),
        (
            {"completion_tokens": 9, "completion_tokens_details": {"reasoning_tokens": 7}},
            UsagePiece(None, 9, None, 7),
        ),
        ({"input_tokens": 0, "output_tokens": 0}, UsagePiece(0, 0)),
        ({"seconds": 1}, None),
        ({"input_tokens": "many"}, None),
        ({}, None),
        (None, None),
        ("none", None),
    ],
)
def test_b5_58_usage_differs_by_model(usage: Any, piece: UsagePiece | None) -> None:
    assert decode(events(*HELLO, say("", "stop", usage))).usage == piece


def test_usage_may_come_after_the_finish() -> None:
    outcome = decode(events(*HELLO, say("", "stop"), say("late", usage=USAGE), say("later")))
    assert (outcome.text, outcome.usage, outcome.error) == ("Hello", UsagePiece(26, 4, 0), None)


# --- the end --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("reason", "finish"),
    [("stop", FinishReason.STOP), ("length", FinishReason.LENGTH), ("new_reason", FinishReason.UNKNOWN)],
)
def test_why_it_is_over(reason: str, finish: FinishReason) -> None:
    outcome = decode(events(*HELLO, say("!", reason)))
    assert (outcome.text, outcome.finish, outcome.raw_finish, outcome.error) == ("Hello!", finish, reason, None)


@pytest.mark.parametrize("not_yet", ["null", None, ""])
def test_a_reason_that_is_null_is_none_yet(not_yet: str | None) -> None:
    outcome = decode(events(say("Hel", not_yet), say("lo", not_yet)))
    assert isinstance(outcome.error, ModelTruncatedError)
    assert (outcome.text, outcome.finish) == ("Hello", None)


def test_text_after_the_end_is_ignored() -> None:
    outcome = decode(events(*HELLO, END, say("more"), {"code": "Late", "message": "late"}))
    assert (outcome.text, outcome.finish, outcome.error) == ("Hello", FinishReason.STOP, None)


def test_b4_69_cut_wherever_before_its_end_it_is_truncated() -> None:
    """Never taken for whole before its finish reason, never for broken JSON, and what came before stands."""
    data = events(*HELLO, END)
    end_of_finish = data.index(b"\n", data.index(b'"stop"'))
    for cut, (start, _) in enumerate(every_cut(data)):
        outcome = decode(start)
        assert "Hello".startswith(outcome.text)
        if cut >= end_of_finish:
            assert (outcome.error, outcome.finish) == (None, FinishReason.STOP), cut
        elif cut > data.index(b"data:") + len(b"data:"):
            assert isinstance(outcome.error, ModelTruncatedError), cut


def test_b5_56_a_finish_to_call_tools_and_no_call_is_an_error() -> None:
    assert isinstance(decode(events(*HELLO, say("", "tool_calls"))).error, ModelStreamError)


def test_an_answer_that_is_no_stream_is_taken_whole() -> None:
    answer = json.dumps(say("Hello", "stop", USAGE)).encode()
    assert (decode(answer).text, decode(answer).finish, decode(answer).usage) == (
        "Hello",
        FinishReason.STOP,
        UsagePiece(26, 4, 0),
    )


# --- errors ---------------------------------------------------------------------------------------------------------

ERROR = {"code": "Throttling.RateQuota", "message": "Requests rate limit exceeded.", "request_id": "f19e-d189"}


@pytest.mark.parametrize("before", [[], HELLO])
@pytest.mark.parametrize(
    "error",
    [
        failing(429, **ERROR),
        events(ERROR),
        events({**ERROR, "output": None}),
        events({**say("not said"), **ERROR}),
        json.dumps(ERROR).encode(),
    ],
    ids=["event", "frame", "frame without output", "frame with output", "body"],
)
def test_b6_67_an_error_has_its_code_message_and_request_and_keeps_what_came_before(
    before: list[Any], error: bytes
) -> None:
    outcome = decode(events(*before) + error)
    assert isinstance(outcome.error, ModelStreamError)
    assert (outcome.error.kind, outcome.error.code) == ("Throttling.RateQuota", "Throttling.RateQuota")
    assert str(outcome.error).endswith("Throttling.RateQuota: Requests rate limit exceeded. (request f19e-d189)")
    assert (outcome.text, outcome.finish) == ("Hello" if before else "", None)


def test_an_error_of_a_code_alone_is_one_too() -> None:
    error = decode(events({"code": "InternalError"})).error
    assert isinstance(error, ModelStreamError)
    assert error.kind == "InternalError"


@pytest.mark.parametrize(("body", "said"), [(b"", "an empty body"), (b"<html>", "a web page")])
def test_b6_71_what_is_no_stream_is_told(body: bytes, said: str) -> None:
    error = decode(body).error
    assert isinstance(error, ModelStreamError)
    assert said in str(error)


# --- calls ----------------------------------------------------------------------------------------------------------


def calls_of(*frames: Any, cumulative: bool = False) -> list[Call]:
    outcome = decode(events(*frames, say("", "tool_calls", USAGE)), cumulative=cumulative)
    assert (outcome.finish, outcome.error) == (FinishReason.TOOL_CALLS, None)
    return outcome.calls


def each(*calls: dict[str, Any]) -> list[dict[str, Any]]:
    """One frame for each piece."""
    return [say("", tool_calls=[piece]) for piece in calls]


PARIS, ZURICH = Call("a", "f", '{"city": "Paris"}'), Call("b", "g", '{"city": "Zürich"}')
TAILS = [call('{"city"'), call(': "Paris"}')]


@pytest.mark.parametrize(
    "tails",
    [
        TAILS,
        [{**tail, "id": ""} for tail in TAILS],
        [call(tail["function"]["arguments"], "", "") for tail in TAILS],
        [call(tail["function"]["arguments"], "a", "f") for tail in TAILS],
        [call(tail["function"]["arguments"], index=None) for tail in TAILS],
        [call(tail["function"]["arguments"], index=7) for tail in TAILS],
    ],
    ids=["bare", "b4 42 empty id", "b4 42 empty id and name", "b4 43 repeated", "b4 39 no index", "b4 46 odd index"],
)
def test_b4_40_arguments_come_in_pieces(tails: list[dict[str, Any]]) -> None:
    assert calls_of(*each(call("", "a", "f"), *tails)) == [PARIS]


def test_calls_in_a_row_and_in_one_frame() -> None:
    paris, zurich = call(PARIS.arguments, "a", "f"), call(ZURICH.arguments, "b", "g", 1)
    assert calls_of(*each(paris, zurich)) == [PARIS, ZURICH]
    assert calls_of(say("", tool_calls=[paris, zurich])) == [PARIS, ZURICH]
    heads, tails = [call("{", "a", "f"), call("{", "b", "g", 1)], [call("}"), call("}", index=1)]
    pieces = [say("", tool_calls=heads), say("", tool_calls=tails)]
    assert calls_of(*pieces) == [Call("a", "f", "{}"), Call("b", "g", "{}")]


def test_b4_38_every_call_has_index_0() -> None:
    frames = each(*(call("{}", id, "f", 0) for id in "abc"))
    assert calls_of(*frames) == [Call(id, "f", "{}") for id in "abc"]


def test_b4_41_index_but_never_an_id() -> None:
    assert calls_of(*each(call("{", None, "f"), call("}"))) == [Call(None, "f", "{}")]


def test_b4_44_the_first_index_is_1() -> None:
    assert [c.id for c in calls_of(*each(call("{}", "a", "f", 1), call("{}", "b", "f", 3)))] == ["a", "b"]


def test_b4_48_arguments_may_come_before_the_name() -> None:
    assert calls_of(*each(call('{"city"', "a"), call(': "Paris"}', name="f"))) == [PARIS]


@pytest.mark.parametrize("arguments", ["", None, {}])
def test_b4_47_no_arguments_are_an_empty_object(arguments: Any) -> None:
    [block] = content_of(*each(call(arguments, "a", "f")), say("", "tool_calls"))
    assert isinstance(block, ToolUseBlock)
    assert block.input == {}


def test_b5_55_calls_count_whatever_the_reason() -> None:
    outcome = decode(events(*each(call("{}", "a", "f")), END))
    assert (len(outcome.calls), outcome.finish) == (1, FinishReason.STOP)


# --- cumulative output ----------------------------------------------------------------------------------------------


def test_b5_60_growing_text_is_turned_into_what_is_new() -> None:
    growing = [say("根据"), say("根据当前"), say("根据当前", "stop", USAGE)]
    assert chunks_of(*growing, cumulative=True) == [
        ModelChunk(TextPiece("根据")),
        ModelChunk(TextPiece("当前")),
        ModelChunk(FinishPiece(FinishReason.STOP, "stop"), UsagePiece(26, 4, 0)),
    ]


def test_b5_60_what_is_repeated_without_the_flag_is_new() -> None:
    assert decode(events(say("ha"), say("ha"), END)).text == "haha"
    assert decode(events(say("ha"), say("ha"), say("ha", "stop")), cumulative=True).text == "ha"


def test_b5_60_text_that_shrinks_or_changes_takes_nothing_back() -> None:
    frames = [say("Hello"), say("Hel"), say(""), say("Hello!"), say("Hallo!?", "stop")]
    outcome = decode(events(*frames), cumulative=True)
    assert (outcome.text, outcome.finish, outcome.error) == ("Hello!?", FinishReason.STOP, None)


def test_thoughts_text_and_the_arguments_of_each_call_grow_apart() -> None:
    thought = {"reasoning_content": "I need both."}
    frames = [
        say("", reasoning_content="I need"),
        say("", **thought),
        say("Look", **thought),
        say("Look.", tool_calls=[call('{"city"', "a", "f")], **thought),
        say("Look.", tool_calls=[call(PARIS.arguments, "a", "f"), call("", "b", "g", 1)], **thought),
        say("Look.", "tool_calls", USAGE,
            tool_calls=[call(PARIS.arguments, "a", "f"), call(ZURICH.arguments, "b", "g", 1)], **thought),
    ]  # fmt: skip
    outcome = decode(events(*frames), cumulative=True)
    assert (outcome.thinking, outcome.text, outcome.calls) == ("I need both.", "Look.", [PARIS, ZURICH])
    assert (outcome.finish, outcome.error) == (FinishReason.TOOL_CALLS, None)


@pytest.mark.parametrize("ids", [("a", "b"), (None, None)])
@pytest.mark.parametrize("index", [True, False])
def test_calls_are_told_apart_by_their_place_too(ids: tuple[str | None, ...], index: bool) -> None:
    def calls(*arguments: str) -> list[dict[str, Any]]:
        return [call(text, ids[n], "f", n if index else None) for n, text in enumerate(arguments)]

    frames = [say("", tool_calls=calls(*texts)) for texts in (("{",), ("{}", "{"), ("{}", "{}"))]
    assert calls_of(*frames, cumulative=True) == [Call(ids[0], "f", "{}"), Call(ids[1], "f", "{}")]


def test_growing_content_may_be_a_list_or_nothing_but_text() -> None:
    assert decode(events(say([{"text": "a"}]), say([{"text": "ab"}], "stop")), cumulative=True).text == "ab"
    texts = [{"output": {"text": text, "finish_reason": reason}} for text, reason in (("a", "null"), ("ab", "stop"))]
    assert decode(events(*texts), cumulative=True).text == "ab"


def test_however_growing_text_is_cut() -> None:
    data = events(say("你"), say("你🌍"), say("你🌍!", "stop", USAGE))
    for pieces in every_way(data):
        assert decode(*pieces, cumulative=True).text == "你🌍!"


# --- the next request -----------------------------------------------------------------------------------------------

BOTH = [
    say("", reasoning_content="I need "), say("", reasoning_content="both."), say("Look. "),
    say("", tool_calls=[call(PARIS.arguments, "call_1", "f"), call('{ "b":1.50 }', "call_2", "g", 1)]),
    say("Done."), say("", "tool_calls", USAGE),
]  # fmt: skip


def test_calls_and_their_ids_go_back_as_they_came() -> None:
    said, results = said_again(*BOTH)
    assert said == {
        "role": "assistant",
        "content": "Look. Done.",
        "tool_calls": [
            {"id": "call_1", "type": "function", "function": {"name": "f", "arguments": PARIS.arguments}},
            {"id": "call_2", "type": "function", "function": {"name": "g", "arguments": '{ "b":1.50 }'}},
        ],
    }
    assert results == [{"role": "tool", "tool_call_id": id, "content": "ok"} for id in ("call_1", "call_2")]


def test_b5_54_thoughts_go_back_when_the_model_is_to_see_them() -> None:
    assert "reasoning_content" not in said_again(*BOTH, preserve_thinking=False)[0]
    assert said_again(*BOTH, preserve_thinking=True)[0]["reasoning_content"] == "I need both."
