"""Ways to consume the stream of an agent, and ways to leave it before its end.

A way is a coroutine function that adds to `heard` what it is given, and returns when the stream has ended. What a
stream fails with is raised.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import suppress
from typing import Any, TypeAlias
from unittest.mock import patch

import reactivex as rx
from reactivex import operators as ops
from reactivex.disposable import SingleAssignmentDisposable

from agentscope_rx import AgentEvent, Stream, through
from agentscope_rx.operators import hook, verify_events
from tests.virtual_time import VirtualTimeLoop, other_tasks

__all__ = [
    "CONSUMERS",
    "LEAVERS",
    "LEAVERS_AT_TIMES",
    "Way",
    "breaking",
    "disposing",
    "disposing_later",
    "iterating",
    "rest",
]

Way: TypeAlias = Callable[..., Awaitable[None]]
"""Takes the stream and `heard`; a way to leave also takes when: a number of events, or a time."""

_EVER = 1_000_000.0
"""Seconds in which everything that will happen has happened."""


# ----------------------------------------------------------------------------------------------------- to the end


async def iterating(stream: Stream[AgentEvent], heard: list[AgentEvent]) -> None:
    async for event in stream:
        heard.append(event)  # noqa: PERF401 - what came before a failure must stay


async def iterating_slowly(stream: Stream[AgentEvent], heard: list[AgentEvent]) -> None:
    async with stream.iterate(buffer=2) as events:
        async for event in events:
            heard.append(event)
            await asyncio.sleep(1)


async def awaiting(stream: Stream[AgentEvent], heard: list[AgentEvent]) -> None:
    assert await stream.pipe(ops.do_action(heard.append)) is heard[-1]


async def subscribing(stream: Stream[AgentEvent], heard: list[AgentEvent]) -> None:
    ends: list[Exception | None] = []
    stream.subscribe(heard.append, ends.append, lambda: ends.append(None))
    await asyncio.sleep(_EVER)
    [error] = ends
    if error is not None:
        raise error


async def running(stream: Stream[AgentEvent], heard: list[AgentEvent]) -> None:
    with patch("asyncio.new_event_loop", VirtualTimeLoop):
        stream.pipe(ops.do_action(heard.append)).run()


async def piping(stream: Stream[AgentEvent], heard: list[AgentEvent]) -> None:
    async def step(events: AsyncIterator[AgentEvent]) -> AsyncIterator[AgentEvent]:
        async for event in events:
            await asyncio.sleep(0.5)
            yield event

    same: Any = ops.map(lambda event: event)
    piped = stream.pipe(verify_events(strict=True), hook(on_reasoning=same, on_tool_call=same), through(step))
    async for event in piped:
        heard.append(event)  # noqa: PERF401 - what came before a failure must stay


CONSUMERS: tuple[Way, ...] = (iterating, iterating_slowly, awaiting, subscribing, running, piping)
"""Ways to consume a stream to its end."""


# ------------------------------------------------------------------------------------------------ before the end


async def disposing(stream: Stream[AgentEvent], heard: list[AgentEvent], after: int) -> None:
    """Dispose from inside `on_next`; does not wait for the cleanup."""
    subscription, done = SingleAssignmentDisposable(), asyncio.Event()

    def on_next(event: AgentEvent) -> None:
        heard.append(event)
        if len(heard) == after:
            subscription.dispose()
            done.set()

    subscription.disposable = stream.subscribe(on_next, lambda _: done.set(), done.set)
    await done.wait()


async def taking(stream: Stream[AgentEvent], heard: list[AgentEvent], after: int) -> None:
    await stream.pipe(ops.do_action(heard.append), ops.take(after))


async def breaking(stream: Stream[AgentEvent], heard: list[AgentEvent], after: int) -> None:
    """Leave an iteration."""
    async with stream.iterate(buffer=1) as events:
        async for event in events:
            heard.append(event)
            if len(heard) == after:
                break


async def cancelling(stream: Stream[AgentEvent], heard: list[AgentEvent], after: int) -> None:
    """Cancel the task that awaits the stream, from inside `on_next`."""

    def on_next(event: AgentEvent) -> None:
        heard.append(event)
        if len(heard) == after:
            task.cancel()

    async def wait() -> None:
        await stream.pipe(ops.do_action(on_next))

    task = asyncio.create_task(wait())
    await asyncio.wait([task])
    with suppress(asyncio.CancelledError):
        task.result()


LEAVERS: tuple[Way, ...] = (disposing, taking, breaking, cancelling)
"""Ways to leave after a number of events."""


async def disposing_later(stream: Stream[AgentEvent], heard: list[AgentEvent], after: float) -> None:
    """Dispose between two events; does not wait for the cleanup."""
    subscription = stream.subscribe(heard.append, lambda _: None)
    await asyncio.sleep(after)
    subscription.dispose()


async def timing_out(stream: Stream[AgentEvent], heard: list[AgentEvent], after: float) -> None:
    with suppress(TimeoutError):
        async with asyncio.timeout(after):
            await stream.pipe(ops.do_action(heard.append))


async def taking_until(stream: Stream[AgentEvent], heard: list[AgentEvent], after: float) -> None:
    await stream.pipe(ops.take_until(rx.timer(after)), ops.do_action(heard.append))


LEAVERS_AT_TIMES: tuple[Way, ...] = (disposing_later, timing_out, taking_until)
"""Ways to leave after some seconds."""


async def rest() -> None:
    """Wait until nothing is going on any more."""
    if tasks := other_tasks():
        _, left = await asyncio.wait(tasks, timeout=_EVER)
        assert not left
