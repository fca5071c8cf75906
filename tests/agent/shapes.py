"""Streams in short, for comparing."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Iterable
from itertools import groupby
from typing import Any, TypeVar

from agentscope_rx import AgentEvent, ReActAgent
from agentscope_rx.testing import assert_valid_stream

T = TypeVar("T")


def types(events: Iterable[AgentEvent]) -> list[str]:
    """The types, runs of deltas as one."""
    return [str(kind) for kind, run in groupby(event.type for event in events)]


def run(main: Coroutine[Any, Any, T]) -> T:
    """Run a test's coroutine; nothing may be left behind."""

    async def checked() -> T:
        result = await asyncio.wait_for(main, 10)
        await asyncio.sleep(0)
        assert asyncio.all_tasks() == {asyncio.current_task()}
        return result

    return asyncio.run(checked())


async def collect(agent: ReActAgent, *args: Any) -> list[AgentEvent]:
    """Every event of a call, which must be a lawful stream."""
    events = [event async for event in agent.stream_events(*args)]
    assert_valid_stream(events)
    return events


async def collect_failing(agent: ReActAgent, *args: Any) -> tuple[list[AgentEvent], Exception]:
    """Every event of a call that fails, which must be a lawful stream all the same, and the error."""
    events: list[AgentEvent] = []
    try:
        async for event in agent.stream_events(*args):
            events.append(event)  # noqa: PERF401 - what came before the failure must stay
    except Exception as error:
        assert_valid_stream(events)
        return events, error
    raise AssertionError("the call did not fail")
