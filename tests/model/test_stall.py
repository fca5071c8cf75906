"""The stall watchdog on a loop whose clock the test moves."""

from __future__ import annotations

import asyncio
import math
from collections.abc import AsyncGenerator, Coroutine
from itertools import chain, repeat
from typing import Any, TypeVar

import pytest

from agentscope_rx.errors import ModelStallError
from agentscope_rx.event import FinishReason
from agentscope_rx.model import NO_RETRY, OpenAIChatModel, call as call_module
from agentscope_rx.model.stall import StallWatchdog

from .calling import outcome_of
from .openai_chat.decoding import STOP, delta, sse
from .outcome import Outcome

T = TypeVar("T")


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


async def flood(seconds: float, *first: T) -> AsyncGenerator[T, None]:
    """Yield `first`, then the last of it for ever, never at rest: time passes because all of it takes work."""
    loop = asyncio.get_running_loop()
    assert isinstance(loop, VirtualLoop)
    for item in chain(first, repeat(first[-1])):
        loop.now += seconds
        yield item


def consume_at_once(watchdog: StallWatchdog) -> None:
    watchdog.pause(progress=True)
    watchdog.resume()


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
                consume_at_once(watchdog)

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
            consume_at_once(watchdog)

    loop = run(main())
    assert round(loop.now) == 30
    assert loop.timers - 3000 <= 5, "the sleeps of the source, and one timer of the watchdog for each ten seconds"


def test_a_flood_without_content_does_not_slow_the_clock() -> None:
    async def main() -> None:
        with pytest.raises(ModelStallError):
            async for _ in StallWatchdog(10).watch(flood(0.5, "ping")):
                pass
        assert asyncio.get_running_loop().time() == 10

    assert run(main()).timers == 1


def test_the_time_of_the_consumer_does_not_count() -> None:
    async def main() -> None:
        watchdog, numbers = StallWatchdog(10), []
        async for number in watchdog.watch(every(2, times=4)):
            numbers.append(number)
            watchdog.pause(progress=False)
            await asyncio.sleep(100)
            watchdog.resume()
        assert numbers == [0, 1, 2, 3]

    assert run(main()).timers < 30


def test_only_the_time_since_the_last_progress_counts() -> None:
    async def main() -> None:
        watchdog = StallWatchdog(10)

        async def consume() -> None:
            async for number in watchdog.watch(every(4, times=100)):
                watchdog.pause(progress=number == 1)
                await asyncio.sleep(50)
                watchdog.resume()

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


# ----------------------------------------------------------------------------------------- the clock of a model call


def flooded_call(monkeypatch: pytest.MonkeyPatch, *items: bytes) -> tuple[Outcome, float]:
    """What a call with a limit of ten seconds gives when its body is this flood, and after how long."""
    monkeypatch.setattr(call_module, "post", lambda request, client: flood(0.25, *items))
    outcomes: list[Outcome] = []

    async def main() -> None:
        chat = OpenAIChatModel("m", api_key="key", base_url="http://x", retry=NO_RETRY, stall_timeout=10)
        outcomes.append(await outcome_of(chat))

    now = run(main()).now
    return outcomes[0], now


NOISE = {
    "pings": b": ping\n\n",
    "empty deltas": sse(delta(content="")),
    "usage": sse({"choices": [], "usage": {"prompt_tokens": 1, "completion_tokens": 1}}),
}


@pytest.mark.parametrize("noise", NOISE.values(), ids=NOISE)
def test_b6_70_a_flood_without_content_stalls_on_time(noise: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    outcome, now = flooded_call(monkeypatch, sse(delta(content="Hello")), noise)
    assert isinstance(outcome.error, ModelStallError)
    assert (outcome.text, now) == ("Hello", 10.25)


@pytest.mark.parametrize("noise", NOISE.values(), ids=NOISE)
def test_a_flood_after_the_finish_reason_is_left_in_time(noise: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    outcome, now = flooded_call(monkeypatch, sse(delta(content="Hello"), STOP), noise)
    assert (outcome.text, outcome.finish, outcome.error) == ("Hello", FinishReason.STOP, None)
    assert now == 0.25 + call_module._GRACE
