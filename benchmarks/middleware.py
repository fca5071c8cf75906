"""The middleware bars: what five middlewares add to the cost of a delta, when they do nothing with it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from functools import partial
from statistics import median
from typing import Any

from reactivex import Observable, operators as ops

from agentscope_rx import AgentEvent, Middleware, ModelChunk, ModelRequest, ReActAgent
from agentscope_rx.middleware import MiddlewareLike
from agentscope_rx.model import TextPiece
from agentscope_rx.operators import hook

from .bench import Bench, Effort, Finding, Report, at_most
from .measure import cpu_seconds, in_turns

__all__ = ["BENCH"]

DELTAS = 20_000
FIVE = 5
PASS_BAR = at_most(5, " %")
MAP_BAR = at_most(30, " %")


class Model:
    """A model in the same process."""

    model_name = "fake"

    def __init__(self, deltas: int) -> None:
        self._deltas = deltas

    async def stream(self, request: ModelRequest) -> AsyncIterator[ModelChunk]:
        for _ in range(self._deltas):
            yield ModelChunk(TextPiece("word "))


class Pass(Middleware):
    """Overrides the hooks that a delta goes through, and passes each stage on as it is."""

    def on_agent(self, agent: Any, context: Any, input: Any, next: Any) -> Observable[AgentEvent]:
        return next(input)

    def on_reasoning(self, agent: Any, context: Any, input: Any, next: Any) -> Observable[AgentEvent]:
        return next(input)

    def on_model_call(self, agent: Any, context: Any, input: Any, next: Any) -> Observable[AgentEvent]:
        return next(input)


CONTENDERS: dict[str, tuple[Sequence[MiddlewareLike], Any]] = {
    "no middleware": ((), None),
    "five that pass their stages on": ([Pass() for _ in range(FIVE)], PASS_BAR),
    "five map hooks on the model call": ([hook(on_model_call=ops.map(lambda event: event))] * FIVE, MAP_BAR),
    "five map hooks on the reasoning": ([hook(on_reasoning=ops.map(lambda event: event))] * FIVE, MAP_BAR),
    "five map hooks on the agent": ([hook(on_agent=ops.map(lambda event: event))] * FIVE, MAP_BAR),
}
"""What is around the stages, and the bar for what it adds."""


def run(effort: Effort) -> Report:
    """Stream the same reply through each, in turns, in this process; every contender has had a reply before."""
    deltas = effort.size(DELTAS, least=50)
    replies = {name: _reply(deltas, middlewares) for name, (middlewares, _) in CONTENDERS.items()}
    for reply in replies.values():
        reply()
    taken = in_turns({name: partial(cpu_seconds, reply) for name, reply in replies.items()}, 3 * effort.rounds)
    cost = {name: median(seconds) / deltas * 1e6 for name, seconds in taken.items()}
    bare = next(iter(cost.values()))
    added = {name: (each / bare - 1) * 100 for name, each in cost.items()}
    rows = [("", "us of CPU per delta", "added, %")]
    rows += [(name, f"{cost[name]:.2f}", f"{added[name]:.1f}") for name in CONTENDERS]
    findings = [Finding(f"{name} add", added[name], bar) for name, (_, bar) in CONTENDERS.items() if bar is not None]
    return Report(rows, findings)


def _reply(deltas: int, middlewares: Sequence[MiddlewareLike]) -> Callable[[], None]:
    agent = ReActAgent("assistant", Model(deltas), middlewares=middlewares)

    async def consume() -> None:
        await agent.clear_context()
        events = 0
        async for _ in agent.stream_events("hi"):
            events += 1
        assert events > deltas

    return lambda: asyncio.run(consume())


BENCH = Bench("middleware", f"a reply of {DELTAS:,} text deltas through five middlewares that do nothing", run)
