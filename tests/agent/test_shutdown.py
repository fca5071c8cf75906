"""Shutting down: every call ends and is saved, by itself or interrupted, and no new one begins."""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from reactivex import operators as ops

from agentscope_rx import (
    AgentEvent,
    AgentShuttingDownError,
    AgentState,
    ConfigurationError,
    GenerateReason,
    InMemoryStateStore,
    LoopScheduler,
    PermissionContext,
    ReActAgent,
    RuntimeContext,
    SessionBusyError,
    StoreError,
    Stream,
    StreamCancelled,
    TextBlockDeltaEvent,
    ToolResultBlock,
    ToolResultStartEvent,
    UserInterruptEvent,
    UserMessage,
)
from agentscope_rx.agent import shutdown
from agentscope_rx.operators import of_type
from agentscope_rx.state import StoredState
from agentscope_rx.testing import ScriptedModel, assert_valid_stream, delay, text, tool_call

from .shapes import collect, collect_failing, run, types
from .test_hitl import require, yes


def storyteller(*more: Any, store: InMemoryStateStore | None = None, **settings: Any) -> tuple[ReActAgent, Any]:
    """An agent whose first answer never ends by itself."""
    model = ScriptedModel([[text("Once "), delay(60)], *more])
    return ReActAgent("friday", model, state_store=store, **settings), model


async def after(count: int, cls: type[AgentEvent], agent: ReActAgent, *args: Any) -> asyncio.Task[list[AgentEvent]]:
    """A call that has emitted some events of a kind, and goes on in a task."""
    there = asyncio.Event()
    seen = 0

    async def follow() -> list[AgentEvent]:
        nonlocal seen
        events: list[AgentEvent] = []
        async for event in agent.stream_events(*args):
            events.append(event)
            seen += isinstance(event, cls)
            if seen == count:
                there.set()
        assert_valid_stream(events)
        return events

    task = asyncio.create_task(follow())
    await asyncio.wait_for(there.wait(), 5)
    return task


def said(state: AgentState) -> list[str]:
    return [message.get_text_content() for message in state.history]


# ------------------------------------------------------------------------------------------------ what is refused


def test_b11_3_90_a_new_call_is_a_typed_error_before_any_event_and_changes_nothing() -> None:
    agent, model = storyteller()

    async def main() -> None:
        await agent.observe(UserMessage("before"))
        await agent.shutdown()
        calls: list[Stream[Any]] = [agent.stream_events("go"), agent.call("go")]
        for refused in (*calls, agent.observe(UserMessage("x")), agent.clear_context()):
            events: list[Any] = []
            with pytest.raises(AgentShuttingDownError):
                await refused.pipe(ops.do_action(events.append))
            assert events == []
        with pytest.raises(AgentShuttingDownError):
            agent.hint("be brief")
        assert said(await agent.get_state()) == ["before"]
        assert not agent.interrupt()

    run(main())
    assert model.requests == []


def test_b11_3_90_shutting_down_again_is_nothing_new() -> None:
    agent, _ = storyteller()

    async def main() -> None:
        call = await after(1, TextBlockDeltaEvent, agent, "go")
        first, second = agent.shutdown(0.05), agent.shutdown(60)
        await asyncio.gather(first, second)
        assert (await call)[-1].generate_reason is GenerateReason.INTERRUPTED  # type: ignore[union-attr]
        await agent.shutdown()

    run(main())


def test_nothing_happens_before_a_subscription() -> None:
    agent = ReActAgent("friday", ScriptedModel([[text("hi")]]))
    agent.shutdown()
    assert agent.call("go").run().get_text_content() == "hi"


@pytest.mark.parametrize("grace", [-1, float("nan"), "soon", None])
def test_the_grace_is_a_number_of_seconds(grace: Any) -> None:
    agent, _ = storyteller()
    with pytest.raises(ConfigurationError, match="grace"):
        agent.shutdown(grace)


# ------------------------------------------------------------------------------------------------ finish, or interrupt


def test_a_reply_that_ends_within_the_grace_ends_as_it_would() -> None:
    store = InMemoryStateStore()
    agent = ReActAgent("friday", ScriptedModel([[text("Once "), delay(0.03), text("more.")]]), state_store=store)

    async def main() -> None:
        call = await after(1, TextBlockDeltaEvent, agent, "go")
        await agent.shutdown()
        stored = await store.load("friday")
        assert stored is not None
        assert said(stored.state) == ["go", "Once more."]
        assert (await call)[-1].generate_reason is GenerateReason.MODEL_STOP  # type: ignore[union-attr]

    run(main())


def test_a_reply_that_streams_on_is_interrupted_and_saved_and_goes_on_elsewhere() -> None:
    store = InMemoryStateStore()
    agent, _ = storyteller(store=store)

    async def main() -> None:
        call = await after(1, TextBlockDeltaEvent, agent, "go")
        await agent.shutdown(0)
        stored = await store.load("friday")
        assert stored is not None
        assert (said(stored.state), stored.version) == (["go", "Once "], 1)
        events = await call
        assert types(events)[-5:] == [
            "USER_INTERRUPT", "TEXT_BLOCK_END", "MODEL_CALL_END", "AGENT_RESULT", "AGENT_END",
        ]  # fmt: skip
        [interrupt] = [event for event in events if isinstance(event, UserInterruptEvent)]
        assert interrupt.message == "The agent is shutting down."
        next_model = ScriptedModel([[text("upon a time.")]])
        elsewhere = ReActAgent("friday", next_model, state_store=store)
        assert (await elsewhere.call("go on")).get_text_content() == "upon a time."
        assert [message.get_text_content() for message in next_model.requests[0].messages] == ["go", "Once ", "go on"]

    run(main())


def test_tools_that_run_are_interrupted_and_those_that_have_ended_keep_their_results() -> None:
    stopped: list[str] = []

    def quick() -> str:
        """Quick."""
        return "done"

    async def hang() -> str:
        """Hang."""
        try:
            await asyncio.sleep(60)
        finally:
            stopped.append("hang")
        return "never"

    free = threading.Event()

    def block() -> str:
        """Block a thread."""
        free.wait(60)
        return "never"

    model = ScriptedModel([[tool_call("quick"), tool_call("hang"), tool_call("block")]])
    agent = ReActAgent("friday", model, tools=[quick, hang, block])

    async def main() -> list[AgentEvent]:
        call = await after(3, ToolResultStartEvent, agent, "go")
        await agent.shutdown(0)
        return await call

    try:
        events = run(main())
    finally:
        free.set()
    assert stopped == ["hang"]
    results = events[-2].result.get_content_blocks(ToolResultBlock)  # type: ignore[union-attr]
    assert [(block.name, block.state.value) for block in results] == [
        ("quick", "success"), ("hang", "interrupted"), ("block", "interrupted"),
    ]  # fmt: skip
    assert agent.get_state().run().history[-1] == events[-2].result  # type: ignore[union-attr]


def test_calls_that_wait_at_the_gate_have_their_turn_and_end_too() -> None:
    agent, model = storyteller()

    async def main() -> None:
        running = await after(1, TextBlockDeltaEvent, agent, "one")
        waiting = [asyncio.create_task(collect(agent, word)) for word in ("two", "three")]
        await asyncio.sleep(0.01)
        await agent.shutdown(0)
        assert types(await running)[-1] == "AGENT_END"
        for call in waiting:
            assert types(await call) == ["AGENT_START", "USER_INTERRUPT", "AGENT_RESULT", "AGENT_END"]
        assert said(await agent.get_state()) == ["one", "Once ", "two", "three"]

    run(main())
    assert len(model.requests) == 1


def test_a_call_that_waits_at_the_gate_is_answered_when_the_grace_is_long_enough() -> None:
    model = ScriptedModel([[text("first"), delay(0.03)], [text("second")]])
    agent = ReActAgent("friday", model)

    async def main() -> None:
        running = await after(1, TextBlockDeltaEvent, agent, "one")
        waiting = asyncio.create_task(collect(agent, "two"))
        await asyncio.sleep(0.01)
        await agent.shutdown()
        assert types(await running)[-1] == types(await waiting)[-1] == "AGENT_END"
        assert said(await agent.get_state()) == ["one", "first", "two", "second"]

    run(main())


def test_every_session_comes_to_its_end() -> None:
    agent = ReActAgent("friday", ScriptedModel([[text("a"), delay(60)] for _ in range(20)]))
    contexts = [RuntimeContext(f"s{number}") for number in range(20)]

    async def main() -> None:
        calls = [await after(1, TextBlockDeltaEvent, agent, "go", context) for context in contexts]
        await agent.shutdown(0)
        for call, context in zip(calls, contexts, strict=True):
            assert (await call)[-1].generate_reason is GenerateReason.INTERRUPTED  # type: ignore[union-attr]
            assert said(await agent.get_state(context)) == ["go", "a"]

    run(main())


def test_a_paused_reply_holds_nothing_up_and_goes_on_elsewhere() -> None:
    def send(to: str) -> str:
        """Send."""
        return f"sent to {to}"

    store = InMemoryStateStore()
    settings: dict[str, Any] = {"tools": [send], "permission": PermissionContext(), "state_store": store}
    agent = ReActAgent("friday", ScriptedModel([[tool_call("send", {"to": "ann"})]]), **settings)
    elsewhere = ReActAgent("friday", ScriptedModel([[text("Done.")]]), **settings)

    async def main() -> None:
        asked = require(await collect(agent, "go"))
        await asyncio.wait_for(agent.shutdown(60), 5)
        _, failure = await _failing(agent, yes(asked))
        assert isinstance(failure, AgentShuttingDownError)
        after_ = await collect(elsewhere, yes(asked))
        assert after_[-2].result.get_text_content() == "Done."  # type: ignore[union-attr]

    run(main())


async def _failing(agent: ReActAgent, *args: Any) -> tuple[list[AgentEvent], Exception]:
    events: list[AgentEvent] = []
    try:
        async for event in agent.stream_events(*args):
            events.append(event)  # noqa: PERF401 - what came before the failure
    except Exception as error:
        return events, error
    raise AssertionError("the call did not fail")


# ------------------------------------------------------------------------------------------------ what goes wrong


class Broken(InMemoryStateStore):
    """A store that fails in one of its operations."""

    def __init__(self, operation: str) -> None:
        super().__init__()
        self.operation = operation

    async def load(self, session_id: str, user_id: str | None = None) -> StoredState | None:
        await asyncio.sleep(0.01)
        if self.operation == "load":
            raise StoreError("the disk is gone")
        return await super().load(session_id, user_id)

    async def save(self, state: AgentState, version: int) -> int:
        await asyncio.sleep(0.01)
        if self.operation == "save":
            raise StoreError("the disk is full")
        return await super().save(state, version)


@pytest.mark.parametrize("operation", ["load", "save"])
@pytest.mark.parametrize("grace", [0, 5])
def test_a_store_that_fails_is_told_to_the_subscriber_and_holds_nothing_up(operation: str, grace: float) -> None:
    agent = ReActAgent("friday", ScriptedModel([[text("hi")]]), state_store=Broken(operation))

    async def main() -> Exception:
        call = asyncio.create_task(collect_failing(agent, "go") if operation == "save" else _failing(agent, "go"))
        await asyncio.sleep(0)
        await asyncio.wait_for(agent.shutdown(grace), 5)
        return (await call)[1]

    assert isinstance(run(main()), StoreError)


def test_a_save_that_has_begun_is_waited_for() -> None:
    class Slow(InMemoryStateStore):
        async def save(self, state: AgentState, version: int) -> int:
            saving.set()
            await asyncio.sleep(0.05)
            return await super().save(state, version)

    saving = asyncio.Event()
    store = Slow()
    agent = ReActAgent("friday", ScriptedModel([[text("hi")]]), state_store=store)

    async def main() -> None:
        call = asyncio.create_task(collect(agent, "go"))
        await saving.wait()
        await agent.shutdown(0)
        stored = await store.load("friday")
        assert stored is not None
        assert said(stored.state) == ["go", "hi"]
        await call

    run(main())


def test_a_reply_that_nobody_reads_is_cancelled_and_saved_and_the_next_has_its_turn(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(shutdown, "_PATIENCE", 0.05)
    agent = ReActAgent("friday", ScriptedModel([[text(f"{number} ") for number in range(200)]]))

    async def main() -> None:
        unread = agent.stream_events("one").iterate(buffer=1)
        while not isinstance(await anext(unread), TextBlockDeltaEvent):
            pass
        waiting = asyncio.create_task(collect(agent, "two"))
        await asyncio.sleep(0.01)
        await asyncio.wait_for(agent.shutdown(0), 5)
        assert types(await waiting) == ["AGENT_START", "USER_INTERRUPT", "AGENT_RESULT", "AGENT_END"]
        with pytest.raises(StreamCancelled):
            async for _ in unread:
                pass
        state = await agent.get_state()
        assert [message.role.value for message in state.history] == ["user", "assistant", "user"]
        assert state.history[1].generate_reason is GenerateReason.INTERRUPTED

    run(main())


def test_giving_up_the_wait_leaves_the_agent_closed_and_the_reply_running() -> None:
    agent = ReActAgent("friday", ScriptedModel([[text("Once "), delay(0.05), text("more.")]]))

    async def main() -> None:
        call = await after(1, TextBlockDeltaEvent, agent, "go")
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.01):
                await agent.shutdown(60)
        with pytest.raises(AgentShuttingDownError):
            await agent.call("more")
        assert (await call)[-1].generate_reason is GenerateReason.MODEL_STOP  # type: ignore[union-attr]

    run(main())


# ------------------------------------------------------------------------------------------------ loops and threads


def test_from_another_thread() -> None:
    agent, _ = storyteller()
    there = threading.Event()
    events: list[AgentEvent] = []

    def tell(event: Any) -> None:
        events.append(event)
        if isinstance(event, TextBlockDeltaEvent):
            there.set()

    thread = threading.Thread(target=lambda: agent.stream_events("go").pipe(ops.do_action(tell)).run())
    thread.start()
    assert there.wait(5)
    agent.shutdown(0).run()
    assert said(agent.get_state().run()) == ["go", "Once "]
    thread.join(5)
    assert events[-1].generate_reason is GenerateReason.INTERRUPTED  # type: ignore[union-attr]


def test_inside_a_loop_that_stands_still_meanwhile_it_is_refused() -> None:
    agent, _ = storyteller([text("hi")])

    async def main() -> None:
        call = await after(1, TextBlockDeltaEvent, agent, "go")
        with pytest.raises(SessionBusyError, match="await shutdown"):
            agent.shutdown(0).run()
        agent.interrupt()
        await call
        assert (await agent.call("more")).get_text_content() == "hi"
        agent.shutdown(0).run()

    run(main())


def test_a_call_whose_loop_was_closed_under_it_is_not_waited_for() -> None:
    agent, _ = storyteller()
    loop = asyncio.new_event_loop()
    there = loop.create_future()
    agent.stream_events("go").pipe(of_type(TextBlockDeltaEvent)).subscribe(
        lambda event: there.set_result(None), scheduler=LoopScheduler(loop)
    )
    loop.run_until_complete(there)
    loop.close()
    _within(5, lambda: agent.shutdown(60))


def _within(seconds: float, make: Callable[[], Awaitable[None]]) -> None:
    async def main() -> None:
        await asyncio.wait_for(make(), seconds)

    asyncio.run(main())


@pytest.mark.skipif(not hasattr(os, "fork"), reason="the process is forked")
def test_a_call_that_stayed_in_the_parent_process_is_not_waited_for() -> None:
    agent, _ = storyteller()

    async def main() -> None:
        call = await after(1, TextBlockDeltaEvent, agent, "go")
        child = os.fork()
        if child == 0:
            done = threading.Thread(target=lambda: agent.shutdown(60).run())
            done.start()
            done.join(5)
            os._exit(done.is_alive())
        assert (await asyncio.to_thread(os.waitpid, child, 0))[1] == 0
        agent.interrupt()
        await call

    run(main())
