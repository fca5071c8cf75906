"""`RateLimit`: calls wait for their turn without blocking, and give it back when they are left."""

from __future__ import annotations

import asyncio

import pytest

from agentscope_rx import ConfigurationError, RateLimit, ReActAgent, RuntimeContext
from agentscope_rx.testing import ScriptedModel, text

from ..agent.shapes import collect, run


async def idle_until(condition: object) -> None:
    while not condition():  # type: ignore[operator]  # noqa: ASYNC110
        await asyncio.sleep(0)


def test_a_burst_passes_and_the_next_call_waits_for_its_token() -> None:
    model = ScriptedModel([[text("a")]] * 3)
    agent = ReActAgent("friday", model, middlewares=[RateLimit(2, seconds=0.1)])

    async def main() -> None:
        calls = [asyncio.ensure_future(collect(agent, "go", RuntimeContext(str(n)))) for n in range(3)]
        await asyncio.wait(calls, return_when=asyncio.FIRST_COMPLETED)
        assert not all(call.done() for call in calls)
        await asyncio.gather(*calls)

    run(main())
    assert len(model.requests) == 3


def test_a_call_that_is_left_while_it_waits_gives_its_token_back() -> None:
    limit = RateLimit(1, seconds=3600)
    model = ScriptedModel([[text("a")]])
    agent = ReActAgent("friday", model, middlewares=[limit])

    async def main() -> None:
        await collect(agent, "go")
        full_at = limit._full_at
        waiting = asyncio.ensure_future(collect(agent, "again"))
        await idle_until(lambda: limit._full_at > full_at)
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting
        assert limit._full_at == pytest.approx(full_at)

    run(main())
    assert len(model.requests) == 1


@pytest.mark.parametrize(("calls", "seconds"), [(0, 1), (1, 0), (1, -1)])
def test_a_rate_of_nothing_is_refused(calls: int, seconds: float) -> None:
    with pytest.raises(ConfigurationError, match="at least 1 call"):
        RateLimit(calls, seconds)
