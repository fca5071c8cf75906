"""Properties of every stream that can be built of the parts of the seam, left at any moment in any way."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest
import reactivex as rx
from hypothesis import given, strategies as st
from reactivex import Observable, operators as ops

from agentscope_rx.stream import (
    FifoLock,
    LoopScheduler,
    Stream,
    concat_stages,
    from_async_iterable,
    through,
    using_async,
)

from .watching import Watcher, other_tasks, reports, run


class Ledger:
    """Counts what has been opened and not closed again."""

    def __init__(self) -> None:
        self.open = 0
        self.lock = FifoLock()

    @asynccontextmanager
    async def entry(self, pause: int) -> AsyncIterator[None]:
        self.open += 1
        try:
            for _ in range(pause):
                await asyncio.sleep(0)
            yield
        finally:
            try:  # a dispose may meet a generator that is already leaving, and cancels it there
                for _ in range(pause):
                    await asyncio.sleep(0)
            finally:
                self.open -= 1

    def pump(self, n: int, pause: int, end: str) -> Stream[int]:
        async def items() -> AsyncIterator[int]:
            async with self.entry(pause):
                for i in range(n):
                    yield i
                    for _ in range(pause):
                        await asyncio.sleep(0)
                if end == "fail":
                    raise ValueError("planned")
                if end == "idle":
                    await asyncio.Event().wait()

        return from_async_iterable(items)

    def stages(self, parts: list[Stream[int]], forgiving: bool) -> Stream[Any]:
        def generator() -> Any:
            self.open += 1
            try:
                yield -1
                for part in parts:
                    try:
                        yield part
                    except ValueError:
                        if not forgiving:
                            raise
            finally:
                self.open -= 1

        return concat_stages(generator)

    def scope(self, body: Stream[int], pause: int, locked: bool) -> Stream[int]:
        @asynccontextmanager
        async def resource() -> AsyncIterator[None]:
            async with self.lock if locked else contextlib.nullcontext(), self.entry(pause):
                yield

        return using_async(resource, lambda _: body)

    def step(self, source: Stream[int], buffer: int) -> Stream[int]:
        async def same(items: AsyncIterator[int]) -> AsyncIterator[int]:
            async with self.entry(1):
                async for item in items:
                    yield item

        return source.pipe(through(same, buffer))


Build = Callable[[Ledger], Stream[Any]]
small = st.integers(0, 3)

pumps: st.SearchStrategy[Build] = st.builds(
    lambda n, pause, end: lambda ledger: ledger.pump(n, pause, end),
    st.integers(0, 6),
    small,
    st.sampled_from(["complete", "complete", "fail", "idle"]),
)
plain: st.SearchStrategy[Build] = st.builds(lambda n: lambda _: Stream(rx.from_iterable(range(n))), small)


def grown(parts: st.SearchStrategy[Build]) -> st.SearchStrategy[Build]:
    several, yes = st.lists(parts, max_size=3), st.booleans()
    return st.one_of(
        st.builds(lambda ps, f: lambda ledger: ledger.stages([p(ledger) for p in ps], f), several, yes),
        st.builds(
            lambda p, pause, lock: lambda ledger: ledger.scope(p(ledger), pause, lock), parts, small, st.booleans()
        ),
        st.builds(lambda p, buffer: lambda ledger: ledger.step(p(ledger), buffer), parts, st.integers(1, 4)),
        st.builds(lambda ps: lambda ledger: Stream(rx.merge(*[p(ledger) for p in ps])), several),
        st.builds(lambda p: lambda ledger: p(ledger).pipe(ops.map(lambda x: x)), parts),
        st.builds(lambda p, n: lambda ledger: p(ledger).pipe(ops.take(n)), parts, st.integers(1, 3)),
    )


streams = st.recursive(pumps | plain, grown, max_leaves=6)
moments = st.integers(0, 25)


def only_planned(reported: list[dict[str, Any]]) -> bool:
    """Whether nothing was reported but failures that a dispose met before they were told."""
    return all(str(report["exception"]) == "planned" for report in reported)


async def pass_by(steps: int) -> None:
    for _ in range(steps):
        await asyncio.sleep(0)


@given(streams, moments)
def test_dispose_at_any_moment_is_silent_and_total(build: Build, moment: int) -> None:
    async def main() -> None:
        ledger, watcher, reported = Ledger(), Watcher(), reports()
        scheduler = LoopScheduler(asyncio.get_running_loop())
        subscription = build(ledger).subscribe(watcher, scheduler=scheduler)
        await pass_by(moment)
        subscription.dispose()
        heard = len(watcher.items), len(watcher.ends)
        await scheduler.joined()
        assert ledger.open == 0
        assert not ledger.lock.locked
        assert not other_tasks()
        assert only_planned(reported)
        assert (len(watcher.items), len(watcher.ends)) == heard
        assert heard[1] <= 1

    run(main)


@given(streams, moments, st.integers(1, 5), moments)
def test_an_iterator_left_at_any_moment_leaves_nothing(build: Build, taken: int, buffer: int, moment: int) -> None:
    async def main() -> None:
        ledger, reported = Ledger(), reports()

        async def consume() -> None:
            async with build(ledger).iterate(buffer) as iterator:
                for _ in range(taken):
                    await anext(iterator, None)
                    await asyncio.sleep(0)

        task = asyncio.create_task(consume())
        await pass_by(moment)
        task.cancel()
        await asyncio.wait([task])
        assert task.cancelled() or task.exception() is None or str(task.exception()) == "planned"
        assert ledger.open == 0
        assert not ledger.lock.locked
        assert not other_tasks()
        assert only_planned(reported)

    run(main)


@given(streams, moments)
def test_await_cancelled_at_any_moment_leaves_nothing(build: Build, moment: int) -> None:
    async def main() -> None:
        ledger, reported = Ledger(), reports()

        async def consume() -> Any:
            return await build(ledger)

        task = asyncio.create_task(consume())
        await pass_by(moment)
        task.cancel()
        await asyncio.wait([task])
        assert task.cancelled() or task.exception() is None or str(task.exception()) == "planned"
        assert ledger.open == 0
        assert not ledger.lock.locked
        assert not other_tasks()
        assert only_planned(reported)

    run(main)


@given(streams, moments)
def test_the_end_of_the_loop_at_any_moment_cleans_up(build: Build, moment: int) -> None:
    ledger, watcher = Ledger(), Watcher()

    async def main() -> None:
        observable: Observable[Any] = build(ledger)
        observable.subscribe(watcher, scheduler=LoopScheduler(asyncio.get_running_loop()))
        await pass_by(moment)

    asyncio.run(main())
    assert ledger.open == 0
    assert not ledger.lock.locked
    assert len(watcher.ends) == 1


@pytest.mark.skipif(not hasattr(asyncio, "eager_task_factory"), reason="needs Python 3.12")
@given(streams, moments)
def test_tasks_may_be_eager(build: Build, moment: int) -> None:
    async def main() -> None:
        ledger, watcher, reported = Ledger(), Watcher(), reports()
        loop = asyncio.get_running_loop()
        loop.set_task_factory(asyncio.eager_task_factory)  # type: ignore[attr-defined, unused-ignore]
        scheduler = LoopScheduler(loop)
        subscription = build(ledger).subscribe(watcher, scheduler=scheduler)
        await pass_by(moment)
        subscription.dispose()
        await scheduler.joined()
        assert ledger.open == 0
        assert not ledger.lock.locked
        assert only_planned(reported)

    run(main)
