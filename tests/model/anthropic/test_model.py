"""Messages over real HTTP on the loopback interface: what stands around the two halves."""

from __future__ import annotations

from typing import Any

import pytest

from agentscope_rx.errors import ConfigurationError, ModelHTTPError, ModelStreamError
from agentscope_rx.event import FinishReason
from agentscope_rx.message import SystemMessage, UserMessage
from agentscope_rx.model import NO_RETRY, AnthropicModel, ModelOptions, ModelRequest, ToolSchema, UsagePiece

from ..calling import PROMPT, REQUEST, outcome_of, run
from ..loopback import Exchange, Server, serving
from .decoding import BEGIN_TEXT, END, finish, sse, start, stop, text

KEY = "sk-ant-test-1234567890"
WHOLE = sse(start(input_tokens=3), BEGIN_TEXT, text("Hel"), text("lo"), stop(0), finish(output_tokens=2), END)


def model(server: Server, **settings: Any) -> AnthropicModel:
    return AnthropicModel("claude", **{"retry": NO_RETRY, "api_key": KEY, "base_url": server.url, **settings})


async def whole(exchange: Exchange) -> None:
    await exchange.respond(WHOLE)


def test_a_call_sends_the_request_and_streams_the_answer() -> None:
    async def main() -> None:
        async with serving(whole) as server:
            got = await outcome_of(model(server, options=ModelOptions(temperature=0.5)))
            assert (got.text, got.finish, got.usage, got.error) == ("Hello", FinishReason.STOP, UsagePiece(3, 2), None)
            [exchange] = server.exchanges
            assert exchange.path == "/v1/messages"
            assert exchange.headers["x-api-key"] == KEY
            assert exchange.headers["anthropic-version"] == "2023-06-01"
            assert "authorization" not in exchange.headers
            assert exchange.body == {
                "model": "claude",
                "max_tokens": 8192,
                "messages": [{"role": "user", "content": [{"type": "text", "text": PROMPT}]}],
                "stream": True,
                "temperature": 0.5,
            }

    run(main())


@pytest.mark.parametrize("ending", ["", "/", "/v1", "/v1/", "/proxy", "/proxy/v1"])
def test_the_base_url_may_name_the_version(ending: str) -> None:
    async def main() -> None:
        async with serving(whole) as server:
            origin = server.url.removesuffix("/v1")
            assert (await outcome_of(model(server, base_url=origin + ending))).text == "Hello"
            assert server.exchanges[0].path == ("/proxy" if "proxy" in ending else "") + "/v1/messages"

    run(main())


def test_one_connection_serves_many_calls() -> None:
    async def main() -> None:
        async with serving(whole) as server:
            for _ in range(3):
                assert (await outcome_of(model(server))).error is None
            assert server.connections == 1

    run(main())


def test_a_refusal_names_its_kind_and_repeats_neither_key_nor_prompt() -> None:
    system = "The system prompt is a secret of the house as well."

    async def refuse(exchange: Exchange) -> None:
        error = f'{{"type":"error","error":{{"type":"overloaded_error","message":"{KEY} {PROMPT} {system}"}}}}'
        await exchange.respond(error.encode(), 529, "application/json")

    async def main() -> None:
        async with serving(refuse) as server:
            request = ModelRequest([SystemMessage(system), *REQUEST.messages])
            error = (await outcome_of(model(server), request)).error
            assert isinstance(error, ModelHTTPError)
            assert (error.status, error.kind) == (529, "overloaded_error")
            assert not [secret for secret in (KEY, PROMPT, system) if secret in str(error)]

    run(main())


def test_b6_67_an_error_event_after_content_keeps_the_content() -> None:
    error = {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}

    async def fail(exchange: Exchange) -> None:
        await exchange.respond(sse(start(), BEGIN_TEXT, text("Hel"), {"type": "ping"}, error))

    async def main() -> None:
        async with serving(fail) as server:
            got = await outcome_of(model(server))
            assert got.text == "Hel"
            assert isinstance(got.error, ModelStreamError)
            assert got.error.kind == "overloaded_error"

    run(main())


def test_the_key_comes_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("ANTHROPIC_BASE_URL", raising=False)
    monkeypatch.delenv("ANTHROPIC_API_KEY", raising=False)
    with pytest.raises(ConfigurationError, match="ANTHROPIC_API_KEY"):
        AnthropicModel("claude")
    monkeypatch.setenv("ANTHROPIC_API_KEY", KEY)
    assert AnthropicModel("claude").base_url == "https://api.anthropic.com"
    assert KEY not in repr(AnthropicModel("claude"))
    monkeypatch.setenv("ANTHROPIC_BASE_URL", "http://127.0.0.1:9")
    assert AnthropicModel("claude").base_url == "http://127.0.0.1:9"


def test_what_cannot_be_asked_is_refused_before_anything_is_sent() -> None:
    clock = ToolSchema("clock", "", {"type": "object"})
    with pytest.raises(ConfigurationError, match="which is none of the tools"):
        AnthropicModel("claude", api_key=KEY).stream(
            ModelRequest([UserMessage("hi")], [clock], ModelOptions(tool_choice="x"))
        )
