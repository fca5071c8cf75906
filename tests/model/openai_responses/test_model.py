"""Responses over real HTTP on the loopback interface: what stands around the two halves."""

from __future__ import annotations

from typing import Any

from agentscope_rx.errors import ModelHTTPError, ModelTruncatedError
from agentscope_rx.event import FinishReason
from agentscope_rx.message import SystemMessage
from agentscope_rx.model import NO_RETRY, ModelOptions, ModelRequest, OpenAIResponsesModel, UsagePiece

from ..calling import PROMPT, REQUEST, outcome_of, run
from ..loopback import Exchange, Server, serving
from .decoding import completed, message, sse, text

KEY = "sk-test-1234567890"
WHOLE = sse(*message("m", "Hel", "lo"), completed(usage={"input_tokens": 3, "output_tokens": 2}))


def model(server: Server, **settings: Any) -> OpenAIResponsesModel:
    return OpenAIResponsesModel("gpt-5", **{"retry": NO_RETRY, "api_key": KEY, "base_url": server.url, **settings})


async def whole(exchange: Exchange) -> None:
    await exchange.respond(WHOLE)


def test_a_call_sends_the_request_and_streams_the_answer() -> None:
    async def main() -> None:
        async with serving(whole) as server:
            got = await outcome_of(model(server, options=ModelOptions(reasoning_effort="low")))
            assert (got.text, got.finish, got.usage, got.error) == ("Hello", FinishReason.STOP, UsagePiece(3, 2), None)
            [exchange] = server.exchanges
            assert exchange.path == "/v1/responses"
            assert exchange.headers["authorization"] == f"Bearer {KEY}"
            assert exchange.body == {
                "model": "gpt-5",
                "input": [{"type": "message", "role": "user", "content": PROMPT}],
                "stream": True,
                "store": False,
                "include": ["reasoning.encrypted_content"],
                "reasoning": {"effort": "low"},
            }

    run(main())


def test_one_connection_serves_many_calls() -> None:
    async def main() -> None:
        async with serving(whole) as server:
            for _ in range(3):
                assert (await outcome_of(model(server))).error is None
            assert server.connections == 1

    run(main())


def test_a_refusal_repeats_neither_key_nor_prompt() -> None:
    system = "The system prompt is a secret of the house as well."

    async def refuse(exchange: Exchange) -> None:
        error = f'{{"error":{{"type":"invalid_request_error","message":"{KEY} {PROMPT} {system}"}}}}'
        await exchange.respond(error.encode(), 400, "application/json")

    async def main() -> None:
        async with serving(refuse) as server:
            request = ModelRequest([SystemMessage(system), *REQUEST.messages])
            error = (await outcome_of(model(server), request)).error
            assert isinstance(error, ModelHTTPError)
            assert (error.status, error.kind) == (400, "invalid_request_error")
            assert not [secret for secret in (KEY, PROMPT, system) if secret in str(error)]

    run(main())


def test_b6_69_a_body_that_ends_before_the_response_does_is_truncated() -> None:
    async def stop(exchange: Exchange) -> None:
        await exchange.respond(sse(text("Hel")))

    async def main() -> None:
        async with serving(stop) as server:
            got = await outcome_of(model(server))
            assert got.text == "Hel"
            assert isinstance(got.error, ModelTruncatedError)

    run(main())
