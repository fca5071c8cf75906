"""Laws L4, L5 and L6 on operators: random streams through random chains, to consumers that are slow or leave."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import reactivex as rx
from hypothesis import given, strategies as st
from reactivex import operators as ops

from agentscope_rx.event import (
    AgentEvent,
    TextBlockDeltaEvent,
    ThinkingBlockDeltaEvent,
    ToolCallDeltaEvent,
    ToolResultTextDeltaEvent,
)
from agentscope_rx.operators import (
    Stage,
    accumulate_text,
    decode_sse,
    encode_sse,
    from_source,
    group_by_block,
    hook,
    of_reply,
    of_type,
    redact,
    scan_message,
    stage,
    stall_timeout,
    to_message,
    verify_events,
)
from agentscope_rx.stream import Stream, from_async_iterable, through
from tests.counting import calls_of
from tests.strategies import streams
from tests.virtual_time import in_virtual_time, other_tasks


class Same(Stage[Any, Any]):
    def on_next(self, item: Any, /) -> list[Any]:
        return [item]


async def same(items: AsyncIterator[Any]) -> AsyncIterator[Any]:
    async for item in items:
        yield item


_SAME = ops.map(lambda event: event)

STEPS: dict[str, tuple[Callable[[], Any], int]] = {
    "verify_events": (verify_events, 0),
    "hook on_reasoning": (lambda: hook(on_reasoning=_SAME), 64),
    "hook on_agent and on_tool_call": (lambda: hook(on_agent=_SAME, on_tool_call=_SAME), 64),
    "stage": (lambda: stage(Same), 0),
    "by JSON": (lambda: lambda events: events.pipe(encode_sse(), decode_sse()), 0),
    "stall_timeout": (lambda: stall_timeout(1_000_000), 0),
    "through": (lambda: through(same, buffer=4), 4),
}
"""Operators that give the events that they take, and how many may wait inside."""

ENDS: dict[str, Callable[[], Any]] = {
    "the events": lambda: ops.map(lambda event: event),
    "of_type": lambda: of_type(TextBlockDeltaEvent),
    "of_reply": lambda: of_reply("reply-main"),
    "from_source": lambda: from_source("main/child"),
    "accumulate_text": lambda: lambda events: events.pipe(accumulate_text(), ops.map(lambda item: item.text)),
    "to_message": to_message,
    "scan_message": lambda: lambda events: events.pipe(scan_message(), ops.map(lambda view: view.event.id)),
    "group_by_block": lambda: lambda events: events.pipe(group_by_block(), ops.merge_all()),
    "encode_sse": encode_sse,
    "redact": lambda: (
        lambda events: events.pipe(
            redact("hello|a", max_length=8), ops.map(lambda e: (e.type, getattr(e, "delta", "")))
        )
    ),
}
"""What they may be followed by."""


@dataclass(frozen=True)
class Chain:
    """Operators, one after the other."""

    steps: tuple[str, ...]
    end: str

    def pipe(self, source: Any) -> Any:
        return source.pipe(*(STEPS[step][0]() for step in self.steps), ENDS[self.end]())

    @property
    def room(self) -> int:
        """How many events may wait in it."""
        return sum(STEPS[step][1] for step in self.steps)

    async def of(self, events: Sequence[AgentEvent]) -> list[Any]:
        """What comes out of it for a consumer that is not slow."""
        return await Stream(rx.from_iterable(events).pipe(self.pipe, ops.to_list()))


ON_LOOP = {"stall_timeout", "through"}
"""Those that need an event loop."""


def chains(steps: Iterable[str], ends: Iterable[str]) -> st.SearchStrategy[Chain]:
    return st.builds(
        Chain, st.lists(st.sampled_from(tuple(steps)), max_size=3).map(tuple), st.sampled_from(tuple(ends))
    )


CHAINS = chains(STEPS, ENDS)
COUNTABLE = chains(sorted(STEPS.keys() - ON_LOOP), sorted(ENDS.keys() - {"redact"}))
"""Whose work for a delta is always the same: without a loop, and without what `redact` holds back at first."""
PAUSES = st.sampled_from((0, 1))


class Source:
    """A cold source that counts what is pulled from it, and what is open."""

    def __init__(self, events: Sequence[AgentEvent]) -> None:
        self._events = events
        self.pulled = self.open = 0

    def stream(self) -> Stream[AgentEvent]:
        return from_async_iterable(self._pull)

    async def _pull(self) -> AsyncIterator[AgentEvent]:
        self.open += 1
        try:
            for event in self._events:
                self.pulled += 1
                yield event
        finally:
            self.open -= 1


# --------------------------------------------------------------------------------------------------- L4, linear cost

DELTAS = (TextBlockDeltaEvent, ThinkingBlockDeltaEvent, ToolCallDeltaEvent, ToolResultTextDeltaEvent)


@given(streams(), COUNTABLE)
def test_l4_a_delta_more_is_the_same_work_more_for_every_operator(events: list[Any], chain: Chain) -> None:
    def work(times: int) -> int:
        longer = [event for event in events for _ in range(times if isinstance(event, DELTAS) else 1)]
        bare = [event.model_copy(update={"seq": None}) for event in longer]
        return calls_of(lambda: rx.from_iterable(bare).pipe(chain.pipe).subscribe(lambda _: None))

    work(1)
    one, two, four = map(work, (2, 4, 8))
    assert four - two == 2 * (two - one)


# ------------------------------------------------------------------------------------------------ L5, back-pressure


@given(streams(), CHAINS, st.integers(1, 8), PAUSES)
def test_l5_a_slow_consumer_slows_the_source_through_every_operator_and_misses_nothing(
    events: list[AgentEvent], chain: Chain, buffer: int, pause: float
) -> None:
    source, given_out, taken = Source(events), list[Any](), list[Any]()
    whole = chain.end == "the events"

    async def consume() -> None:
        stream = Stream(source.stream().pipe(chain.pipe, ops.do_action(given_out.append)))
        async with stream.iterate(buffer) as items:
            async for item in items:
                taken.append(item)
                await asyncio.sleep(pause)
                now = items.statistics()
                assert now.buffered == len(given_out) - len(taken) <= now.peak
                assert not whole or source.pulled <= len(taken) + buffer + chain.room + len(chain.steps) + 1

        assert taken == await chain.of(events)

    in_virtual_time(consume)


# ------------------------------------------------------------------------------------------ L6, cancelling is total


@given(streams(), CHAINS, st.integers(1, 40), PAUSES, PAUSES)
def test_l6_who_leaves_takes_the_whole_chain_along_and_another_subscriber_hears_it_all(
    events: list[AgentEvent], chain: Chain, when: int, pause: float, other_pause: float
) -> None:
    source = Source(events)
    stream = Stream(source.stream().pipe(chain.pipe))
    left: list[Any] = []
    stayed: list[Any] = []

    async def leave() -> None:
        async with stream.iterate(buffer=2) as items:
            async for item in items:
                left.append(item)
                if len(left) == when:
                    break
                await asyncio.sleep(pause)

    async def stay() -> None:
        async for item in stream.iterate(buffer=2):
            stayed.append(item)
            await asyncio.sleep(other_pause)

    async def main() -> None:
        await asyncio.gather(leave(), stay())
        assert source.open == 0
        assert not other_tasks()
        expected = await chain.of(events)
        assert stayed == expected
        assert left == expected[:when]

    in_virtual_time(main)
