"""The verdict of llmock: a third party that breaks model calls on purpose and judges how a client takes it.

Every scenario is played to every provider that both speak, at once; llmock tells the calls apart and judges them all.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest

from agentscope_rx import (
    AgentEvent,
    AgentResultEvent,
    GenerateReason,
    ModelCallResetEvent,
    ModelHTTPError,
    ReActAgent,
    RetryPolicy,
    ToolResultBlock,
    ToolResultState,
    resolve_model,
)
from agentscope_rx.testing import assert_valid_stream

from ..parts import free_port, python_folder, running

pytestmark = pytest.mark.heavy

LLMOCK = "llmock==0.2.2"

PROVIDERS = {
    "openai": ("/v1", "/v1/chat/completions"),
    "openai-responses": ("/v1", "/v1/responses"),
    "anthropic": ("/anthropic", "/anthropic/*"),
    "gemini": ("/gemini", "/gemini/*"),
    **{
        name: (f"/{name}{path}", f"/{name}/*")
        for name, path in {
            "mistral": "/v1",
            "groq": "/openai/v1",
            "together": "/v1",
            "perplexity": "/v1",
            "ai21": "/v1",
            "xai": "/v1",
        }.items()
    },
}
"""The base URL of each at the mock, and where its requests go; those without a provider of ours speak OpenAI Chat."""

ANSWER = "It is sunny in Paris today, with a light wind from the west."


def fail(status: int, **settings: Any) -> dict[str, Any]:
    return {"type": "fail", "status": status, **settings}


def breaks(kind: str, after_chunks: int, **settings: Any) -> dict[str, Any]:
    return {"type": "stream_fault", "kind": kind, "after_chunks": after_chunks, **settings}


def says(text: str, times: int) -> dict[str, Any]:
    return {"type": "reply", "text": text, "times": times}


PASSING: dict[str, list[dict[str, Any]]] = {
    "request timeout": [fail(408)],
    "rate limit": [fail(429, retry_after=1)],
    "server error": [fail(500)],
    "bad gateway": [fail(502)],
    "unavailable": [fail(503, retry_after=1)],
    "gateway timeout": [fail(504, retry_after=1)],
    "overload": [fail(529, retry_after=1)],
    "overload, twice": [fail(529, retry_after=1, times=2)],
    "delay": [{"type": "delay", "seconds": 0.2}],
    "slow first token": [{"type": "slow_first_token", "seconds": 0.2}],
    # A call in three frames is the shortest stream; whoever has got them all has got the finish reason.
    **{f"truncate after {chunks}": [breaks("truncate", chunks)] for chunks in range(3)},
    **{f"disconnect after {chunks}": [breaks("disconnect", chunks)] for chunks in range(3)},
    # In an answer of many frames, for llmock only sees that a client has stopped reading while it still writes; and not
    # in the third one, which is a ping of Anthropic's that nobody needs to read.
    **{f"malformed after {chunks}": [breaks("malformed", chunks), says(ANSWER, 2)] for chunks in (0, 1, 3)},
    "truncate, twice": [breaks("truncate", 2, times=2)],
    "stall": [breaks("stall", 3, stall_seconds=4)],
}
"""What a client that tries again gets over."""


@pytest.fixture(scope="module")
def commands(request: pytest.FixtureRequest) -> Path:
    return python_folder(request.config, LLMOCK)


@pytest.fixture(scope="module")
def judge(commands: Path) -> Iterator[httpx.Client]:
    with serving(commands, "--stream-chunk-delay-ms", "10") as client:
        yield client


@contextmanager
def serving(commands: Path, *settings: str) -> Iterator[httpx.Client]:
    port = free_port()
    url = f"http://127.0.0.1:{port}"
    command = [commands / "llmock", "serve", "--port", str(port), "--log-level", "error", *settings]
    with running(command, f"{url}/health"), httpx.Client(base_url=url, trust_env=False, timeout=30) as client:
        yield client


def get_weather(city: str) -> str:
    """Get the weather of a city."""
    return f"sunny in {city}"


def agent_for(judge: httpx.Client, provider: str) -> ReActAgent:
    known = provider in ("openai-responses", "anthropic", "gemini")
    model = resolve_model(
        f"{provider if known else 'openai'}:some-model",
        api_key="sk-test-1234567890",
        base_url=f"{str(judge.base_url).rstrip('/')}{PROVIDERS[provider][0]}",
        retry=RetryPolicy(after_content=True),
        stall_timeout=1.5,
    )
    return ReActAgent("friday", model, tools=[get_weather])


def play(judge: httpx.Client, *behaviors: dict[str, Any], **match: Any) -> dict[str, tuple[list[AgentEvent], Any]]:
    """Play a scenario to every provider; returns the events and the error of each."""
    judge.post("/_llmock/reset")
    queued = [
        {**behavior, "match": {"path": path, **match}} for _, path in PROVIDERS.values() for behavior in behaviors
    ]
    if queued:
        judge.post("/_llmock/scenario", content=json.dumps({"behaviors": queued})).raise_for_status()

    async def one(provider: str) -> tuple[list[AgentEvent], Exception | None]:
        events: list[AgentEvent] = []
        failure = None
        try:
            async for event in agent_for(judge, provider).stream_events("What is the weather in Paris?"):
                events.append(event)  # noqa: PERF401 - what came before a failure counts
        except Exception as error:
            failure = error
        assert_valid_stream(events)
        return events, failure

    async def all_at_once() -> dict[str, tuple[list[AgentEvent], Any]]:
        async with asyncio.timeout(60):
            outcomes = await asyncio.gather(*map(one, PROVIDERS))
        return dict(zip(PROVIDERS, outcomes, strict=True))

    return asyncio.run(all_at_once())


def findings(judge: httpx.Client) -> list[dict[str, Any]]:
    """The verdict; every behaviour must have been met by a call."""
    assert judge.get("/_llmock/scenario").json() == {"pending": []}
    verdict = judge.get("/_llmock/verdict").json()
    assert verdict["calls"] >= len(PROVIDERS)
    found: list[dict[str, Any]] = verdict["findings"]
    return found


def answers(outcomes: dict[str, tuple[list[AgentEvent], Any]]) -> dict[str, tuple[str, Any]]:
    """Why each reply ended, and how it failed if it did."""
    ends = {}
    for provider, (events, failure) in outcomes.items():
        [end] = [event for event in events if isinstance(event, AgentResultEvent)]
        ends[provider] = (str(end.result.generate_reason), failure)
    return ends


def test_without_a_fault_every_provider_calls_the_tool_and_answers(judge: httpx.Client) -> None:
    outcomes = play(judge)
    assert set(answers(outcomes).values()) == {(GenerateReason.MODEL_STOP, None)}
    for events, _ in outcomes.values():
        [result] = [block for event in events if isinstance(event, AgentResultEvent) for block in results(event)]
        assert result.state is ToolResultState.SUCCESS
    assert findings(judge) == []


def results(event: AgentResultEvent) -> tuple[ToolResultBlock, ...]:
    return tuple(event.result.get_content_blocks(ToolResultBlock))


@pytest.mark.parametrize("scenario", PASSING)
def test_what_may_pass_is_got_over(judge: httpx.Client, scenario: str) -> None:
    outcomes = play(judge, *PASSING[scenario])
    assert set(answers(outcomes).values()) == {(GenerateReason.MODEL_STOP, None)}
    assert findings(judge) == []


@pytest.mark.parametrize("kind", ["truncate", "disconnect", "malformed", "stall"])
def test_a_stream_that_breaks_in_the_answer_is_withdrawn_and_said_again(judge: httpx.Client, kind: str) -> None:
    outcomes = play(judge, breaks(kind, 5, stall_seconds=4), says(ANSWER, 2))
    for events, failure in outcomes.values():
        assert failure is None
        assert len([event for event in events if isinstance(event, ModelCallResetEvent)]) == 1
        [end] = [event for event in events if isinstance(event, AgentResultEvent)]
        assert end.result.get_text_content() == ANSWER
    assert findings(judge) == []


@pytest.mark.parametrize("status", [400, 401, 403, 404, 422])
def test_what_cannot_pass_is_told_at_once(judge: httpx.Client, status: int) -> None:
    outcomes = play(judge, fail(status))
    for reason, failure in answers(outcomes).values():
        assert (reason, type(failure), failure.status) == (GenerateReason.ERROR, ModelHTTPError, status)
    assert findings(judge) == []


@pytest.mark.parametrize("kind", ["unknown_tool", "malformed_arguments"])
def test_a_broken_tool_call_is_told_to_the_model(judge: httpx.Client, kind: str) -> None:
    outcomes = play(judge, {"type": "tool_fault", "kind": kind}, tools=True)
    assert set(answers(outcomes).values()) == {(GenerateReason.MODEL_STOP, None)}
    assert findings(judge) == []


def test_a_real_rate_limit_is_waited_out(commands: Path) -> None:
    with serving(commands, "--rpm", "60", "--tool-mode", "off") as judge:
        agent = agent_for(judge, "openai")

        async def main() -> None:
            for number in range(63):
                await agent.call(f"Question {number}")
                await agent.clear_context()

        asyncio.run(main())
        verdict = judge.get("/_llmock/verdict").json()
        assert (verdict["findings"], verdict["calls"]) == ([], 63)
        assert verdict["attempts"] > 63
