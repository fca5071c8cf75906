"""Structured output on a real model: the embedded one, whose server keeps it to a format."""

from __future__ import annotations

import asyncio

import pytest
from pydantic import BaseModel

from agentscope_rx import ConfirmResult, PermissionContext, ReActAgent, UserConfirmResultEvent
from agentscope_rx.message import ToolUseBlock

pytestmark = pytest.mark.heavy

CITIES = ["Paris", "Rome", "Berlin", "Madrid", "Lima", "Cairo", "Oslo", "Tokyo", "Delhi", "Vienna"]
CITIES += ["Athens", "Dublin", "Warsaw", "Prague", "Lisbon", "Quito", "Nairobi", "Havana", "Seoul", "Hanoi"]


class City(BaseModel):
    """A city."""

    name: str
    country: str
    people: int


class Sum(BaseModel):
    """An addition."""

    a: int
    b: int
    total: int


def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


@pytest.mark.parametrize("city", CITIES)
def test_it_gives_an_object_every_time(city: str) -> None:
    agent = ReActAgent("friday", "local:smollm2")
    message = agent.call(f"Tell me about the city {city}.", output_type=City).run()
    assert message.structured(City)
    assert message.generate_reason == "STRUCTURED_OUTPUT"


@pytest.mark.parametrize("number", range(4, 24))
def test_it_gives_an_object_after_it_has_called_a_tool(number: int) -> None:
    agent = ReActAgent("friday", "local:smollm2", tools=[add])
    message = agent.call(f"What is {number} plus {2 * number + 1}?", output_type=Sum).run()
    assert message.structured(Sum)
    assert [block.name for block in message.get_content_blocks(ToolUseBlock)] == ["add"]


def test_it_gives_an_object_after_a_pause() -> None:
    async def main() -> None:
        agent = ReActAgent("friday", "local:smollm2", tools=[add], permission=PermissionContext())
        parked = await agent.call("What is 17 plus 25?", output_type=Sum)
        assert parked.generate_reason == "PERMISSION_ASKING"
        (call,) = parked.get_content_blocks(ToolUseBlock)
        confirm = UserConfirmResultEvent(
            reply_id=parked.id, confirm_results=[ConfirmResult(confirmed=True, tool_call=call)]
        )
        done = await agent.call(confirm)
        assert done.structured(Sum)

    asyncio.run(main())
