from __future__ import annotations

import asyncio
import contextvars
import gc
import json
import threading
import weakref
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import anyio
import httpx
import pytest
import reactivex as rx
from reactivex import operators as ops
from reactivex.abc import DisposableBase

from agentscope_rx.errors import ConfigurationError, StreamCancelled
from agentscope_rx.stream import Gate, LoopScheduler, Stream, from_async_iterable

from .sse_server import SSEServer
from .watching import Watcher, other_tasks, reports, run, until, wait_for


async def numbers(n: int, log: list[Any] | None = None) -> AsyncIterator[int]:
    try:
        for i in range(n):
            await asyncio.sleep(0)
            yield i
    finally:
        await asyncio.sleep(0.005)
        if log is not None:
            log.append("cleaned")


def sse(server: SSEServer, query: str, log: list[Any]) -> Stream[int]:
    async def events() -> AsyncIterator[int]:
        try:
            async with httpx.AsyncClient() as client, client.stream("GET", f"{server.url}?{query}") as response:
                response.raise_for_status()
                async for line in response.aiter_lines():
                    if line:
                        yield json.loads(line.removeprefix("data: "))["i"]
        finally:
            await asyncio.sleep(0.001)
            log.append("cleaned")

    return from_async_iterable(events)


# ---------------------------------------------------------------------------------------------- the usual course


def test_emits_in_order_and_completes_after_the_cleanup() -> None:
    async def main() -> None:
        watcher = Watcher()
        from_async_iterable(lambda: numbers(5, watcher.log)).subscribe(watcher)
        assert await watcher.end() == "completed"
        assert watcher.items == [0, 1, 2, 3, 4]
        assert watcher.log == ["cleaned", "completed"]

    run(main)


def test_nothing_happens_before_subscribe_and_two_subscribers_are_independent() -> None:
    async def main() -> None:
        calls = []

        def factory() -> AsyncIterator[int]:
            calls.append(1)
            return numbers(3)

        stream = from_async_iterable(factory)
        await asyncio.sleep(0)
        assert not calls
        first, second = Watcher(), Watcher()
        stream.subscribe(first).dispose()
        subscription = stream.subscribe(first)
        stream.subscribe(second)
        await second.end()
        await first.end()
        subscription.dispose()
        assert first.items == second.items == [0, 1, 2]
        assert len(calls) == 2

    run(main)


def test_an_error_is_told_once_after_the_cleanup() -> None:
    async def main() -> None:
        watcher = Watcher()

        async def failing() -> AsyncIterator[int]:
            try:
                yield 1
                raise ValueError("source")
            finally:
                await asyncio.sleep(0.001)
                watcher.log.append("cleaned")

        from_async_iterable(failing).subscribe(watcher)
        assert str(await watcher.end()) == "source"
        await asyncio.sleep(0.005)
        assert watcher.items == [1]
        assert watcher.log == ["cleaned", "ValueError"]

    run(main)


def test_an_error_of_the_factory_is_told() -> None:
    async def main() -> None:
        watcher = Watcher()

        def broken() -> AsyncIterator[int]:
            raise KeyError("factory")

        from_async_iterable(broken).subscribe(watcher)
        assert isinstance(await watcher.end(), KeyError)

    run(main)


def test_a_factory_that_returns_no_async_iterable_is_a_configuration_error() -> None:
    async def main() -> None:
        watcher = Watcher()
        from_async_iterable(lambda: [1, 2]).subscribe(watcher)  # type: ignore[arg-type, return-value]
        error = await watcher.end()
        assert isinstance(error, ConfigurationError)
        assert "returned list" in str(error)

    run(main)


# ------------------------------------------------------------------------------------------------------- over HTTP


def test_a_whole_response(server: SSEServer) -> None:
    async def main() -> None:
        watcher = Watcher()
        sse(server, "n=50", watcher.log).subscribe(watcher)
        assert await watcher.end() == "completed"
        assert watcher.items == list(range(50))
        assert watcher.log == ["cleaned", "completed"]

    run(main)


def test_items_come_while_the_response_is_still_open(server: SSEServer) -> None:
    async def main() -> None:
        watcher = Watcher()
        subscription = sse(server, "n=10&mode=hang&at=3", watcher.log).subscribe(watcher)
        await until(lambda: watcher.items == [0, 1, 2])
        assert not server.connections[0].closed_by_client.is_set()
        subscription.dispose()

    run(main)


def test_b7_72_take_closes_the_http_response_and_leaves_no_task(server: SSEServer) -> None:
    async def main() -> None:
        watcher = Watcher()
        sse(server, "n=1000000", watcher.log).pipe(ops.take(3)).subscribe(watcher)
        assert await watcher.end() == "completed"
        await until(lambda: not other_tasks())
        await until(server.connections[0].closed_by_client.is_set)
        assert watcher.items == [0, 1, 2]
        assert watcher.log == ["completed", "cleaned"]

    run(main)


def test_b7_72_dispose_while_the_server_is_silent_closes_the_http_response(server: SSEServer) -> None:
    async def main() -> None:
        watcher = Watcher()
        subscription = sse(server, "n=10&mode=hang&at=2", watcher.log).subscribe(watcher)
        await until(lambda: watcher.items == [0, 1])
        subscription.dispose()
        await until(lambda: not other_tasks())
        await until(server.connections[0].closed_by_client.is_set)
        assert watcher.log == ["cleaned"]
        assert not watcher.ends

    run(main)


@pytest.mark.parametrize(
    ("mode", "kinds"),
    [
        ("500", httpx.HTTPStatusError),
        ("cut", (httpx.ReadError, httpx.RemoteProtocolError)),
        ("bad", json.JSONDecodeError),
    ],
)
def test_an_http_failure_is_told_once(server: SSEServer, mode: str, kinds: Any) -> None:
    async def main() -> None:
        watcher = Watcher()
        sse(server, f"n=10&mode={mode}&at=3", watcher.log).subscribe(watcher)
        assert isinstance(await watcher.end(), kinds)
        assert watcher.items == ([] if mode == "500" else [0, 1, 2])
        assert watcher.log[0] == "cleaned"
        assert len(watcher.log) == 2

    run(main)


def test_two_subscribers_are_two_requests_and_share_is_one(server: SSEServer) -> None:
    async def main() -> None:
        stream, first, second = sse(server, "n=20", []), Watcher(), Watcher()
        stream.subscribe(first)
        stream.subscribe(second)
        await first.end()
        await second.end()
        assert first.items == second.items == list(range(20))
        assert len(server.connections) == 2

        shared, first, second = stream.pipe(ops.share()), Watcher(), Watcher()
        shared.subscribe(first)
        shared.subscribe(second)
        await first.end()
        await second.end()
        assert first.items == second.items == list(range(20))
        assert len(server.connections) == 3

    run(main)


# ------------------------------------------------------------------------------------------------- leaving early


def test_take_n_pulls_n_from_a_generator_that_never_waits() -> None:
    async def main() -> None:
        pulled = []

        async def eager() -> AsyncIterator[int]:
            for i in range(1_000_000):
                pulled.append(i)
                yield i

        watcher = Watcher()
        from_async_iterable(eager).pipe(ops.take(3)).subscribe(watcher)
        await watcher.end()
        await until(lambda: not other_tasks())
        assert pulled == [0, 1, 2]

    run(main)


def test_the_code_behind_the_last_wanted_yield_does_not_run() -> None:
    async def main() -> None:
        log: list[str] = []

        async def tools() -> AsyncIterator[int]:
            for i in range(3):
                yield i
                log.append(f"tool {i} started")

        watcher = Watcher()
        from_async_iterable(tools).pipe(ops.take(1)).subscribe(watcher)
        await watcher.end()
        await until(lambda: not other_tasks())
        assert log == []

    run(main)


def test_dispose_from_a_foreign_thread_wakes_an_idle_loop() -> None:
    async def main() -> None:
        watcher = Watcher()
        left = asyncio.Event()  # nothing else wakes this loop: it sits in select() until the dispose reaches it

        async def idle() -> AsyncIterator[int]:
            try:
                await asyncio.Event().wait()
                yield 0
            finally:
                left.set()

        subscription = from_async_iterable(idle).subscribe(watcher)
        await asyncio.sleep(0)
        thread = threading.Timer(0.02, subscription.dispose)
        thread.start()
        await left.wait()
        thread.join()
        assert not watcher.ends

    run(main)


def test_dispose_before_the_task_runs_calls_no_factory() -> None:
    async def main() -> None:
        calls: list[int] = []

        def factory() -> AsyncIterator[int]:
            calls.append(1)
            return numbers(1)

        from_async_iterable(factory).subscribe().dispose()
        await until(lambda: not other_tasks())
        assert calls == []

    run(main)


def test_subscribed_in_a_foreign_thread_and_disposed_before_the_loop_gets_to_it_calls_no_factory() -> None:
    async def main() -> None:
        calls: list[int] = []

        def factory() -> AsyncIterator[int]:
            calls.append(1)
            return numbers(1)

        stream, scheduler = from_async_iterable(factory), LoopScheduler(asyncio.get_running_loop())
        subscriptions: list[DisposableBase] = []
        thread = threading.Thread(target=lambda: subscriptions.append(stream.subscribe(scheduler=scheduler)))
        thread.start()
        thread.join()  # the loop stands still meanwhile
        subscriptions[0].dispose()
        await asyncio.sleep(0.001)
        assert calls == []

    run(main)


def cleaned_slowly(log: list[Any]) -> Stream[int]:
    """One item, then silence, and a cleanup that takes its time."""

    async def source() -> AsyncIterator[int]:
        try:
            yield 0
            await asyncio.Event().wait()
        finally:
            log.append("cleaning")
            await asyncio.sleep(0.005)
            log.append("cleaned")

    return from_async_iterable(source)


def test_a_second_dispose_does_not_disturb_the_cleanup() -> None:
    async def main() -> None:
        watcher = Watcher()

        subscription = cleaned_slowly(watcher.log).subscribe(watcher)
        await until(lambda: watcher.items)
        subscription.dispose()
        await until(lambda: watcher.log)
        subscription.dispose()
        await until(lambda: not other_tasks())
        assert watcher.log == ["cleaning", "cleaned"]

    run(main)


def test_dispose_does_not_disturb_the_cleanup_after_a_failure_of_the_consumer() -> None:
    async def main() -> None:
        watcher = Watcher()

        def raises(item: int) -> None:
            raise ValueError

        subscription = cleaned_slowly(watcher.log).subscribe(raises, watcher.on_error)
        await until(lambda: watcher.log)
        reported = reports()
        subscription.dispose()
        await until(lambda: not other_tasks())
        assert watcher.log == ["cleaning", "cleaned"]
        assert [type(report["exception"]) for report in reported] == [ValueError]

    run(main)


def test_dispose_does_not_disturb_the_cleanup_after_a_cancel_by_somebody_else() -> None:
    async def main() -> None:
        watcher = Watcher()

        subscription = cleaned_slowly(watcher.log).subscribe(watcher)
        await until(lambda: watcher.items)
        (task,) = other_tasks()
        task.cancel()
        await until(lambda: watcher.log)
        subscription.dispose()
        await until(lambda: not other_tasks())
        assert watcher.log == ["cleaning", "cleaned"]

    run(main)


def test_nothing_is_emitted_after_dispose_even_if_the_generator_goes_on() -> None:
    async def main() -> None:
        watcher = Watcher()

        async def stubborn() -> AsyncIterator[str]:
            try:
                yield "first"
                await asyncio.Event().wait()
            except asyncio.CancelledError:
                yield "last words"
                watcher.log.append("went on")

        subscription = from_async_iterable(stubborn).subscribe(watcher)
        await until(lambda: watcher.items)
        subscription.dispose()
        await until(lambda: not other_tasks())
        assert watcher.items == ["first"]
        assert watcher.log == []

    run(main)


def test_a_generator_may_dispose_its_own_subscription() -> None:
    async def main() -> None:
        watcher = Watcher()

        async def suicidal() -> AsyncIterator[int]:
            yield 0
            subscription.dispose()
            await asyncio.Event().wait()
            yield 1

        subscription = from_async_iterable(suicidal).subscribe(watcher)
        await until(lambda: not other_tasks())
        assert watcher.items == [0]
        assert not watcher.ends

    run(main)


@pytest.mark.parametrize("group", [anyio.create_task_group, asyncio.TaskGroup])
def test_a_task_group_may_be_held_across_yields(group: Callable[[], Any]) -> None:
    async def main() -> None:
        watcher = Watcher()

        async def grouped() -> AsyncIterator[int]:
            async with group() as tasks:
                start = getattr(tasks, "start_soon", None) or (lambda run: tasks.create_task(run()))
                start(asyncio.Event().wait)
                for i in range(100):
                    await asyncio.sleep(0)
                    yield i

        from_async_iterable(grouped).pipe(ops.take(3)).subscribe(watcher)
        assert await watcher.end() == "completed"
        await until(lambda: not other_tasks())
        assert watcher.items == [0, 1, 2]

    run(main)


def test_a_second_cancel_of_the_task_reaches_the_cleanup() -> None:
    async def main() -> None:
        log: list[str] = []

        async def source() -> AsyncIterator[int]:
            try:
                yield 0
            finally:
                log.append("cleaning")
                try:
                    await asyncio.Event().wait()
                except asyncio.CancelledError:
                    log.append("cancelled")
                    raise

        from_async_iterable(source).pipe(ops.take(1)).subscribe()
        await until(lambda: log)
        (task,) = other_tasks()
        task.cancel()
        await asyncio.wait([task])
        assert log == ["cleaning", "cancelled"]
        assert task.cancelled()

    run(main)


def test_an_error_in_the_cleanup_after_dispose_is_reported_and_not_told() -> None:
    async def main() -> None:
        reported, watcher = reports(), Watcher()

        async def source() -> AsyncIterator[int]:
            try:
                yield 0
            finally:
                raise ValueError("cleanup")

        from_async_iterable(source).pipe(ops.take(1)).subscribe(watcher)
        await watcher.end()
        await until(lambda: not other_tasks())
        assert [str(report["exception"]) for report in reported] == ["cleanup"]
        assert watcher.ends == ["completed"]

    run(main)


# -------------------------------------------------------------------------------- iterators that are no generators


class Countdown:
    def __init__(self, n: int) -> None:
        self.n = n

    def __aiter__(self) -> Countdown:
        return self

    async def __anext__(self) -> int:
        if self.n == 0:
            raise StopAsyncIteration
        self.n -= 1
        return self.n


class ClosableCountdown(Countdown):
    closed = False

    async def aclose(self) -> None:
        await asyncio.sleep(0)
        self.closed = True


@pytest.mark.parametrize("kind", [Countdown, ClosableCountdown])
def test_an_iterator_that_is_no_generator(kind: type[Countdown]) -> None:
    async def main() -> None:
        iterator, watcher = kind(3), Watcher()
        from_async_iterable(lambda: iterator).subscribe(watcher)
        assert await watcher.end() == "completed"
        assert watcher.items == [2, 1, 0]

        iterator, watcher = kind(3), Watcher()
        from_async_iterable(lambda: iterator).pipe(ops.take(1)).subscribe(watcher)
        await until(lambda: not other_tasks())
        assert iterator.n == 2
        assert getattr(iterator, "closed", True)

    run(main)


def test_an_iterable_whose_aiter_is_a_generator_is_left_properly() -> None:
    async def main() -> None:
        log: list[str] = []

        class Response:
            async def __aiter__(self) -> AsyncIterator[int]:
                try:
                    yield 1
                    yield 2
                finally:
                    await asyncio.sleep(0)
                    log.append("cleaned")

        from_async_iterable(Response).pipe(ops.take(1)).subscribe()
        await until(lambda: not other_tasks())
        assert log == ["cleaned"]

    run(main)


# ---------------------------------------------------------------------------------------- subscribers that misbehave


def test_a_consumer_that_raises_is_told_once_after_the_cleanup() -> None:
    async def main() -> None:
        watcher = Watcher()

        def raises(item: int) -> None:
            raise ValueError("consumer")

        from_async_iterable(lambda: numbers(5, watcher.log)).subscribe(raises, watcher.on_error, watcher.on_completed)
        assert str(await watcher.end()) == "consumer"
        await until(lambda: not other_tasks())
        assert watcher.log == ["cleaned", "ValueError"]

    run(main)


def test_a_consumer_that_raises_and_does_not_listen_to_errors_is_reported() -> None:
    async def main() -> None:
        reported, log = reports(), []

        def raises(item: int) -> None:
            raise ValueError("consumer")

        from_async_iterable(lambda: numbers(5, log)).subscribe(raises)
        await until(lambda: not other_tasks())
        assert [str(report["exception"]) for report in reported] == ["consumer"]
        assert log == ["cleaned"]

    run(main)


def test_a_consumer_that_raises_stop_iteration_is_an_error_and_no_completion() -> None:
    async def main() -> None:
        watcher = Watcher()

        def raises(item: int) -> None:
            raise StopIteration

        from_async_iterable(lambda: numbers(5)).subscribe(raises, watcher.on_error, watcher.on_completed)
        error = await watcher.end()  # as Python has it, when StopIteration leaves a coroutine
        assert isinstance(error, RuntimeError)
        assert isinstance(error.__cause__, StopIteration)

    run(main)


def test_b7_74_cancelled_error_raised_by_a_callback_does_not_hang() -> None:
    async def main() -> None:
        watcher = Watcher()

        def raises(item: int) -> None:
            raise asyncio.CancelledError

        from_async_iterable(lambda: numbers(5, watcher.log)).subscribe(raises, watcher.on_error)
        assert isinstance(await watcher.end(), StreamCancelled)
        assert watcher.log == ["cleaned", "StreamCancelled"]

    run(main)


def test_b7_74_cancelled_error_raised_by_the_source_itself_does_not_hang() -> None:
    async def main() -> None:
        watcher = Watcher()

        async def cancels() -> AsyncIterator[int]:
            yield 1
            raise asyncio.CancelledError

        from_async_iterable(cancels).subscribe(watcher)
        assert isinstance(await watcher.end(), StreamCancelled)

    run(main)


# ------------------------------------------------------------------------------------------------ the end of the loop


def test_the_end_of_the_loop_cleans_up_and_is_told_as_stream_cancelled() -> None:
    watcher = Watcher()

    async def endless() -> AsyncIterator[int]:
        try:
            while True:
                yield 0
                await asyncio.sleep(0)
        finally:
            await asyncio.sleep(0.001)
            watcher.log.append("cleaned")

    async def main() -> None:
        from_async_iterable(endless).subscribe(watcher)
        await until(lambda: watcher.items)

    asyncio.run(main())
    assert isinstance(watcher.ends[0], StreamCancelled)
    assert watcher.log == ["cleaned", "StreamCancelled"]


def test_the_end_of_the_loop_while_the_gate_is_closed_cleans_up() -> None:
    watcher = Watcher()

    async def main() -> None:
        gate = Gate()
        gate.close()
        scheduler = LoopScheduler(asyncio.get_running_loop(), gate)
        from_async_iterable(lambda: numbers(5, watcher.log)).subscribe(watcher, scheduler=scheduler)
        await until(lambda: watcher.items)

    asyncio.run(main())
    assert watcher.log == ["cleaned", "StreamCancelled"]


def test_a_task_that_is_cancelled_before_it_has_run_is_told() -> None:
    async def main() -> None:
        watcher = Watcher()
        from_async_iterable(lambda: numbers(5, watcher.log)).subscribe(watcher)
        (task,) = other_tasks()
        task.cancel()
        assert isinstance(await watcher.end(), StreamCancelled)
        assert watcher.log == ["StreamCancelled"]

    run(main)


# ----------------------------------------------------------------------------------------------- contextvars and loops

span: contextvars.ContextVar[str] = contextvars.ContextVar("span", default="none")


def test_generator_and_subscriber_see_the_contextvars_of_the_subscription() -> None:
    async def main() -> None:
        seen: list[str] = []

        async def source() -> AsyncIterator[str]:
            await asyncio.sleep(0)
            yield span.get()

        watcher = Watcher()
        stream = from_async_iterable(source).pipe(ops.do_action(seen.append, None, lambda: seen.append(span.get())))
        token = span.set("subscriber")
        stream.subscribe(watcher)
        span.reset(token)
        await watcher.end()
        assert seen == ["subscriber", "subscriber"]

    run(main)


@pytest.mark.parametrize("take", [1, 3])
def test_a_contextvar_token_held_across_yields_can_be_reset(take: int) -> None:
    async def main() -> None:
        async def source() -> AsyncIterator[int]:
            token = span.set("source")
            try:
                for i in range(3):
                    await asyncio.sleep(0)
                    yield i
            finally:
                span.reset(token)

        watcher = Watcher()
        from_async_iterable(source).pipe(ops.take(take)).subscribe(watcher)
        assert await watcher.end() == "completed"

    run(main)


def test_without_a_loop_the_portal_runs_the_stream_in_the_contextvars_of_the_subscriber() -> None:
    watcher = Watcher()
    threads: list[str] = []

    async def source() -> AsyncIterator[str]:
        await asyncio.sleep(0)
        threads.append(threading.current_thread().name)
        yield span.get()

    token = span.set("plain code")
    from_async_iterable(source).subscribe(watcher)
    span.reset(token)
    wait_for(lambda: watcher.ends)
    assert watcher.items == ["plain code"]
    assert threads == ["agentscope-rx-portal"]


def test_without_a_loop_dispose_cleans_up() -> None:
    log: list[str] = []
    watcher = Watcher()

    async def source() -> AsyncIterator[int]:
        try:
            yield 1
            await asyncio.Event().wait()
        finally:
            log.append("cleaned")

    subscription = from_async_iterable(source).subscribe(watcher)
    wait_for(lambda: watcher.items)
    subscription.dispose()
    wait_for(lambda: log)
    assert not watcher.ends


def test_the_run_of_rxpy_works_without_a_loop_and_inside_a_running_one() -> None:
    plain = rx.defer(lambda _: from_async_iterable(lambda: numbers(3)))
    assert not isinstance(plain, Stream)
    assert plain.run() == 2

    async def main() -> int:
        return plain.run()  # blocks this loop: the portal runs the stream

    assert asyncio.run(main()) == 2


def test_a_subscription_from_a_foreign_thread_runs_on_the_loop_in_the_contextvars_of_the_thread() -> None:
    async def main() -> None:
        watcher, threads = Watcher(), []
        scheduler = LoopScheduler(asyncio.get_running_loop())
        stream = from_async_iterable(lambda: numbers(2))
        stream = stream.pipe(ops.do_action(lambda _: threads.append(threading.get_ident())))
        stream = stream.pipe(ops.map(lambda _: span.get()))

        def subscribe() -> None:
            span.set("foreign thread")
            stream.subscribe(watcher, scheduler=scheduler)

        thread = threading.Thread(target=subscribe)
        thread.start()
        assert await watcher.end() == "completed"
        assert watcher.items == ["foreign thread"] * 2
        assert set(threads) == {threading.get_ident()}

    run(main)


# ------------------------------------------------------------------------------------------------------------- demand


def test_a_closed_gate_stops_the_pulling() -> None:
    async def main() -> None:
        watcher, gate = Watcher(), Gate()
        gate.close()
        scheduler = LoopScheduler(asyncio.get_running_loop(), gate)
        from_async_iterable(lambda: numbers(5)).subscribe(watcher, scheduler=scheduler)
        await asyncio.sleep(0.01)
        assert watcher.items == [0]
        gate.open()
        assert await watcher.end() == "completed"
        assert watcher.items == [0, 1, 2, 3, 4]

    run(main)


def test_dispose_while_the_gate_is_closed_cleans_up() -> None:
    async def main() -> None:
        watcher, gate = Watcher(), Gate()
        gate.close()
        scheduler = LoopScheduler(asyncio.get_running_loop(), gate)
        stream = from_async_iterable(lambda: numbers(5, watcher.log))
        subscription = stream.subscribe(watcher, scheduler=scheduler)
        await until(lambda: watcher.items)
        subscription.dispose()
        await scheduler.joined()
        assert watcher.log == ["cleaned"]
        assert not other_tasks()

    run(main)


def test_a_resource_held_by_the_generator_is_left_in_the_task_that_entered_it() -> None:
    async def main() -> None:
        tasks: list[Any] = []

        @asynccontextmanager
        async def resource() -> AsyncIterator[None]:
            tasks.append(asyncio.current_task())
            try:
                yield
            finally:
                tasks.append(asyncio.current_task())

        async def source() -> AsyncIterator[int]:
            async with resource():
                yield 1
                yield 2

        from_async_iterable(source).pipe(ops.take(1)).subscribe()
        await until(lambda: len(tasks) == 2)
        assert tasks[0] is tasks[1]

    run(main)


def test_a_loop_that_was_closed_over_a_stream_is_let_go() -> None:
    class Silent:
        def __aiter__(self) -> Silent:
            return self

        async def __anext__(self) -> int:
            return await asyncio.get_running_loop().create_future()

    async def begin() -> None:
        from_async_iterable(Silent).subscribe()
        await asyncio.sleep(0)

    loop = asyncio.new_event_loop()
    loop.set_exception_handler(lambda *_: None)  # it is told of the task that is pending, and that is meant
    loop.run_until_complete(begin())
    loop.close()
    closed = weakref.ref(loop)
    del loop
    asyncio.run(begin())
    gc.collect()
    assert closed() is None
