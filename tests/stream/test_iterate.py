from __future__ import annotations

import asyncio
import gc
import threading
import time
import tracemalloc
from collections.abc import Iterator
from typing import Any

import pytest
import reactivex as rx
from reactivex import operators as ops
from reactivex.subject import Subject

from agentscope_rx.errors import BufferOverflowError, ConfigurationError, StreamCancelled
from agentscope_rx.stream import Stream, StreamStatistics

from .sources import Source
from .watching import other_tasks, run, until

# -------------------------------------------------------------------------------------------------- the usual course


def test_all_items_in_order_and_then_the_end() -> None:
    async def main() -> None:
        assert [item async for item in Source(1000).stream()] == list(range(1000))
        assert not other_tasks()

    run(main)


def test_b7_78_an_empty_source_finishes() -> None:
    async def main() -> None:
        assert [item async for item in Source(0).stream()] == []
        assert [item async for item in Stream(rx.empty())] == []

    run(main)


def test_nothing_is_subscribed_before_the_first_item_is_asked_for() -> None:
    async def main() -> None:
        source = Source(3)
        iterator = source.stream().iterate()
        await asyncio.sleep(0.001)
        assert source.pulled == 0
        assert await anext(iterator) == 0
        await iterator.aclose()

    run(main)


def test_an_error_comes_after_the_items_before_it() -> None:
    async def main() -> None:
        iterator = Stream(rx.concat(rx.of(1, 2), rx.throw(KeyError("end")))).iterate()
        assert [await anext(iterator), await anext(iterator)] == [1, 2]
        with pytest.raises(KeyError):
            await anext(iterator)

    run(main)


@pytest.mark.parametrize("error", [StopIteration(), StopAsyncIteration()])
def test_a_stop_iteration_as_error_is_neither_an_end_nor_a_hang(error: Exception) -> None:
    async def main() -> None:
        with pytest.raises(RuntimeError) as raised:
            async for _ in Stream(rx.throw(error)):
                pass
        assert raised.value.__cause__ is error

    run(main)


def test_cancelled_error_as_error_value_does_not_cancel_the_consumer() -> None:
    async def main() -> None:
        cancelled = asyncio.get_running_loop().create_future()
        cancelled.cancel()
        with pytest.raises(StreamCancelled):
            async for _ in Stream(rx.from_future(cancelled)):
                pass

    run(main)


def test_none_is_an_item_like_any_other() -> None:
    async def main() -> None:
        assert [item async for item in Stream(rx.of(None, None))] == [None, None]

    run(main)


def test_a_finished_iterator_stays_finished() -> None:
    async def main() -> None:
        iterator = Stream(rx.of(1)).iterate()
        assert [item async for item in iterator] == [1]
        assert [item async for item in iterator] == []
        await iterator.aclose()

    run(main)


def test_a_loop_over_an_iterator_can_be_continued() -> None:
    async def main() -> None:
        async with Source(4).stream().iterate() as iterator:
            async for item in iterator:
                if item == 1:
                    break
            assert [item async for item in iterator] == [2, 3]

    run(main)


# --------------------------------------------------------------------------------------------------------- leaving


def test_leaving_async_with_waits_for_the_cleanup() -> None:
    async def main() -> None:
        source = Source(1_000_000)
        async with source.stream().iterate() as iterator:
            assert await anext(iterator) == 0
        assert source.left
        assert not other_tasks()

    run(main)


def test_b7_78_breaking_out_of_the_loop_disposes_the_source() -> None:
    async def main() -> None:
        source = Source(1_000_000)
        async for item in source.stream():
            if item == 3:
                break
        await until(lambda: source.left)
        assert source.pulled <= 64 + 1

    run(main)


def test_an_exception_in_the_loop_body_disposes_the_source() -> None:
    async def main() -> None:
        source = Source(1_000_000)

        async def consume() -> None:
            async for _ in source.stream():
                raise ZeroDivisionError

        with pytest.raises(ZeroDivisionError):
            await consume()
        await until(lambda: source.left)

    run(main)


def test_an_abandoned_iterator_disposes_its_source() -> None:
    async def main() -> None:
        source = Source(5, idle=True)
        iterator = source.stream().iterate()
        assert await anext(iterator) == 0
        del iterator
        await until(lambda: source.left)

    run(main)


def test_an_iterator_abandoned_in_a_reference_cycle_disposes_its_source() -> None:
    async def main() -> None:
        source = Source(5, idle=True)
        iterator = source.stream().iterate()
        assert await anext(iterator) == 0
        cycle: list[Any] = [iterator]
        cycle.append(cycle)
        del iterator, cycle
        await asyncio.to_thread(gc.collect)
        await until(lambda: source.left)

    run(main)


def test_the_end_of_the_loop_closes_an_abandoned_iterator() -> None:
    source = Source(5, idle=True)
    kept = []

    async def main() -> None:
        kept.append(source.stream().iterate())
        await anext(kept[0])

    asyncio.run(main())
    assert source.left


def test_b7_78_cancelling_a_waiting_consumer_disposes_the_source_and_waits_for_its_cleanup() -> None:
    async def main() -> None:
        source = Source(2, idle=True)

        async def consume() -> None:
            async for _ in source.stream():
                pass

        consumer = asyncio.create_task(consume())
        await until(lambda: source.pulled == 2)
        consumer.cancel()
        await asyncio.wait([consumer])
        assert consumer.cancelled()
        assert source.left

    run(main)


def test_b7_72_a_timeout_around_the_loop_stops_the_source() -> None:
    async def main() -> None:
        source = Source(2, idle=True)

        async def consume() -> None:
            async for _ in source.stream():
                pass

        with pytest.raises(TimeoutError):
            await asyncio.wait_for(consume(), 0.02)
        assert source.left

    run(main)


def test_closing_drops_what_is_buffered_and_ends_the_iteration() -> None:
    async def main() -> None:
        iterator = Source(1_000_000).stream().iterate()
        assert await anext(iterator) == 0
        await asyncio.sleep(0.001)
        assert iterator.statistics().buffered > 0
        await iterator.aclose()
        await iterator.aclose()
        assert iterator.statistics().buffered == 0
        assert [item async for item in iterator] == []

    run(main)


def test_closing_an_iterator_that_never_began_does_nothing() -> None:
    async def main() -> None:
        source = Source(1_000_000)
        await source.stream().iterate().aclose()
        async with source.stream().iterate():
            pass
        assert source.pulled == 0

    run(main)


def test_closing_from_another_task_ends_a_consumer_that_waits() -> None:
    async def main() -> None:
        source, got = Source(2, idle=True), list[int]()
        iterator = source.stream().iterate()

        async def consume() -> None:
            async for item in iterator:
                got.append(item)

        consumer = asyncio.create_task(consume())
        await until(lambda: len(got) == 2)
        await iterator.aclose()
        assert source.left
        await consumer
        assert got == [0, 1]

    run(main)


def test_two_iterators_of_one_stream_are_independent() -> None:
    async def main() -> None:
        stream = Source(100).stream()
        first, second = stream.iterate(), stream.iterate(1)
        got = [(await anext(first), await anext(second)) for _ in range(50)]
        assert got == [(i, i) for i in range(50)]
        await first.aclose()
        assert [item async for item in second] == list(range(50, 100))

    run(main)


# ----------------------------------------------------------------------------------------------------- back-pressure


def test_statistics() -> None:
    async def main() -> None:
        iterator = Source(100).stream().iterate(10)
        assert iterator.statistics() == StreamStatistics(buffered=0, limit=10, peak=0, gate_closed=False)
        await anext(iterator)
        assert iterator.statistics() == StreamStatistics(buffered=9, limit=10, peak=10, gate_closed=True)
        for _ in range(5):
            await anext(iterator)
        assert iterator.statistics() == StreamStatistics(buffered=4, limit=10, peak=10, gate_closed=False)
        assert [item async for item in iterator] == list(range(6, 100))
        assert iterator.statistics() == StreamStatistics(buffered=0, limit=10, peak=10, gate_closed=False)

    run(main)


@pytest.mark.parametrize(("buffer", "n"), [(1, 10_000), (2, 10_000), (7, 10_000), (64, 100_000)])
def test_a_slow_consumer_slows_the_source_and_memory_stays_bounded(buffer: int, n: int) -> None:
    async def main() -> None:
        taken, lead = 0, 0
        source = Source(n)
        tracemalloc.start()
        async with source.stream().pipe(ops.map(lambda i: (i, str(i)))).iterate(buffer) as iterator:
            async for _ in iterator:
                taken += 1
                lead = max(lead, source.pulled - taken)
                if taken % 10 == 0:
                    await asyncio.sleep(0)
                if taken == 2000:
                    tracemalloc.reset_peak()
            peak = iterator.statistics().peak
        _, used = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        assert taken == n
        assert peak <= buffer
        assert lead <= buffer + 1
        assert used < 1_000_000

    run(main)


def test_a_source_that_cannot_pause_is_buffered_up_to_1024_over_the_limit() -> None:
    async def main() -> None:
        items = range(10 + 1024)
        assert [item async for item in Stream(rx.from_iterable(items)).iterate(10)] == list(items)

    run(main)


def test_a_source_that_cannot_pause_overflows_beyond_that_and_is_stopped() -> None:
    async def main() -> None:
        produced: list[int] = []

        def endless() -> Iterator[int]:
            for i in range(1_000_000):
                produced.append(i)
                yield i

        iterator = Stream(rx.from_iterable(endless())).iterate(10)
        assert [await anext(iterator) for _ in range(10 + 1024)] == list(range(10 + 1024))
        with pytest.raises(BufferOverflowError, match=r"10 \+ 1024"):
            await anext(iterator)
        assert len(produced) == 10 + 1024 + 1

    run(main)


def test_a_source_that_ignores_its_disposal_cannot_fill_the_memory() -> None:
    async def main() -> None:
        def subscribe(observer: Any, scheduler: Any = None) -> Any:
            for i in range(20_000):
                observer.on_next(i)

        iterator = Stream(rx.create(subscribe)).iterate(1)
        assert await anext(iterator) == 0
        assert iterator.statistics().peak == 1 + 1024
        with pytest.raises(BufferOverflowError):
            async for _ in iterator:
                pass

    run(main)


@pytest.mark.parametrize("buffer", [0, -1])
def test_a_buffer_that_holds_nothing_is_refused(buffer: int) -> None:
    with pytest.raises(ConfigurationError, match="at least 1"):
        Stream(rx.of(1)).iterate(buffer)


# ---------------------------------------------------------------------------------------------------- foreign threads


def test_an_item_from_a_foreign_thread_wakes_an_idle_loop() -> None:
    async def main() -> None:
        subject: Subject[int] = Subject()

        def feed() -> None:
            time.sleep(0.02)
            subject.on_next(1)
            time.sleep(0.02)
            subject.on_completed()

        thread = threading.Thread(target=feed)
        thread.start()
        # The loop has no timer: unless the thread wakes it, it sleeps until the end of the test.
        assert [item async for item in Stream(subject)] == [1]
        thread.join()

    run(main)


def test_no_item_of_a_foreign_thread_is_lost() -> None:
    async def main() -> None:
        subject: Subject[int] = Subject()
        iterator = Stream(subject).iterate(1_000_000)

        def feed() -> None:
            for i in range(20_000):
                subject.on_next(i)
            subject.on_completed()

        thread = threading.Thread(target=feed)
        asyncio.get_running_loop().call_soon(thread.start)  # when the iterator has subscribed
        assert [item async for item in iterator] == list(range(20_000))
        thread.join()

    run(main)


def test_an_item_that_comes_just_before_the_consumer_waits_is_not_missed() -> None:
    async def main() -> None:
        loop, subject = asyncio.get_running_loop(), Subject[int]()
        create_future = loop.create_future

        def push_first() -> asyncio.Future[Any]:  # as another thread may, between the look and the wait
            loop.create_future = create_future  # type: ignore[method-assign]
            subject.on_next(1)
            return create_future()

        iterator = Stream(subject).iterate()
        loop.create_future = push_first  # type: ignore[method-assign]
        assert await anext(iterator) == 1
        await iterator.aclose()

    run(main)


def test_a_gate_that_closes_when_the_consumer_has_taken_all_opens_again() -> None:
    async def main() -> None:
        subject: Subject[int] = Subject()
        iterator = Stream(subject).iterate(2)
        waiting = asyncio.ensure_future(anext(iterator))
        await asyncio.sleep(0)
        iterator._inbox._rise(2)  # the source counted 2 items, which the consumer, in another thread, took since
        assert not iterator.statistics().gate_closed
        subject.on_next(1)
        assert await waiting == 1
        await iterator.aclose()

    run(main)


def test_a_closing_gate_and_a_draining_consumer_in_two_threads_do_not_deadlock() -> None:
    async def main() -> None:
        subject: Subject[int] = Subject()
        iterator = Stream(subject).iterate(2)

        def feed() -> None:
            for i in range(5_000):
                subject.on_next(i)
                deadline = time.monotonic() + 10
                while iterator.statistics().gate_closed and time.monotonic() < deadline:
                    time.sleep(0)
            subject.on_completed()

        thread = threading.Thread(target=feed)
        asyncio.get_running_loop().call_soon(thread.start)
        assert [item async for item in iterator] == list(range(5_000))
        thread.join()

    run(main)
