"""pydantic-ai: `Agent.run_stream_events` over a function model that yields text."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

from pydantic_ai import Agent
from pydantic_ai.models.function import FunctionModel
from stopwatch import time_stream


def prepare(deltas: int, mode: str) -> Callable[[], Awaitable[int]]:
    async def stream(messages: Any, info: Any) -> AsyncIterator[str]:
        for _ in range(deltas):
            yield "word "

    agent = Agent(FunctionModel(stream_function=stream), instructions="You are helpful.")

    async def consume() -> int:
        events = 0
        async with agent.run_stream_events("hi") as run:
            async for _ in run:
                events += 1
        return events

    return consume


if __name__ == "__main__":
    time_stream("pydantic-ai-slim", prepare)
