"""The agent on a real model through every protocol that llama.cpp speaks: chat, Messages, Responses."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest
from reactivex import operators as ops

from agentscope_rx import GenerateReason, ModelOptions, ReActAgent
from agentscope_rx.event import AgentResultEvent, FinishReason, ModelCallEndEvent, ToolCallDeltaEvent
from agentscope_rx.message import AssistantMessage, Msg, TextBlock, ToolResultBlock, ToolUseBlock, UserMessage
from agentscope_rx.model import AnthropicModel, ChatModel, OpenAIChatModel, OpenAIResponsesModel
from agentscope_rx.model.local.server import SERVERS
from agentscope_rx.testing import assert_valid_stream

pytestmark = pytest.mark.heavy

NAME = "smollm2"
PROTOCOLS: dict[str, Callable[..., ChatModel]] = {
    "chat": OpenAIChatModel,
    "messages": AnthropicModel,
    "responses": OpenAIResponsesModel,
}
every_protocol = pytest.mark.parametrize("protocol", PROTOCOLS)


def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


def shown(number: int, a: int, b: int) -> list[Msg]:
    """An exchange that shows how the tool is used: so small a model learns it from nothing else."""
    call = ToolUseBlock(id=f"shown_{number}", name="add", input={"a": a, "b": b})
    result = ToolResultBlock(id=call.id, name="add", output=(TextBlock(str(a + b)),))
    return [UserMessage(f"What is {a} plus {b}?"), AssistantMessage(call, result, TextBlock(f"It is {a + b}."))]


def agent(protocol: str, **options: Any) -> ReActAgent:
    options = {"temperature": 0.0, "max_tokens": 256, **options}
    url = f"{SERVERS[NAME].start()}/v1"
    model = PROTOCOLS[protocol](NAME, api_key="none", base_url=url, options=ModelOptions(**options))
    friday = ReActAgent("friday", model, tools=[add])
    friday.observe([*shown(1, 2, 3), *shown(2, 30, 4)]).run()
    return friday


@every_protocol
def test_it_calls_a_tool_and_answers(protocol: str) -> None:
    events = agent(protocol).stream_events("What is 17 plus 25?").pipe(ops.to_list()).run()
    assert_valid_stream(events)
    [message] = [event.result for event in events if isinstance(event, AgentResultEvent)]
    [call], [result] = message.get_content_blocks(ToolUseBlock), message.get_content_blocks(ToolResultBlock)
    assert (call.name, call.input) == ("add", {"a": 17, "b": 25})
    assert result.output[0].text == "42"
    assert "42" in message.get_text_content()
    assert message.generate_reason is GenerateReason.MODEL_STOP
    ends = [event for event in events if isinstance(event, ModelCallEndEvent)]
    assert [end.finish_reason for end in ends] == [FinishReason.TOOL_CALLS, FinishReason.STOP]
    assert all(end.input_tokens and end.output_tokens for end in ends)
    assert len([event for event in events if isinstance(event, ToolCallDeltaEvent)]) > 3


@every_protocol
def test_it_goes_on_with_its_own_history(protocol: str) -> None:
    friday = agent(protocol)

    async def main() -> list[str]:
        questions = ("What is 17 plus 25?", "What is 3 plus 4?")
        return [(await friday.call(question)).get_text_content() for question in questions]

    first, second = asyncio.run(main())
    assert "42" in first
    assert "7" in second


@every_protocol
def test_the_limit_is_seen(protocol: str) -> None:
    events = agent(protocol, max_tokens=5).stream_events("Tell me a story.").pipe(ops.to_list()).run()
    assert_valid_stream(events)
    [end] = [event for event in events if isinstance(event, ModelCallEndEvent)]
    # llama.cpp declares a response completed that it has cut off.
    assert end.finish_reason is (FinishReason.STOP if protocol == "responses" else FinishReason.LENGTH)
    assert end.output_tokens == 5
