"""What `Tracing` costs: a reply that is recorded for five exporters which do nothing, beside one that is not."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from functools import partial
from statistics import median

from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor, SpanExporter, SpanExportResult

from agentscope_rx import ReActAgent, Tracing

from .bench import Bench, Effort, Finding, Report, at_most
from .measure import cpu_seconds, in_turns
from .middleware import DELTAS, Model

__all__ = ["BENCH"]

FIVE = 5
BAR = at_most(40, " %")


class NoExporter(SpanExporter):
    """Exports nothing."""

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        return SpanExportResult.SUCCESS


def run(effort: Effort) -> Report:
    """Stream the same reply with and without, in turns, in this process; both have had a reply before."""
    deltas = effort.size(DELTAS, least=50)
    provider = TracerProvider()
    for _ in range(FIVE):
        provider.add_span_processor(SimpleSpanProcessor(NoExporter()))
    replies = {
        "not recorded": _reply(ReActAgent("assistant", Model(deltas))),
        "recorded for five": _reply(ReActAgent("assistant", Model(deltas), middlewares=[Tracing(provider)])),
    }
    for reply in replies.values():
        reply()
    taken = in_turns({name: partial(cpu_seconds, reply) for name, reply in replies.items()}, 3 * effort.rounds)
    cost = {name: median(seconds) / deltas * 1e6 for name, seconds in taken.items()}
    rows = [("", "us of CPU per delta"), *((name, f"{each:.2f}") for name, each in cost.items())]
    bare, recorded = cost.values()
    return Report(rows, [Finding("recording adds", (recorded / bare - 1) * 100, BAR)])


def _reply(agent: ReActAgent) -> Callable[[], None]:
    async def consume() -> None:
        await agent.clear_context()
        async for _ in agent.stream_events("hi"):
            pass

    return lambda: asyncio.run(consume())


BENCH = Bench("tracing", f"a reply of {DELTAS:,} text deltas, recorded for five exporters that do nothing", run)
