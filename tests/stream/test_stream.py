from __future__ import annotations

import asyncio
import contextvars
import signal
import threading
import time
from collections.abc import AsyncIterator
from typing import Any

import pytest
import reactivex as rx
from reactivex import ConnectableObservable, Observable, operators as ops
from reactivex.scheduler import CurrentThreadScheduler, NewThreadScheduler, TimeoutScheduler
from reactivex.subject import Subject

from agentscope_rx.errors import StreamCancelled
from agentscope_rx.stream import LoopScheduler, Stream, from_async_iterable
from agentscope_rx.stream.portal import portal_loop

from .sources import Source
from .watching import Watcher, other_tasks, python, run

# -------------------------------------------------------------------------------------------------------------- Rx


def test_a_stream_is_an_observable_as_cold_as_its_source() -> None:
    watcher = Watcher()
    stream = Stream(rx.of(1, 2))
    stream.subscribe(watcher)
    stream.subscribe(watcher)
    assert isinstance(stream, Observable)
    assert watcher.items == [1, 2, 1, 2]
    hot: Subject[int] = Subject()
    Stream(hot).subscribe(watcher)
    hot.on_next(3)
    assert watcher.items[-1] == 3


def test_pipe_stays_a_stream() -> None:
    stream = Stream(rx.of(1, 2, 3))
    for piped in (
        stream.pipe(ops.map(str)),
        stream.pipe(ops.map(str), ops.filter(bool), ops.take(2), ops.skip(1), ops.distinct(), ops.share(), ops.last()),
        rx.pipe(stream, ops.map(str), Stream),
    ):
        assert type(piped) is Stream
        assert piped.run() in ("3", "2")


def test_pipe_without_operators_is_the_stream_itself() -> None:
    stream = Stream(rx.of(1))
    assert stream.pipe() is stream  # type: ignore[call-overload]


def test_pipe_keeps_what_is_more_than_an_observable_and_what_is_none() -> None:
    stream = Stream(rx.of(1))
    assert isinstance(stream.pipe(ops.publish()), ConnectableObservable)
    assert stream.pipe(lambda source: 42) == 42  # type: ignore[arg-type, return-value, comparison-overlap]


def test_fluent_methods_work() -> None:
    assert Stream(rx.of(1, 2)).map(lambda x: x + 1).run() == 3


# ------------------------------------------------------------------------------------------------------- not iterable


@pytest.mark.parametrize("iterate", [iter, list, lambda s: [*s], lambda s: dict(zip(s, s, strict=True))])
def test_iterating_without_async_is_an_error_that_says_what_to_do(iterate: Any) -> None:
    with pytest.raises(TypeError, match=r"`async for`.*`\.run\(\)`"):
        iterate(Stream(rx.of(1, 2)))


def test_slices_still_work() -> None:
    assert Stream(rx.of(1, 2, 3))[0:2].run() == 2
    assert Stream(rx.of(1, 2, 3))[0].run() == 1


# -------------------------------------------------------------------------------------------------------------- await


def test_await_returns_the_last_item_when_the_cleanup_has_finished() -> None:
    async def main() -> None:
        source = Source()
        assert await source.stream() == 2
        assert source.left == 1
        assert await source.stream().pipe(ops.take(1)) == 0
        assert source.left == 2
        assert not other_tasks()

    run(main)


def test_b7_78_await_of_an_empty_stream_returns_none() -> None:
    async def main() -> None:
        assert await Source(0).stream() is None
        assert await Stream(rx.empty()) is None

    run(main)


def test_await_raises_the_error() -> None:
    async def main() -> None:
        with pytest.raises(KeyError, match="broken"):
            await Stream(rx.throw(KeyError("broken")))

    run(main)


def test_await_of_a_stop_iteration_error_does_not_hang() -> None:
    async def main() -> None:
        error = StopIteration("broken")
        with pytest.raises(RuntimeError) as raised:
            await Stream(rx.throw(error))
        assert raised.value.__cause__ is error

    run(main)


def test_await_of_a_cancelled_source_does_not_look_like_a_cancelled_task() -> None:
    async def main() -> None:
        cancelled = asyncio.get_running_loop().create_future()
        cancelled.cancel()
        with pytest.raises(StreamCancelled):
            await Stream(rx.from_future(cancelled))

    run(main)


def test_a_value_from_a_foreign_thread_wakes_the_awaiting_loop() -> None:
    async def main() -> None:
        subject: Subject[int] = Subject()

        def feed() -> None:
            time.sleep(0.02)
            subject.on_next(7)
            subject.on_completed()

        thread = threading.Thread(target=feed)
        thread.start()
        assert await Stream(subject) == 7
        thread.join()

    run(main)


def test_b7_78_cancelling_the_awaiting_task_disposes_and_waits_for_the_cleanup() -> None:
    async def main() -> None:
        source = Source(idle=True)
        task = asyncio.ensure_future(_await(source.stream()))
        await asyncio.sleep(0.005)
        task.cancel()
        await asyncio.wait([task])
        assert task.cancelled()
        assert source.left == 1

    run(main)


async def _await(stream: Stream[Any]) -> Any:
    return await stream


def test_b7_72_asyncio_timeout_works() -> None:
    async def main() -> None:
        source = Source(idle=True)
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.01):
                await source.stream()
        assert source.left == 1
        assert not other_tasks()
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(_await(source.stream()), 0.01)
        assert source.left == 2

    run(main)


def test_a_cancel_during_the_cleanup_waits_for_it() -> None:
    async def main() -> None:
        source = Source()
        task = asyncio.ensure_future(_await(source.stream().pipe(ops.take(1))))
        await asyncio.sleep(0.001)
        assert not source.left
        task.cancel()
        await asyncio.wait([task])
        assert task.cancelled()
        assert source.left == 1

    run(main)


def test_several_tasks_may_await_one_stream() -> None:
    async def main() -> None:
        source = Source()
        stream = source.stream()
        assert await asyncio.gather(*[_await(stream) for _ in range(5)]) == [2] * 5
        assert source.left == 5

    run(main)


# ---------------------------------------------------------------------------------------------------------------- run


def test_run_without_a_loop_runs_in_the_calling_thread_and_leaves_its_event_loop_alone() -> None:
    source, threads = Source(), set[int]()
    mine = asyncio.new_event_loop()
    asyncio.set_event_loop(mine)
    stream = source.stream().pipe(ops.do_action(lambda _: threads.add(threading.get_ident())))
    assert stream.run() == 2
    assert source.left == 1
    assert threads == {threading.get_ident()}
    assert asyncio.get_event_loop() is mine
    asyncio.set_event_loop(None)
    mine.close()


def test_run_of_an_empty_stream_and_of_a_failing_one() -> None:
    assert Stream(rx.empty()).run() is None
    with pytest.raises(KeyError):
        Stream(rx.throw(KeyError())).run()
    with pytest.raises(TimeoutError, match="mine"):
        Stream(rx.throw(TimeoutError("mine"))).run()


def test_run_inside_a_running_loop() -> None:
    async def main() -> None:
        source = Source()
        assert source.stream().run() == 2
        assert source.left == 1
        with pytest.raises(KeyError):
            Stream(rx.throw(KeyError())).run()
        assert await source.stream() == 2

    run(main)


def test_run_in_a_second_thread_while_a_loop_runs() -> None:
    async def main() -> None:
        source = Source()
        assert await asyncio.to_thread(source.stream().run) == 2
        assert source.left == 1

    run(main)


def test_run_inside_a_run_inside_a_run() -> None:
    stream = Source().stream()
    for _ in range(2):
        stream = Source(1).stream().pipe(ops.map(lambda _, inner=stream: inner.run()))
    assert stream.run() == 2


def test_run_on_a_busy_trampoline() -> None:
    items: list[Any] = []
    rx.of(1).pipe(ops.map(lambda _: Stream(rx.of(1, 2)).run())).subscribe(items.append)
    assert items == [2]


def test_run_on_the_portal() -> None:
    watcher = Watcher()
    outer = rx.defer(lambda _: Source(1).stream()).pipe(ops.map(lambda _: Source().stream().run()))
    assert outer.run() == 2
    assert not watcher.ends


def test_run_sees_the_contextvars_of_the_caller() -> None:
    span: contextvars.ContextVar[str] = contextvars.ContextVar("span", default="none")

    async def source() -> AsyncIterator[str]:
        yield span.get()

    async def nested() -> str:
        return from_async_iterable(source).run()

    token = span.set("caller")
    try:
        assert from_async_iterable(source).run() == "caller"
        assert asyncio.run(nested()) == "caller"
    finally:
        span.reset(token)


@pytest.mark.parametrize("scheduler", [NewThreadScheduler(), TimeoutScheduler(), CurrentThreadScheduler()])
def test_run_with_a_scheduler_of_the_caller(scheduler: Any) -> None:
    given = []

    def source(observer: Any, scheduler: Any = None) -> Any:
        given.append(scheduler)
        return rx.of(1, 2).subscribe(observer, scheduler=scheduler)

    assert Stream(Observable(source)).run(scheduler) == 2
    assert given == [scheduler]
    assert Source().stream().run(scheduler) == 2


def test_run_with_the_scheduler_of_another_loop() -> None:
    threads: list[str] = []
    stream = Source().stream().pipe(ops.do_action(lambda _: threads.append(threading.current_thread().name)))
    assert stream.run(LoopScheduler(portal_loop())) == 2
    assert set(threads) == {"agentscope-rx-portal"}


def test_cancelling_the_task_that_blocks_in_run_stops_the_stream() -> None:
    async def main() -> None:
        source = Source(idle=True)

        async def blocks() -> None:
            source.stream().run()

        task = asyncio.create_task(blocks())
        threading.Timer(0.02, task.cancel).start()  # what the SIGINT handler of asyncio.run does
        await asyncio.wait([task])
        assert task.cancelled()
        assert source.left == 1

    run(main)


PREAMBLE = """
    import asyncio, os, signal, threading
    from agentscope_rx.stream import from_async_iterable
    async def endless():
        try:
            threading.Timer(0.02, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
            while True:
                yield 0
                await asyncio.sleep(0.005)
        finally:
            await asyncio.sleep(0.01)
            print("cleaned", flush=True)
    stream = from_async_iterable(endless)
    def run():
        try:
            stream.run()
        except KeyboardInterrupt:
            print("interrupted", "agentscope-rx-run" in [thread.name for thread in threading.enumerate()])
"""


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="needs POSIX signals")
class TestCtrlC:
    def test_in_run_without_a_loop(self) -> None:
        assert python(PREAMBLE + "    run()") == ["cleaned", "interrupted", "False"]

    def test_in_run_in_a_nested_loop_as_in_a_notebook(self) -> None:
        code = """
    async def cell():
        run()
    loop = asyncio.new_event_loop()
    loop.run_until_complete(cell())
    loop.close()
    """
        assert python(PREAMBLE + code) == ["cleaned", "interrupted", "False"]

    def test_in_run_inside_asyncio_run(self) -> None:
        code = """
    async def main():
        stream.run()
    try:
        asyncio.run(main())
    except KeyboardInterrupt:
        print("interrupted")
    """
        assert python(PREAMBLE + code) == ["cleaned", "interrupted"]

    def test_in_async_for(self) -> None:
        code = """
    async def main():
        async for _ in stream:
            pass
    try:
        asyncio.run(main())
    except KeyboardInterrupt:
        print("interrupted")
    """
        assert python(PREAMBLE + code) == ["cleaned", "interrupted"]


# --------------------------------------------------------------------------------------------- a misbehaving consumer


def test_keyboard_interrupt_in_a_callback_ends_run_and_cleans_up() -> None:
    source = Source(idle=True)

    def interrupt(item: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        source.stream().pipe(ops.do_action(interrupt)).run()
    assert source.left == 1


def test_one_stream_by_await_then_by_run_then_in_a_second_thread() -> None:
    source = Source()
    stream = source.stream()
    results: list[int] = []

    async def main() -> None:
        results.append(await stream)
        results.append([item async for item in stream][-1])

    asyncio.run(main())
    results.append(stream.run())
    thread = threading.Thread(target=lambda: results.append(stream.run()))
    thread.start()
    thread.join()
    assert results == [2, 2, 2, 2]
    assert source.left == 4
