"""Recorded streams of real servers, against what the Google SDK makes of them. Run with `-s` to see the table."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from agentscope_rx.errors import ModelTruncatedError
from agentscope_rx.event import FinishReason
from agentscope_rx.message import UserMessage
from agentscope_rx.model import ModelRequest, UsagePiece
from agentscope_rx.model.gemini import encode_request

from ...feeding import every_cut, whole
from ..captures import Recording, judge, needs_captures, recordings, thoroughness
from ..outcome import Call, Outcome
from ..replying import answered, reply_of
from ..rules import GEMINI_2, violations
from .decoding import decode, decode_chunks

FAMILIES = ("recorded-gemini", "aimock-gemini")
REASONS = {
    "STOP": FinishReason.STOP,
    "MAX_TOKENS": FinishReason.LENGTH,
    "FUNCTION_CALL": FinishReason.TOOL_CALLS,
}

pytestmark = needs_captures


def expected(recording: Recording) -> Outcome:
    """What the chunks add up to: the SDK leaves that to the caller."""
    assert recording.final is not None
    chunks: Any = recording.final
    parts = [part for c in chunks for candidate in c["candidates"] for part in candidate["content"].get("parts", ())]
    usage: dict[str, int] = {}
    for c in chunks:
        usage.update(c.get("usage_metadata", {}))
    reason = next((c["candidates"][0]["finish_reason"] for c in chunks if "finish_reason" in c["candidates"][0]), None)
    calls = [Call(part["function_call"].get("id"), part["function_call"]["name"],
                  json.dumps(part["function_call"]["args"])) for part in parts if "function_call" in part]  # fmt: skip
    finish = REASONS[reason] if reason else None
    return Outcome(
        text="".join(part.get("text", "") for part in parts if not part.get("thought")),
        thinking="".join(part.get("text", "") for part in parts if part.get("thought")),
        calls=calls,
        finish=FinishReason.TOOL_CALLS if calls and finish is FinishReason.STOP else finish,
        raw_finish=reason,
        usage=UsagePiece(
            _sum(usage, "prompt_token_count", "tool_use_prompt_token_count"),
            _sum(usage, "candidates_token_count", "thoughts_token_count"),
            usage.get("cached_content_token_count"),
            usage.get("thoughts_token_count"),
        )
        if usage
        else None,
    )


def _sum(usage: dict[str, int], *names: str) -> int | None:
    known = [usage[name] for name in names if name in usage]
    return sum(known) if known else None


def decoded(*pieces: bytes) -> Outcome:
    """The SDK parses arguments, so what is compared is what they say."""
    outcome = decode(*pieces)
    for call in outcome.calls:
        call.arguments = json.dumps(json.loads(call.arguments))
    return outcome


@thoroughness
def test_a_stream_is_what_the_sdk_makes_of_it_however_the_bytes_are_cut(thorough: bool) -> None:
    found = list(recordings(*FAMILIES))
    assert len(found) == 12
    assert not judge(found, decoded, expected, thorough)


def _received(recording: Recording) -> Iterator[dict[str, Any]]:
    """The parts of the bytes themselves; text in a row, which says no more than that, is one part."""
    run: list[str] = []
    for line in recording.data.decode().splitlines():
        for part in json.loads(line[6:])["candidates"][0]["content"].get("parts", ()) if line else ():
            if set(part) == {"text"}:
                run.append(part["text"])
                continue
            if text := "".join(run):
                yield {"text": text}
            run.clear()
            yield part
    if text := "".join(run):
        yield {"text": text}


def _sent_back(recording: Recording) -> list[dict[str, Any]]:
    """The model's part of the next request, and the rules that it breaks."""
    chunks, _ = decode_chunks(whole(recording.data))
    history = [UserMessage("q"), answered(reply_of(chunks)), UserMessage("go on")]
    body = encode_request("gemini-2.5-flash", ModelRequest(history))
    assert violations(GEMINI_2, body) == []
    return [part for content in body["contents"] if content["role"] == "model" for part in content["parts"]]


def test_the_next_request_says_what_was_received() -> None:
    """Texts, calls, proofs and ids, code and its results; thoughts in a row are one."""
    for recording in recordings(*FAMILIES):
        received = list(_received(recording))
        if recording.file == "gemini-think.sse":
            thoughts = [part["text"] for part in received if part.get("thought")]
            received = [{"text": "".join(thoughts), "thought": True}, *received[len(thoughts) :]]
        assert _sent_back(recording) == received, recording.name


def test_the_results_go_back_with_the_ids_that_were_received() -> None:
    [recording] = (r for r in recordings("recorded-gemini") if "multiple_tool_calls" in r.file)
    chunks, _ = decode_chunks(whole(recording.data))
    body = encode_request("gemini-3.5-flash", ModelRequest([UserMessage("q"), answered(reply_of(chunks))]))
    said, told = body["contents"][1:]
    assert [part["functionCall"]["id"] for part in said["parts"]] == ["dv8szvqe", "j80tal12"]
    assert [part["functionResponse"]["id"] for part in told["parts"]] == ["dv8szvqe", "j80tal12"]


def test_a_recording_that_ends_early_is_truncated_wherever_it_is_cut() -> None:
    """Never taken for whole before its finish reason, never for broken JSON, and what came before stands."""
    [recording] = (r for r in recordings("aimock-gemini") if r.file == "gemini-hello.sse")
    data = recording.data
    full = decode(data)
    end_of_finish = data.index(b"\n", data.index(b'"finishReason":"STOP"'))
    for cut, (start, _) in enumerate(every_cut(data)):
        outcome = decode(start)
        assert full.text.startswith(outcome.text)
        if cut >= end_of_finish:
            assert (outcome.error, outcome.finish) == (None, FinishReason.STOP), cut
        elif cut > len(b"data: "):
            assert isinstance(outcome.error, ModelTruncatedError), cut
