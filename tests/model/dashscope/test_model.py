"""DashScope over real HTTP on the loopback interface: what stands around the two halves, and the agent on top."""

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
    SystemMessage,
    TextBlock,
    ThinkingBlock,
    ToolResultBlock,
    ToolUseBlock,
    UserMessage,
)
from agentscope_rx.model import (
    NO_RETRY,
    DashScopeModel,
    ModelOptions,
    ModelRequest,
    ToolSchema,
    UsagePiece,
    resolve_model,
)
from agentscope_rx.testing import assert_valid_stream

from ..calling import PROMPT, REQUEST, outcome_of, run
from ..histories import PNG
from ..loopback import Exchange, Server, serving
from ..rules import DASHSCOPE, DASHSCOPE_MULTIMODAL, violations
from .decoding import call, events, failing, say

KEY = "sk-test-1234567890"
USAGE = {"input_tokens": 3, "output_tokens": 2, "total_tokens": 5}
WHOLE = events(say("Hel"), say("lo"), say("", "stop", USAGE))
CUMULATIVE = {"parameters": {"incremental_output": False}}
TEXT = "/api/v1/services/aigc/text-generation/generation"
MULTIMODAL = "/api/v1/services/aigc/multimodal-generation/generation"


def api(server: Server) -> str:
    return server.url.removesuffix("/v1") + "/api/v1"


def model(server: Server, name: str = "qwen-plus", **settings: Any) -> DashScopeModel:
    return DashScopeModel(name, **{"retry": NO_RETRY, "api_key": KEY, "base_url": api(server), **settings})


async def whole(exchange: Exchange) -> None:
    await exchange.respond(WHOLE)


def test_a_call_sends_the_request_and_streams_the_answer() -> None:
    async def main() -> None:
        async with serving(whole) as server:
            got = await outcome_of(model(server, options=ModelOptions(temperature=0.5)))
            assert (got.text, got.finish, got.usage, got.error) == ("Hello", FinishReason.STOP, UsagePiece(3, 2), None)
            [exchange] = server.exchanges
            assert exchange.path == TEXT
            assert exchange.headers["x-dashscope-sse"] == "enable"
            assert exchange.headers["accept"] == "text/event-stream"
            assert exchange.headers["authorization"] == f"Bearer {KEY}"
            assert exchange.body == {
                "model": "qwen-plus",
                "input": {"messages": [{"role": "user", "content": PROMPT}]},
                "parameters": {"result_format": "message", "incremental_output": True, "temperature": 0.5},
            }

    run(main())


@pytest.mark.parametrize(
    ("name", "path"),
    [
        ("qwen-plus", TEXT),
        ("qwen-max-latest", TEXT),
        ("qwen3-max", TEXT),
        ("qwen3-235b-a22b", TEXT),
        ("qwen3-coder-plus", TEXT),
        ("qwen3.6-max-preview", TEXT),
        ("qwen3.7-max", TEXT),
        ("qwq-plus", TEXT),
        ("deepseek-v3.2", TEXT),
        ("kimi-k2-thinking", TEXT),
        ("qwen-vl-max", MULTIMODAL),
        ("qwen3-vl-plus-2025-09-23", MULTIMODAL),
        ("qwen2.5-vl-72b-instruct", MULTIMODAL),
        ("qvq-max", MULTIMODAL),
        ("qwen-audio-turbo", MULTIMODAL),
        ("qwen3.5-plus", MULTIMODAL),
        ("qwen3.7-plus", MULTIMODAL),
        ("qwen3.8-max", MULTIMODAL),
        ("Qwen-VL-OCR", MULTIMODAL),
        ("kimi-k2.5", MULTIMODAL),
    ],
)
def test_the_name_of_a_model_tells_where_it_is(name: str, path: str) -> None:
    async def main() -> None:
        async with serving(whole) as server:
            assert (await outcome_of(model(server, name))).text == "Hello"
            assert server.exchanges[0].path == path
            rules = DASHSCOPE if path == TEXT else DASHSCOPE_MULTIMODAL
            assert violations(rules, server.exchanges[0].body) == []

    run(main())


@pytest.mark.parametrize(("multimodal", "path"), [(True, MULTIMODAL), (False, TEXT)])
@pytest.mark.parametrize("name", ["qwen-plus", "qwen-vl-max"])
def test_it_may_also_be_told(name: str, multimodal: bool, path: str) -> None:
    async def main() -> None:
        async with serving(whole) as server:
            await outcome_of(model(server, name, multimodal=multimodal))
            assert server.exchanges[0].path == path

    run(main())


@pytest.mark.parametrize("own", [True, False], ids=["of the model", "of the request"])
def test_b5_60_cumulative_output_that_was_asked_for_is_turned_into_what_is_new(own: bool) -> None:
    async def main() -> None:
        growing = events(say("根据"), say("根据当前"), say("根据当前", "stop", USAGE))
        async with serving(lambda exchange: exchange.respond(growing)) as server:
            options = ModelOptions(extra_body=CUMULATIVE)
            chat = model(server, options=options if own else None)
            got = await outcome_of(chat, REQUEST if own else ModelRequest(REQUEST.messages, options=options))
            assert (got.text, got.error) == ("根据当前", None)
            assert server.exchanges[0].body["parameters"]["incremental_output"] is False
            assert (await outcome_of(model(server))).text == "根据根据当前根据当前"  # it was not asked for

    run(main())


def test_one_connection_serves_many_calls() -> None:
    async def main() -> None:
        async with serving(whole) as server:
            for _ in range(3):
                assert (await outcome_of(model(server))).error is None
            assert server.connections == 1

    run(main())


def test_a_socket_left_open_after_the_last_event_is_closed_at_once() -> None:
    async def linger(exchange: Exchange) -> None:
        await exchange.start()
        await exchange.send(WHOLE)
        await exchange.client_gone()

    async def main() -> None:
        async with serving(linger) as server, asyncio.timeout(1.5):  # less than an unfinished answer is waited for
            assert (await outcome_of(model(server))).finish is FinishReason.STOP

    run(main())


@pytest.mark.parametrize("framed", [True, False], ids=["event", "body"])
def test_a_refusal_names_its_code_and_request_and_repeats_neither_key_nor_prompt(framed: bool) -> None:
    system = "The system prompt is a secret of the house as well."
    said = f"{KEY} {PROMPT} {system}"

    async def refuse(exchange: Exchange) -> None:
        event = failing(code="InvalidParameter", message=said, request_id="f19e-d189")
        body = event.partition(b"data:")[2].strip()
        await exchange.respond(event if framed else body, 400, "application/json")

    async def main() -> None:
        async with serving(refuse) as server:
            request = ModelRequest([SystemMessage(system), *REQUEST.messages])
            error = (await outcome_of(model(server), request)).error
            assert isinstance(error, ModelHTTPError)
            assert (error.status, error.kind) == (400, "InvalidParameter")
            assert "(request f19e-d189)" in str(error)
            assert not [secret for secret in (KEY, PROMPT, system) if secret in str(error)]

    run(main())


def test_b6_67_an_error_event_after_content_keeps_the_content() -> None:
    async def fail(exchange: Exchange) -> None:
        error = failing(500, code="InternalError.Algo", message="An internal error.", request_id="r")
        await exchange.respond(events(say("Hel")) + error)

    async def main() -> None:
        async with serving(fail) as server:
            got = await outcome_of(model(server))
            assert got.text == "Hel"
            assert isinstance(got.error, ModelStreamError)
            assert got.error.kind == "InternalError.Algo"

    run(main())


def test_the_key_and_the_url_come_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for variable in ("DASHSCOPE_API_KEY", "DASHSCOPE_HTTP_BASE_URL"):
        monkeypatch.delenv(variable, raising=False)
    with pytest.raises(ConfigurationError, match="DASHSCOPE_API_KEY"):
        DashScopeModel("qwen-plus")
    monkeypatch.setenv("DASHSCOPE_API_KEY", KEY)
    monkeypatch.setenv("DASHSCOPE_BASE_URL", "http://elsewhere/v1")  # of the endpoint that is compatible with OpenAI
    chat = resolve_model("dashscope-native:qwen-plus")
    assert repr(chat) == "DashScopeModel('qwen-plus', base_url='https://dashscope.aliyuncs.com/api/v1')"
    monkeypatch.setenv("DASHSCOPE_HTTP_BASE_URL", "http://127.0.0.1:9/api/v1")
    assert DashScopeModel("qwen-plus").base_url == "http://127.0.0.1:9/api/v1"


def test_what_cannot_be_asked_is_refused_before_anything_is_sent() -> None:
    chat = DashScopeModel("qwen-plus", api_key=KEY, base_url="http://127.0.0.1:9")
    clock = ToolSchema("clock", "", {"type": "object"})
    with pytest.raises(ConfigurationError, match="which is none of the tools"):
        chat.stream(ModelRequest([UserMessage("hi")], [clock], ModelOptions(tool_choice="x")))
    with pytest.raises(UnsupportedContentError, match="cannot carry image/png"):
        chat.stream(ModelRequest([UserMessage(PNG)]))


# --- the agent ------------------------------------------------------------------------------------------------------


def get_weather(city: str) -> str:
    """Tell the weather."""
    return f"{city}: 21"


def look(at: str) -> DataBlock:
    """Take a picture."""
    return DataBlock(Base64Source(media_type="image/png", data="aGk="))


def answers(*frames: Any) -> Any:
    async def answer(exchange: Exchange) -> None:
        await exchange.start()
        for frame in frames:
            await exchange.send(events(frame))
        await exchange.end()

    return answer


CITIES = ['{"city": "Paris"}', '{"city": "Zürich"}']
THOUGHT = {"reasoning_content": "I need both."}
FIRST = {
    "incremental": (
        say("", reasoning_content="I need "),
        say("", reasoning_content="both."),
        say("Look."),
        say("", tool_calls=[call("", "a", "get_weather")]),
        say("", tool_calls=[call(CITIES[0][:5], "")]),
        say("", tool_calls=[call(CITIES[0][5:], "")]),
        say("", tool_calls=[call(CITIES[1], "b", "get_weather", 1)]),
        say("", "tool_calls", USAGE),
    ),
    "cumulative": (
        say("", reasoning_content="I need "),
        say("Look.", **THOUGHT),
        say("Look.", tool_calls=[call(CITIES[0][:5], "a", "get_weather")], **THOUGHT),
        say("Look.", tool_calls=[call(CITIES[0], "a", "get_weather")], **THOUGHT),
        say("Look.", "tool_calls", USAGE, **THOUGHT, tool_calls=[
            call(text, id, "get_weather", index) for index, (text, id) in enumerate(zip(CITIES, "ab", strict=True))
        ]),
    ),
}  # fmt: skip
SECOND = say("", "tool_calls", USAGE, tool_calls=[call('{"at":"Paris"}', "c", "look"), call("{}", "d", "nothing", 1)])


@pytest.mark.parametrize("name", ["qwen-plus", "qwen3-vl-plus"])
@pytest.mark.parametrize("form", FIRST)
def test_the_agent_calls_tools_and_answers(form: str, name: str) -> None:
    """Calls in pieces and whole, in parallel, of an unknown tool, thoughts, pictures; output of both forms."""
    script = (
        answers(*FIRST[form]),
        answers(SECOND),
        answers(say("It is warm.", "stop", USAGE)),
        answers(say("Bye.", "stop", USAGE)),
    )
    extra = {} if form == "incremental" else CUMULATIVE

    async def main() -> None:
        async with serving(*script) as server:
            chat = model(server, name, options=ModelOptions(extra_body=extra))
            agent = ReActAgent("friday", chat, sys_prompt="Be kind.", tools=[get_weather, look])
            published = await agent.stream_events("Where is it warm?").pipe(ops.to_list())
            assert_valid_stream(published)
            [message] = [event.result for event in published if isinstance(event, AgentResultEvent)]
            assert isinstance(message, AssistantMessage)
            await agent.call("Thanks")
            _check(message, [exchange.body for exchange in server.exchanges], multimodal="vl" in name)

    run(main())


def _check(message: AssistantMessage, bodies: list[dict[str, Any]], *, multimodal: bool) -> None:
    assert message.generate_reason is GenerateReason.MODEL_STOP
    assert message.usage is not None
    assert (message.usage.input_tokens, message.usage.output_tokens) == (9, 6)
    assert [type(block) for block in message.content] == [
        ThinkingBlock, TextBlock, ToolUseBlock, ToolUseBlock, ToolResultBlock, ToolResultBlock,
        ToolUseBlock, ToolUseBlock, ToolResultBlock, ToolResultBlock, TextBlock,
    ]  # fmt: skip
    assert message.get_first_content_block(ThinkingBlock).thinking == "I need both."  # type: ignore[union-attr]

    assert len(bodies) == 4
    for body in bodies:
        assert violations(DASHSCOPE_MULTIMODAL if multimodal else DASHSCOPE, body) == []

    def content(text: str, *parts: Any) -> Any:
        return [{"text": text}, *parts] if multimodal else text

    picture = {"image": "data:image/png;base64,aGk="}
    seen = [{"role": "user", "content": content("Output of the tool call c (look):", picture)}] if multimodal else []
    assert bodies[-1]["input"]["messages"] == [
        {"role": "system", "content": content("Be kind.")},
        {"role": "user", "content": content("Where is it warm?")},
        {"role": "assistant", "content": content("Look."), "tool_calls": [
            {"id": id, "type": "function", "function": {"name": "get_weather", "arguments": text}}
            for id, text in zip("ab", CITIES, strict=True)
        ]},
        {"role": "tool", "tool_call_id": "a", "content": "Paris: 21"},
        {"role": "tool", "tool_call_id": "b", "content": "Zürich: 21"},
        {"role": "assistant", "content": content(""), "tool_calls": [
            {"id": "c", "type": "function", "function": {"name": "look", "arguments": '{"at":"Paris"}'}},
            {"id": "d", "type": "function", "function": {"name": "nothing", "arguments": "{}"}},
        ]},
        {"role": "tool", "tool_call_id": "c",
         "content": "[image/png: see the next message]" if multimodal else "[image/png: cannot be shown here]"},
        {"role": "tool", "tool_call_id": "d", "content": bodies[-1]["input"]["messages"][7]["content"]},
        *seen,
        {"role": "assistant", "content": content("It is warm.")},
        {"role": "user", "content": content("Thanks")},
    ]  # fmt: skip
    assert "nothing" in bodies[-1]["input"]["messages"][7]["content"]
