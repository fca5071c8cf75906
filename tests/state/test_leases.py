"""A session for one process at a time: leases, alone and under an agent."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from typing import Any

import pytest

from agentscope_rx import (
    InMemoryStateStore,
    LeasingStateStore,
    ModelChunk,
    ModelRequest,
    ReActAgent,
    StateConflictError,
    StateStore,
    StoreError,
    StreamCancelled,
)
from agentscope_rx.state import SharedStateStore, leased
from agentscope_rx.state.keys import row_key
from agentscope_rx.state.shared import lease as lease_module
from agentscope_rx.state.shared.lease import holding
from agentscope_rx.testing import ScriptedModel, text

from ..agent.shapes import run
from .stores import Opened, Opener, state, text_of

KEY = row_key("s", None)


def open_shared(opened: Opened, opener: Opener) -> SharedStateStore:
    store = opened(opener)
    assert isinstance(store, SharedStateStore)
    return store


# ------------------------------------------------------------------------------------------------ a server of our own


class FakeServer:
    """A test double of a server: does with each hold and release what the test says, and tells what it was asked."""

    def __init__(self, *answers: bool | Exception) -> None:
        self._answers = list(answers)
        self.asked: list[str] = []
        self.changed = asyncio.Event()

    async def hold(self, key: Any, lease: Any) -> bool:
        self.asked.append("hold")
        self.changed.set()
        answer = self._answers.pop(0) if self._answers else True
        if isinstance(answer, Exception):
            raise answer
        return answer

    async def release(self, key: Any, lease: Any) -> None:
        self.asked.append("release")
        if self._answers and isinstance(self._answers[-1], Exception):
            raise self._answers[-1]

    async def asked_times(self, times: int) -> None:
        while len(self.asked) < times:
            self.changed.clear()
            await self.changed.wait()

    def holding(self, seconds: float = 0.03) -> Any:
        server: Any = self
        return holding(server, KEY, seconds)


DOWN = StoreError("the server is down")


def test_a_lease_is_renewed_as_long_as_it_is_held_and_then_given_back() -> None:
    server = FakeServer()

    async def main() -> None:
        async with server.holding():
            await server.asked_times(5)
        asked = len(server.asked)
        await asyncio.sleep(0.03)
        assert server.asked == ["hold"] * (asked - 1) + ["release"]

    run(main())


def test_a_waiter_asks_again_and_again_and_less_and_less_often(monkeypatch: pytest.MonkeyPatch) -> None:
    pauses = list[float]()

    async def noted(seconds: float) -> None:
        pauses.append(seconds)

    monkeypatch.setattr(lease_module.random, "uniform", lambda low, high: high)
    server = FakeServer(*[False] * 12)

    async def main() -> None:
        with monkeypatch.context() as patch:
            patch.setattr(lease_module.asyncio, "sleep", noted)
            await lease_module._take(server, KEY, lease_module.Lease("me", 1.0))  # type: ignore[arg-type]

    run(main())
    assert server.asked == ["hold"] * 13
    assert pauses[0] == 0.02
    assert pauses[-1] == 0.5
    assert pauses == sorted(pauses)


def test_a_renewal_that_fails_is_tried_again(caplog: pytest.LogCaptureFixture) -> None:
    server = FakeServer(True, DOWN, DOWN, True)

    async def main() -> None:
        async with server.holding():
            await server.asked_times(5)

    run(main())
    assert caplog.text.count('the lease of "s" was not renewed: the server is down') == 2


def test_a_lease_that_was_lost_is_not_taken_back(caplog: pytest.LogCaptureFixture) -> None:
    server = FakeServer(True, False)

    async def main() -> None:
        async with server.holding():
            await server.asked_times(2)
            await asyncio.sleep(0.05)
            assert server.asked == ["hold", "hold"]

    run(main())
    assert 'the lease of "s" was not renewed in time, and somebody else has it now' in caplog.text


def test_a_lease_that_cannot_be_given_back_harms_nobody(caplog: pytest.LogCaptureFixture) -> None:
    server = FakeServer(True, DOWN)

    async def main() -> None:
        async with server.holding(30.0):
            pass

    run(main())
    assert 'the lease of "s" was not given back, and ends by itself: the server is down' in caplog.text


def test_what_fails_inside_is_not_hidden_by_a_server_that_is_down() -> None:
    async def main() -> None:
        with pytest.raises(ZeroDivisionError):
            async with FakeServer(True, DOWN).holding(30.0):
                raise ZeroDivisionError

    run(main())


def test_a_lease_that_was_perhaps_taken_is_given_back(monkeypatch: pytest.MonkeyPatch) -> None:
    """When the answer of the server does not come: it is down, or nobody waits for the answer any more."""
    monkeypatch.setattr("agentscope_rx.state.shared.finished._PATIENCE", 0.01)
    broken, slow = FakeServer(DOWN), FakeServer()

    async def never(key: Any, lease: Any) -> bool:
        slow.asked.append("hold")
        await asyncio.sleep(60)
        return True

    slow.hold = never  # type: ignore[method-assign]

    async def main() -> None:
        with pytest.raises(StoreError):
            await broken.holding().__aenter__()
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(slow.holding().__aenter__(), 0.01)

    run(main())
    assert broken.asked == slow.asked == ["hold", "release"]


# -------------------------------------------------------------------------------------------------- every real server


def test_who_has_leases_and_who_has_not(shared: Opener, opened: Opened) -> None:
    assert isinstance(opened(shared), LeasingStateStore)
    assert not isinstance(InMemoryStateStore(), LeasingStateStore)

    async def main() -> None:
        store = InMemoryStateStore()
        async with leased(store, "s", None) as same:
            assert same is store

    run(main())


def test_one_at_a_time_is_in_a_session(shared: Opener, opened: Opened) -> None:
    """Everybody counts up what is saved, over whatever version there is: with nobody between, no conflict."""
    inside = 0

    async def take_turns(store: SharedStateStore) -> None:
        nonlocal inside
        for _ in range(3):
            async with store.lease("s") as held:
                inside += 1
                stored = await held.load("s")
                counted, version = stored if stored is not None else (state(n=0), 0)
                counted.values["n"] += 1
                await asyncio.sleep(0)
                assert inside == 1
                await held.save(counted, version)
                inside -= 1

    async def main() -> None:
        await asyncio.gather(*(take_turns(open_shared(opened, shared)) for _ in range(3)))
        stored = await open_shared(opened, shared).load("s")
        assert stored is not None
        assert (stored.state.values["n"], stored.version) == (9, 9)

    run(main())


def test_other_sessions_and_users_do_not_wait(shared: Opener, opened: Opened) -> None:
    store = open_shared(opened, shared)

    async def main() -> None:
        async with store.lease("s"), store.lease("t"), store.lease("s", "ann"), store.lease("s", "null"):
            pass

    run(main())


def test_the_lease_of_who_has_died_ends_by_itself(shared: Opener, opened: Opened) -> None:
    store = open_shared(opened, shared)

    async def main() -> None:
        assert await store._server().hold(KEY, lease_module.Lease("died", 0.2))
        assert not await store._server().hold(KEY, lease_module.Lease("other", 0.2))
        async with asyncio.timeout(8), store.lease("s") as held:
            assert await held.save(state("mine"), 0) == 1

    run(main())


@pytest.fixture
def frozen(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody renews a lease, as in a process that hangs."""
    monkeypatch.setattr(lease_module, "_RENEWALS", 1e-6)


def with_lease(shared: Opener, opened: Opened, seconds: float) -> SharedStateStore:
    store = open_shared(opened, shared)
    store._lease = seconds
    return store


@pytest.mark.usefixtures("frozen")
def test_who_lost_the_lease_cannot_save_while_somebody_else_has_it(shared: Opener, opened: Opened) -> None:
    async def main() -> None:
        slow, quick = with_lease(shared, opened, 0.1), with_lease(shared, opened, 30.0)
        async with slow.lease("s") as late:
            assert await late.save(state("one"), 0) == 1
            async with quick.lease("s") as held:
                with pytest.raises(
                    StateConflictError, match=r"'s' has been taken over by somebody else, .*; load it again"
                ):
                    await late.save(state("late"), 1)
                assert await held.save(state("two"), 1) == 2
            with pytest.raises(StateConflictError, match="is at version 2"):
                await late.save(state("late"), 1)
        assert await text_of(quick) == ("two", 2)

    run(main())


@pytest.mark.usefixtures("frozen")
def test_who_gives_back_a_lost_lease_leaves_that_of_the_other_alone(shared: Opener, opened: Opened) -> None:
    async def main() -> None:
        async with AsyncExitStack() as other:
            async with with_lease(shared, opened, 0.1).lease("s"):
                held = await other.enter_async_context(with_lease(shared, opened, 30.0).lease("s"))
            assert not await open_shared(opened, shared)._server().hold(KEY, lease_module.Lease("third", 1.0))
            assert await held.save(state("two"), 0) == 1

    run(main())


@pytest.mark.usefixtures("frozen")
def test_a_lease_that_ended_while_nobody_waited_is_as_good_as_ever(shared: Opener, opened: Opened) -> None:
    async def main() -> None:
        store = with_lease(shared, opened, 0.05)
        async with store.lease("s") as held:
            await asyncio.sleep(0.1)
            store._lease = 30.0
            assert await held.save(state("mine"), 0) == 1

    run(main())


@pytest.mark.usefixtures("frozen")
def test_a_save_renews_the_lease(shared: Opener, opened: Opened) -> None:
    """The lease has ended; the save takes it again, so that somebody else has to wait for its end once more."""

    async def main() -> None:
        store = with_lease(shared, opened, 0.5)
        async with store.lease("s") as held:
            await asyncio.sleep(0.6)
            assert await held.save(state("mine"), 0) == 1
            assert not await store._server().hold(KEY, lease_module.Lease("other", 1.0))

    run(main())


def test_without_leases_nobody_waits(shared: Opener, opened: Opened) -> None:
    async def main() -> None:
        store = open_shared(opened, shared)
        store._lease = None
        async with store.lease("s") as first, store.lease("s") as second:
            assert first is second is store

    run(main())


def test_who_does_not_wait_any_more_has_no_lease(shared: Opener, opened: Opened) -> None:
    async def main() -> None:
        store = open_shared(opened, shared)
        async with store.lease("s"):
            for number in range(10):
                waiting = asyncio.create_task(store.lease("s").__aenter__())
                await asyncio.sleep(number * 0.002)
                waiting.cancel()
                await asyncio.wait((waiting,))
        async with asyncio.timeout(8), store.lease("s"):
            pass

    run(main())


# -------------------------------------------------------------------------------------------------------- an agent


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


def agent_of(store: StateStore, model: ScriptedModel) -> ReActAgent:
    return ReActAgent("friday", model, state_store=store)


async def said(store: StateStore) -> list[str]:
    stored = await store.load("friday")
    return [message.get_text_content() for message in stored.state.history] if stored else []


def test_a_second_agent_waits_for_the_first(shared: Opener, opened: Opened) -> None:
    async def main() -> None:
        first, second = Waiting([[text("1")]]), ScriptedModel([[text("2")]])
        one = asyncio.ensure_future(_answer(agent_of(opened(shared), first), "a"))
        await asyncio.wait_for(first.called.wait(), 5)
        two = asyncio.ensure_future(_answer(agent_of(opened(shared), second), "b"))
        await asyncio.sleep(0.05)
        assert second.requests == []
        first.answer.set()
        assert (await one, await two) == ("1", "2")
        assert [message.get_text_content() for message in second.requests[0].messages] == ["a", "1", "b"]
        assert await said(opened(shared)) == ["a", "1", "b", "2"]

    run(main())


async def _answer(agent: ReActAgent, said: str) -> str:
    return (await agent.call(said)).get_text_content()


def test_a_stream_that_is_disposed_of_gives_the_session_back(shared: Opener, opened: Opened) -> None:
    async def main() -> None:
        model = Waiting([[text("never")]])
        async with agent_of(opened(shared), model).stream_events("a").iterate() as events:
            await anext(events)
        async with asyncio.timeout(8):
            assert await _answer(agent_of(opened(shared), ScriptedModel([[text("2")]])), "b") == "2"
        assert await said(opened(shared)) == ["a", "b", "2"]

    run(main())


def test_an_agent_that_waits_for_a_session_can_be_disposed_of(shared: Opener, opened: Opened) -> None:
    async def main() -> None:
        store = open_shared(opened, shared)
        async with store.lease("friday") as held:
            waiting = asyncio.ensure_future(_answer(agent_of(opened(shared), ScriptedModel([])), "a"))
            await asyncio.sleep(0.05)
            waiting.cancel()
            await asyncio.wait((waiting,))
            assert await held.load("friday") is None

    run(main())


def test_an_agent_that_waits_for_a_session_can_be_shut_down(
    shared: Opener, opened: Opened, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("agentscope_rx.agent.shutdown._PATIENCE", 0.01)

    async def main() -> None:
        store = open_shared(opened, shared)
        agent = agent_of(opened(shared), ScriptedModel([]))
        async with store.lease("friday") as held:
            waiting = asyncio.ensure_future(_answer(agent, "a"))
            await asyncio.sleep(0.05)
            await agent.shutdown(0)
            with pytest.raises(StreamCancelled):
                await waiting
            assert await held.load("friday") is None

    run(main())


def test_a_session_is_free_between_a_pause_and_its_answer(shared: Opener, opened: Opened) -> None:
    async def main() -> None:
        await _answer(agent_of(opened(shared), ScriptedModel([[text("1")]])), "a")
        assert await open_shared(opened, shared)._server().hold(row_key("friday", None), lease_module.Lease("x", 1.0))

    run(main())
