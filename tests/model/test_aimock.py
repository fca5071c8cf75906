"""Agents on aimock, a mock server that speaks five of our protocols as their vendors do, and breaks their streams."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from typing import Any

import pytest

from agentscope_rx import (
    AgentEvent,
    AgentResultEvent,
    GenerateReason,
    ModelCallResetEvent,
    ModelHTTPError,
    Msg,
    ReActAgent,
    RetryPolicy,
    TextBlock,
    ThinkingBlock,
    ToolResultBlock,
    ToolUseBlock,
    resolve_model,
)
from agentscope_rx.testing import assert_valid_stream

from ..parts import free_port, node_folder, running

pytestmark = pytest.mark.heavy

AIMOCK = "@copilotkit/aimock@1.43.0"

PROVIDERS = {"openai": "/v1", "openai-responses": "/v1", "anthropic": "", "gemini": "", "ollama-native": ""}
"""Their base URLs at the mock."""

LONG = "Es war einmal, 很久很久以前 🙂, a model that told long stories in many small pieces, to nobody's end."
THOUGHT = "Wie denn? Let me think."
CALLS = [
    {"id": "call_w1", "name": "get_weather", "arguments": {"city": "Paris"}},
    {"id": "call_w2", "name": "get_weather", "arguments": {"city": "Zürich"}},
]
BROKEN = {"cut": {"truncateAfterChunks": 4}, "reset": {"disconnectAfterMs": 150, "latency": 30}}
"""How a stream breaks the first time, by what it is asked."""


def fixtures(provider: str) -> Iterator[dict[str, Any]]:
    """What the mock says, by what it is asked. A fixture counts its matches, so each provider has its own."""

    def answer(question: str, response: dict[str, Any], **settings: Any) -> dict[str, Any]:
        match = {"userMessage": f"{question} {provider}!", **settings.pop("match", {})}
        return {"match": match, "response": response, **settings}

    yield answer("hello", {"content": LONG, "reasoning": THOUGHT})
    yield answer("weather", {"content": "I look.", "toolCalls": CALLS}, match={"hasToolResult": False})
    yield answer("weather", {"content": "Sunny in both."}, match={"hasToolResult": True})
    for status in (429, 529):
        busy = {"error": {"message": "busy", "type": "overloaded_error"}, "status": status}
        yield answer(f"busy {status}", busy, match={"sequenceIndex": 0})
        yield answer(f"busy {status}", {"content": "now"})
    yield answer("no", {"error": {"message": "no such model", "type": "not_found_error"}, "status": 404})
    for how, fault in BROKEN.items():
        yield answer(how, {"content": LONG}, match={"sequenceIndex": 0}, **fault)
        yield answer(how, {"content": LONG})


@pytest.fixture(scope="module")
def url(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    modules = node_folder(request.config, AIMOCK)
    spoken = tmp_path_factory.mktemp("aimock") / "fixtures.json"
    all_fixtures = [fixture for provider in PROVIDERS for fixture in fixtures(provider)]
    spoken.write_text(json.dumps({"fixtures": all_fixtures}), "utf-8")
    port = free_port()
    cli = modules / "@copilotkit" / "aimock" / "dist" / "cli.js"
    settings = ["-p", str(port), "-f", spoken, "-c", "6", "--strict", "--validate-on-load", "--log-level", "silent"]
    with running(["node", cli, *settings], f"http://127.0.0.1:{port}/health"):
        yield f"http://127.0.0.1:{port}"


def get_weather(city: str) -> str:
    """Get the weather of a city."""
    return f"sunny in {city}"


def ask(url: str, provider: str, question: str) -> tuple[list[AgentEvent], Exception | None]:
    """The events of an answer, which must be a lawful stream, and how it failed, if it did."""
    model = resolve_model(
        f"{provider}:some-model",
        api_key="sk-test-1234567890",
        base_url=url + PROVIDERS[provider],
        retry=RetryPolicy(after_content=True, base_delay=0.01),
        stall_timeout=5,
    )
    agent = ReActAgent("friday", model, tools=[get_weather])

    async def main() -> tuple[list[AgentEvent], Exception | None]:
        events: list[AgentEvent] = []
        try:
            async for event in agent.stream_events(f"{question} {provider}!"):
                events.append(event)  # noqa: PERF401 - what came before a failure counts
        except Exception as error:
            return events, error
        return events, None

    events, failure = asyncio.run(asyncio.wait_for(main(), 30))
    assert_valid_stream(events)
    return events, failure


def answer(url: str, provider: str, question: str) -> tuple[Msg, int]:
    """The message that answers, and how many attempts were withdrawn on the way."""
    events, failure = ask(url, provider, question)
    assert failure is None
    [end] = [event for event in events if isinstance(event, AgentResultEvent)]
    assert end.result.generate_reason is GenerateReason.MODEL_STOP
    return end.result, len([event for event in events if isinstance(event, ModelCallResetEvent)])


every_provider = pytest.mark.parametrize("provider", PROVIDERS)


@every_provider
def test_text_and_thinking_come_whole(url: str, provider: str) -> None:
    message, withdrawn = answer(url, provider, "hello")
    assert [block.text for block in message.get_content_blocks(TextBlock)] == [LONG]
    assert "".join(block.thinking for block in message.get_content_blocks(ThinkingBlock)) == (
        "" if provider == "ollama-native" else THOUGHT  # of which the mock has no thinking
    )
    assert withdrawn == 0
    assert message.usage is not None


@every_provider
def test_two_calls_are_run_and_their_results_accepted(url: str, provider: str) -> None:
    message, _ = answer(url, provider, "weather")
    assert [block.input for block in message.get_content_blocks(ToolUseBlock)] == [c["arguments"] for c in CALLS]
    results = message.get_content_blocks(ToolResultBlock)
    assert [block.output for block in results] == [
        (TextBlock("sunny in Paris"),),
        (TextBlock("sunny in Zürich"),),
    ]
    assert [block.text for block in message.get_content_blocks(TextBlock)] == ["I look.", "Sunny in both."]


@every_provider
@pytest.mark.parametrize("status", [429, 529])
def test_what_is_busy_is_asked_again_in_silence(url: str, provider: str, status: int) -> None:
    message, withdrawn = answer(url, provider, f"busy {status}")
    assert (message.get_text_content(), withdrawn) == ("now", 0)


@every_provider
def test_a_refusal_is_told(url: str, provider: str) -> None:
    _, failure = ask(url, provider, "no")
    assert isinstance(failure, ModelHTTPError)
    assert (failure.status, "no such model" in str(failure)) == (404, True)


@every_provider
@pytest.mark.parametrize("how", BROKEN)
def test_a_stream_that_breaks_is_withdrawn_and_said_again(url: str, provider: str, how: str) -> None:
    message, withdrawn = answer(url, provider, how)
    assert message.get_text_content() == LONG
    assert withdrawn <= 1  # 0 when it broke before the first content
