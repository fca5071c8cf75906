"""Recorded streams of real servers, against what the Anthropic SDK makes of them. Run with `-s` to see the table."""

from __future__ import annotations

import json
from typing import Any

import pytest

from agentscope_rx.errors import ModelStreamError, ModelTruncatedError
from agentscope_rx.event import FinishReason
from agentscope_rx.message import UserMessage
from agentscope_rx.model import ModelRequest, UsagePiece
from agentscope_rx.model.anthropic import encode_request

from ...feeding import every_cut, whole
from ..captures import HOSTILE, WAYS, Recording, judge, needs_captures, recordings, thoroughness
from ..outcome import Call, Outcome
from ..replying import answered, reply_of
from ..rules import ANTHROPIC, violations
from .decoding import decode, decode_chunks

FAMILIES = ("recorded-anthropic", "llamacpp-anthropic", "aimock-anthropic")
REASONS = {
    "end_turn": FinishReason.STOP,
    "max_tokens": FinishReason.LENGTH,
    "tool_use": FinishReason.TOOL_CALLS,
}

pytestmark = needs_captures


def expected(recording: Recording) -> Outcome:
    assert recording.final is not None
    content, usage, reason = (recording.final.get(name) for name in ("content", "usage", "stop_reason"))
    of = {kind: [block for block in content if block["type"] == kind] for kind in ("text", "thinking", "tool_use")}
    prompt = ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens")
    return Outcome(
        text="".join(block["text"] for block in of["text"]),
        thinking="".join(block["thinking"] for block in of["thinking"]),
        proofs=[block["signature"] for block in of["thinking"] if block["signature"]],
        calls=[Call(block["id"], block["name"], json.dumps(block["input"])) for block in of["tool_use"]],
        finish=REASONS[reason] if reason else None,
        raw_finish=reason,
        usage=UsagePiece(
            sum(usage.get(name, 0) for name in prompt), usage["output_tokens"], usage.get("cache_read_input_tokens")
        ),
    )


def decoded(*pieces: bytes) -> Outcome:
    """The SDK parses arguments, so what is compared is what they say."""
    outcome = decode(*pieces)
    for call in outcome.calls:
        call.arguments = json.dumps(json.loads(call.arguments))
    return outcome


@thoroughness
def test_a_message_is_what_the_sdk_makes_of_it_however_the_bytes_are_cut(thorough: bool) -> None:
    found = list(recordings(*FAMILIES))
    assert len(found) == 48
    assert not judge(found, decoded, expected, thorough)


def _sent_back(recording: Recording) -> list[dict[str, Any]]:
    """The assistant's part of the next request, and the rules that it breaks."""
    chunks, _ = decode_chunks(whole(recording.data))
    body = encode_request("m", ModelRequest([UserMessage("q"), answered(reply_of(chunks)), UserMessage("go on")]))
    assert violations(ANTHROPIC, body) == []
    return [block for message in body["messages"] if message["role"] == "assistant" for block in message["content"]]


def test_the_next_request_says_what_was_received() -> None:
    round_trips = 0
    for recording in recordings(*FAMILIES):
        assert recording.final is not None
        # An unsigned thought, such as llama.cpp sends, is no thought to the API.
        received = [
            block
            for block in recording.final["content"]
            if block.get("signature") != "" and block.get("text") != "" and not recording.is_cut
        ]
        assert _sent_back(recording) == received, recording.name
        round_trips += len(received) > 0
    assert round_trips == 47


@pytest.mark.parametrize("way", WAYS)
def test_b6_66_llama_cpps_error_without_an_envelope_keeps_what_came_before(way: str) -> None:
    outcome = decode(*WAYS[way]((HOSTILE / "llamacpp-midstream-error-messages.sse").read_bytes()))
    assert isinstance(outcome.error, ModelStreamError)
    assert (outcome.error.kind, outcome.error.code) == ("server_error", 500)
    assert "does not match the expected" in str(outcome.error)
    assert outcome.finish is None
    assert [call.name for call in outcome.calls][:2] == ["get_weather", "get_weather"]


def test_a_recording_that_ends_early_is_truncated_wherever_it_is_cut() -> None:
    """Never taken for whole before its stop reason, never for broken JSON, and what came before stands."""
    [recording] = (r for r in recordings("aimock-anthropic") if r.file == "anthropic-hello.sse")
    data = recording.data
    full = decode(data)
    end_of_finish = data.index(b"\n", data.index(b'"stop_reason":"end_turn"'))
    for cut, (start, _) in enumerate(every_cut(data)):
        outcome = decode(start)
        assert full.text.startswith(outcome.text)
        if cut >= end_of_finish:
            assert (outcome.error, outcome.finish) == (None, FinishReason.STOP), cut
        elif cut > data.index(b"data: ") + len(b"data: "):
            assert isinstance(outcome.error, ModelTruncatedError), cut
