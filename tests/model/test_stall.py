"""The stall watchdog on a loop whose clock the test moves."""

from __future__ import annotations

import asyncio
import math
from collections.abc import AsyncGenerator, Coroutine
from typing import Any

import pytest

from agentscope_rx.errors import ModelStallError
from agentscope_rx.model.stall import StallWatchdog


class VirtualLoop(asyncio.SelectorEventLoop):
    """Time stands still while anything is ready, and jumps to the next timer when nothing is."""

    def __init__(self) -> None:
        super().__init__()
        self.now = 0.0
        self.timers = 0
        select = self._selector.select  # type: ignore[attr-defined]

        def jump(timeout: float | None) -> Any:
            if timeout:
                self.now += timeout
                timeout = 0
            return select(timeout)

        self._selector.select = jump  # type: ignore[attr-defined]

    def time(self) -> float:
        return self.now

    def call_at(self, when: float, callback: Any, *args: Any, context: Any = None) -> asyncio.TimerHandle:
        self.timers += 1
        return super().call_at(when, callback, *args, context=context)


def run(main: Coroutine[Any, Any, None]) -> VirtualLoop:
    loop = VirtualLoop()
    with asyncio.Runner(loop_factory=lambda: loop) as runner:
        runner.run(main)
    return loop


async def every(seconds: float, times: int) -> AsyncGenerator[int, None]:
    for number in range(times):
        await asyncio.sleep(seconds)
        yield number


def test_silence_for_the_limit_is_a_stall_and_closes_the_source() -> None:
    closed = []

    async def silent() -> AsyncGenerator[int, None]:
        try:
            yield 1
            await asyncio.sleep(math.inf)
        finally:
            closed.append(asyncio.get_running_loop().time())

    async def main() -> None:
        watchdog = StallWatchdog(10)
        items: list[int] = []

        async def consume() -> None:
            async for item in watchdog.watch(silent()):
                items.append(item)
                watchdog.progress()

        with pytest.raises(ModelStallError, match="10 seconds") as caught:
            await consume()
        assert (items, caught.value.seconds, closed) == ([1], 10, [10])
        task = asyncio.current_task()
        assert task is not None
        assert task.cancelling() == 0

    run(main())


def test_items_without_progress_do_not_set_the_clock_back() -> None:
    async def main() -> None:
        with pytest.raises(ModelStallError):
            async for _ in StallWatchdog(10).watch(every(3, times=100)):
                pass
        assert asyncio.get_running_loop().time() == 10

    run(main())


def test_progress_sets_the_clock_back_and_there_is_one_timer_for_many_items() -> None:
    async def main() -> None:
        watchdog = StallWatchdog(10)
        async for _ in watchdog.watch(every(0.01, times=3000)):
            watchdog.progress()

    loop = run(main())
    assert round(loop.now) == 30
    assert loop.timers - 3000 <= 5, "the sleeps of the source, and one timer of the watchdog for each ten seconds"


def test_the_time_of_the_consumer_does_not_count() -> None:
    async def main() -> None:
        numbers = []
        async for number in StallWatchdog(10).watch(every(2, times=4)):
            numbers.append(number)
            await asyncio.sleep(100)
        assert numbers == [0, 1, 2, 3]

    assert run(main()).timers < 30


def test_only_the_reads_since_the_last_progress_count() -> None:
    async def main() -> None:
        watchdog = StallWatchdog(10)

        async def consume() -> None:
            async for number in watchdog.watch(every(4, times=100)):
                await asyncio.sleep(50)
                if number == 1:
                    watchdog.progress()

        with pytest.raises(ModelStallError):
            await consume()
        assert asyncio.get_running_loop().time() == 2 * (4 + 50) + 2 * (4 + 50) + 2

    run(main())


def test_hurry_shortens_the_limit_once_and_never_lengthens_it() -> None:
    async def main() -> None:
        watchdog = StallWatchdog(10)

        async def consume() -> None:
            async for number in watchdog.watch(every(1, times=100)):
                if number >= 3:
                    watchdog.hurry(2.5)
                watchdog.hurry(1000)

        with pytest.raises(ModelStallError) as caught:
            await consume()
        assert caught.value.seconds == 2.5
        assert asyncio.get_running_loop().time() == 4 + 2.5

    run(main())


def test_infinity_switches_it_off() -> None:
    async def main() -> None:
        assert [number async for number in StallWatchdog(math.inf).watch(every(1e6, times=3))] == [0, 1, 2]

    assert run(main()).timers == 3


def test_a_cancel_from_elsewhere_stays_a_cancel_even_in_the_moment_of_the_stall() -> None:
    async def main() -> None:
        for delay in (3, 10):
            task = asyncio.ensure_future(anext(StallWatchdog(10).watch(every(math.inf, times=1))))
            await asyncio.sleep(0)
            asyncio.get_running_loop().call_later(delay, task.cancel)
            with pytest.raises(asyncio.CancelledError):
                await task

    run(main())


def test_an_error_of_the_source_comes_through() -> None:
    async def broken() -> AsyncGenerator[int, None]:
        yield 1
        raise LookupError("mine")

    async def main() -> None:
        with pytest.raises(LookupError, match="mine"):
            async for _ in StallWatchdog(10).watch(broken()):
                pass

    run(main())


def test_leaving_closes_the_source_and_the_timer() -> None:
    closed = []

    async def source() -> AsyncGenerator[int, None]:
        try:
            while True:
                yield 1
        finally:
            closed.append(True)

    async def main() -> None:
        items = StallWatchdog(10).watch(source())
        await anext(items)
        await items.aclose()
        assert closed == [True]

    assert run(main()).now == 0
