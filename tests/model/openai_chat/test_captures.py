"""Recorded streams of real servers, against what the OpenAI SDK makes of them. Run with `-s` to see the table."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from agentscope_rx.errors import ModelStreamError, ModelTruncatedError
from agentscope_rx.event import FinishReason
from agentscope_rx.model import UsagePiece

from ..feeding import at_random, byte_by_byte, every_cut, whole
from ..outcome import Call, Outcome
from .decoding import decode

CAPTURES = Path(__file__).parents[3] / ".." / "shared" / "captures"
FAMILIES = ("recorded-openai-chat", "llamacpp-chat", "aimock-chat")
HOSTILE = CAPTURES / "hostile"

pytestmark = pytest.mark.skipif(not CAPTURES.is_dir(), reason="the captures are not here")

WAYS: dict[str, Callable[[bytes], list[bytes]]] = {
    "whole": whole,
    "bytes": byte_by_byte,
    **{f"random {seed}": (lambda data, seed=seed: at_random(data, seed)) for seed in range(3)},
    "small random": lambda data: at_random(data, 9, mean=3),
}


def _recordings() -> list[tuple[str, str, dict[str, Any]]]:
    return [
        (family, record["file"], record["final"])
        for family in FAMILIES
        for line in _lines(CAPTURES / family / "expected.jsonl")
        for record in (json.loads(line),)
    ]


def _lines(path: Path) -> list[str]:
    return path.read_text("utf-8").splitlines() if path.exists() else []


def _expected(final: dict[str, Any]) -> Outcome:
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


def _row(name: str, outcome: Outcome, verdict: str) -> str:
    usage = outcome.usage
    counts = f"{usage.input_tokens}/{usage.output_tokens}" if usage else "-"
    return (
        f"{name[-64:]:64} {len(outcome.text):6} {len(outcome.thinking):8} {len(outcome.calls):5} "
        f"{outcome.raw_finish or '-':11} {counts:>9} {verdict}"
    )


def test_choice_0_is_what_the_sdk_makes_of_it_however_the_bytes_are_cut() -> None:
    print(f"\n{'recording':64} {'text':>6} {'thinking':>8} {'calls':>5} {'finish':11} {'tokens':>9}")
    wrong = []
    for family, file, final in _recordings():
        data, expected = (CAPTURES / family / file).read_bytes(), _expected(final)
        failed = []
        for way, cut in WAYS.items():
            got = decode(*cut(data))
            error, got.error = got.error, None
            if got != expected or isinstance(error, ModelTruncatedError) != file.endswith("disconnect.sse"):
                failed.append(way)
        print(_row(f"{family}/{file}", expected, f"wrong: {failed}" if failed else "equal"))
        wrong += failed
    assert not wrong
    assert len(_recordings()) == 63


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
