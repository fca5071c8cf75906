from __future__ import annotations

import json
from typing import Any

import pytest

from agentscope_rx.errors import ModelStreamError, ModelTruncatedError
from agentscope_rx.event import FinishReason
from agentscope_rx.message import (
    AssistantMessage,
    Base64Source,
    ContentBlock,
    DataBlock,
    TextBlock,
    ThinkingBlock,
    ToolUseBlock,
    UserMessage,
)
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
from agentscope_rx.model.openai_responses import encode_request

from ...feeding import every_way
from ..outcome import Call
from ..replying import answered, reply_of
from .decoding import (
    added,
    arguments,
    call,
    completed,
    decode,
    decode_chunks,
    done,
    event,
    message,
    sse,
    summary,
    text,
)

HELLO = [event("created", response={"status": "in_progress"}), *message("m", "Hel", "lo")]
ITEM = {"type": "message", "id": "m", "role": "assistant", "status": "completed"}
PART = {"type": "output_text", "annotations": []}


def chunks_of(*frames: Any) -> list[ModelChunk]:
    chunks, error = decode_chunks([sse(*frames)])
    assert error is None
    return chunks


def content_of(*frames: Any) -> tuple[ContentBlock, ...]:
    """The blocks that a stream becomes, without ids of their own."""
    return tuple(
        block if isinstance(block, ToolUseBlock) else block.model_copy(update={"id": None})
        for block in reply_of(chunks_of(*frames)).content
    )


def said_again(*frames: Any, **extra: Any) -> list[dict[str, Any]]:
    """What the assistant said, in the next request."""
    history = [UserMessage("q"), answered(reply_of(chunks_of(*frames))), UserMessage("go on")]
    items = encode_request("m", ModelRequest(history))["input"]
    return [item for item in items if item.get("role") != "user" and item["type"] != "function_call_output"]


# --- items ----------------------------------------------------------------------------------------------------------


def test_text_comes_as_it_is_said_and_ends_when_its_item_is_done() -> None:
    usage = {
        "input_tokens": 3,
        "output_tokens": 2,
        "input_tokens_details": {"cached_tokens": 1},
        "output_tokens_details": {"reasoning_tokens": 0},
    }
    assert chunks_of(*HELLO, completed(usage=usage)) == [
        ModelChunk(TextPiece("Hel")),
        ModelChunk(TextPiece("lo")),
        ModelChunk(TextPiece(complete=True, metadata=native("openai", item=ITEM, part=PART))),
        ModelChunk(FinishPiece(FinishReason.STOP, "completed"), UsagePiece(3, 2, 1, 0)),
    ]


def test_however_the_bytes_are_cut() -> None:
    frames = [*message("m", "你", "🌍"), *call("fc", "a", '{"city"', ':"Zürich"}'), completed()]
    for pieces in every_way(sse(*frames)):
        outcome = decode(*pieces)
        assert (outcome.text, outcome.calls, outcome.error) == ("你🌍", [Call("a", "f", '{"city":"Zürich"}')], None)


def test_a_call_keeps_both_of_its_ids() -> None:
    frames = [*call("fc1", "call_1", '{"x"', ":1}", status="completed", namespace="n"), completed()]
    assert chunks_of(*frames) == [
        ModelChunk(ToolCallPiece(0, "call_1", "f")),
        ModelChunk(ToolCallPiece(0, arguments='{"x"')),
        ModelChunk(ToolCallPiece(0, arguments=":1}")),
        ModelChunk(
            ToolCallPiece(
                0,
                "call_1",
                "f",
                complete=True,
                metadata=native(
                    "openai", item={"type": "function_call", "id": "fc1", "status": "completed", "namespace": "n"}
                ),
            )
        ),
        ModelChunk(FinishPiece(FinishReason.TOOL_CALLS, "completed")),
    ]
    [sent] = said_again(*frames)
    assert (sent["id"], sent["call_id"], sent["namespace"]) == ("fc1", "call_1", "n")


def test_each_summary_of_a_reasoning_is_a_thought_and_the_encrypted_whole_comes_with_the_last() -> None:
    frames = [
        added("reasoning", "rs", summary=[], encrypted_content="half"),
        event("reasoning_summary_part.added", item_id="rs", summary_index=0, part={"type": "summary_text", "text": ""}),
        summary("Fir", "rs", 0),
        summary("st.", "rs", 0),
        event("reasoning_summary_text.done", item_id="rs", summary_index=0, text="First."),
        summary("Then.", "rs", 1),
        done(
            "reasoning",
            "rs",
            encrypted_content="whole",
            summary=[{"type": "summary_text", "text": "First."}, {"type": "summary_text", "text": "Then."}],
        ),
        *message("m", "So."),
        completed(),
    ]
    first, second, _ = content_of(*frames)
    assert isinstance(first, ThinkingBlock)
    assert isinstance(second, ThinkingBlock)
    assert (first.thinking, first.redacted_data) == ("First.", None)
    assert (second.thinking, second.redacted_data) == ("Then.", "whole")
    assert said_again(*frames)[0] == {
        "type": "reasoning",
        "id": "rs",
        "encrypted_content": "whole",
        "summary": [{"type": "summary_text", "text": "First."}, {"type": "summary_text", "text": "Then."}],
    }


def test_reasoning_without_a_word_is_a_thought_without_one() -> None:
    frames = [added("reasoning", "rs"), done("reasoning", "rs", summary=[], encrypted_content="e"), *message("m", "a")]
    thought, _ = content_of(*frames, completed())
    assert thought == ThinkingBlock(
        "", redacted_data="e", metadata=native("openai", item={"type": "reasoning", "id": "rs"})
    )
    assert said_again(*frames, completed())[0] == {
        "type": "reasoning", "id": "rs", "summary": [], "encrypted_content": "e",
    }  # fmt: skip


def test_a_message_may_have_many_parts_and_keeps_what_is_said_about_each() -> None:
    parts = [
        {"type": "output_text", "text": "a", "annotations": [{"type": "url_citation"}]},
        {"type": "output_text", "text": "b", "annotations": []},
        {"type": "refusal", "refusal": "c"},
    ]
    frames = [
        added("message", "m", content=[], phase="commentary"),
        text("a", "m", content_index=0),
        event("content_part.done", item_id="m", content_index=0, part=parts[0]),
        text("b", "m", content_index=1),
        event("content_part.done", item_id="m", content_index=1, part=parts[1]),
        event("refusal.delta", item_id="m", content_index=2, delta="c"),
        event("refusal.done", item_id="m", content_index=2, refusal="c"),
        done("message", "m", role="assistant", status="completed", content=parts, phase="commentary"),
        completed(),
    ]
    assert [block.text for block in content_of(*frames) if isinstance(block, TextBlock)] == ["a", "b", "c"]
    assert said_again(*frames) == [{**ITEM, "phase": "commentary", "content": parts}]


def test_a_refusal_is_text_and_the_reason_for_the_end() -> None:
    frames = [added("message", "m"), event("refusal.delta", item_id="m", delta="No."), completed()]
    outcome = decode(sse(*frames))
    assert (outcome.text, outcome.finish, outcome.raw_finish) == ("No.", FinishReason.REFUSAL, "completed")


SEARCH = {"type": "web_search_call", "id": "ws", "status": "completed", "action": {"query": "q"}}


def test_the_providers_own_work_comes_back_as_it_was_and_in_its_place() -> None:
    frames = [
        *message("m1", "Searching."),
        added("web_search_call", "ws", status="in_progress"),
        event("web_search_call.searching", item_id="ws"),
        done(**SEARCH),
        *message("m2", "Found."),
        added("compaction", "cmp", encrypted_content="half"),
        done("compaction", "cmp", encrypted_content="whole"),
        completed(),
    ]
    assert [item["id"] for item in said_again(*frames)] == ["m1", "ws", "m2", "cmp"]
    assert said_again(*frames)[1] == SEARCH
    assert said_again(*frames)[3] == {"type": "compaction", "id": "cmp", "encrypted_content": "whole"}


def test_the_providers_own_work_is_no_call_and_no_text() -> None:
    custom = done("custom_tool_call", "ctc", call_id="c", name="execute", input="print(1)")
    outcome = decode(sse(done(**SEARCH), custom, completed()))
    assert (outcome.text, outcome.thinking, outcome.calls, outcome.finish) == ("", "", [], FinishReason.STOP)


@pytest.mark.parametrize(("format", "media_type"), [("jpeg", "image/jpeg"), (None, "image/png")])
def test_an_image_is_data(format: str | None, media_type: str) -> None:
    item = {"type": "image_generation_call", "id": "ig", "status": "completed", "output_format": format}
    frames = [
        added("image_generation_call", "ig"),
        event("image_generation_call.partial_image", item_id="ig", partial_image_b64="aGE="),
        done(**item, result="aGk="),
        completed(),
    ]
    [image] = reply_of(chunks_of(*frames)).content
    assert isinstance(image, DataBlock)
    assert image.source == Base64Source(media_type=media_type, data="aGk=")
    assert said_again(*frames) == [{**{k: v for k, v in item.items() if v}, "result": "aGk="}]


def test_two_images_are_two_blocks() -> None:
    frames = [done("image_generation_call", id, result="aGk=") for id in ("ig1", "ig2")]
    assert len(content_of(*frames, completed())) == 2


# --- what is said again ---------------------------------------------------------------------------------------------


def test_b2_19_arguments_that_are_repeated_whole_are_there_once() -> None:
    frames = [*call("fc", "a", '{"a"', ":1}"), completed(output=[call("fc", "a", '{"a":1}')[-1]["item"]])]
    assert decode(sse(*frames)).calls == [Call("a", "f", '{"a":1}')]


@pytest.mark.parametrize("pieces", [[], ['{"a"'], ['{"a":1}']], ids=["none", "half", "all"])
def test_what_is_missing_of_the_arguments_is_taken_from_the_whole(pieces: list[str]) -> None:
    frames = [added("function_call", "fc", call_id="a", name="f"), *(arguments(piece, "fc") for piece in pieces)]
    whole = done("function_call", "fc", call_id="a", name="f", arguments='{"a":1}')
    assert decode(sse(*frames, whole, completed())).calls == [Call("a", "f", '{"a":1}')]
    assert decode(sse(*frames, completed(output=[whole["item"]]))).calls == [Call("a", "f", '{"a":1}')]


@pytest.mark.parametrize("pieces", [[], ["Hel"], ["Hel", "lo"]], ids=["none", "half", "all"])
def test_what_is_missing_of_a_text_is_taken_from_the_whole(pieces: list[str]) -> None:
    whole = message("m", "Hello")[-1]
    frames = [added("message", "m"), *(text(piece, "m") for piece in pieces)]
    for ending in (
        [whole, completed()],
        [completed(output=[whole["item"]])],
        [whole, completed(output=[whole["item"]])],
    ):
        outcome = decode(sse(*frames, *ending))
        assert (outcome.text, outcome.error) == ("Hello", None)


def test_a_response_may_come_whole_in_its_last_event() -> None:
    output = [
        {
            "type": "reasoning",
            "id": "rs",
            "summary": [{"type": "summary_text", "text": "hm"}],
            "encrypted_content": "e",
        },
        message("m", "Hello")[-1]["item"],
        call("fc", "a", '{"a":1}')[-1]["item"],
        SEARCH,
    ]
    outcome = decode(sse(completed(output=output)))
    assert (outcome.thinking, outcome.proofs, outcome.text) == ("hm", ["e"], "Hello")
    assert (outcome.calls, outcome.finish) == ([Call("a", "f", '{"a":1}')], FinishReason.TOOL_CALLS)
    assert [item["id"] for item in said_again(completed(output=output))] == ["rs", "m", "fc", "ws"]


def test_a_server_that_does_not_stream_is_understood() -> None:
    document = {
        "object": "response",
        "status": "completed",
        "error": None,
        "output": [message("m", "Hello")[-1]["item"]],
    }
    outcome = decode(json.dumps({**document, "usage": {"input_tokens": 3, "output_tokens": 2}}).encode())
    assert (outcome.text, outcome.finish, outcome.usage, outcome.error) == (
        "Hello",
        FinishReason.STOP,
        UsagePiece(3, 2),
        None,
    )


# --- items that overlap, and what is missing ------------------------------------------------------------------------


def test_reasoning_that_is_done_late_ends_where_the_message_begins() -> None:
    frames = [
        added("reasoning", "rs", summary=[], content=[], encrypted_content="", status="in_progress"),
        event("reasoning_text.delta", item_id="rs", delta="hm"),
        added("message", "m", content=[], status="in_progress"),
        text("a", "m"),
        done("reasoning", "rs", summary=[], content=[{"type": "reasoning_text", "text": "hm"}], encrypted_content=""),
        text("b", "m"),
        done("message", "m", role="assistant", status="completed", content=[{**PART, "text": "ab"}]),
        completed(),
    ]
    thought, said = content_of(*frames)
    assert thought == ThinkingBlock(
        "hm", metadata=native("openai", item={"type": "reasoning", "id": "rs"}, part={"type": "reasoning_text"})
    )
    assert said == TextBlock("ab", metadata=native("openai", item=ITEM, part=PART))
    assert said_again(*frames)[0]["content"] == [{"type": "reasoning_text", "text": "hm"}]


def test_a_message_that_is_done_after_a_call_began_keeps_its_id() -> None:
    frames = [
        added("message", "m", role="assistant", content=[], status="in_progress"),
        text("a", "m"),
        *call("fc", "c", "{}"),
        done("message", "m", role="assistant", status="completed", content=[{**PART, "text": "a"}]),
        completed(),
    ]
    assert decode(sse(*frames)).text == "a"
    [said, _] = said_again(*frames)
    assert said == {**ITEM, "content": [{**PART, "text": "a"}]}


def test_indices_alone_tell_items_apart() -> None:
    frames = [
        added("function_call", None, 0, call_id="a", name="f"),
        added("function_call", None, 1, call_id="b", name="g"),
        arguments('{"x":1}', None, output_index=0),
        arguments('{"y":2}', None, output_index=1),
        done("function_call", None, 0, call_id="a", name="f", arguments='{"x":1}'),
        done("function_call", None, 1, call_id="b", name="g", arguments='{"y":2}'),
        completed(),
    ]
    assert decode(sse(*frames)).calls == [Call("a", "f", '{"x":1}'), Call("b", "g", '{"y":2}')]


def test_without_ids_and_indices_everything_is_about_the_last_item() -> None:
    frames = [
        added("reasoning", None),
        summary("hm", None),
        done("reasoning", None, summary=[{"type": "summary_text", "text": "hm"}]),
        added("message", None),
        text("a", None),
        done("message", None, content=[{"type": "output_text", "text": "a"}]),
        added("function_call", None, call_id="c", name="f"),
        arguments("{}", None),
        done("function_call", None, call_id="c", name="f", arguments="{}"),
        completed(),
    ]
    outcome = decode(sse(*frames))
    assert (outcome.thinking, outcome.text, outcome.calls) == ("hm", "a", [Call("c", "f", "{}")])
    assert [item["type"] for item in said_again(*frames)] == ["message", "function_call"]


def test_reasoning_without_an_id_is_read_and_sent_part_by_part() -> None:
    parts = [{"type": "summary_text", "text": text} for text in ("a", "b")]
    frames = [
        added("reasoning", None),
        summary("a", None, 0),
        summary("b", None, 1),
        done("reasoning", None, summary=parts, encrypted_content="e"),
        *message("m", "t"),
        completed(),
    ]
    assert decode(sse(*frames)).thinking == "ab"
    assert [item["type"] for item in said_again(*frames)] == ["reasoning", "message"]


def test_text_whose_item_was_never_added_is_not_lost() -> None:
    outcome = decode(sse(summary("hm", "rs"), text("a", "m"), text("b", "m"), completed()))
    assert (outcome.thinking, outcome.text, outcome.error) == ("hm", "ab", None)


def test_b5_59_missing_and_unknown_fields_are_passed_over() -> None:
    frames = [
        event("output_item.added"),
        event("output_item.done"),
        event("output_item.done", item=None),
        event("content_part.done", item_id="x"),
        event("output_text.delta"),
        event("output_text.delta", delta=None),
        event("function_call_arguments.delta", delta="{"),
        event("something.new", item_id="m", delta="x"),
        {"no": "type"},
        added("message", "m", content=None, new=1),
        text("a", "m", logprobs=[], obfuscation="xyz"),
        event(
            "completed", response={"status": "completed", "output": None, "usage": None, "incomplete_details": "odd"}
        ),
    ]
    outcome = decode(sse(*frames))
    assert (outcome.text, outcome.calls, outcome.finish, outcome.error) == ("a", [], FinishReason.STOP, None)


# --- B4: which call is it? ------------------------------------------------------------------------------------------

TWO = [Call("a", "f", '{"x":1}'), Call("b", "f", '{"y":2}')]
B4 = {
    "b4-38 every item has index 0": (
        [
            frame | {"output_index": 0}
            for frames in (call("fc1", "a", '{"x":1}'), call("fc2", "b", '{"y":2}'))
            for frame in frames
        ],
        TWO,
    ),
    "b4-39 only the head names the item": (
        [
            added("function_call", "fc1", call_id="a", name="f"), arguments('{"x"', None), arguments(":1}", None),
            added("function_call", "fc2", call_id="b", name="f"), arguments('{"y"', None), arguments(":2}", None),
        ],
        TWO,
    ),
    "b4-41 never a call id": (call("fc", None, '{"x":1}'), [Call(None, "f", '{"x":1}')]),
    "b4-42 the call id is an empty string": (call("fc", "", '{"x":1}'), [Call(None, "f", '{"x":1}')]),
    "b4-46 the tails have an unknown id": (
        [added("function_call", "fc", call_id="a", name="f"), arguments('{"x"', "?"), arguments(":1}", "?")],
        [TWO[0]],
    ),
    "b4-47 empty arguments": (call("fc", "a", ""), [Call("a", "f", "")]),
    "b4-48 the name comes last": (
        [
            added("function_call", "fc", call_id="a"), arguments('{"x":1}', "fc"),
            done("function_call", "fc", call_id="a", name="f", arguments='{"x":1}'),
        ],
        [TWO[0]],
    ),
    "never done": (call("fc1", "a", '{"x":1}')[:-2] + call("fc2", "b", '{"y":2}')[:-2], TWO),
    "the whole without a beginning": (call("fc1", "a", '{"x":1}')[-1:] + call("fc2", "b", '{"y":2}')[-1:], TWO),
    "interleaved": (
        [
            added("function_call", "fc1", call_id="a", name="f"), arguments('{"x"', "fc1"),
            added("function_call", "fc2", call_id="b", name="f"), arguments('{"y"', "fc2"),
            arguments(":1}", "fc1"), arguments(":2}", "fc2"),
        ],
        TWO,
    ),
}  # fmt: skip


@pytest.mark.parametrize("fault", B4)
def test_b4(fault: str) -> None:
    frames, calls = B4[fault]
    outcome = decode(sse(*frames, completed()))
    assert (outcome.calls, outcome.finish, outcome.error) == (calls, FinishReason.TOOL_CALLS, None)


def test_b4_41_a_call_without_an_id_gets_one_that_stays() -> None:
    reply = answered(reply_of(chunks_of(*call("fc", None, "{}"), completed())))
    [made] = reply.get_content_blocks(ToolUseBlock)
    items = encode_request("m", ModelRequest([reply]))["input"]
    assert [item["call_id"] for item in items] == [made.id, made.id]


# --- how a stream ends ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("response", "reason", "raw"),
    [
        (
            {"status": "incomplete", "incomplete_details": {"reason": "max_output_tokens"}},
            "length",
            "max_output_tokens",
        ),
        (
            {"status": "incomplete", "incomplete_details": {"reason": "content_filter"}},
            "content_filter",
            "content_filter",
        ),
        ({"status": "incomplete", "incomplete_details": {"reason": "steered"}}, "unknown", "steered"),
        ({"status": "incomplete", "incomplete_details": None}, "length", "incomplete"),
        ({"status": "cancelled"}, "unknown", "cancelled"),
        ({"status": "completed"}, "stop", "completed"),
        ({}, "stop", "completed"),
    ],
)
def test_reasons_for_the_end(response: dict[str, Any], reason: str, raw: str) -> None:
    outcome = decode(sse(*HELLO, event("completed", response=response)))
    assert (outcome.finish, outcome.raw_finish, outcome.error) == (FinishReason(reason), raw, None)


def test_an_incomplete_response_has_an_event_of_its_own() -> None:
    outcome = decode(sse(*HELLO, event("incomplete", response={"usage": {"input_tokens": 1, "output_tokens": 2}})))
    assert (outcome.finish, outcome.raw_finish, outcome.usage) == (FinishReason.LENGTH, "incomplete", UsagePiece(1, 2))


def test_b5_55_a_response_that_was_cut_off_keeps_its_calls_and_says_so() -> None:
    cut = event("incomplete", response={"incomplete_details": {"reason": "max_output_tokens"}})
    outcome = decode(sse(*call("fc", "a", "{}"), cut))
    assert (outcome.calls, outcome.finish) == ([Call("a", "f", "{}")], FinishReason.LENGTH)


@pytest.mark.parametrize(
    ("frame", "kind", "code"),
    [
        (event("failed", response={"error": {"code": "server_error", "message": "m"}}), "server_error", "server_error"),
        (event("failed", response={"status": "failed", "error": None}), "failed", None),
        ({"type": "error", "code": "limit", "message": "m", "param": None}, "limit", "limit"),
        ({"type": "error", "error": {"type": "server_error", "code": "x", "message": "m"}}, "server_error", "x"),
        ({"error": {"type": "server_error", "code": 500, "message": "m"}}, "server_error", 500),
    ],
)  # fmt: skip
def test_b6_66_errors_keep_what_came_before(frame: dict[str, Any], kind: str, code: Any) -> None:
    for name in (b"", b"event: error\n") if frame.get("type") == "error" else (b"",):
        outcome = decode(sse(*HELLO) + name + b"data: " + json.dumps(frame).encode() + b"\n\n")
        assert isinstance(outcome.error, ModelStreamError)
        assert (outcome.error.kind, outcome.error.code) == (kind, code)
        assert (outcome.text, outcome.finish) == ("Hello", None)


def test_b6_69_a_stream_that_ends_in_the_middle_of_arguments_is_truncated() -> None:
    outcome = decode(sse(*call("fc", "a", '{"x"')[:-2]))
    assert isinstance(outcome.error, ModelTruncatedError)
    assert outcome.calls == [Call("a", "f", '{"x"')]


def test_done_without_a_last_event_is_unknown() -> None:
    outcome = decode(sse(*HELLO, "[DONE]"))
    assert (outcome.text, outcome.finish, outcome.error) == ("Hello", FinishReason.UNKNOWN, None)


def test_what_comes_after_the_last_event_is_not_read() -> None:
    outcome = decode(sse(*HELLO, completed(), text("x", "m"), event("failed", response={}), "[DONE]"))
    assert (outcome.text, outcome.finish, outcome.error) == ("Hello", FinishReason.STOP, None)


@pytest.mark.parametrize(
    ("body", "what"),
    [(b"", "an empty body"), (b"<html>busy</html>", "a web page"), (b"hello", "other text")],
)
def test_b6_71_no_event_stream_is_an_error(body: bytes, what: str) -> None:
    outcome = decode(body)
    assert isinstance(outcome.error, ModelStreamError)
    assert what in str(outcome.error)
    assert "OpenAI Responses protocol" in str(outcome.error)


def test_a_reply_that_is_cut_off_sends_its_half_text_without_an_id() -> None:
    frames = [added("reasoning", "rs"), done("reasoning", "rs", summary=[], encrypted_content="e")]
    chunks, error = decode_chunks([sse(*frames, added("message", "m"), text("Hel", "m"))])
    assert isinstance(error, ModelTruncatedError)
    reply = reply_of(chunks, ended=False)
    assert isinstance(reply, AssistantMessage)
    items = encode_request("m", ModelRequest([UserMessage("q"), reply, UserMessage("well?")]))["input"]
    assert items[1:-1] == [{"type": "message", "role": "assistant", "content": "Hel"}]


def test_thinking_is_nothing_but_what_was_said() -> None:
    pieces = [piece for chunk in chunks_of(*HELLO, completed()) for piece in chunk.pieces]
    assert not any(isinstance(piece, ThinkingPiece) for piece in pieces)
