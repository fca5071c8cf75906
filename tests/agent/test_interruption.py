"""Interruption: a reply is stopped in order, wherever it is."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import AsyncIterator
from typing import Any

import pytest

from agentscope_rx import (
    AgentEvent,
    FinishReason,
    GenerateReason,
    ModelCallEndEvent,
    ReActAgent,
    RuntimeContext,
    ToolCallState,
    ToolResultBlock,
    ToolResultEndEvent,
    ToolResultStartEvent,
    ToolUseBlock,
    UserInterruptEvent,
)
from agentscope_rx.message import parse_arguments
from agentscope_rx.testing import ScriptedModel, assert_valid_stream, delay, text, thinking, tool_call, usage

from .shapes import collect, run, types


def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


async def nap(n: int) -> AsyncIterator[str]:
    """Nap."""
    yield "zz"
    await asyncio.sleep(0)
    yield str(n)


def long_reply() -> tuple[ReActAgent, ScriptedModel]:
    """Thinking, text, two parallel calls, results, and a second model call; gives way between chunks."""

    def slowly(*items: Any) -> list[Any]:
        return [part for item in items for part in (item, delay(0))]

    model = ScriptedModel(
        [
            slowly(
                thinking("t1"), thinking("t2"), text("a"), text("b"), tool_call("add", {"a": 1, "b": 2}, pieces=4),
                tool_call("nap", {"n": 1}), usage(3, 2),
            ),
            slowly(text("c"), text("d")),
            [text("next")],
        ]
    )  # fmt: skip
    return ReActAgent("friday", model, tools=[add, nap]), model


async def interrupted_after(agent: ReActAgent, count: int) -> list[AgentEvent]:
    events: list[AgentEvent] = []
    async for event in agent.stream_events("go").iterate(buffer=1):
        events.append(event)
        if len(events) == count:
            agent.interrupt(message="enough")
    return events


def length_of_the_whole() -> int:
    agent, _ = long_reply()
    return len(run(collect(agent, "go")))


def test_b7_79_interrupting_at_every_event_leaves_a_lawful_stream_and_a_history_that_works() -> None:
    for count in range(1, length_of_the_whole() - 1):
        agent, model = long_reply()
        events = run(interrupted_after(agent, count))
        assert_valid_stream(events)
        kinds = types(events)
        message = events[-2].result  # type: ignore[union-attr]
        if "USER_INTERRUPT" in kinds:
            assert events[-1].generate_reason is GenerateReason.INTERRUPTED  # type: ignore[union-attr]
            [said] = [event for event in events if isinstance(event, UserInterruptEvent)]
            assert said.message == "enough"
        calls, results = message.get_content_blocks(ToolUseBlock), message.get_content_blocks(ToolResultBlock)
        assert sorted(call.id for call in calls) == sorted(result.id for result in results)
        assert all(call.state is ToolCallState.FINISHED for call in calls)
        state = agent.get_state().run()
        assert state.paused is None
        assert state.history[-1] == message or not message.content
        model._turns[len(model.requests)] = (text("next"),)
        run(collect(agent, "again"))
        for stored in model.requests[-1].messages:
            for call in stored.get_content_blocks(ToolUseBlock):
                assert isinstance(call.input, dict)


def test_b7_79_an_interrupt_in_mid_arguments_keeps_what_was_written_and_stays_parsable() -> None:
    model = ScriptedModel([[tool_call("add", '{"a": 1, "b', pieces=1), delay(60)]])
    agent = ReActAgent("friday", model, tools=[add])
    events = run(interrupted_after(agent, 4))
    assert_valid_stream(events)
    [call] = events[-2].result.get_content_blocks(ToolUseBlock)  # type: ignore[union-attr]
    assert (call.input, call.raw_input) == ({}, '{"a": 1, "b')
    with pytest.raises(ValueError):
        parse_arguments(call.raw_input)


def test_the_model_call_ends_as_interrupted_after_its_blocks() -> None:
    agent = ReActAgent("friday", ScriptedModel([[text("a"), delay(60)]]))
    events = run(interrupted_after(agent, 4))
    assert types(events)[4:] == ["USER_INTERRUPT", "TEXT_BLOCK_END", "MODEL_CALL_END", "AGENT_RESULT", "AGENT_END"]
    [end] = [event for event in events if isinstance(event, ModelCallEndEvent)]
    assert end.finish_reason is FinishReason.INTERRUPTED


def test_b7_80_a_finished_tool_keeps_its_result_and_the_others_are_interrupted() -> None:
    async def hang() -> str:
        """Hang."""
        await asyncio.sleep(60)
        return "never"

    model = ScriptedModel([[tool_call("add", {"a": 1, "b": 2}), tool_call("hang")]])
    agent = ReActAgent("friday", model, tools=[add, hang])

    async def main() -> list[AgentEvent]:
        events: list[AgentEvent] = []
        async for event in agent.stream_events("go"):
            events.append(event)
            if isinstance(event, ToolResultEndEvent):
                agent.interrupt()
        return events

    events = run(main())
    assert_valid_stream(events)
    results = {block.id: block for block in events[-2].result.get_content_blocks(ToolResultBlock)}  # type: ignore[union-attr]
    assert results["call_1"].output[0].text == "3"  # type: ignore[union-attr]
    assert results["call_2"].state.value == "interrupted"
    assert sum(isinstance(event, ToolResultStartEvent) for event in events) == 2


def test_from_another_thread_while_the_model_is_silent() -> None:
    model = ScriptedModel([[text("a"), delay(60)]])
    agent = ReActAgent("friday", model)

    def interrupt() -> None:
        while not model.requests:
            time.sleep(0.001)
        agent.interrupt()

    thread = threading.Thread(target=interrupt, daemon=True)
    thread.start()
    events = run(collect(agent, "go"))
    assert events[-1].generate_reason is GenerateReason.INTERRUPTED  # type: ignore[union-attr]
    thread.join()


def test_j27_a_queued_call_is_interrupted_when_its_turn_comes() -> None:
    model = ScriptedModel([[text("a"), delay(60)]])
    agent = ReActAgent("friday", model)

    async def main() -> list[str]:
        first = asyncio.ensure_future(collect(agent, "one"))
        while not model.requests:  # noqa: ASYNC110
            await asyncio.sleep(0)
        second = asyncio.ensure_future(collect(agent, "two"))
        await asyncio.sleep(0.01)
        assert agent.interrupt()
        await first
        return types(await second)

    assert run(main()) == ["AGENT_START", "USER_INTERRUPT", "AGENT_RESULT", "AGENT_END"]
    assert len(model.requests) == 1
    assert [message.get_text_content() for message in agent.get_state().run().history] == ["one", "a", "two"]


def test_only_the_session_that_is_named_is_interrupted() -> None:
    model = ScriptedModel([[text("a"), delay(0.05), text("b")]])
    agent = ReActAgent("friday", model)

    async def main() -> list[AgentEvent]:
        call = asyncio.ensure_future(collect(agent, "go", RuntimeContext("mine")))
        while not model.requests:  # noqa: ASYNC110
            await asyncio.sleep(0)
        assert not agent.interrupt(RuntimeContext("other"))
        assert not agent.interrupt()
        return await call

    assert run(main())[-1].generate_reason is GenerateReason.MODEL_STOP  # type: ignore[union-attr]


def test_there_is_nothing_to_interrupt_when_nothing_runs() -> None:
    assert not ReActAgent("friday", ScriptedModel([])).interrupt()


def test_a_second_interrupt_changes_nothing() -> None:
    agent = ReActAgent("friday", ScriptedModel([[text("a"), delay(60)]]))

    async def main() -> list[AgentEvent]:
        events: list[AgentEvent] = []
        async for event in agent.stream_events("go").iterate(buffer=1):
            events.append(event)
            if len(events) >= 4:
                agent.interrupt()
        return events

    events = run(main())
    assert_valid_stream(events)
    assert types(events).count("USER_INTERRUPT") == 1
