"""A tool that waits for the session that waits for it is told so, and does not hang."""

from __future__ import annotations

import asyncio
import contextvars
from collections.abc import Callable
from typing import Any

import pytest

from agentscope_rx import (
    AgentEndEvent,
    AgentEvent,
    ReActAgent,
    RuntimeContext,
    ToolResultBlock,
    UserMessage,
)
from agentscope_rx.testing import ScriptedModel, text, tool_call

from .shapes import collect, run


def agent_with(*tools: Callable[..., Any], turns: Any = None) -> ReActAgent:
    return ReActAgent("friday", ScriptedModel(turns or [[tool_call("again")], [text("done")]]), tools=tools)


def result_of(events: list[AgentEvent]) -> tuple[str, str]:
    [block] = events[-2].result.get_content_blocks(ToolResultBlock)  # type: ignore[union-attr]
    return block.state.value, block.output[0].text  # type: ignore[union-attr]


WAITS: dict[str, Callable[[ReActAgent], Any]] = {
    "call": lambda agent: agent.call("again"),
    "stream_events": lambda agent: agent.stream_events("again"),
    "observe": lambda agent: agent.observe(UserMessage("again")),
    "clear_context": lambda agent: agent.clear_context(),
}


@pytest.mark.parametrize("way", WAITS)
@pytest.mark.parametrize("thread", [True, False], ids=["a function", "a coroutine function"])
def test_a_tool_that_waits_for_its_own_session_gets_a_typed_error(way: str, thread: bool) -> None:
    wait = WAITS[way]

    def in_a_thread() -> str:
        return str(wait(agent).run())

    async def on_the_loop() -> str:
        return str(await wait(agent))

    again = in_a_thread if thread else on_the_loop
    again.__name__ = again.__qualname__ = "again"
    agent = agent_with(again)
    state, said = result_of(run(collect(agent, "go")))
    assert state == "error"
    assert said.startswith("SessionBusyError: the session is taken by the call that this tool is part of")


def test_a_tool_of_a_child_that_waits_for_the_parents_session_is_told_too() -> None:
    async def again() -> str:
        """Again."""
        return str(await parent.call("again"))

    async def delegate() -> str:
        """Delegate."""
        return result_of(await collect(child, "go"))[1]

    child = agent_with(again)
    parent = agent_with(delegate, turns=[[tool_call("delegate")], [text("done")]])
    state, said = result_of(run(collect(parent, "go")))
    assert (state, said.partition(":")[0]) == ("success", "SessionBusyError")


def test_another_session_and_what_waits_for_nobody_are_free() -> None:
    async def again() -> str:
        """Again."""
        state = await agent.get_state()
        agent.hint("be brief")
        answer = await agent.call("again", RuntimeContext("other"))
        return f"{len(state.history)} {answer.get_text_content()}"

    agent = agent_with(again, turns=[[tool_call("again")], [text("inner")], [text("outer")]])
    assert result_of(run(collect(agent, "go"))) == ("success", "0 inner")


def test_a_task_that_the_tool_leaves_behind_has_its_turn_in_a_context_of_its_own() -> None:
    left: list[asyncio.Task[Any]] = []

    async def again() -> str:
        """Again."""

        async def tell() -> None:
            await agent.observe(UserMessage("it is ready"))

        left.append(asyncio.create_task(tell(), context=contextvars.Context()))
        return "started"

    agent = agent_with(again)

    async def main() -> list[str]:
        await collect(agent, "go")
        await left[0]
        return [message.get_text_content() for message in (await agent.get_state()).history]

    assert run(main()) == ["go", "done", "it is ready"]


def test_a_subscriber_may_start_the_next_call_before_the_first_is_over() -> None:
    agent = ReActAgent("friday", ScriptedModel([[text("one")], [text("two")]]))
    following: list[asyncio.Task[Any]] = []

    async def follow() -> str:
        return (await agent.call("and?")).get_text_content()

    def on_next(event: AgentEvent) -> None:
        if isinstance(event, AgentEndEvent):
            following.append(asyncio.get_running_loop().create_task(follow()))

    async def main() -> str:
        over = asyncio.get_running_loop().create_future()
        agent.stream_events("go").subscribe(on_next, on_completed=lambda: over.set_result(None))
        await over
        answer: str = await following[0]
        return answer

    assert run(main()) == "two"
