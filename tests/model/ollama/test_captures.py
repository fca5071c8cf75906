"""Recorded streams of real servers, against what the Ollama SDK makes of them. Run with `-s` to see the table."""

from __future__ import annotations

import json
from typing import Any

from agentscope_rx.errors import ModelTruncatedError
from agentscope_rx.event import FinishReason
from agentscope_rx.message import UserMessage
from agentscope_rx.model import ModelRequest, UsagePiece
from agentscope_rx.model.ollama import encode_request

from ...feeding import every_cut, whole
from ..captures import Recording, judge, needs_captures, recordings, thoroughness
from ..outcome import Call, Outcome
from ..replying import answered, reply_of
from ..rules import OLLAMA, violations
from .decoding import decode, decode_chunks

FAMILIES = ("recorded-ollama", "aimock-ollama")

pytestmark = needs_captures


def expected(recording: Recording) -> Outcome:
    """What the lines add up to: the SDK leaves that to the caller."""
    assert recording.final is not None
    frames: Any = recording.final
    messages, last = [frame["message"] for frame in frames], frames[-1]
    return Outcome(
        text=_joined(messages, "content"),
        thinking=_joined(messages, "thinking"),
        calls=[
            Call(None, call["function"]["name"], json.dumps(call["function"]["arguments"]))
            for message in messages
            for call in message.get("tool_calls", ())
        ],
        finish=FinishReason(last["done_reason"]) if last["done"] else None,
        raw_finish=last.get("done_reason"),
        usage=UsagePiece(last["prompt_eval_count"], last["eval_count"]) if last["done"] else None,
    )


def _joined(messages: list[dict[str, Any]], name: str) -> str:
    return "".join(message.get(name) or "" for message in messages)


def decoded(*pieces: bytes) -> Outcome:
    """The SDK parses arguments, so what is compared is what they say."""
    outcome = decode(*pieces)
    for call in outcome.calls:
        call.arguments = json.dumps(json.loads(call.arguments))
    return outcome


@thoroughness
def test_a_stream_is_what_the_sdk_makes_of_it_however_the_bytes_are_cut(thorough: bool) -> None:
    found = list(recordings(*FAMILIES))
    assert len(found) == 10
    assert not judge(found, decoded, expected, thorough)


def test_the_next_request_says_what_was_received() -> None:
    """Text, thoughts and calls of the bytes themselves; the calls have no ids, and get none."""
    for recording in recordings(*FAMILIES):
        messages = [json.loads(line)["message"] for line in recording.data.splitlines()]
        received = {
            "role": "assistant",
            "content": _joined(messages, "content"),
            "tool_calls": [call for message in messages for call in message.get("tool_calls", ())],
        }
        chunks, _ = decode_chunks(whole(recording.data))
        history = [UserMessage("q"), answered(reply_of(chunks)), UserMessage("go on")]
        body = encode_request("m", ModelRequest(history))
        assert violations(OLLAMA, body) == []
        said, *results = body["messages"][1:-1]
        assert {"tool_calls": [], **said} == received, recording.name
        assert [result["tool_name"] for result in results] == [c["function"]["name"] for c in received["tool_calls"]]


def test_a_recording_that_ends_early_is_truncated_wherever_it_is_cut() -> None:
    """Never taken for whole before its last line, never for broken JSON, and what came before stands."""
    [recording] = (r for r in recordings("aimock-ollama") if r.file == "ollama-hello.sse")
    data = recording.data
    full = decode(data)
    for cut, (start, _) in enumerate(every_cut(data)):
        outcome = decode(start)
        assert full.text.startswith(outcome.text)
        if cut >= len(data) - 1:
            assert (outcome.error, outcome.finish) == (None, FinishReason.STOP), cut
        elif cut > 0:
            assert isinstance(outcome.error, ModelTruncatedError), cut
