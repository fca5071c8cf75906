from __future__ import annotations

import json
from typing import Any

import pytest

from agentscope_rx.errors import ModelStreamError, ModelTruncatedError
from agentscope_rx.event import FinishReason
from agentscope_rx.identity import set_id_factory
from agentscope_rx.message import (
    Base64Source,
    ContentBlock,
    DataBlock,
    TextBlock,
    ThinkingBlock,
    ToolResultBlock,
    ToolUseBlock,
    UserMessage,
)
from agentscope_rx.model import DataPiece, FinishPiece, ModelChunk, ModelRequest, TextPiece, ToolCallPiece, UsagePiece
from agentscope_rx.model.gemini import encode_request
from agentscope_rx.model.native import native

from ...feeding import every_way
from ..decoding import sse
from ..outcome import Call, Outcome
from ..replying import answered, reply_of
from ..rules import GEMINI_2, violations
from .decoding import STOP, call, chunk, decode, decode_chunks, text, think

USAGE = {"promptTokenCount": 3, "candidatesTokenCount": 2, "totalTokenCount": 5}
HELLO = [chunk(text("Hel")), chunk(text("lo"))]
END = chunk(finish="STOP", usage=USAGE)


def chunks_of(*frames: Any) -> list[ModelChunk]:
    chunks, error = decode_chunks([sse(*frames)])
    assert error is None
    return chunks


def content_of(*frames: Any) -> tuple[ContentBlock, ...]:
    """The blocks that a stream becomes; those of text and thinking without their ids."""
    return tuple(
        block.model_copy(update={"id": None}) if isinstance(block, TextBlock | ThinkingBlock) else block
        for block in reply_of(chunks_of(*frames)).content
    )


def said_again(*frames: Any) -> list[dict[str, Any]]:
    """The parts of the model, in the next request."""
    history = [UserMessage("q"), answered(reply_of(chunks_of(*frames))), UserMessage("go on")]
    body = encode_request("gemini-2.5-flash", ModelRequest(history))
    assert violations(GEMINI_2, body) == []
    return [part for content in body["contents"] if content["role"] == "model" for part in content["parts"]]


def part_of(**part: Any) -> dict[str, Any]:
    return native("gemini", part=part)


# --- parts ----------------------------------------------------------------------------------------------------------


def test_text_comes_as_it_is_said_and_ends_with_the_answer() -> None:
    assert chunks_of(*HELLO, END) == [
        ModelChunk(TextPiece("Hel")),
        ModelChunk(TextPiece("lo")),
        ModelChunk(TextPiece(complete=True), FinishPiece(FinishReason.STOP, "STOP"), UsagePiece(3, 2)),
    ]


def test_however_the_bytes_are_cut() -> None:
    body = sse(*HELLO, chunk(text("你🌍"), call(city="Zürich", id="a")), END)
    for data in (body, body.replace(b"\n", b"\r\n")):
        for pieces in every_way(data):
            outcome = decode(*pieces)
            assert (outcome.text, outcome.calls, outcome.error) == (
                "Hello你🌍",
                [Call("a", "f", '{"city": "Zürich"}')],
                None,
            )


def test_b6_64_crlf_frames_are_told_as_they_arrive() -> None:
    chunks, error = decode_chunks([sse(HELLO[0]).replace(b"\n", b"\r\n")])
    assert chunks == [ModelChunk(TextPiece("Hel"))]
    assert isinstance(error, ModelTruncatedError)


def test_thoughts_and_text_are_blocks_of_their_own() -> None:
    frames = [chunk(think("h")), chunk(think("m"), text("a")), chunk(text("b")), chunk(think("so")), END]
    thought = part_of(thought=True)
    assert content_of(*frames) == (
        ThinkingBlock("hm", metadata=thought),
        TextBlock("ab"),
        ThinkingBlock("so", metadata=thought),
    )
    assert said_again(*frames) == [think("hm"), text("ab"), think("so")]


def test_a_call_comes_whole() -> None:
    proven = call(x=1, id="a", proof="c2ln")
    assert chunks_of(chunk(text("a")), chunk(proven), chunk(call("g")), END) == [
        ModelChunk(TextPiece("a")),
        ModelChunk(
            TextPiece(complete=True),
            ToolCallPiece(
                0, "a", "f", '{"x": 1}', complete=True, signature="c2ln", metadata=part_of(functionCall={"id": "a"})
            ),
        ),
        ModelChunk(ToolCallPiece(1, None, "g", "", complete=True, metadata=part_of(functionCall={}))),
        ModelChunk(FinishPiece(FinishReason.TOOL_CALLS, "STOP"), UsagePiece(3, 2)),
    ]
    assert said_again(chunk(text("a")), chunk(proven), chunk(call("g")), END) == [text("a"), proven, call("g")]


def test_proofs_come_back_unchanged_each_on_its_part() -> None:
    frames = [
        chunk(think("hm")),
        chunk(think("so", thoughtSignature="dDE=")),
        chunk(think("", thoughtSignature="dDI=")),
        chunk(text("Let "), text("me", thoughtSignature="dDM="), text(" look")),
        chunk(text(".")),
        chunk(text("", thoughtSignature="dDQ=")),
        chunk(call(id="a", proof="dDU=", x=1), call(id="b", x=2)),
        chunk(text("", thoughtSignature="dDY=")),
        chunk(text("", thoughtSignature="dDc=")),
        END,
    ]
    assert said_again(*frames) == [
        think("hm"),
        think("so", thoughtSignature="dDE="),
        think("", thoughtSignature="dDI="),
        text("Let "),
        text("me", thoughtSignature="dDM="),
        text(" look."),
        text("", thoughtSignature="dDQ="),
        call(id="a", proof="dDU=", x=1),
        call(id="b", x=2),
        text("", thoughtSignature="dDY="),
        text("", thoughtSignature="dDc="),
    ]


def test_a_proof_does_not_cut_the_text_that_people_read() -> None:
    frames = [
        chunk(text("It ", thoughtSignature="dDE=")),
        chunk(text("rains")),
        chunk(text("", thoughtSignature="dDI=")),
    ]
    [block] = content_of(*frames, END)
    assert isinstance(block, TextBlock)
    assert block.text == "It rains"


def test_a_proof_that_comes_with_nothing_is_kept() -> None:
    bare = {"content": {"parts": [{"thoughtSignature": "dDE="}, {"thought": True, "thoughtSignature": "dDI="}]}}
    assert said_again({"candidates": [bare]}, chunk(text("a")), END) == [
        text("", thoughtSignature="dDE="),
        think("", thoughtSignature="dDI="),
        text("a"),
    ]


CODE = {"executableCode": {"language": "PYTHON", "code": "print(1)"}, "thoughtSignature": "dDE="}
RESULT = {"codeExecutionResult": {"outcome": "OUTCOME_OK", "output": "1\n"}}
SEARCH = {"toolCall": {"id": "s", "toolType": "GOOGLE_SEARCH_WEB", "args": {"queries": ["q"]}}}
FOUND = {"toolResponse": {"id": "s", "toolType": "GOOGLE_SEARCH_WEB", "response": {"found": 1}}}


def test_the_providers_own_work_comes_back_as_it_was_and_in_its_place() -> None:
    frames = [chunk(text("Let me see."), CODE), chunk(RESULT), chunk(SEARCH, FOUND), chunk(text("1")), END]
    assert said_again(*frames) == [text("Let me see."), CODE, RESULT, SEARCH, FOUND, text("1")]


def test_the_providers_own_work_is_no_call_and_no_text() -> None:
    outcome = decode(sse(chunk(CODE, RESULT, SEARCH, FOUND), END))
    assert (outcome.text, outcome.thinking, outcome.calls, outcome.error) == ("", "", [], None)


def test_what_an_answer_rests_on_is_kept_with_its_text() -> None:
    grounding = {"webSearchQueries": ["q"], "groundingChunks": [{"web": {"uri": "https://x.org"}}]}
    more = {"groundingChunks": [{"web": {"uri": "https://x.org"}}, {"web": {"uri": "https://y.org"}}], "retrieval": 1}
    frames = [chunk(text("It rains."), groundingMetadata=grounding), chunk(finish="STOP", groundingMetadata=more)]
    [block] = content_of(*frames)
    sources = {"groundingMetadata": {**grounding, **more}}
    assert block == TextBlock("It rains.", metadata=native("gemini", sources=sources))
    assert said_again(*frames) == [text("It rains.")]


def test_sources_that_are_said_again_stand_once_and_keep_the_places_that_others_name() -> None:
    x, y = ({"web": {"uri": f"https://{host}.org"}} for host in "xy")
    said = [{"groundingChunks": places, "webSearchQueries": "q"} for places in ([x, x], [x, y, y], [y])]
    frames = [chunk(text("."), groundingMetadata=one) for one in said]
    [block] = content_of(*frames, END)
    sources = {"groundingMetadata": {"groundingChunks": [x, x, y, y], "webSearchQueries": "q"}}
    assert block.metadata == native("gemini", sources=sources)


def test_what_an_answer_rests_on_is_kept_without_text_too() -> None:
    cited = {"citationMetadata": {"citationSources": [{"uri": "https://x.org"}]}}
    [use, block] = content_of(chunk(call()), chunk(finish="STOP", **cited))
    assert isinstance(use, ToolUseBlock)
    assert block == ThinkingBlock("", metadata=native("gemini", sources=cited))
    assert said_again(chunk(call()), chunk(finish="STOP", **cited)) == [call()]
    [_, block] = content_of(chunk(think("hm")), chunk(finish="STOP", **cited))
    assert block == ThinkingBlock("", metadata=native("gemini", sources=cited))


# --- data -----------------------------------------------------------------------------------------------------------


def blob(data: str, media_type: str = "image/png", **more: Any) -> dict[str, Any]:
    return {"inlineData": {"mimeType": media_type, "data": data}, **more}


def test_images_are_blocks_of_their_own_and_come_back_with_their_proofs() -> None:
    images = [blob("aGk=", thoughtSignature="dDE="), blob("aG8=")]
    frames = [chunk(text("Here:"), images[0]), chunk(images[1]), chunk(text("Nice?")), END]
    said, one, two, asked = content_of(*frames)
    assert (said, asked) == (TextBlock("Here:"), TextBlock("Nice?"))
    assert isinstance(one, DataBlock)
    assert isinstance(two, DataBlock)
    assert (one.source, two.source) == (
        Base64Source(media_type="image/png", data="aGk="),
        Base64Source(media_type="image/png", data="aG8="),
    )
    assert said_again(*frames) == [text("Here:"), *images, text("Nice?")]


def test_sound_comes_in_pieces_of_one_block() -> None:
    rate = "audio/L16;codec=pcm;rate=24000"
    [block] = content_of(chunk(blob("aGk=", rate)), chunk(blob("aG8=", rate)), END)
    assert isinstance(block, DataBlock)
    assert block.source == Base64Source(media_type=rate, data="aGlobw==")


def test_a_picture_of_a_thought_is_none_of_the_answer() -> None:
    draft = blob("aGk=", thought=True)
    [chunk_of_draft, *_] = chunks_of(chunk(draft), chunk(blob("aG8=")), END)
    assert not any(isinstance(piece, DataPiece) for piece in chunk_of_draft.pieces)
    assert said_again(chunk(draft), chunk(blob("aG8=")), END) == [draft, blob("aG8=")]


# --- B4: which call is it? ------------------------------------------------------------------------------------------

TWO = [Call("a", "f", '{"x": 1}'), Call("b", "f", '{"y": 2}')]
B4 = {
    "b4-38 every call has index 0": ([chunk(call(x=1, id="a")), chunk(call(y=2, id="b"))], TWO),
    "b4-41 never an id": ([chunk(call(x=1)), chunk(call(x=1))], [Call(None, "f", '{"x": 1}')] * 2),
    "b4-42 the id is an empty string": (
        [chunk({"functionCall": {"id": "", "name": "f", "args": {"x": 1}}})],
        [Call(None, "f", '{"x": 1}')],
    ),
    "b4-43 the same call on every chunk": ([chunk(call(x=1, id="a"))] * 3, [TWO[0]]),
    "one id for two calls": ([chunk(call(x=1, id="a"), call(y=2, id="a"))], [TWO[0], Call(None, "f", '{"y": 2}')]),
    "b4-47 no arguments at all": ([chunk({"functionCall": {"name": "f"}})], [Call(None, "f", "")]),
    "b4-47 arguments that are null": ([chunk({"functionCall": {"name": "f", "args": None}})], [Call(None, "f", "")]),
    "arguments as text": ([chunk({"functionCall": {"name": "f", "args": '{"x": 1}'}})], [Call(None, "f", '{"x": 1}')]),
    "b4-50 several calls in one chunk, no ids": (
        [chunk(call("f"), call("g"), call("f"))],
        [Call(None, "f"), Call(None, "g"), Call(None, "f")],
    ),
}


@pytest.mark.parametrize("fault", B4)
def test_b4(fault: str) -> None:
    frames, calls = B4[fault]
    outcome = decode(sse(*frames, END))
    assert (outcome.calls, outcome.finish, outcome.error) == (calls, FinishReason.TOOL_CALLS, None)


def test_b4_41_calls_without_ids_get_ones_that_stay_and_are_not_told_to_the_provider() -> None:
    made = iter(f"{number}" for number in range(100))
    set_id_factory(lambda: next(made))
    try:
        reply = answered(reply_of(chunks_of(chunk(call(x=1)), chunk(call(x=2)), END)))
    finally:
        set_id_factory(None)
    calls, results = reply.get_content_blocks(ToolUseBlock), reply.get_content_blocks(ToolResultBlock)
    assert [use.id for use in calls] == [result.id for result in results]
    assert all(use.id.startswith("call_") and use.id[5:].isdigit() for use in calls)
    contents = encode_request("gemini-2.5-flash", ModelRequest([UserMessage("q"), reply]))["contents"]
    assert contents[1]["parts"] == [call(x=1), call(x=2)]
    assert contents[2]["parts"] == [{"functionResponse": {"name": "f", "response": {"output": "ok"}}}] * 2


def test_arguments_keep_every_value_as_it_was() -> None:
    arguments = {"z": 1, "a": [1.0, 1e300, 10**18, None, True, {"ß": "😀  \x85"}], "": "\\"}
    assert said_again(chunk(call(**arguments)), END) == [call(**arguments)]


# --- B5 -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("raw", "reason"),
    [
        ("STOP", FinishReason.STOP),
        ("MAX_TOKENS", FinishReason.LENGTH),
        ("CONTINUATION", FinishReason.LENGTH),
        ("SAFETY", FinishReason.CONTENT_FILTER),
        ("RECITATION", FinishReason.CONTENT_FILTER),
        ("LANGUAGE", FinishReason.CONTENT_FILTER),
        ("BLOCKLIST", FinishReason.CONTENT_FILTER),
        ("PROHIBITED_CONTENT", FinishReason.CONTENT_FILTER),
        ("SPII", FinishReason.CONTENT_FILTER),
        ("IMAGE_SAFETY", FinishReason.CONTENT_FILTER),
        ("IMAGE_PROHIBITED_CONTENT", FinishReason.CONTENT_FILTER),
        ("IMAGE_RECITATION", FinishReason.CONTENT_FILTER),
        ("ESCALATION", FinishReason.CONTENT_FILTER),
        ("MODEL_ARMOR", FinishReason.CONTENT_FILTER),
        ("MALFORMED_FUNCTION_CALL", FinishReason.ERROR),
        ("MALFORMED_RESPONSE", FinishReason.ERROR),
        ("UNEXPECTED_TOOL_CALL", FinishReason.ERROR),
        ("TOO_MANY_TOOL_CALLS", FinishReason.ERROR),
        ("MISSING_THOUGHT_SIGNATURE", FinishReason.ERROR),
        ("PUP_LIMITED_DISABLED", FinishReason.ERROR),
        ("OTHER", FinishReason.UNKNOWN),
        ("NO_IMAGE", FinishReason.UNKNOWN),
        ("IMAGE_OTHER", FinishReason.UNKNOWN),
        ("SOMETHING_NEW", FinishReason.UNKNOWN),
    ],
)
@pytest.mark.parametrize("frames", [HELLO, []], ids=["after text", "without a word"])
def test_finish_reasons(raw: str, reason: FinishReason, frames: list[Any]) -> None:
    outcome = decode(sse(*frames, chunk(finish=raw)))
    assert (outcome.finish, outcome.raw_finish, outcome.error) == (reason, raw, None)


@pytest.mark.parametrize("raw", ["SAFETY", "PROHIBITED_CONTENT", "OTHER", "SOMETHING_NEW"])
def test_a_prompt_that_is_blocked_gets_the_reason_for_an_answer(raw: str) -> None:
    blocked = {"promptFeedback": {"blockReason": raw, "safetyRatings": []}, "usageMetadata": {"promptTokenCount": 3}}
    assert chunks_of(blocked) == [ModelChunk(FinishPiece(FinishReason.CONTENT_FILTER, raw), UsagePiece(3))]
    assert decode(json.dumps(blocked).encode()).finish is FinishReason.CONTENT_FILTER


def test_feedback_without_a_block_is_none() -> None:
    rated = {"safetyRatings": [{"category": "HARM_CATEGORY_HARASSMENT", "probability": "NEGLIGIBLE"}]}
    outcome = decode(sse({**HELLO[0], "promptFeedback": rated}, {"promptFeedback": rated}, HELLO[1], END))
    assert (outcome.text, outcome.finish, outcome.error) == ("Hello", FinishReason.STOP, None)


def test_b5_55_a_stop_with_calls_is_a_stop_to_call_them_and_a_limit_is_a_limit() -> None:
    outcome = decode(sse(chunk(call(id="a"), finish="STOP", usage=USAGE)))
    assert (outcome.calls, outcome.finish, outcome.raw_finish) == ([Call("a", "f")], FinishReason.TOOL_CALLS, "STOP")
    outcome = decode(sse(chunk(call(id="a"), finish="MAX_TOKENS")))
    assert (outcome.calls, outcome.finish) == ([Call("a", "f")], FinishReason.LENGTH)


@pytest.mark.parametrize(
    "frames", [[], HELLO, [chunk({"functionCall": {"args": {}}})]], ids=["nothing", "text", "no name"]
)
def test_b5_56_a_stop_to_call_functions_without_a_call_is_an_error(frames: list[Any]) -> None:
    outcome = decode(sse(*frames, chunk(finish="FUNCTION_CALL", usage=USAGE)))
    assert isinstance(outcome.error, ModelStreamError)
    assert "no tool call" in str(outcome.error)


def test_b5_58_counts_are_totals_so_far_and_the_last_word_on_each_stands() -> None:
    def counted(**counts: int) -> dict[str, Any]:
        return {"usageMetadata": {f"{name}TokenCount": count for name, count in counts.items()}}

    frames = [
        {**HELLO[0], **counted(prompt=15, total=15)},
        {**HELLO[1], **counted(prompt=15, total=15)},
        chunk(finish="STOP") | counted(prompt=14, candidates=33, thoughts=7, cachedContent=4, toolUsePrompt=100),
    ]
    chunks = chunks_of(*frames)
    assert [piece for c in chunks for piece in c.pieces if isinstance(piece, UsagePiece)] == [
        UsagePiece(15),
        UsagePiece(114, 40, 4, 7),
    ]
    thinking_only = chunk(finish="MAX_TOKENS") | counted(prompt=3, thoughts=9)
    assert decode(sse(thinking_only)).usage == UsagePiece(3, 9, None, 9)


def test_b5_58_no_usage_is_unknown_not_zero() -> None:
    assert decode(sse(*HELLO, STOP)).usage is None
    assert decode(sse(*HELLO, chunk(finish="STOP", usage={"trafficType": "ON_DEMAND"}))).usage is None


@pytest.mark.parametrize(
    "odd",
    [
        {},
        {"candidates": None},
        {"candidates": []},
        {"candidates": [None, "odd"]},
        {"candidates": [{}]},
        {"candidates": [{"content": None}]},
        {"candidates": [{"content": {}, "index": 0}]},
        {"candidates": [{"content": {"role": "model"}, "finishReason": None}]},
        {"candidates": [{"content": {"parts": None}}]},
        {"candidates": [{"content": {"parts": [None, "odd", {}, {"text": None}, {"text": ""}, {"thought": True}]}}]},
        {"candidates": [{"content": {"parts": []}, "finishReason": "FINISH_REASON_UNSPECIFIED"}]},
        {"promptFeedback": None, "usageMetadata": None},
        {"usageMetadata": {"promptTokenCount": None, "candidatesTokenCount": "x"}, "something": "new"},
    ],
    ids=json.dumps,
)
def test_b5_59_missing_and_unknown_fields_are_passed_over(odd: Any) -> None:
    outcome = decode(sse(odd, HELLO[0], odd, HELLO[1], odd, STOP, odd))
    assert (outcome.text, outcome.calls, outcome.finish, outcome.error) == ("Hello", [], FinishReason.STOP, None)
    assert len(content_of(HELLO[0], odd, HELLO[1], STOP)) == 1


def test_b5_59_a_part_that_nobody_knows_is_kept() -> None:
    odd = [{"somethingNew": {"x": 1}}, {"functionCall": "odd"}, {"inlineData": {"mimeType": "image/png"}}]
    assert [block.metadata for block in content_of(chunk(*odd), STOP) if isinstance(block, ThinkingBlock)] == [
        part_of(**part) for part in odd
    ]


def test_only_the_first_of_several_answers_is_told() -> None:
    both = {"candidates": [{"content": {"parts": [text("no")]}, "index": 1}, HELLO[0]["candidates"][0]]}
    other = {"candidates": [{"finishReason": "SAFETY", "index": 1}]}
    outcome = decode(sse(both, other, HELLO[1], END))
    assert (outcome.text, outcome.finish) == ("Hello", FinishReason.STOP)


def test_what_comes_after_the_finish_reason_is_only_usage() -> None:
    late = chunk(text("x"), call(), finish="SAFETY")
    outcome = decode(sse(*HELLO, STOP, late, {"usageMetadata": USAGE}, {"usageMetadata": {"promptTokenCount": 9}}))
    assert (outcome.text, outcome.calls, outcome.finish, outcome.usage) == (
        "Hello",
        [],
        FinishReason.STOP,
        UsagePiece(3, 2),
    )


# --- how a stream ends ----------------------------------------------------------------------------------------------


def ending(*frames: Any) -> Outcome:
    return decode(sse(*HELLO, *frames))


def test_the_counts_at_the_finish_are_the_last_word() -> None:
    outcome = ending(chunk(finish="STOP", usage=USAGE), {"error": {"code": 500, "message": "late"}})
    assert (outcome.finish, outcome.error) == (FinishReason.STOP, None)


def test_done_without_a_reason_after_content_is_unknown() -> None:
    outcome = ending("[DONE]")
    assert (outcome.text, outcome.finish, outcome.error) == ("Hello", FinishReason.UNKNOWN, None)


def test_done_before_any_content_is_an_error() -> None:
    outcome = decode(sse({"usageMetadata": USAGE}, "[DONE]"))
    assert isinstance(outcome.error, ModelStreamError)
    assert "before the model said anything" in str(outcome.error)


def test_b6_69_a_stream_that_ends_without_a_reason_is_truncated_and_keeps_what_came() -> None:
    outcome = ending(chunk(call(id="a")))
    assert isinstance(outcome.error, ModelTruncatedError)
    assert (outcome.text, outcome.calls, outcome.finish) == ("Hello", [Call("a", "f")], None)


UNAVAILABLE = {"error": {"code": 503, "message": "The model is overloaded.", "status": "UNAVAILABLE"}}


@pytest.mark.parametrize("before", [[], HELLO], ids=["first", "in the middle"])
def test_b6_66_an_error_object_keeps_what_came_before(before: list[Any]) -> None:
    outcome = decode(sse(*before, UNAVAILABLE, STOP))
    assert isinstance(outcome.error, ModelStreamError)
    assert (outcome.error.kind, outcome.error.code) == ("UNAVAILABLE", 503)
    assert "UNAVAILABLE, 503: The model is overloaded." in str(outcome.error)
    assert (outcome.text, outcome.finish) == ("Hello" if before else "", None)


@pytest.mark.parametrize("body", [UNAVAILABLE, [UNAVAILABLE]], ids=["object", "array"])
@pytest.mark.parametrize("indent", [None, 2])
@pytest.mark.parametrize("before", [b"", sse(*HELLO)], ids=["alone", "after chunks"])
def test_b6_66_an_error_as_plain_json(body: Any, indent: int | None, before: bytes) -> None:
    outcome = decode(before + json.dumps(body, indent=indent).encode())
    assert isinstance(outcome.error, ModelStreamError)
    assert (outcome.error.kind, outcome.error.code) == ("UNAVAILABLE", 503)


def test_b6_67_an_error_event_is_an_error() -> None:
    outcome = decode(sse(*HELLO) + b": PING\n\nevent: error\ndata: " + json.dumps(UNAVAILABLE).encode() + b"\n\n")
    assert isinstance(outcome.error, ModelStreamError)
    assert (outcome.error.kind, outcome.text) == ("UNAVAILABLE", "Hello")


@pytest.mark.parametrize(
    ("body", "what"),
    [(b"", "an empty body"), (b"<html>busy</html>", "a web page"), (b"hello", "other text"), (b"{}", "other text")],
)
def test_b6_71_no_event_stream_is_an_error(body: bytes, what: str) -> None:
    outcome = decode(body)
    assert isinstance(outcome.error, ModelStreamError)
    assert what in str(outcome.error)
    assert "Gemini protocol" in str(outcome.error)


@pytest.mark.parametrize("indent", [None, 2])
def test_a_server_that_does_not_stream_is_understood(indent: int | None) -> None:
    whole = chunk(think("hm"), text("a"), call(x=1), finish="STOP", usage=USAGE)
    outcome = decode(json.dumps(whole, indent=indent).encode())
    assert (outcome.thinking, outcome.text, outcome.calls) == ("hm", "a", [Call(None, "f", '{"x": 1}')])
    assert (outcome.finish, outcome.usage, outcome.error) == (FinishReason.TOOL_CALLS, UsagePiece(3, 2), None)
