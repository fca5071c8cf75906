"""`RateLimit`: calls wait for their turn without blocking, and give it back when they are left."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace

import pytest

from agentscope_rx import ConfigurationError, RateLimit, ReActAgent, RuntimeContext
from agentscope_rx.middleware import rate_limit
from agentscope_rx.testing import ScriptedModel, text

from ..agent.shapes import collect, run


async def idle_until(condition: object) -> None:
    while not condition():  # type: ignore[operator]  # noqa: ASYNC110
        await asyncio.sleep(0)


def test_a_burst_passes_and_the_next_call_waits_for_its_token() -> None:
    model = ScriptedModel([[text("a")]] * 3)
    agent = ReActAgent("friday", model, middlewares=[RateLimit(2, seconds=0.4)])

    async def main() -> None:
        calls = [asyncio.ensure_future(collect(agent, "go", RuntimeContext(str(n)))) for n in range(3)]
        await asyncio.wait(calls, return_when=asyncio.FIRST_COMPLETED)
        assert not all(call.done() for call in calls)
        await asyncio.gather(*calls)

    run(main())
    assert len(model.requests) == 3


def test_a_call_that_is_left_while_it_waits_leaves_its_place_to_the_next_and_the_others_theirs(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    waits: list[float] = []
    now = 0.0

    async def sleep(seconds: float) -> None:
        waits.append(now + seconds)
        await asyncio.Event().wait()

    monkeypatch.setattr(rate_limit, "time", SimpleNamespace(monotonic=lambda: now))
    monkeypatch.setattr(rate_limit, "asyncio", SimpleNamespace(sleep=sleep, CancelledError=asyncio.CancelledError))
    model = ScriptedModel([[text("a")]])
    agent = ReActAgent("friday", model, middlewares=[RateLimit(1, seconds=10)])
    calls: list[asyncio.Future[object]] = []

    async def one_more() -> float:
        calls.append(asyncio.ensure_future(collect(agent, "go", RuntimeContext(str(len(calls))))))
        await idle_until(lambda: len(waits) == len(calls))
        return waits[-1]

    async def leave(call: int) -> None:
        calls[call].cancel()
        await asyncio.wait(calls[call : call + 1])

    async def main() -> None:
        nonlocal now
        await collect(agent, "first")
        assert [await one_more() for _ in range(3)] == [10, 20, 30]
        await leave(0)
        assert [await one_more() for _ in range(2)] == [10, 40]
        await leave(1)
        now = 25.0  # too late for the place that was left
        assert await one_more() == 50
        for call in range(len(calls)):
            await leave(call)

    run(main())
    assert len(model.requests) == 1


@pytest.mark.parametrize(("calls", "seconds"), [(0, 1), (1, 0), (1, -1)])
def test_a_rate_of_nothing_is_refused(calls: int, seconds: float) -> None:
    with pytest.raises(ConfigurationError, match="at least 1 call"):
        RateLimit(calls, seconds)
