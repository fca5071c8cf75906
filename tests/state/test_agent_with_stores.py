"""Agents and the stores that remember their sessions."""

from __future__ import annotations

import asyncio
import gc
import tracemalloc
from collections.abc import AsyncIterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from agentscope_rx import (
    AgentEvent,
    AgentState,
    GenerateReason,
    InMemoryStateStore,
    ModelChunk,
    ModelRequest,
    ModelStreamError,
    ReActAgent,
    RuntimeContext,
    SqliteStateStore,
    StateConflictError,
    StateStore,
    StoreError,
    ToolResultBlock,
)
from agentscope_rx.testing import ScriptedModel, error, text, tool_call

from ..agent.shapes import collect_failing, run
from .parked import permission, send

# -------------------------------------------------------------------------------------------- stores that fail


class FullDisk(InMemoryStateStore):
    """A store that cannot save while it is full."""

    def __init__(self) -> None:
        super().__init__()
        self.full = True

    async def save(self, state: AgentState, version: int) -> int:
        if self.full:
            raise StoreError("the disk is full")
        return await super().save(state, version)


def test_b7_73_a_store_that_cannot_save_fails_the_stream_and_frees_the_session() -> None:
    store = FullDisk()
    agent = ReActAgent("friday", ScriptedModel([[text("lost")], [text("kept")]]), state_store=store)

    async def main() -> None:
        events, failure = await collect_failing(agent, "one")
        assert str(events[-1].type) == "AGENT_END"
        assert isinstance(failure, StoreError)
        store.full = False
        answer = await agent.call("two")
        assert answer.get_text_content() == "kept"
        state = await agent.get_state()
        assert [message.get_text_content() for message in state.history] == ["two", "kept"]

    run(main())


def test_a_store_that_cannot_save_does_not_hide_what_the_model_said(caplog: pytest.LogCaptureFixture) -> None:
    broken = ModelStreamError("the model broke")
    agent = ReActAgent("friday", ScriptedModel([[text("so"), error(broken)]]), state_store=FullDisk())
    _, failure = run(collect_failing(agent, "one"))
    assert failure is broken
    assert "the state of session 'friday' was not saved" in caplog.text


class Waiting(ScriptedModel):
    """A scripted model that says when it is called, and waits for leave to answer."""

    def __init__(self, turns: list[Any]) -> None:
        super().__init__(turns)
        self.called, self.answer = asyncio.Event(), asyncio.Event()

    async def stream(self, request: ModelRequest) -> AsyncIterator[ModelChunk]:
        self.called.set()
        await self.answer.wait()
        async for piece in super().stream(request):
            yield piece


def test_of_two_agents_that_save_one_session_one_is_told_of_the_conflict() -> None:
    store = InMemoryStateStore()
    quick = ReActAgent("quick", ScriptedModel([[text("first")]]), state_store=store, default_session_id="s")
    slow_model = Waiting([[text("second")], [text("third")]])
    slow = ReActAgent("slow", slow_model, state_store=store, default_session_id="s")

    async def main() -> None:
        loaded = asyncio.create_task(collect_failing(slow, "b"))
        await asyncio.wait_for(slow_model.called.wait(), 5)
        await quick.call("a")
        slow_model.answer.set()
        events, failure = await loaded
        assert str(events[-1].type) == "AGENT_END"
        assert isinstance(failure, StateConflictError)
        state = await slow.get_state()
        assert [message.get_text_content() for message in state.history] == ["a", "first"]
        assert (await slow.call("c")).get_text_content() == "third"

    run(main())


# ------------------------------------------------------------------------------------------------ many sessions


class Echo:
    """A model that sends a letter to whom the user names, and then repeats what came back; it keeps nothing."""

    model_name = "echo"

    async def stream(self, request: ModelRequest) -> AsyncIterator[ModelChunk]:
        said = request.messages[-1]
        results = said.get_content_blocks(ToolResultBlock)
        turn = text(str(results[-1].output)) if results else tool_call("send", {"to": said.get_text_content()})
        async for piece in ScriptedModel([[turn]]).stream(request):
            await asyncio.sleep(0)  # let the other sessions in
            yield piece


def test_b8_86_two_hundred_sessions_on_one_agent_do_not_mix(tmp_path: Path) -> None:
    with closing(SqliteStateStore(tmp_path / "states.db")) as store:
        agent = ReActAgent("friday", Echo(), tools=[send], state_store=store)

        async def converse(number: int) -> None:
            context = RuntimeContext(f"session {number // 2}", f"user {number % 2}")
            events: list[AgentEvent] = [event async for event in agent.stream_events(f"<{number}>", context)]
            assert {event.reply_id for event in events if event.reply_id} == {events[0].reply_id}
            state = await agent.get_state(context)
            assert [message.role.value for message in state.history] == ["user", "assistant"]
            for message in state.history:
                named = {part.split(">")[0] for part in message.model_dump_json().split("<")[1:]}
                assert named == {str(number)}

        async def main() -> None:
            await asyncio.gather(*(converse(number) for number in range(200)))

        run(main())


@pytest.mark.parametrize("count", [100, pytest.param(1_000, marks=pytest.mark.heavy)])
def test_parked_conversations_hold_no_task_and_little_memory(store: StateStore, count: int) -> None:
    agent = ReActAgent("friday", Echo(), tools=[send], permission=permission(("send",)), state_store=store)

    async def park(number: int) -> None:
        answer = await agent.call(f"<{number}>", RuntimeContext(f"session {number}"))
        assert answer.generate_reason is GenerateReason.PERMISSION_ASKING

    async def main() -> float:
        await park(-1)  # what is built on first use is not held by a conversation
        gc.collect()
        tracemalloc.start()
        try:
            for number in range(count):
                await park(number)
            gc.collect()
            held = tracemalloc.get_traced_memory()[0]
        finally:
            tracemalloc.stop()
        await asyncio.sleep(0)
        assert asyncio.all_tasks() == {asyncio.current_task()}
        return held / count

    assert asyncio.run(main()) < 16 * 1024
