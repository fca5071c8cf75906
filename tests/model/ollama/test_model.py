"""Ollama over real HTTP on the loopback interface: what stands around the two halves, and the agent on top."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from reactivex import operators as ops

from agentscope_rx import GenerateReason, ReActAgent
from agentscope_rx.errors import (
    ConfigurationError,
    ModelHTTPError,
    ModelStreamError,
    ModelTruncatedError,
    UnsupportedContentError,
)
from agentscope_rx.event import AgentResultEvent, FinishReason
from agentscope_rx.message import (
    AssistantMessage,
    Base64Source,
    DataBlock,
    TextBlock,
    ThinkingBlock,
    ToolResultBlock,
    ToolUseBlock,
    UserMessage,
)
from agentscope_rx.model import NO_RETRY, ModelOptions, ModelRequest, OllamaModel, ToolSchema, UsagePiece, resolve_model
from agentscope_rx.testing import assert_valid_stream

from ..calling import PROMPT, REQUEST, outcome_of, run
from ..histories import ZIP
from ..loopback import Exchange, Server, serving
from ..rules import OLLAMA, violations
from .decoding import call, done, lines, say

NDJSON = "application/x-ndjson"
COUNTS: dict[str, Any] = {"prompt_eval_count": 3, "eval_count": 2}
WHOLE = lines(say("Hel"), say("lo"), done(**COUNTS))


def origin(server: Server) -> str:
    return server.url.removesuffix("/v1")


def model(server: Server, **settings: Any) -> OllamaModel:
    return OllamaModel("qwen3:0.6b", **{"retry": NO_RETRY, "base_url": origin(server), **settings})


async def whole(exchange: Exchange) -> None:
    await exchange.respond(WHOLE, content_type=NDJSON)


@pytest.fixture(autouse=True)
def _no_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for variable in ("OLLAMA_HOST", "OLLAMA_API_KEY", "OLLAMA_BASE_URL"):
        monkeypatch.delenv(variable, raising=False)


def test_a_call_sends_the_request_and_streams_the_answer() -> None:
    async def main() -> None:
        async with serving(whole) as server:
            got = await outcome_of(model(server, options=ModelOptions(temperature=0.5)))
            assert (got.text, got.finish, got.usage, got.error) == ("Hello", FinishReason.STOP, UsagePiece(3, 2), None)
            [exchange] = server.exchanges
            assert exchange.path == "/api/chat"
            assert exchange.headers["accept"] == NDJSON
            assert "authorization" not in exchange.headers
            assert exchange.body == {
                "model": "qwen3:0.6b",
                "messages": [{"role": "user", "content": PROMPT}],
                "stream": True,
                "options": {"temperature": 0.5},
            }

    run(main())


def test_chunks_come_as_the_server_sends_them_whatever_the_cuts() -> None:
    async def main() -> None:
        go = asyncio.Event()

        async def step_by_step(exchange: Exchange) -> None:
            await exchange.start(content_type=NDJSON)
            await exchange.send(lines(say("你🌍"))[:-8])
            await exchange.send(lines(say("你🌍"))[-8:])
            await go.wait()
            await exchange.send(WHOLE[:-1])  # the last line has no end
            await exchange.end()

        async with serving(step_by_step) as server:
            stream = model(server).stream(REQUEST)
            first = await anext(stream)
            assert [getattr(piece, "text", None) for piece in first.pieces] == ["你🌍"]
            go.set()
            assert len([chunk async for chunk in stream]) == 3

    run(main())


def test_one_connection_serves_many_calls() -> None:
    async def main() -> None:
        async with serving(whole) as server:
            for _ in range(3):
                assert (await outcome_of(model(server))).error is None
            assert server.connections == 1

    run(main())


def test_a_socket_left_open_after_the_last_line_is_closed_at_once() -> None:
    async def linger(exchange: Exchange) -> None:
        await exchange.start(content_type=NDJSON)
        await exchange.send(WHOLE)
        await exchange.client_gone()

    async def main() -> None:
        async with serving(linger) as server, asyncio.timeout(1.5):  # less than an unfinished answer is waited for
            assert (await outcome_of(model(server))).finish is FinishReason.STOP

    run(main())


def test_b4_69_an_answer_that_breaks_off_keeps_what_came_before() -> None:
    async def cut(exchange: Exchange) -> None:
        await exchange.start(content_type=NDJSON)
        await exchange.send(WHOLE[:70])
        await exchange.cut()

    async def main() -> None:
        async with serving(cut) as server:
            assert isinstance((await outcome_of(model(server))).error, ModelTruncatedError)

    run(main())


@pytest.mark.parametrize("status", [200, 404])
def test_a_refusal_is_told_and_does_not_repeat_the_prompt(status: int) -> None:
    async def refuse(exchange: Exchange) -> None:
        await exchange.respond(lines({"error": f"model 'x' not found: {PROMPT}"}), status, "application/json")

    async def main() -> None:
        async with serving(refuse) as server:
            error = (await outcome_of(model(server))).error
            assert isinstance(error, ModelHTTPError if status == 404 else ModelStreamError)
            assert "model 'x' not found" in str(error)
            assert PROMPT not in str(error)

    run(main())


def test_b6_66_an_error_line_after_content_keeps_the_content() -> None:
    async def fail(exchange: Exchange) -> None:
        await exchange.respond(lines(say("Hel"), {"error": "an error was encountered while running the model"}))

    async def main() -> None:
        async with serving(fail) as server:
            got = await outcome_of(model(server))
            assert got.text == "Hel"
            assert isinstance(got.error, ModelStreamError)

    run(main())


def test_the_server_and_the_key_come_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    assert repr(resolve_model("ollama-native:qwen3:0.6b")) == (
        "OllamaModel('qwen3:0.6b', base_url='http://127.0.0.1:11434')"
    )
    monkeypatch.setenv("OLLAMA_BASE_URL", "http://elsewhere/v1")  # of the endpoint that is compatible with OpenAI
    assert OllamaModel("m").base_url == "http://127.0.0.1:11434"
    monkeypatch.setenv("OLLAMA_HOST", "gpu")
    assert OllamaModel("m").base_url == "http://gpu:11434"


def test_a_key_is_sent_if_there_is_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OLLAMA_API_KEY", "key of the cloud")

    async def main() -> None:
        async with serving(whole) as server:
            assert (await outcome_of(model(server))).error is None
            assert server.exchanges[0].headers["authorization"] == "Bearer key of the cloud"

    run(main())


def test_what_cannot_be_asked_is_refused_before_anything_is_sent() -> None:
    chat = OllamaModel("m", base_url="http://127.0.0.1:9")
    clock = ToolSchema("clock", "", {"type": "object"})
    with pytest.raises(ConfigurationError, match="which is none of the tools"):
        chat.stream(ModelRequest([UserMessage("hi")], [clock], ModelOptions(tool_choice="x")))
    with pytest.raises(UnsupportedContentError, match="cannot carry application/zip"):
        chat.stream(ModelRequest([UserMessage(ZIP)]))


# --- the agent ------------------------------------------------------------------------------------------------------


def get_weather(city: str) -> str:
    """Tell the weather."""
    return f"{city}: 21"


def look(at: str) -> DataBlock:
    """Take a picture."""
    return DataBlock(Base64Source(media_type="image/png", data="aGk="))


def answers(*frames: Any) -> Any:
    async def answer(exchange: Exchange) -> None:
        await exchange.start(content_type=NDJSON)
        for frame in frames:
            await exchange.send(lines(frame))
        await exchange.end()

    return answer


FIRST = [call("get_weather", {"city": "Paris"}), call("get_weather", {"city": "Zürich"})]
SECOND = [call("look", {"at": "Paris"}, "call_1", index=0), call("nothing", {}, "call_2", index=1)]


def test_the_agent_calls_tools_and_answers() -> None:
    """Calls without ids and with, in parallel, of an unknown tool, thoughts, pictures."""
    script = (
        answers(say(thinking="I need "), say(thinking="both."), say("Look."), say(tool_calls=FIRST), done(**COUNTS)),
        answers(say(tool_calls=SECOND), done(**COUNTS)),
        answers(say("It is "), say("warm."), done(**COUNTS)),
        answers(say("Bye."), done()),
    )

    async def main() -> None:
        async with serving(*script) as server:
            chat = model(server, options=ModelOptions(reasoning_effort="low"))
            agent = ReActAgent("friday", chat, sys_prompt="Be kind.", tools=[get_weather, look])
            events = await agent.stream_events("Where is it warm?").pipe(ops.to_list())
            assert_valid_stream(events)
            [message] = [event.result for event in events if isinstance(event, AgentResultEvent)]
            assert isinstance(message, AssistantMessage)
            await agent.call("Thanks")
            _check(message, [exchange.body for exchange in server.exchanges])

    run(main())


def _check(message: AssistantMessage, bodies: list[dict[str, Any]]) -> None:
    assert message.generate_reason is GenerateReason.MODEL_STOP
    assert message.usage is not None
    assert (message.usage.input_tokens, message.usage.output_tokens) == (9, 6)
    assert [type(block) for block in message.content] == [
        ThinkingBlock, TextBlock, ToolUseBlock, ToolUseBlock, ToolResultBlock, ToolResultBlock,
        ToolUseBlock, ToolUseBlock, ToolResultBlock, ToolResultBlock, TextBlock,
    ]  # fmt: skip

    assert len(bodies) == 4
    for body in bodies:
        assert violations(OLLAMA, body) == []
        assert body["think"] == "low"
        assert [tool["function"]["name"] for tool in body["tools"]] == ["get_weather", "look"]
    system, asked, first, *told, second, shown, unknown, picture, third, thanks = bodies[-1]["messages"]
    assert (system["content"], asked["content"], thanks["content"]) == ("Be kind.", "Where is it warm?", "Thanks")
    assert first == {"role": "assistant", "content": "Look.", "thinking": "I need both.", "tool_calls": FIRST}
    assert told == [
        {"role": "tool", "content": f"{city}: 21", "tool_name": "get_weather"} for city in ("Paris", "Zürich")
    ]
    assert second == {"role": "assistant", "content": "", "tool_calls": SECOND}
    assert (shown["tool_name"], shown["tool_call_id"]) == ("look", "call_1")
    assert (unknown["tool_name"], unknown["tool_call_id"]) == ("nothing", "call_2")
    assert picture == {"role": "user", "content": "Output of the tool look:", "images": ["aGk="]}
    assert third == {"role": "assistant", "content": "It is warm."}
    assert [len(body["messages"]) for body in bodies] == [2, 5, 9, 11]
