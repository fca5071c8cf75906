from __future__ import annotations

import asyncio
import contextvars
from collections.abc import AsyncIterator
from typing import Any

import pytest
import reactivex as rx
from reactivex import Observable, operators as ops

from agentscope_rx.errors import BufferOverflowError
from agentscope_rx.stream import LoopScheduler, Stream, through

from .sources import Source
from .watching import Watcher, other_tasks, run, until


async def doubled(items: AsyncIterator[int]) -> AsyncIterator[int]:
    async for item in items:
        await asyncio.sleep(0)
        yield item * 2


def test_one_to_one_and_one_to_many_and_many_to_one() -> None:
    async def pairs(items: AsyncIterator[int]) -> AsyncIterator[int]:
        async for item in items:
            yield item
            yield item

    async def total(items: AsyncIterator[int]) -> AsyncIterator[int]:
        yield sum([item async for item in items])

    async def main() -> None:
        stream = Source(3).stream().pipe(through(doubled), through(pairs))
        assert [item async for item in stream] == [0, 0, 2, 2, 4, 4]
        assert await stream.pipe(through(total)) == 12
        assert not other_tasks()

    run(main)


def test_it_is_an_operator_for_any_observable_and_subscribers_are_independent() -> None:
    async def main() -> None:
        stream = rx.of(1, 2, 3).pipe(through(doubled))
        assert isinstance(stream, Stream)
        assert [[item async for item in stream] for _ in range(2)] == [[2, 4, 6]] * 2

    run(main)


def test_an_error_of_the_source_is_raised_inside_the_step() -> None:
    async def recovering(items: AsyncIterator[int]) -> AsyncIterator[Any]:
        try:
            async for item in items:
                yield item
        except KeyError:
            yield "recovered"

    async def main() -> None:
        failing = rx.concat(rx.of(1), rx.throw(KeyError()))
        assert [item async for item in failing.pipe(through(recovering))] == [1, "recovered"]
        with pytest.raises(KeyError):
            await failing.pipe(through(doubled))

    run(main)


def test_an_error_of_the_step_disposes_the_source() -> None:
    async def failing(items: AsyncIterator[int]) -> AsyncIterator[int]:
        async for _ in items:
            raise ZeroDivisionError
        yield 0

    async def main() -> None:
        source, watcher = Source(10, idle=True), Watcher()
        source.stream().pipe(through(failing)).subscribe(watcher)
        assert isinstance(await watcher.end(), ZeroDivisionError)
        assert source.log == ["source cleaned"]
        assert not other_tasks()

    run(main)


def test_a_step_that_has_enough_ends_the_stream_and_the_source() -> None:
    async def first(items: AsyncIterator[int]) -> AsyncIterator[int]:
        yield await anext(items)

    async def main() -> None:
        source = Source(1_000_000)
        assert await source.stream().pipe(through(first)) == 0
        assert source.log == ["source cleaned"]

    run(main)


def test_dispose_leaves_the_step_and_then_the_source() -> None:
    async def main() -> None:
        log: list[str] = []

        async def step(items: AsyncIterator[int]) -> AsyncIterator[int]:
            try:
                async for item in items:
                    yield item
            finally:
                await asyncio.sleep(0.001)
                log.append("step cleaned")

        for take in (1, 3):  # parked at its yield; waiting for the source
            log.clear()
            source, watcher = Source(2, idle=True, log=log), Watcher()
            scheduler = LoopScheduler(asyncio.get_running_loop())
            stream = source.stream().pipe(through(step), ops.take(take))
            subscription = stream.subscribe(watcher, scheduler=scheduler)
            await until(lambda watcher=watcher, take=take: len(watcher.items) == min(take, 2))  # type: ignore[misc]
            await asyncio.sleep(0.002)
            subscription.dispose()
            await scheduler.joined()
            assert sorted(log) == ["source cleaned", "step cleaned"]
            assert not other_tasks()

    run(main)


def test_it_is_bounded_on_both_sides() -> None:
    async def main() -> None:
        source, taken, stepped = Source(2000), 0, 0
        step_lead = source_lead = 0

        async def step(items: AsyncIterator[int]) -> AsyncIterator[int]:
            nonlocal stepped
            async for item in items:
                stepped += 1
                yield item

        async for _ in source.stream().pipe(through(step, buffer=8)).iterate(16):
            taken += 1
            step_lead = max(step_lead, stepped - taken)
            source_lead = max(source_lead, source.pulled - stepped)
            await asyncio.sleep(0)
        assert taken == 2000
        assert step_lead <= 16 + 1
        assert source_lead <= 8 + 1

    run(main)


def test_a_source_that_cannot_pause_overflows() -> None:
    async def main() -> None:
        stream = rx.from_iterable(range(100_000)).pipe(through(doubled))
        with pytest.raises(BufferOverflowError):
            await stream

    run(main)


def test_the_source_sees_the_context_and_the_contextvars_of_the_subscriber() -> None:
    async def main() -> None:
        span: contextvars.ContextVar[str] = contextvars.ContextVar("span", default="none")

        def source(observer: Any, scheduler: Any = None) -> Any:
            return rx.of((scheduler.context, span.get())).subscribe(observer, scheduler=scheduler)

        async def same(items: AsyncIterator[Any]) -> AsyncIterator[Any]:
            async for item in items:
                yield item

        watcher = Watcher()
        token = span.set("subscriber")
        scheduler = LoopScheduler(asyncio.get_running_loop(), context={"session": "s1"})
        Observable(source).pipe(through(same)).subscribe(watcher, scheduler=scheduler)
        span.reset(token)
        await watcher.end()
        assert watcher.items == [({"session": "s1"}, "subscriber")]

    run(main)
