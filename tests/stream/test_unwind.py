from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import anyio
import pytest

from agentscope_rx.stream import unwinding

from .watching import run


async def numbers(log: list[str]) -> AsyncIterator[int]:
    try:
        async with anyio.create_task_group():
            yield 1
            yield 2
    except BaseException as error:
        log.append(type(error).__name__)
        raise
    finally:
        await asyncio.sleep(0)
        log.append("cleaned")


def test_an_iterator_that_is_read_to_its_end() -> None:
    async def main() -> None:
        log: list[str] = []
        async with unwinding(numbers(log)) as iterator:
            assert [item async for item in iterator] == [1, 2]
        assert log == ["cleaned"]

    run(main)


def test_an_iterator_that_is_left_in_the_middle_sees_a_cancellation() -> None:
    async def main() -> None:
        log: list[str] = []
        async with unwinding(numbers(log)) as iterator:
            assert await anext(iterator) == 1
        assert log == ["CancelledError", "cleaned"]
        assert asyncio.current_task().cancelling() == 0  # type: ignore[union-attr]

    run(main)


def test_the_error_of_the_body_goes_on() -> None:
    async def main() -> None:
        log: list[str] = []

        async def body() -> None:
            async with unwinding(numbers(log)) as iterator:
                async for _ in iterator:
                    raise KeyError

        with pytest.raises(KeyError):
            await body()
        assert log == ["CancelledError", "cleaned"]

    run(main)


def test_a_cancel_of_the_task_during_the_cleanup_is_raised() -> None:
    async def main() -> None:
        cleaning = asyncio.Event()

        async def slow() -> AsyncIterator[int]:
            try:
                yield 1
            finally:
                cleaning.set()
                await asyncio.Event().wait()

        async def body() -> None:
            async with unwinding(slow()) as iterator:
                await anext(iterator)

        task = asyncio.create_task(body())
        await cleaning.wait()
        task.cancel()
        await asyncio.wait([task])
        assert task.cancelled()

    run(main)


def test_a_generator_that_swallows_the_cancellation_is_closed() -> None:
    async def main() -> None:
        log: list[str] = []

        async def stubborn() -> AsyncIterator[int]:
            try:
                yield 1
            except asyncio.CancelledError:
                log.append("swallowed")
            try:
                yield 2
            finally:
                log.append("closed")

        async with unwinding(stubborn()) as iterator:
            assert await anext(iterator) == 1
        assert log == ["swallowed", "closed"]

    run(main)
