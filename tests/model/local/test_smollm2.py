"""The embedded model itself: real weights, real HTTP, real tool calls."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Coroutine, Iterator
from importlib.util import find_spec
from typing import Any, TypeVar
from urllib.parse import urlsplit

import httpx
import pytest

from agentscope_rx.agent import ReActAgent
from agentscope_rx.errors import ModelHTTPError
from agentscope_rx.event import FinishReason
from agentscope_rx.message import (
    AssistantMessage,
    GenerateReason,
    TextBlock,
    ToolResultBlock,
    ToolUseBlock,
    UserMessage,
)
from agentscope_rx.model import ModelChunk, ModelOptions, ModelRequest, ToolSchema
from agentscope_rx.model.local import LocalModel
from agentscope_rx.model.local.catalog import MODELS
from agentscope_rx.model.local.server import SERVERS

from ..outcome import Outcome

pytestmark = [
    pytest.mark.heavy,
    pytest.mark.skipif(
        find_spec("xllamacpp") is None or find_spec(MODELS["smollm2"].package) is None,
        reason="the embedded model is not installed",
    ),
]

T = TypeVar("T")

ENDLESS = ModelOptions(max_tokens=4000, extra_body={"ignore_eos": True})
HELLO = ModelRequest([UserMessage("Say hello.")], options=ModelOptions(max_tokens=16))
ADD = ToolSchema(
    "add",
    "Add two integers.",
    {
        "type": "object",
        "properties": {"a": {"type": "integer"}, "b": {"type": "integer"}},
        "required": ["a", "b"],
    },
)


@pytest.fixture(scope="module", autouse=True)
def _server_ends() -> Iterator[None]:
    yield
    SERVERS["smollm2"].stop()


@pytest.fixture
def model() -> LocalModel:
    return LocalModel("smollm2")


def run(main: Coroutine[Any, Any, T]) -> T:
    async def bounded() -> T:
        async with asyncio.timeout(60):
            return await main

    return asyncio.run(bounded())


async def answer(model: LocalModel, request: ModelRequest) -> Outcome:
    return Outcome.of([chunk async for chunk in model.stream(request)])


async def busy(model: LocalModel) -> int:
    """Return how many slots of the server are at work."""
    async with httpx.AsyncClient(trust_env=False) as client:
        return sum(slot["is_processing"] for slot in (await client.get(f"{model.server_url}/slots")).json())


def listens(url: str) -> bool:
    parts = urlsplit(url)
    try:
        socket.create_connection((parts.hostname, parts.port), timeout=1).close()
    except OSError:
        return False
    return True


def add(a: int, b: int) -> int:
    """Add two integers."""
    return a + b


def get_weather(city: str) -> str:
    """Get the current weather for a city."""
    return f"rain in {city}, 11C"


def get_time() -> str:
    """Get the current time."""
    return "half past nine"


# ---------------------------------------------------------------------------------------------------------------------
# What it says


def test_plain_chat_streams_text_and_says_what_it_cost(model: LocalModel) -> None:
    async def main() -> list[ModelChunk]:
        return [chunk async for chunk in model.stream(ModelRequest([UserMessage("Say hello.")]))]

    chunks = run(main())
    outcome = Outcome.of(chunks)
    assert outcome.text.strip()
    assert len(chunks) > 3
    assert (outcome.thinking, outcome.calls, outcome.finish) == ("", [], FinishReason.STOP)
    assert outcome.usage is not None
    assert (outcome.usage.input_tokens or 0) > 0
    assert (outcome.usage.output_tokens or 0) > 0


def test_an_answer_is_cut_at_its_limit(model: LocalModel) -> None:
    request = ModelRequest([UserMessage("Tell me a long story.")], options=ModelOptions(max_tokens=5))
    outcome = run(answer(model, request))
    assert outcome.finish is FinishReason.LENGTH


def test_a_tool_call_streams_with_arguments_that_fit(model: LocalModel) -> None:
    outcome = run(answer(model, ModelRequest([UserMessage("What is 17 plus 25?")], [ADD])))
    (call,) = outcome.calls
    assert (call.name, call.arguments.replace(" ", "")) == ("add", '{"a":17,"b":25}')
    assert call.id
    assert (outcome.text, outcome.finish) == ("", FinishReason.TOOL_CALLS)


@pytest.mark.parametrize("question", ["Tell me a joke.", "Thank you!", "What is 17 plus 25?"])
@pytest.mark.parametrize("choice", ["required", "add"])
def test_a_call_that_is_required_comes_once_whatever_is_asked(model: LocalModel, choice: str, question: str) -> None:
    options = ModelOptions(tool_choice=choice)
    outcome = run(answer(model, ModelRequest([UserMessage(question)], [ADD], options)))
    assert [call.name for call in outcome.calls] == ["add"]
    assert outcome.finish is FinishReason.TOOL_CALLS


def test_tools_that_may_not_be_called_are_not(model: LocalModel) -> None:
    options = ModelOptions(tool_choice="none", max_tokens=32)
    outcome = run(answer(model, ModelRequest([UserMessage("What is 17 plus 25?")], [ADD], options)))
    assert outcome.calls == []
    assert outcome.text


def test_a_result_is_told(model: LocalModel) -> None:
    call = ToolUseBlock(id="c", name="add", input={"a": 1234, "b": 4321})
    result = ToolResultBlock(id="c", name="add", output=(TextBlock("5555"),))
    conversation = [UserMessage("What is 1234 plus 4321?"), AssistantMessage(call, result)]
    outcome = run(answer(model, ModelRequest(conversation, [ADD])))
    assert "5555" in outcome.text
    assert outcome.calls == []


def test_a_conversation_that_is_too_long_is_refused(model: LocalModel) -> None:
    request = ModelRequest([UserMessage("word " * (MODELS["smollm2"].context + 10))])
    with pytest.raises(ModelHTTPError, match="context") as caught:
        run(answer(model, request))
    assert caught.value.status == 400


# ---------------------------------------------------------------------------------------------------------------------
# An agent on it


async def ask(agent: ReActAgent, question: str) -> tuple[list[str], str]:
    message = await agent.call(question)
    assert message.generate_reason is GenerateReason.MODEL_STOP
    return [call.name for call in message.get_content_blocks(ToolUseBlock)], message.get_text_content()


@pytest.mark.parametrize(
    ("tools", "question", "called", "told"),
    [
        ([add], "What is 17 plus 25?", ["add"], "42"),
        ([get_time, add], "What is 8 plus 13?", ["add"], "21"),
        ([add, get_weather], "What is 17 plus 25?", ["add"], "42"),
        ([add, get_weather], "What is the weather in Paris?", ["get_weather"], "Paris, 11C"),
        ([get_weather], "How is the weather in Oslo today?", ["get_weather"], "11C"),
        ([get_time, add], "What time is it?", ["get_time"], "half past nine"),
        ([add, get_weather], "Hello, who are you?", [], ""),
        ([add, get_time], "Say hello.", [], ""),
    ],
)
def test_an_agent_calls_the_right_tool_and_tells_the_result(
    tools: list[Any], question: str, called: list[str], told: str
) -> None:
    agent = ReActAgent(name="assistant", model=LocalModel("smollm2"), tools=tools)
    calls, text = run(ask(agent, question))
    assert calls == called
    assert text
    assert told in text


def test_a_conversation_goes_on_after_calls_and_after_text() -> None:
    async def main() -> list[tuple[list[str], str]]:
        agent = ReActAgent(name="assistant", model="local:smollm2", tools=[get_time, add])
        return [
            await ask(agent, question)
            for question in ("Hello!", "What is 17 plus 25?", "Thanks!", "What is 9 plus 10?", "Thank you!")
        ]

    calls, texts = zip(*run(main()), strict=True)
    assert list(calls) == [[], ["add"], [], ["add"], []]
    assert "42" in texts[1]
    assert "19" in texts[3]


# ---------------------------------------------------------------------------------------------------------------------
# Its server


def test_closing_the_stream_frees_the_slot_within_a_second(model: LocalModel) -> None:
    async def main() -> None:
        stream = model.stream(ModelRequest([UserMessage("Write a story.")], options=ENDLESS))
        seen = 0
        async for _ in stream:
            seen += 1
            if seen == 3:
                break
        assert await busy(model) == 1
        await stream.aclose()
        async with asyncio.timeout(1):
            while await busy(model):  # noqa: ASYNC110
                await asyncio.sleep(0.01)

    run(main())


def test_two_answers_are_written_at_once_and_more_wait_their_turn(model: LocalModel) -> None:
    async def main() -> None:
        peak = 0
        tasks = [asyncio.create_task(answer(model, HELLO)) for _ in range(5)]
        while not all(task.done() for task in tasks):
            peak = max(peak, await busy(model) if model.server_url else 0)
            await asyncio.sleep(0.005)
        assert all(outcome.text for outcome in await asyncio.gather(*tasks))
        assert peak == MODELS["smollm2"].parallel

    run(main())


def test_one_object_serves_loops_in_several_threads_and_all_share_one_server(model: LocalModel) -> None:
    def ask_in_a_loop_of_its_own() -> None:
        texts.append(run(answer(model, HELLO)).text)

    texts: list[str] = []
    threads = [threading.Thread(target=ask_in_a_loop_of_its_own) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    ask_in_a_loop_of_its_own()
    assert len(texts) == 4
    assert all(texts)
    assert LocalModel("smollm2").server_url == model.server_url is not None


def test_a_server_that_crashed_is_replaced(model: LocalModel) -> None:
    run(answer(model, HELLO))
    before = model.server_url
    child = SERVERS["smollm2"]._child
    assert child is not None
    child.kill()
    child.wait()
    assert run(answer(model, HELLO)).text
    assert model.server_url != before


SCRIPT = """
import asyncio, os, sys
from agentscope_rx.message import UserMessage
from agentscope_rx.model import ModelOptions, ModelRequest
from agentscope_rx.model.local import LocalModel

model = LocalModel("smollm2")

async def ask(chunks=None, **body):
    options = ModelOptions(max_tokens=400, extra_body=body)
    stream = model.stream(ModelRequest([UserMessage("Say hello.")], options=options))
    async for chunk in stream:
        if chunks is not None and (chunks := chunks - 1) == 0:
            break
    return stream
"""

ENDS = {
    "after an answer": "asyncio.run(ask()); print(model.server_url)",
    "in the middle of an answer": """
async def main():
    stream = await ask(3, ignore_eos=True)
    print(model.server_url)
asyncio.run(main())
""",
    "by an exit inside the loop": """
async def main():
    stream = await ask(3, ignore_eos=True)
    print(model.server_url)
    sys.exit(0)
asyncio.run(main())
""",
}


def script(end: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", SCRIPT + end], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )


@pytest.mark.parametrize("end", ENDS)
def test_the_server_ends_with_the_process_without_a_word(end: str) -> None:
    process = script(ENDS[end])
    out, err = process.communicate(timeout=60)
    assert process.returncode == 0
    # After an exit inside the loop asyncio closes nested generators all at once, and may say that one still runs.
    assert err == "" or (end == "by an exit inside the loop" and "already running" in err)
    assert out.count("\n") == 1
    assert not listens(out.strip())


def test_the_server_ends_even_when_the_process_is_killed() -> None:
    process = script(ENDS["after an answer"] + "; sys.stdout.flush(); sys.stdin.read()")
    with process:
        assert process.stdout is not None
        url = process.stdout.readline().strip()
        assert listens(url)
        process.kill()
    for _ in range(100):
        if not listens(url):
            break
        time.sleep(0.05)
    assert not listens(url)


@pytest.mark.skipif(os.name != "posix", reason="needs POSIX signals")
def test_ctrl_c_reaches_the_program_and_not_the_server() -> None:
    process = script("""
async def main():
    stream = await ask(3, ignore_eos=True)
    print(model.server_url, flush=True)
    async for _ in stream:
        pass
try:
    asyncio.run(main())
except KeyboardInterrupt:
    asyncio.run(ask())
    print("still there", model.server_url)
""")
    assert process.stdout is not None
    url = process.stdout.readline().strip()
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert (process.returncode, err, out) == (0, "", f"still there {url}\n")


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_forked_process_starts_a_server_of_its_own() -> None:
    process = script("""
asyncio.run(ask())
print(model.server_url, flush=True)
if not (pid := os.fork()):
    assert model.server_url is None
    asyncio.run(ask())
    print(model.server_url, flush=True)
    sys.exit(7)
assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 7
asyncio.run(ask())
print(model.server_url)
""")
    out, err = process.communicate(timeout=60)
    assert (process.returncode, err) == (0, "")
    before, forked, after = out.split()
    assert before == after != forked
    assert not listens(before)
    assert not listens(forked)
