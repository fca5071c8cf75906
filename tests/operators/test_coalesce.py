"""`coalesce`: fewer deltas for a slow consumer, and every character."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from typing import Any, ClassVar

import pytest
from hypothesis import given, settings

from agentscope_rx import MessageBuilder, Stream, from_async_iterable
from agentscope_rx.errors import ConfigurationError
from agentscope_rx.event import AgentEvent, TextBlockDeltaEvent
from agentscope_rx.operators import coalesce

from ..strategies import streams
from .contract import OperatorContract
from .script import answer, end, interleaved, model_end, model_start, numbered, start, text, thinking


class TestContract(OperatorContract):
    operator: ClassVar = staticmethod(coalesce)
    events: ClassVar = answer("Hello")
    expected: ClassVar = list(enumerate(events, 1))


class Source:
    """Counts what was pulled."""

    def __init__(self, events: Sequence[AgentEvent]) -> None:
        self.pulled = 0
        self._events = events

    async def __call__(self) -> AsyncIterator[AgentEvent]:
        for event in self._events:
            self.pulled += 1
            yield event
            await asyncio.sleep(0)


def long_text(count: int, piece: str = "ab") -> list[AgentEvent]:
    return numbered([start(), model_start(), *text("t1", *([piece] * count)), model_end(), end()])


async def slowly(source: Source, *, buffer: int = 1, turns: int = 50, **options: Any) -> list[AgentEvent]:
    got: list[AgentEvent] = []
    stream = Stream(from_async_iterable(source).pipe(coalesce(**options)))
    async with stream.iterate(buffer=buffer) as items:
        async for event in items:
            got.append(event)
            for _ in range(turns):
                await asyncio.sleep(0)
    return got


def test_deltas_of_one_block_are_joined_while_the_consumer_is_behind() -> None:
    events = long_text(500)
    got = asyncio.run(slowly(Source(events)))
    deltas = [event for event in got if isinstance(event, TextBlockDeltaEvent)]
    assert len(deltas) < 100
    assert "".join(event.delta for event in deltas) == "ab" * 500
    assert deltas[-1].seq == 503
    assert [event.type for event in got[-3:]] == ["TEXT_BLOCK_END", "MODEL_CALL_END", "AGENT_END"]


def test_a_consumer_that_keeps_up_gets_every_event_as_it_is() -> None:
    events = long_text(50)

    async def main() -> list[AgentEvent]:
        return [event async for event in Stream(from_async_iterable(Source(events)).pipe(coalesce()))]

    assert asyncio.run(main()) == events


def test_the_source_is_paused_when_max_chars_wait() -> None:
    source = Source(long_text(5000))

    async def main() -> int:
        stream = Stream(from_async_iterable(source).pipe(coalesce(max_chars=100)))
        async with stream.iterate(buffer=1) as items:
            await anext(items)
            for _ in range(2000):
                await asyncio.sleep(0)
            return source.pulled

    assert asyncio.run(main()) <= 3 + 50 + 4


def test_blocks_are_not_mixed() -> None:
    events = numbered(
        [start(), model_start(), *interleaved(text("a", *"xxxxxxxx"), thinking("b", *"yyyyyyyy")), model_end(), end()]
    )
    got = asyncio.run(slowly(Source(events)))
    assert "".join(e.delta for e in got if e.type == "TEXT_BLOCK_DELTA") == "xxxxxxxx"  # type: ignore[union-attr]
    assert "".join(e.delta for e in got if e.type == "THINKING_BLOCK_DELTA") == "yyyyyyyy"  # type: ignore[union-attr]


@settings(max_examples=25)
@given(streams())
def test_the_message_is_the_same(stream: list[AgentEvent]) -> None:
    whole, joined = MessageBuilder(), MessageBuilder()
    for event in stream:
        whole.apply(event)
    for event in asyncio.run(slowly(Source(stream), turns=5)):
        joined.apply(event)
    assert joined.message() == whole.message()


def test_an_error_comes_after_what_waits() -> None:
    async def broken() -> AsyncIterator[AgentEvent]:
        for event in long_text(50)[:40]:
            yield event
            await asyncio.sleep(0)
        raise ValueError("broken")

    async def main() -> str:
        got: list[AgentEvent] = []
        stream = Stream(from_async_iterable(broken).pipe(coalesce()))
        try:
            async with stream.iterate(buffer=1) as items:
                async for event in items:
                    got.append(event)
                    for _ in range(20):
                        await asyncio.sleep(0)
        except ValueError:
            return "".join(event.delta for event in got if isinstance(event, TextBlockDeltaEvent))
        raise AssertionError("no error")

    assert asyncio.run(main()) == "ab" * 37


def test_dispose_while_behind_leaves_no_task() -> None:
    async def main() -> None:
        before = asyncio.all_tasks()
        stream = Stream(from_async_iterable(Source(long_text(5000))).pipe(coalesce()))
        async with stream.iterate(buffer=1) as items:
            for _ in range(5):
                await anext(items)
                for _ in range(50):
                    await asyncio.sleep(0)
        assert asyncio.all_tasks() == before

    asyncio.run(main())


def test_max_chars_must_be_positive() -> None:
    with pytest.raises(ConfigurationError):
        coalesce(0)
