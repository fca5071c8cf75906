"""Bar 4: a slow consumer slows the source, and nothing piles up in between."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

from reactivex import operators as ops

from agentscope_rx.event import AgentEvent, TextBlockDeltaEvent
from agentscope_rx.model import ModelChunk, ModelRequest, TextPiece
from agentscope_rx.operators import of_type
from agentscope_rx.stream import Stream, from_async_iterable

from .bench import Bench, Effort, Finding, Report, at_most
from .measure import child

__all__ = ["BENCH"]

EVENTS = 1_000_000
DELTAS = 20_000
BUFFER = 64
MEMORY = at_most(8, " MiB")
LEAD = at_most(BUFFER + 32)
PATIENCE = 10
"""After how many events the consumer gives way, each time long enough for the source to run ahead if it can."""


class Source:
    """What is emitted, and how far it is ahead of the consumer."""

    def __init__(self) -> None:
        self.produced = 0
        self.consumed = 0
        self.lead = 0

    def produce(self) -> None:
        self.produced += 1
        self.lead = max(self.lead, self.produced - self.consumed)

    async def events(self, count: int) -> AsyncIterator[AgentEvent]:
        for _ in range(count):
            self.produce()
            yield TextBlockDeltaEvent(reply_id="r", block_id="b", delta="word ")

    async def consume(self, stream: Stream[Any]) -> None:
        async with stream.iterate(BUFFER) as items:
            async for _ in items:
                self.consumed += 1
                if self.consumed % PATIENCE == 0:
                    await asyncio.sleep(0)


class Model:
    """A model that has no reason to wait."""

    model_name = "fake"

    def __init__(self, source: Source, deltas: int) -> None:
        self._source, self._deltas = source, deltas

    async def stream(self, request: ModelRequest) -> AsyncIterator[ModelChunk]:
        for _ in range(self._deltas):
            self._source.produce()
            yield ModelChunk(TextPiece("word "))


def through_operators(count: int) -> Source:
    """Consume `count` events of an async generator through the seam and some operators."""
    source = Source()
    stream = from_async_iterable(lambda: source.events(count)).pipe(
        of_type(TextBlockDeltaEvent), ops.map(lambda event: event), ops.filter(bool)
    )
    asyncio.run(source.consume(stream))
    return source


def through_an_agent(deltas: int) -> Source:
    """Consume a reply of `deltas` deltas, model and all."""
    from agentscope_rx import ReActAgent

    source = Source()
    asyncio.run(source.consume(ReActAgent("assistant", Model(source, deltas)).stream_events("hi")))
    return source


def measured(events: int, deltas: int) -> dict[str, float]:
    """What a process that does nothing else says of itself."""
    through_operators(min(events, 10_000))
    before = _peak_memory()
    lead = through_operators(events).lead
    return {"memory": _peak_memory() - before, "lead": lead, "agent_lead": through_an_agent(deltas).lead}


def _peak_memory() -> float:
    """The most memory that this process has ever held, in MiB."""
    status = Path("/proc/self/status")
    if status.exists():
        (line,) = (line for line in status.read_text("ascii").splitlines() if line.startswith("VmHWM:"))
        return int(line.split()[1]) / 1024
    import resource

    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (1 << 20 if sys.platform == "darwin" else 1 << 10)


def run(effort: Effort) -> Report:
    """Consume slowly, in a process of its own."""
    events, deltas = effort.size(EVENTS, least=1_000), effort.size(DELTAS, least=1_000)
    found = child(["-m", __name__, str(events), str(deltas)])
    rows = [
        ("", "items", "lead of the source", "extra memory"),
        ("generator, three operators, slow consumer", f"{events:,}", f"{found['lead']}", f"{found['memory']:.1f} MiB"),
        ("model, agent, slow consumer", f"{deltas:,}", f"{found['agent_lead']}", ""),
    ]
    return Report(
        rows,
        [
            Finding("extra memory", found["memory"], MEMORY),
            Finding("lead of the source", found["lead"], LEAD),
            Finding("lead of a model", found["agent_lead"], LEAD),
        ],
    )


BENCH = Bench("slow_consumer", f"{EVENTS:,} events to a consumer with a buffer of {BUFFER} that gives way", run)

if __name__ == "__main__":
    print(json.dumps(measured(*map(int, sys.argv[1:]))))
