"""Gemini over real HTTP on the loopback interface: what stands around the two halves, and the agent on top."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from reactivex import operators as ops

from agentscope_rx import GenerateReason, ReActAgent
from agentscope_rx.errors import ConfigurationError, ModelHTTPError, ModelStreamError, UnsupportedContentError
from agentscope_rx.event import AgentResultEvent, FinishReason
from agentscope_rx.message import (
    AssistantMessage,
    Base64Source,
    DataBlock,
    HintBlock,
    SystemMessage,
    TextBlock,
    ThinkingBlock,
    ToolResultBlock,
    ToolUseBlock,
    UserMessage,
)
from agentscope_rx.model import NO_RETRY, GeminiModel, ModelOptions, ModelRequest, ToolSchema, UsagePiece, resolve_model
from agentscope_rx.testing import assert_valid_stream

from ..calling import PROMPT, REQUEST, outcome_of, run
from ..decoding import sse
from ..histories import ZIP
from ..loopback import Exchange, Server, serving
from ..rules import GEMINI, violations
from .decoding import call, chunk, text, think

KEY = "AIza-test-1234567890"
USAGE = {"promptTokenCount": 3, "candidatesTokenCount": 2, "totalTokenCount": 5}
STOPS: Any = {"finish": "STOP", "usage": USAGE}
END = chunk(**STOPS)
WHOLE = sse(chunk(text("Hel")), chunk(text("lo")), END).replace(b"\n", b"\r\n")


def origin(server: Server) -> str:
    return server.url.removesuffix("/v1")


def model(server: Server, name: str = "gemini-2.5-flash", **settings: Any) -> GeminiModel:
    return GeminiModel(name, **{"retry": NO_RETRY, "api_key": KEY, "base_url": origin(server), **settings})


async def whole(exchange: Exchange) -> None:
    await exchange.respond(WHOLE)


def test_a_call_sends_the_request_and_streams_the_answer() -> None:
    async def main() -> None:
        async with serving(whole) as server:
            got = await outcome_of(model(server, options=ModelOptions(temperature=0.5)))
            assert (got.text, got.finish, got.usage, got.error) == ("Hello", FinishReason.STOP, UsagePiece(3, 2), None)
            [exchange] = server.exchanges
            assert exchange.path == "/v1beta/models/gemini-2.5-flash:streamGenerateContent?alt=sse"
            assert exchange.headers["x-goog-api-key"] == KEY
            assert "authorization" not in exchange.headers
            assert exchange.body == {
                "contents": [{"role": "user", "parts": [{"text": PROMPT}]}],
                "generationConfig": {"temperature": 0.5},
            }

    run(main())


@pytest.mark.parametrize("ending", ["", "/", "/v1beta", "/v1beta/", "/proxy", "/proxy/v1beta"])
def test_the_base_url_may_name_the_version(ending: str) -> None:
    async def main() -> None:
        async with serving(whole) as server:
            assert (await outcome_of(model(server, base_url=origin(server) + ending))).text == "Hello"
            path = ("/proxy" if "proxy" in ending else "") + "/v1beta/models/gemini-2.5-flash:streamGenerateContent"
            assert server.exchanges[0].path == path + "?alt=sse"

    run(main())


def test_a_name_of_a_model_is_no_more_than_a_name() -> None:
    async def main() -> None:
        async with serving(whole) as server:
            assert (await outcome_of(model(server, "a/b?key=c d#e"))).text == "Hello"
            path = server.exchanges[0].path
            assert path == "/v1beta/models/a/b%3Fkey%3Dc%20d%23e:streamGenerateContent?alt=sse"

    run(main())


def test_one_connection_serves_many_calls() -> None:
    async def main() -> None:
        async with serving(whole) as server:
            for _ in range(3):
                assert (await outcome_of(model(server))).error is None
            assert server.connections == 1

    run(main())


def test_a_socket_left_open_after_the_last_chunk_is_closed_at_once() -> None:
    async def linger(exchange: Exchange) -> None:
        await exchange.start()
        await exchange.send(WHOLE)
        await exchange.client_gone()

    async def main() -> None:
        async with serving(linger) as server, asyncio.timeout(1.5):  # less than an unfinished answer is waited for
            assert (await outcome_of(model(server))).finish is FinishReason.STOP

    run(main())


@pytest.mark.parametrize("as_list", [False, True], ids=["object", "array"])
def test_a_refusal_names_its_kind_and_repeats_neither_key_nor_prompt(as_list: bool) -> None:
    system = "The system prompt is a secret of the house as well."

    async def refuse(exchange: Exchange) -> None:
        error = f'{{"error":{{"code":400,"message":"{KEY} {PROMPT} {system}","status":"INVALID_ARGUMENT"}}}}'
        await exchange.respond((f"[{error}]" if as_list else error).encode(), 400, "application/json")

    async def main() -> None:
        async with serving(refuse) as server:
            request = ModelRequest([SystemMessage(system), *REQUEST.messages])
            error = (await outcome_of(model(server), request)).error
            assert isinstance(error, ModelHTTPError)
            assert (error.status, error.kind) == (400, "INVALID_ARGUMENT")
            assert not [secret for secret in (KEY, PROMPT, system) if secret in str(error)]

    run(main())


def test_b6_66_an_error_after_content_keeps_the_content() -> None:
    async def fail(exchange: Exchange) -> None:
        error = {"error": {"code": 503, "message": "The model is overloaded.", "status": "UNAVAILABLE"}}
        await exchange.respond(sse(chunk(text("Hel")), error))

    async def main() -> None:
        async with serving(fail) as server:
            got = await outcome_of(model(server))
            assert got.text == "Hel"
            assert isinstance(got.error, ModelStreamError)
            assert got.error.kind == "UNAVAILABLE"

    run(main())


def test_the_key_and_the_url_come_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for variable in ("GEMINI_API_KEY", "GOOGLE_API_KEY", "GOOGLE_GEMINI_BASE_URL"):
        monkeypatch.delenv(variable, raising=False)
    with pytest.raises(ConfigurationError, match="GEMINI_API_KEY or GOOGLE_API_KEY"):
        GeminiModel("gemini-2.5-flash")
    monkeypatch.setenv("GOOGLE_API_KEY", KEY)
    chat = resolve_model("gemini:gemini-2.5-flash")
    assert repr(chat) == "GeminiModel('gemini-2.5-flash', base_url='https://generativelanguage.googleapis.com')"
    monkeypatch.setenv("GOOGLE_GEMINI_BASE_URL", "http://127.0.0.1:9")
    monkeypatch.setenv("GEMINI_API_KEY", "the first that is set")
    assert GeminiModel("gemini-2.5-flash").base_url == "http://127.0.0.1:9"


def test_what_cannot_be_asked_is_refused_before_anything_is_sent() -> None:
    chat = GeminiModel("gemini-2.5-flash", api_key=KEY, base_url="http://127.0.0.1:9")
    clock = ToolSchema("clock", "", {"type": "object"})
    with pytest.raises(ConfigurationError, match="which is none of the tools"):
        chat.stream(ModelRequest([UserMessage("hi")], [clock], ModelOptions(tool_choice="x")))
    with pytest.raises(UnsupportedContentError, match="cannot carry application/zip"):
        chat.stream(ModelRequest([UserMessage(ZIP)]))


# --- the agent ------------------------------------------------------------------------------------------------------

PNG = Base64Source(media_type="image/png", data="aGk=")


def get_weather(city: str, unit: str = "celsius") -> str:
    """Tell the weather."""
    return f"{city}: 21 {unit}"


def look(at: str) -> DataBlock:
    """Take a picture."""
    return DataBlock(PNG)


def answers(*frames: Any) -> Any:
    async def answer(exchange: Exchange) -> None:
        await exchange.start()
        for frame in frames:
            await exchange.send(sse(frame).replace(b"\n", b"\r\n"))
        await exchange.end()

    return answer


CODE = {"executableCode": {"language": "PYTHON", "code": "1+1"}, "thoughtSignature": "Q09ERQ=="}
FIRST = [
    think("I need two cities."),
    text("Let me look."),
    call("get_weather", "a1", "UFJPT0Yx", city="Paris"),
    call("get_weather", "a2", city="Zürich"),
]
SECOND = [call("look", proof="UFJPT0Yy", at="Paris"), call("nothing")]
THIRD = [CODE, {"codeExecutionResult": {"outcome": "OUTCOME_OK", "output": "2"}}]


def test_the_agent_calls_tools_and_answers() -> None:
    """Calls with ids and without, in parallel, of an unknown tool, proofs, pictures, work of the provider, a blank."""
    script = (
        answers(*(chunk(part, usage={"promptTokenCount": 10}) for part in FIRST), chunk(text(""), **STOPS)),
        answers(chunk(*SECOND, **STOPS)),
        answers(chunk(finish="MALFORMED_FUNCTION_CALL", usage=USAGE)),
        answers(*map(chunk, THIRD), chunk(text("It is ")), chunk(text("warm.", thoughtSignature="UFJPT0Yz")), END),
        answers(chunk(text("Bye.")), END),
    )  # fmt: skip

    async def main() -> None:
        async with serving(*script) as server:
            chat = model(server, "gemini-3-pro-preview", options=ModelOptions(reasoning_effort="low"))
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
    assert (message.usage.input_tokens, message.usage.output_tokens) == (12, 8)
    assert [type(block) for block in message.content] == [
        ThinkingBlock, TextBlock, ToolUseBlock, ToolUseBlock, ToolResultBlock, ToolResultBlock,
        ToolUseBlock, ToolUseBlock, ToolResultBlock, ToolResultBlock, HintBlock,
        ThinkingBlock, ThinkingBlock, TextBlock,
    ]  # fmt: skip
    assert message.get_content_blocks(TextBlock)[-1].text == "It is warm."

    assert len(bodies) == 5
    for body in bodies:
        assert violations(GEMINI, body) == []
        assert body["systemInstruction"] == {"parts": [text("Be kind.")]}
        assert body["generationConfig"]["thinkingConfig"] == {"includeThoughts": True, "thinkingLevel": "LOW"}
    [functions] = [tool["functionDeclarations"] for tool in bodies[0]["tools"]]
    assert [(function["name"], function["parametersJsonSchema"]["required"]) for function in functions] == [
        ("get_weather", ["city"]),
        ("look", ["at"]),
    ]

    asked, first, told, second, shown, third, thanks = bodies[-1]["contents"]
    assert asked["parts"] == [text("Where is it warm?")]
    assert first["parts"] == FIRST
    assert [part["functionResponse"] for part in told["parts"]] == [
        {"id": "a1", "name": "get_weather", "response": {"output": "Paris: 21 celsius"}},
        {"id": "a2", "name": "get_weather", "response": {"output": "Zürich: 21 celsius"}},
    ]
    assert second["parts"] == SECOND
    picture, unknown, hint = shown["parts"]
    image = {"inlineData": {"mimeType": "image/png", "data": "aGk="}}
    assert picture == {"functionResponse": {"name": "look", "response": {"output": ""}, "parts": [image]}}
    assert unknown["functionResponse"].keys() == {"name", "response"}
    assert "nothing" in unknown["functionResponse"]["response"]["error"]
    assert "empty" in hint["text"]
    assert third["parts"] == [*THIRD, text("It is "), text("warm.", thoughtSignature="UFJPT0Yz")]
    assert thanks["parts"] == [text("Thanks")]
    assert [body["contents"] for body in bodies[:4]] == [
        bodies[-1]["contents"][:1],
        bodies[-1]["contents"][:3],
        [*bodies[-1]["contents"][:4], {"role": "user", "parts": shown["parts"][:2]}],
        bodies[-1]["contents"][:5],
    ]


def test_the_agent_stops_where_the_prompt_is_blocked() -> None:
    async def main() -> None:
        async with serving(answers({"promptFeedback": {"blockReason": "SAFETY"}})) as server:
            message = await ReActAgent("friday", model(server)).call("Something bad")
            assert isinstance(message, AssistantMessage)
            assert (message.content, message.generate_reason) == ((), GenerateReason.MODEL_STOP)
            assert len(server.exchanges) == 1

    run(main())
