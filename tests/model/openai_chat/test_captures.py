"""Recorded streams of real servers, against what the OpenAI SDK makes of them. Run with `-s` to see the table."""

from __future__ import annotations

import json

import pytest

from agentscope_rx.errors import ModelStreamError, ModelTruncatedError
from agentscope_rx.event import FinishReason
from agentscope_rx.model import UsagePiece

from ...feeding import every_cut
from ..captures import CAPTURES, HOSTILE, WAYS, Recording, judge, needs_captures, recordings, thoroughness
from ..outcome import Call, Outcome
from .decoding import decode

FAMILIES = ("recorded-openai-chat", "llamacpp-chat", "aimock-chat")

pytestmark = needs_captures


def expected(recording: Recording) -> Outcome:
    final = recording.final
    assert final is not None
    choice = next(choice for choice in final["choices"] if choice["index"] == 0)
    message, usage = choice["message"], final.get("usage")
    return Outcome(
        text=message.get("content") or "",
        thinking=message.get("reasoning_content") or "",
        calls=[
            Call(call["id"], call["function"]["name"], call["function"]["arguments"])
            for call in message.get("tool_calls") or []
        ],
        finish=FinishReason(choice["finish_reason"]) if choice.get("finish_reason") else None,
        raw_finish=choice.get("finish_reason"),
        usage=usage
        and UsagePiece(
            usage["prompt_tokens"],
            usage["completion_tokens"],
            (usage.get("prompt_tokens_details") or {}).get("cached_tokens"),
            (usage.get("completion_tokens_details") or {}).get("reasoning_tokens"),
        ),
    )


@thoroughness
def test_choice_0_is_what_the_sdk_makes_of_it_however_the_bytes_are_cut(thorough: bool) -> None:
    found = list(recordings(*FAMILIES))
    assert len(found) == 63
    assert not judge(found, decode, expected, thorough)


@pytest.mark.parametrize("name", ["llamacpp-midstream-error-auto", "llamacpp-midstream-error-auto-add"])
@pytest.mark.parametrize("way", WAYS)
def test_b6_66_an_error_object_in_the_middle_keeps_what_came_before(name: str, way: str) -> None:
    outcome = decode(*WAYS[way]((HOSTILE / f"{name}.sse").read_bytes()))
    assert isinstance(outcome.error, ModelStreamError)
    assert (outcome.error.kind, outcome.error.code) == ("server_error", 500)
    assert outcome.finish is None
    [call] = outcome.calls
    assert json.loads(call.arguments)


@pytest.mark.parametrize("way", WAYS)
def test_b4_43_a_forced_call_whose_name_is_in_every_chunk_is_one_call(way: str) -> None:
    outcome = decode(*WAYS[way]((HOSTILE / "llamacpppython-smollm2-chat-tool-forced.sse").read_bytes()))
    [call] = outcome.calls
    assert (call.name, outcome.finish, outcome.error) == ("get_weather", FinishReason.TOOL_CALLS, None)
    assert json.loads(call.arguments)["city"]


def test_b6_71_an_empty_body_is_an_error() -> None:
    data = (HOSTILE / "llamacpppython-smollm2-chat-tool-required.sse").read_bytes()
    assert data == b""
    outcome = decode(data)
    assert isinstance(outcome.error, ModelStreamError)
    assert "empty body" in str(outcome.error)


def test_a_recording_that_ends_early_is_truncated_wherever_it_is_cut() -> None:
    """Never taken for whole before its finish reason, never for broken JSON, and what came before stands."""
    data = (CAPTURES / "aimock-chat" / "openai-chat-hello.sse").read_bytes()
    full = decode(data)
    finish = data.index(b'"finish_reason":"stop"')
    end_of_finish = data.index(b"\n", finish)
    for cut, (start, _) in enumerate(every_cut(data)):
        outcome = decode(start)
        assert full.text.startswith(outcome.text)
        if cut >= end_of_finish:
            assert (outcome.error, outcome.finish) == (None, FinishReason.STOP), cut
        elif cut > len(b"data: "):
            assert isinstance(outcome.error, ModelTruncatedError), cut
