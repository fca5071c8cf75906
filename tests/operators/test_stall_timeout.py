"""`stall_timeout`: a silent model is given up on, in virtual time."""

from __future__ import annotations

import asyncio
from typing import Any, ClassVar

import pytest
from reactivex.testing import TestScheduler

from agentscope_rx import Stream, from_async_iterable
from agentscope_rx.errors import ConfigurationError, ModelStallError
from agentscope_rx.event import AgentEvent
from agentscope_rx.operators import stall_timeout

from .contract import OperatorContract, on_completed, on_next, subscribe
from .script import answer, end, model_end, model_start, result, start, text

DELTA = text("t1", "x")[1]


class TestContract(OperatorContract):
    operator: ClassVar = staticmethod(lambda: stall_timeout(35))
    events: ClassVar = answer("Hello")
    expected: ClassVar = list(enumerate(events, 1))


def played(seconds: float, *timed: tuple[int, AgentEvent]) -> tuple[list[Any], Any]:
    """What comes out when events come at these times after the subscription, and the source then ends at 900."""
    scheduler = TestScheduler()
    xs = scheduler.create_cold_observable(*(on_next(at, event) for at, event in timed), on_completed(700))
    return scheduler.start(lambda: xs.pipe(stall_timeout(seconds)), disposed=1000).messages, xs


def ending(messages: list[Any]) -> tuple[float, str]:
    last = messages[-1]
    return last.time, last.value.kind


def test_b6_70_silence_in_a_model_call_is_an_error() -> None:
    messages, xs = played(50, (10, start()), (20, model_start()), (40, DELTA))
    assert ending(messages) == (200 + 40 + 50, "E")
    error = messages[-1].value.exception
    assert isinstance(error, ModelStallError)
    assert error.seconds == 50
    assert xs.subscriptions == [subscribe(200, 290)]


def test_b6_70_no_first_token_is_silence_too() -> None:
    assert ending(played(50, (10, start()), (20, model_start()))[0]) == (200 + 20 + 50, "E")


def test_b6_70_slow_content_is_no_silence() -> None:
    timed = [(20 + 40 * n, DELTA) for n in range(1, 10)]
    assert ending(played(50, (20, model_start()), *timed, (400, model_end()))[0]) == (900, "C")


def test_b6_70_outside_of_model_calls_the_clock_stands_still() -> None:
    wait_for_a_tool = [(30, model_end()), (40, result("c")[0]), (600, result("c")[-1])]
    assert ending(played(50, (20, model_start()), *wait_for_a_tool, (620, end()))[0]) == (900, "C")


def test_a_consumer_that_pauses_the_source_is_not_blamed_on_the_model() -> None:
    async def events() -> Any:
        yield start()
        yield model_start()
        for event in text("t1", "a", "b", "c"):
            yield event
        yield model_end()
        yield end()

    async def main() -> int:
        count = 0
        stream = Stream(from_async_iterable(events).pipe(stall_timeout(0.01)))
        async with stream.iterate(buffer=1) as items:
            async for _ in items:
                count += 1
                await asyncio.sleep(0.02)
        return count

    assert asyncio.run(main()) == 9


@pytest.mark.parametrize("seconds", [0, -1, float("nan")])
def test_a_limit_that_is_none_is_refused(seconds: float) -> None:
    with pytest.raises(ConfigurationError):
        stall_timeout(seconds)
