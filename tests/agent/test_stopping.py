"""Stopping a long reply after each of its events, in every way there is, with a model behind real HTTP."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import suppress
from typing import Any

import pytest

from agentscope_rx import (
    AgentEvent,
    AgentState,
    InMemoryStateStore,
    OpenAIChatModel,
    ReActAgent,
    ToolCallState,
    ToolResultBlock,
    ToolUseBlock,
)
from agentscope_rx.testing import assert_valid_stream

from ..model.loopback import Exchange, Server, serving
from .shapes import collect, types


def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


async def nap(n: int) -> AsyncIterator[str]:
    """Nap."""
    yield "zz"
    await asyncio.sleep(0)
    yield str(n)


# ------------------------------------------------------------------------------------------------ the server


def delta(**fields: Any) -> bytes:
    return _frame({"choices": [{"index": 0, "delta": fields}]})


def call(index: int, arguments: str, **head: Any) -> bytes:
    return delta(tool_calls=[{"index": index, **head, "function": {**_named(head), "arguments": arguments}}])


def _named(head: dict[str, Any]) -> dict[str, Any]:
    return {"name": head.pop("name")} if "name" in head else {}


def _frame(value: Any) -> bytes:
    return f"data: {json.dumps(value)}\n\n".encode()


def finish(reason: str) -> bytes:
    return _frame({"choices": [{"index": 0, "delta": {}, "finish_reason": reason}]}) + b"data: [DONE]\n\n"


FIRST = (
    delta(reasoning_content="add, "),
    delta(reasoning_content="then nap"),
    delta(content="I will "),
    delta(content="add."),
    call(0, "", id="c1", name="add"),
    call(0, '{"a": 1, '),
    call(1, '{"n": ', id="c2", name="nap"),
    call(0, '"b": 2}'),
    call(1, "7}"),
    finish("tool_calls"),
)
SECOND = (delta(content="It is "), delta(content="3."), finish("stop"))
NEXT = (delta(content="next"), finish("stop"))


async def answer(exchange: Exchange) -> None:
    """Answer by what was asked last, a frame at a time; what is left in the middle must be left by the client."""
    last = exchange.body["messages"][-1]
    frames: Sequence[bytes] = NEXT if last.get("content") == "again" else SECOND if last["role"] == "tool" else FIRST
    UNFINISHED.append(exchange)
    await exchange.start()
    for frame in frames:
        await exchange.send(frame)
        await asyncio.sleep(0)
    await exchange.end()
    UNFINISHED.remove(exchange)


UNFINISHED: list[Exchange] = []


# ------------------------------------------------------------------------------------------------ ways to stop


class Counting(InMemoryStateStore):
    """Counts the saves."""

    saves = 0

    async def save(self, state: AgentState, version: int) -> int:
        self.saves += 1
        return await super().save(state, version)


class Enough(Exception):
    """Enough of it."""


async def interrupt(agent: ReActAgent, count: int) -> list[AgentEvent]:
    """Interrupt, and see the end."""
    return await _followed(agent, count, lambda: agent.interrupt(message="enough"))


async def shut_down(agent: ReActAgent, count: int) -> list[AgentEvent]:
    """Shut the agent down, and see the end."""
    tasks: list[asyncio.Task[None]] = []

    async def down() -> None:
        await agent.shutdown(0)

    events = await _followed(agent, count, lambda: tasks.append(asyncio.create_task(down())))
    await asyncio.gather(*tasks)
    return events


async def _followed(agent: ReActAgent, count: int, stop: Callable[[], object]) -> list[AgentEvent]:
    events: list[AgentEvent] = []
    async for event in agent.stream_events("go").iterate(buffer=1):
        events.append(event)
        if len(events) == count:
            stop()
    assert_valid_stream(events)
    return events


async def leave(agent: ReActAgent, count: int) -> list[AgentEvent]:
    """Leave the loop."""
    events: list[AgentEvent] = []
    async with agent.stream_events("go").iterate(buffer=1) as stream:
        async for event in stream:
            events.append(event)
            if len(events) == count:
                break
    return events


async def dispose(agent: ReActAgent, count: int) -> list[AgentEvent]:
    """Dispose inside on_next, and go on at once."""
    events: list[AgentEvent] = []
    over = asyncio.get_running_loop().create_future()

    def on_next(event: AgentEvent) -> None:
        events.append(event)
        if len(events) == count:
            over.get_loop().call_soon(subscription.dispose)
            over.set_result(None)

    subscription = agent.stream_events("go").subscribe(on_next)
    await over
    await asyncio.sleep(0)
    return events[:count]


async def cancel(agent: ReActAgent, count: int) -> list[AgentEvent]:
    """Cancel the task that reads."""
    events: list[AgentEvent] = []

    async def read() -> None:
        async for event in agent.stream_events("go").iterate(buffer=1):
            events.append(event)
            if len(events) == count:
                there.set()
                await asyncio.sleep(60)

    there = asyncio.Event()
    task = asyncio.create_task(read())
    await there.wait()
    task.cancel()
    with suppress(asyncio.CancelledError):
        await task
    return events


async def fail(agent: ReActAgent, count: int) -> list[AgentEvent]:
    """Raise in on_next."""
    events: list[AgentEvent] = []

    def on_next(event: AgentEvent) -> None:
        events.append(event)
        if len(events) == count:
            raise Enough

    failed = asyncio.get_running_loop().create_future()
    agent.stream_events("go").subscribe(on_next, failed.set_result)
    assert isinstance(await failed, Enough)
    return events


REASONED = [
    "AGENT_START", "MODEL_CALL_START",
    "THINKING_BLOCK_START", "THINKING_BLOCK_DELTA", "THINKING_BLOCK_END",
    "TEXT_BLOCK_START", "TEXT_BLOCK_DELTA", "TEXT_BLOCK_END",
    "TOOL_CALL_START", "TOOL_CALL_DELTA", "TOOL_CALL_START", "TOOL_CALL_DELTA", "TOOL_CALL_END", "MODEL_CALL_END",
]  # fmt: skip
ANSWERED = [
    "MODEL_CALL_START", "TEXT_BLOCK_START", "TEXT_BLOCK_DELTA", "TEXT_BLOCK_END", "MODEL_CALL_END", "AGENT_RESULT",
    "AGENT_END",
]  # fmt: skip

WAYS: tuple[Callable[[ReActAgent, int], Awaitable[list[AgentEvent]]], ...] = (
    interrupt,
    shut_down,
    leave,
    dispose,
    cancel,
    fail,
)


# ------------------------------------------------------------------------------------------------ and what is left


@pytest.mark.parametrize("way", WAYS, ids=lambda way: way.__name__)
def test_l6_b7_79_b7_80_whenever_a_reply_is_stopped_nothing_is_left_of_it_but_what_it_said(way: Any) -> None:
    async def main() -> None:
        async with serving(answer) as server:
            events = await collect(_agent(server, Counting()), "go")
            assert types(events)[: len(REASONED)] == REASONED
            assert types(events)[-len(ANSWERED) :] == ANSWERED
            for count in range(1, len(events) - 1):
                await _stopped(server, way, count)

    asyncio.run(asyncio.wait_for(main(), 60))


async def _stopped(server: Server, way: Any, count: int) -> None:
    before = asyncio.all_tasks()
    store = Counting()
    agent = _agent(server, store)
    events = await way(agent, count)
    assert len(events) >= count

    # The next call waits until the stopped one has cleaned up; after a shutdown it is another agent's.
    next_agent = _agent(server, store) if way is shut_down else agent
    message = (await collect(next_agent, "again"))[-2].result  # type: ignore[union-attr]
    assert message.get_text_content() == "next"
    assert store.saves == 2

    history = (await agent.get_state()).history
    assert [stored.get_text_content() for stored in (history[0], *history[-2:])] == ["go", "again", "next"]
    blocks = [block for stored in history for block in stored.content]
    calls = [block for block in blocks if isinstance(block, ToolUseBlock)]
    results = [block.id for block in blocks if isinstance(block, ToolResultBlock)]
    assert sorted(each.id for each in calls) == sorted(results)
    assert all(each.state is ToolCallState.FINISHED for each in calls)
    for sent in server.exchanges[-1].body["messages"]:
        for each in sent.get("tool_calls", ()):
            assert isinstance(json.loads(each["function"]["arguments"]), dict)

    for exchange in list(UNFINISHED):
        await exchange.client_gone()
        UNFINISHED.remove(exchange)
    for thread in threading.enumerate():
        if thread.name.startswith("tool "):
            thread.join(5)
            assert not thread.is_alive()
    assert not [task for task in asyncio.all_tasks() - before if not _of_the_server(task)]


def _of_the_server(task: asyncio.Task[Any]) -> bool:
    return "connected" in getattr(task.get_coro(), "__qualname__", "")


def _agent(server: Server, store: InMemoryStateStore) -> ReActAgent:
    model = OpenAIChatModel("m", api_key="none", base_url=server.url)
    return ReActAgent("friday", model, tools=[add, nap], state_store=store)
