from __future__ import annotations

import asyncio
import threading
from typing import Any

import pytest

from agentscope_rx.errors import BufferOverflowError
from agentscope_rx.tools.channel import Channel, ToolCancelled


async def drain(channel: Channel[Any]) -> list[Any]:
    items = []
    while await channel.ready():
        items.append(channel.take())
    return items


def test_eight_threads_of_two_thousand_items_lose_nothing_and_keep_their_order():
    async def main() -> list[tuple[int, int]]:
        channel: Channel[tuple[int, int]] = Channel(16)

        def produce(thread: int) -> None:
            for number in range(2_000):
                channel.put((thread, number))

        threads = [threading.Thread(target=produce, args=(thread,)) for thread in range(8)]
        for thread in threads:
            thread.start()
        done = asyncio.gather(*(asyncio.to_thread(thread.join) for thread in threads))
        done.add_done_callback(lambda _: channel.close())
        items = await drain(channel)
        await done
        return items

    items = asyncio.run(main())
    assert len(items) == 16_000
    for thread in range(8):
        assert [number for owner, number in items if owner == thread] == list(range(2_000))


@pytest.mark.parametrize("limit", [1, 2, 7])
def test_a_thread_waits_for_a_slow_reader(limit: int):
    async def main() -> int:
        channel: Channel[int] = Channel(limit)
        put = 0
        lead = 0

        def produce() -> None:
            nonlocal put
            for number in range(200):
                channel.put(number)
                put += 1

        thread = threading.Thread(target=produce)
        thread.start()
        for taken in range(200):
            assert await channel.ready()
            await asyncio.sleep(0)
            lead = max(lead, put - taken)
            assert channel.take() == taken
        thread.join()
        channel.close()
        assert not await channel.ready()
        return lead

    assert asyncio.run(main()) <= limit + 1


def test_code_on_the_loop_waits_by_awaiting():
    async def main() -> tuple[list[int], int]:
        channel: Channel[int] = Channel(4)
        put: list[int] = []

        async def produce() -> None:
            for number in range(100):
                await channel.put(number)
                put.append(number)
            channel.close()

        producer = asyncio.create_task(produce())
        lead = 0
        taken: list[int] = []
        while await channel.ready():
            await asyncio.sleep(0)
            lead = max(lead, len(put) - len(taken))
            taken.append(channel.take())
        await producer
        return taken, lead

    taken, lead = asyncio.run(main())
    assert taken == list(range(100))
    assert lead <= 5


def test_code_on_the_loop_that_never_awaits_is_stopped():
    async def main() -> None:
        channel: Channel[int] = Channel(4)
        for number in range(4 + 1024):
            channel.put(number)
        with pytest.raises(BufferOverflowError, match="await what emit"):
            channel.put(-1)
        channel.close()
        assert await drain(channel) == list(range(4 + 1024))

    asyncio.run(main())


def test_a_closed_channel_tells_each_thread_once():
    async def main() -> list[str]:
        channel: Channel[int] = Channel(1)
        told: list[str] = []

        def produce(name: str) -> None:
            try:
                while True:
                    channel.put(1)
            except ToolCancelled:
                channel.put(2)
                told.append(name)

        threads = [threading.Thread(target=produce, args=(name,)) for name in "ab"]
        for thread in threads:
            thread.start()
        assert await channel.ready()
        channel.close()
        await asyncio.to_thread(lambda: [thread.join() for thread in threads])
        await channel.put(3)
        assert await drain(channel) == [1]
        return sorted(told)

    assert asyncio.run(main()) == ["a", "b"]


def test_closing_frees_a_coroutine_that_waits_for_room():
    async def main() -> None:
        channel: Channel[int] = Channel(1)
        waiting = asyncio.ensure_future(channel.put(1))  # type: ignore[arg-type]
        await asyncio.sleep(0)
        assert not waiting.done()
        channel.close()
        async with asyncio.timeout(10):
            await waiting

    asyncio.run(main())


def test_a_thread_that_outlives_the_loop_is_told():
    outcome: list[str] = []
    go = threading.Event()

    async def main() -> threading.Thread:
        channel: Channel[int] = Channel(4)

        def produce() -> None:
            go.wait(10)
            try:
                channel.put(1)
            except ToolCancelled:
                outcome.append("told")

        thread = threading.Thread(target=produce)
        thread.start()
        return thread

    thread = asyncio.run(main())
    go.set()
    thread.join(10)
    assert outcome == ["told"]
