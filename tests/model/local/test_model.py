"""The embedded model as a `ChatModel`: what it asks of its server; a scripted one stands in for it."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from agentscope_rx.errors import ConfigurationError
from agentscope_rx.event import FinishReason
from agentscope_rx.message import SystemMessage, UserMessage
from agentscope_rx.model import (
    ChatModel,
    FinishPiece,
    ModelOptions,
    ModelRequest,
    TextPiece,
    ToolSchema,
    resolve_model,
)
from agentscope_rx.model.local import LocalModel, model as model_module
from agentscope_rx.model.local.catalog import MODELS
from agentscope_rx.model.local.server import EmbeddedServer

from ..calling import REQUEST, outcome_of, run
from ..loopback import Exchange, Server, serving
from ..openai_chat.decoding import DONE, STOP, delta, sse

WHOLE = sse(delta(content="Hel"), delta(content="lo"), STOP, DONE)
TOOL = ToolSchema("now", "Tells the time.", {"type": "object", "properties": {}})


async def say_hello(exchange: Exchange) -> None:
    await exchange.respond(WHOLE)


def asked(request: ModelRequest, **settings: Any) -> dict[str, Any]:
    """Return the body that the request becomes."""

    async def main() -> Server:
        async with serving(say_hello) as server:
            async for _ in LocalModel("smollm2", base_url=server.url, **settings).stream(request):
                pass
            return server

    (exchange,) = run(main()).exchanges
    assert exchange.path == "/v1/chat/completions"
    return exchange.body


def test_it_is_a_chat_model_like_any_other() -> None:
    model = resolve_model("local:smollm2", base_url="http://127.0.0.1:1/v1")
    assert isinstance(model, LocalModel)
    assert isinstance(model, ChatModel)
    assert model.model_name == "smollm2"
    assert repr(model) == "LocalModel('smollm2')"


def test_an_unknown_name_is_refused() -> None:
    with pytest.raises(ConfigurationError, match="local:smollm2"):
        resolve_model("local:gpt-9")


def test_an_answer_comes_piece_by_piece() -> None:
    async def main() -> list[Any]:
        async with serving(say_hello) as server:
            chunks = LocalModel("smollm2", base_url=server.url).stream(REQUEST)
            return [piece async for chunk in chunks for piece in chunk.pieces]

    assert run(main()) == [TextPiece("Hel"), TextPiece("lo"), FinishPiece(FinishReason.STOP, "stop")]


def test_plain_chat_is_sent_as_it_is_with_the_defaults_of_the_model() -> None:
    body = asked(ModelRequest([SystemMessage("Be brief."), UserMessage("Hi")]))
    assert body["messages"] == [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Hi"}]
    assert (body["temperature"], body["max_tokens"]) == (0, 512)
    assert body["frequency_penalty"] > 0
    assert "logit_bias" not in body


def test_tools_are_sent_with_examples_of_their_use() -> None:
    body = asked(ModelRequest([SystemMessage("Be brief."), UserMessage("Hi")], [TOOL]))
    roles = [message["role"] for message in body["messages"]]
    assert roles == [
        "system",
        "user",
        "assistant",
        "user",
        "assistant",
        "tool",
        "assistant",
        "user",
        "assistant",
        "user",
    ]
    ((marker, bias),) = body["logit_bias"]
    assert (marker, bias > 0) == (">>>", True)
    assert [tool["function"]["name"] for tool in body["tools"]] == ["now"]


def test_own_options_go_over_the_defaults_and_those_of_the_request_over_both() -> None:
    body = asked(
        ModelRequest(
            [UserMessage("Hi")], [TOOL], ModelOptions(max_tokens=7, extra_body={"logit_bias": [], "tag": "request"})
        ),
        options=ModelOptions(temperature=0.5, max_tokens=9, extra_body={"frequency_penalty": 1, "tag": "model"}),
    )
    sent = {name: body[name] for name in ("temperature", "max_tokens", "frequency_penalty", "logit_bias", "tag")}
    assert sent == {
        "temperature": 0.5,
        "max_tokens": 7,
        "frequency_penalty": 1,
        "logit_bias": [],
        "tag": "request",
    }


def test_a_tool_that_is_chosen_by_name_is_the_only_one_and_required() -> None:
    """llama.cpp ignores a choice that names a tool."""
    other = ToolSchema("later", "Waits.", {"type": "object", "properties": {}})
    body = asked(ModelRequest([UserMessage("Hi")], [TOOL, other], ModelOptions(tool_choice="now")))
    assert [tool["function"]["name"] for tool in body["tools"]] == ["now"]
    assert body["tool_choice"] == "required"


def test_closing_the_stream_closes_the_connection() -> None:
    async def start(exchange: Exchange) -> None:
        await exchange.start()
        await exchange.send(sse(delta(content="Hel")))
        await exchange.client_gone()
        gone.set()

    async def main() -> None:
        async with serving(start) as server:
            stream = LocalModel("smollm2", base_url=server.url).stream(REQUEST)
            async for _ in stream:
                break
            await stream.aclose()
            async with asyncio.timeout(5):
                await gone.wait()

    gone = asyncio.Event()
    run(main())


def test_the_server_starts_with_the_first_call_only(monkeypatch: pytest.MonkeyPatch) -> None:
    async def main() -> None:
        async with serving(say_hello) as server:
            embedded = EmbeddedServer(MODELS["smollm2"])
            monkeypatch.setattr(model_module, "SERVERS", {"smollm2": embedded})
            monkeypatch.setattr(EmbeddedServer, "start", lambda _: started.append(1) or server.url.removesuffix("/v1"))
            monkeypatch.setattr(type(MODELS["smollm2"]), "locate_weights", lambda _: None)
            model = LocalModel("smollm2")
            stream = model.stream(REQUEST)
            assert (started, model.server_url) == ([], None)
            assert [chunk async for chunk in stream]
            assert started == [1]
            assert (await outcome_of(model)).error is None

    started: list[int] = []
    run(main())
