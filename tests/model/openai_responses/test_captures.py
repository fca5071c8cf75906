"""Recorded streams of real servers, against what the OpenAI SDK makes of them. Run with `-s` to see the table."""

from __future__ import annotations

import json
from typing import Any

import pytest

from agentscope_rx.errors import ModelStreamError, ModelTruncatedError
from agentscope_rx.event import FinishReason
from agentscope_rx.message import DataBlock, UserMessage
from agentscope_rx.model import ModelOptions, ModelRequest, UsagePiece
from agentscope_rx.model.openai_responses import encode_request

from ...feeding import every_cut, whole
from ..captures import HOSTILE, WAYS, Recording, judge, needs_captures, recordings, thoroughness
from ..outcome import Call, Outcome
from ..replying import answered, reply_of
from ..rules import RESPONSES, violations
from .decoding import decode, decode_chunks

FAMILIES = ("recorded-openai-responses", "llamacpp-responses", "aimock-responses")

pytestmark = needs_captures


def items_of(recording: Recording) -> list[dict[str, Any]]:
    """The items as they were declared done.

    What is encrypted looks different each time that it is said; the documentation says to take it from there, where the
    SDK takes it from the end of the response.
    """
    assert recording.final is not None
    done = {}
    for line in recording.data.splitlines():
        frame = json.loads(line[5:]) if line.startswith(b"data: {") else {}
        if frame.get("type") == "response.output_item.done" and "encrypted_content" in frame["item"]:
            done[frame["item"]["id"]] = {"encrypted_content": frame["item"]["encrypted_content"]}
    return [{**item, **done.get(item.get("id"), {})} for item in recording.final["output"]]


def expected(recording: Recording) -> Outcome:
    final = recording.final
    if final is None:
        return Outcome()
    items, usage = items_of(recording), final["usage"]
    said = [part for item in items if item["type"] == "message" for part in item["content"]]
    reasoning = [item for item in items if item["type"] == "reasoning"]
    thought = [part for item in reasoning for part in (*item["summary"], *(item.get("content") or ()))]
    calls = [Call(i["call_id"], i["name"], i["arguments"]) for i in items if i["type"] == "function_call"]
    reasons = {"completed": FinishReason.TOOL_CALLS if calls else FinishReason.STOP, "incomplete": FinishReason.LENGTH}
    return Outcome(
        text="".join(part.get("text") or part["refusal"] for part in said),
        thinking="".join(part["text"] for part in thought),
        proofs=[item["encrypted_content"] for item in reasoning if item.get("encrypted_content")],
        calls=calls,
        finish=reasons[final["status"]],
        raw_finish=final["status"],
        usage=UsagePiece(
            usage["input_tokens"],
            usage["output_tokens"],
            usage.get("input_tokens_details", {}).get("cached_tokens"),
            usage.get("output_tokens_details", {}).get("reasoning_tokens"),
        ),
    )


@thoroughness
def test_a_response_is_what_the_sdk_makes_of_it_however_the_bytes_are_cut(thorough: bool) -> None:
    found = list(recordings(*FAMILIES))
    assert len(found) == 103
    assert not judge(found, decode, expected, thorough)


def _sent_back(recording: Recording) -> list[dict[str, Any]]:
    """What of the next request is the assistant's."""
    chunks, _ = decode_chunks(whole(recording.data))
    options = ModelOptions(extra_body={"store": True})
    history = [UserMessage("q"), answered(reply_of(chunks)), UserMessage("go on")]
    body = encode_request("m", ModelRequest(history, options=options))
    assert violations(RESPONSES, body) == []
    return [item for item in body["input"] if item.get("role") != "user" and item["type"] != "function_call_output"]


WAITING = ("apply_patch_call", "custom_tool_call")
"""Work that somebody else must give the output of."""


def _as_received(item: dict[str, Any]) -> dict[str, Any]:
    """An item without the fields that say nothing."""
    kept = {name: value for name, value in item.items() if value not in (None, "")}
    if item["type"] == "message":
        kept["content"] = [{k: v for k, v in part.items() if v is not None} for part in item["content"]]
    if item["type"] == "reasoning" and not item.get("content"):
        kept.pop("content", None)
    return kept


def test_the_next_request_says_what_was_received() -> None:
    round_trips = 0
    for recording in recordings(*FAMILIES):
        received = items_of(recording) if recording.final else []
        output = [_as_received(item) for item in received if item["type"] not in WAITING]
        sent = [_as_received(item) for item in _sent_back(recording)]
        if recording.family == "llamacpp-responses":
            # It is late to say that a message is completed: an item of its own ends when the next one begins.
            assert [(i["type"], i["id"]) for i in sent] == [(i["type"], i["id"]) for i in output], recording.name
        else:
            assert sent == output, recording.name
        round_trips += len(output) > 0
    assert round_trips == 100


def test_an_image_that_the_model_makes_is_shown() -> None:
    [recording] = (r for r in recordings("recorded-openai-responses") if "test_image_generation" in r.file)
    assert recording.final is not None
    chunks, _ = decode_chunks(whole(recording.data))
    [image] = reply_of(chunks).get_content_blocks(DataBlock)
    assert (image.source.media_type, image.source.data) == ("image/jpeg", recording.final["output"][0]["result"])


@pytest.mark.parametrize("way", WAYS)
def test_b6_66_llama_cpps_bare_error_keeps_what_came_before(way: str) -> None:
    outcome = decode(*WAYS[way]((HOSTILE / "llamacpp-midstream-error-responses.sse").read_bytes()))
    assert isinstance(outcome.error, ModelStreamError)
    assert (outcome.error.kind, outcome.error.code) == ("server_error", 500)
    assert outcome.finish is None
    assert [json.loads(call.arguments)["city"] for call in outcome.calls[:2]] == ["Paris", "Berlin"]


def test_a_recording_that_ends_early_is_truncated_wherever_it_is_cut() -> None:
    """Never taken for whole before its last event, never for broken JSON, and what came before stands."""
    [recording] = (r for r in recordings("aimock-responses") if r.file == "openai-responses-hello.sse")
    data = recording.data
    full = decode(data)
    end = data.index(b"\n", data.index(b'"type":"response.completed"'))
    for cut, (start, _) in enumerate(every_cut(data)):
        outcome = decode(start)
        assert full.text.startswith(outcome.text)
        if cut >= end:
            assert (outcome.error, outcome.finish) == (None, FinishReason.STOP), cut
        elif cut > data.index(b"data: ") + len(b"data: "):
            assert isinstance(outcome.error, ModelTruncatedError), cut
