"""The agent on a real model: the embedded one, over real HTTP."""

from __future__ import annotations

import asyncio
import threading
import time

import httpx
import pytest
from reactivex import operators as ops

from agentscope_rx import (
    GenerateReason,
    LocalModel,
    ModelOptions,
    ReActAgent,
    TextBlockDeltaEvent,
    ToolResultBlock,
    ToolUseBlock,
)
from agentscope_rx.operators import accumulate_text, of_type, to_message
from agentscope_rx.testing import assert_valid_stream

pytestmark = pytest.mark.heavy

QUESTION = "What is 17 plus 25?"


def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


@pytest.fixture
def agent() -> ReActAgent:
    return ReActAgent("friday", "local:smollm2", tools=[add])


def test_it_calls_a_tool_and_answers(agent: ReActAgent) -> None:
    events = agent.stream_events(QUESTION).pipe(ops.to_list()).run()
    assert_valid_stream(events)
    message = events[-2].result
    call, result = message.get_content_blocks(ToolUseBlock)[0], message.get_content_blocks(ToolResultBlock)[0]
    assert (call.name, call.input) == ("add", {"a": 17, "b": 25})
    assert result.output[0].text == "42"
    assert "42" in message.get_text_content()
    assert message.generate_reason is GenerateReason.MODEL_STOP
    assert message.usage is not None
    assert message.usage.output_tokens is not None
    assert message.usage.output_tokens > 0


def test_one_agent_by_pipe_async_for_await_run_nested_and_in_a_thread(agent: ReActAgent) -> None:
    answers: list[str] = []
    answers.append(agent.call(QUESTION).run().get_text_content())

    async def inside_a_loop() -> None:
        answers.append((await agent.call(QUESTION)).get_text_content())
        answers.append((await agent.stream_events(QUESTION).pipe(to_message())).get_text_content())
        answers.append(
            "".join([event.delta async for event in agent.stream_events(QUESTION).pipe(of_type(TextBlockDeltaEvent))])
        )
        answers.append((await agent.stream_events(QUESTION).pipe(accumulate_text())).text)
        answers.append(agent.call(QUESTION).run().get_text_content())  # nested, as in a notebook cell

    asyncio.run(inside_a_loop())
    thread = threading.Thread(target=lambda: answers.append(agent.call(QUESTION).run().get_text_content()))
    thread.start()
    thread.join(60)
    assert len(answers) == 7
    assert all("42" in answer for answer in answers), answers


def test_disposing_after_three_deltas_frees_the_slot_within_a_second() -> None:
    model = LocalModel("smollm2", options=ModelOptions(max_tokens=3000, extra_body={"ignore_eos": True}))
    agent = ReActAgent("friday", model)

    def busy() -> bool:
        slots = httpx.get(f"{model.server_url}/slots").json()
        return any(slot["is_processing"] for slot in slots)

    async def main() -> None:
        deltas = agent.stream_events("Count to a thousand.").pipe(of_type(TextBlockDeltaEvent))
        got: list[TextBlockDeltaEvent] = []
        three = asyncio.Event()

        def take(delta: TextBlockDeltaEvent) -> None:
            got.append(delta)
            if len(got) == 3:
                subscription.dispose()
                three.set()

        subscription = deltas.subscribe(take)
        await asyncio.wait_for(three.wait(), 60)
        deadline = time.monotonic() + 1
        while await asyncio.to_thread(busy):
            assert time.monotonic() < deadline, "the server is still generating"
        assert len(got) == 3

    asyncio.run(main())
