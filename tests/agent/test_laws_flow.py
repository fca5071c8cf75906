"""Laws L4 and L5 on an agent: an event more is the same work more, and a slow consumer slows what it listens to."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from typing import Any

from hypothesis import given, strategies as st
from reactivex import operators as ops

from agentscope_rx import (
    AgentEvent,
    ModelCallStartEvent,
    ModelError,
    StreamStatistics,
    ToolCallStartEvent,
    ToolResultTextDeltaEvent,
    UserMessage,
)
from agentscope_rx.testing import TurnItem, assert_valid_stream, data, text, thinking, tool_call
from tests.counting import counting
from tests.virtual_time import in_virtual_time

from .playing import Play
from .scenarios import Scenario, Turn, scenarios

# --------------------------------------------------------------------------------------------------- L4, linear cost

SHAPES: dict[str, Callable[[int], list[TurnItem]]] = {
    "text": lambda n: [text("word ")] * n,
    "thinking": lambda n: [thinking("hm ")] * n,
    "data": lambda n: [data("image/png", b"12345")] * n,
    "arguments": lambda n: [tool_call("speak", {"pieces": ["sixteen letters " * n], "pause": 0}, pieces=n)],
    "output": lambda n: [tool_call("repeat", {"times": n})],
}
"""What comes in n pieces."""

ONCE = {
    *("str.join", "bytes.join", "bytearray.join", "loads", "dumps", "JSONEncoder.encode", "JSONDecoder.decode"),
    *("b2a_base64", "b64encode", "MessageBuilder.message", "MessageBuilder.snapshot", "BaseModel.model_copy"),
}
"""Joins, parses and encodes: what is done for a block, and never for a delta."""


@given(st.lists(st.sampled_from(sorted(SHAPES)), min_size=1, max_size=2), st.sampled_from((1, 50)))
def test_l4_a_delta_more_is_the_same_work_more_however_long_the_history(shapes: list[str], history: int) -> None:
    for before in (history, 0):
        work(shapes, 4, before)  # builds what is made when it is first needed
    one, two, four = (work(shapes, n, history) for n in (4, 8, 16))
    assert {name: two[name] for name in ONCE} == {name: four[name] for name in ONCE}
    # A busy machine makes the loop go round a few times more or less.
    assert four.total() - two.total() < 2.5 * (two.total() - one.total())
    short = work(shapes, 16, 0).total() - work(shapes, 8, 0).total()
    assert abs(four.total() - two.total() - short) < 0.15 * short


def work(shapes: Iterable[str], n: int, history: int) -> Counter[str]:
    """What is called for a reply in which each of the shapes comes in `n` pieces."""
    play = Play(Scenario((Turn(tuple(item for shape in shapes for item in SHAPES[shape](n))),)))

    async def main() -> Counter[str]:
        await play.agent.observe([UserMessage("earlier")] * history, play.context)
        async with play.agent.stream_events("go", play.context).iterate(buffer=4) as events:
            with counting() as calls:
                async for _ in events:
                    pass
        return calls

    return in_virtual_time(main)


# ------------------------------------------------------------------------------------------------ L5, back-pressure

TOOL_BUFFER = 64
"""How many pieces a tool may be ahead."""


@given(scenarios(), st.integers(1, 8), st.sampled_from((0, 0.0005, 1)))
def test_l5_a_slow_consumer_slows_the_agent_and_misses_nothing(scenario: Scenario, buffer: int, pause: float) -> None:
    play = Play(scenario)
    published: list[Any] = []
    taken: list[Any] = []

    async def consume() -> StreamStatistics:
        stream = play.agent.stream_events("go", play.context).pipe(ops.do_action(published.append))
        async with stream.iterate(buffer) as events:
            with suppress(ModelError):
                async for event in events:
                    taken.append(event)
                    await asyncio.sleep(pause)
                    check_statistics(events.statistics(), buffer, len(published) - len(taken))
                    check_lead(play, published)
            return events.statistics()

    end = in_virtual_time(consume)
    assert taken == published
    assert_valid_stream(taken)
    # Beyond the limit there is one event of each call that runs, and at a failure what closes everything at once.
    at_once = calls_at_once(taken)
    assert end.peak <= buffer + at_once + (3 * at_once + 2 if play.model.raised else 0)


def check_statistics(now: StreamStatistics, limit: int, waiting: int) -> None:
    """They say how full the buffer is."""
    assert (now.limit, now.buffered) == (limit, waiting)
    assert now.peak >= waiting
    assert now.gate_closed or waiting < limit
    assert not now.gate_closed or waiting > limit // 2


def check_lead(play: Play, published: Sequence[Any]) -> None:
    """Neither the model nor a tool is far ahead of what is published."""
    assert play.model.said <= len(published) + play.scenario.silent + len(play.model.requests)
    if play.workshop.given:
        pieces = sum(isinstance(event, ToolResultTextDeltaEvent) for event in published)
        assert play.workshop.given <= pieces + (TOOL_BUFFER + 1) * calls_at_once(published)


def calls_at_once(events: Iterable[AgentEvent]) -> int:
    """The most calls of one turn, at least 1."""
    most = calls = 1
    for event in events:
        calls = 0 if isinstance(event, ModelCallStartEvent) else calls + isinstance(event, ToolCallStartEvent)
        most = max(most, calls)
    return most
