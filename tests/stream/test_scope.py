from __future__ import annotations

import asyncio
import contextvars
import threading
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from functools import partial
from types import TracebackType
from typing import Any

import anyio
import pytest
import reactivex as rx
from reactivex import Observable, operators as ops
from reactivex.subject import Subject

from agentscope_rx.errors import StreamCancelled
from agentscope_rx.stream import (
    FifoLock,
    Gate,
    LoopScheduler,
    Stream,
    concat_stages,
    from_async_iterable,
    using_async,
)

from .sources import pumped
from .watching import Watcher, other_tasks, reports, run, until, wait_for


class Resource:
    """An async context manager that takes its time, and writes down what happens to it."""

    def __init__(self, log: list[Any], *, suppress: bool = False, fail: Exception | None = None) -> None:
        self.log = log
        self.suppress = suppress
        self.fail = fail

    async def __aenter__(self) -> str:
        await asyncio.sleep(0)
        self.log.append("entered")
        return "value"

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> bool:
        self.log.append(f"leaving: {kind.__name__ if kind else None}")
        await asyncio.sleep(0.003)
        self.log.append("left")
        if self.fail:
            raise self.fail
        return self.suppress


pump = partial(pumped, note="body cleaned")


# --------------------------------------------------------------------------------------------------- the usual course


def test_the_order_is_enter_items_cleanup_leave_and_only_then_completed() -> None:
    async def main() -> None:
        watcher = Watcher()

        def body(value: str) -> Observable[Any]:
            return pump(value, 2, log=watcher.log).pipe(ops.do_action(watcher.log.append))

        using_async(lambda: Resource(watcher.log), body).subscribe(watcher)
        assert await watcher.end() == "completed"
        assert watcher.items == ["value", 2]
        assert watcher.log == ["entered", "value", 2, "body cleaned", "leaving: None", "left", "completed"]

    run(main)


def test_nothing_happens_before_subscribe_and_two_subscribers_enter_twice() -> None:
    async def main() -> None:
        log: list[Any] = []
        stream = using_async(lambda: Resource(log), lambda _: pump(1))
        await asyncio.sleep(0)
        assert log == []
        assert await asyncio.gather(*[_await(stream), _await(stream)]) == [1, 1]
        assert log.count("entered") == log.count("left") == 2

    run(main)


async def _await(stream: Stream[Any]) -> Any:
    return await stream


@pytest.mark.parametrize("body", [lambda: rx.of(1, 2, 3), lambda: rx.from_iterable([1, 2, 3]), lambda: pump(1, 2, 3)])
def test_any_body(body: Callable[[], Observable[int]]) -> None:
    async def main() -> None:
        log: list[Any] = []
        assert [item async for item in using_async(lambda: Resource(log), lambda _: body())] == [1, 2, 3]
        assert log == ["entered", "leaving: None", "left"]
        assert not other_tasks()

    run(main)


def test_items_are_forwarded_in_the_call_of_the_source() -> None:
    async def main() -> None:
        watcher, subject = Watcher(), Subject[int]()
        using_async(lambda: Resource(watcher.log), lambda _: subject).subscribe(watcher)
        await until(lambda: subject.observers)
        subject.on_next(1)
        assert watcher.items == [1]
        subject.on_completed()
        await watcher.end()

    run(main)


def test_a_body_fed_by_a_foreign_thread_wakes_the_loop() -> None:
    async def main() -> None:
        watcher, subject = Watcher(), Subject[int]()
        using_async(lambda: Resource(watcher.log), lambda _: subject).subscribe(watcher)
        await until(lambda: subject.observers)
        thread = threading.Timer(0.01, subject.on_completed)
        thread.start()
        assert await watcher.end() == "completed"

    run(main)


# --------------------------------------------------------------------------------------------------------------- errors


@pytest.mark.parametrize("body", [lambda: rx.throw(KeyError()), lambda: pump(1).pipe(ops.map(lambda x: {}[x]))])
def test_the_resource_sees_the_error_of_the_body_which_is_told_after_leaving(body: Callable[[], Any]) -> None:
    async def main() -> None:
        watcher = Watcher()
        using_async(lambda: Resource(watcher.log), lambda _: body()).subscribe(watcher)
        assert isinstance(await watcher.end(), KeyError)
        assert watcher.log == ["entered", "leaving: KeyError", "left", "KeyError"]

    run(main)


def test_an_error_that_the_resource_suppresses_completes_the_stream() -> None:
    async def main() -> None:
        watcher = Watcher()
        using_async(lambda: Resource(watcher.log, suppress=True), lambda _: rx.throw(KeyError())).subscribe(watcher)
        assert await watcher.end() == "completed"

    run(main)


def test_an_error_of_the_leaving_is_told() -> None:
    async def main() -> None:
        for body in (rx.of(1), rx.throw(KeyError())):
            watcher = Watcher()
            resource = Resource(watcher.log, fail=ValueError("leaving"))
            using_async(lambda resource=resource: resource, lambda _, body=body: body).subscribe(watcher)  # type: ignore[misc]
            assert str(await watcher.end()) == "leaving"

    run(main)


def test_errors_of_the_resource_function_of_entering_and_of_the_body_function_are_told() -> None:
    async def main() -> None:
        def broken(*_: Any) -> Any:
            raise KeyError

        @asynccontextmanager
        async def broken_inside() -> AsyncIterator[int]:
            raise KeyError
            yield 0

        for resource, body in (
            (broken, pump),
            (broken_inside, pump),
            (lambda: Resource([]), broken),
        ):
            watcher = Watcher()
            using_async(resource, body).subscribe(watcher)
            assert isinstance(await watcher.end(), KeyError)

    run(main)


def test_a_consumer_that_raises_is_told_after_the_resource_has_been_left() -> None:
    async def main() -> None:
        for body in (lambda log: rx.of(1, 2), lambda log: pump(1, 2, log=log), lambda log: concat_stages(two)):
            watcher = Watcher()

            def raises(item: Any, watcher: Watcher = watcher) -> None:
                watcher.items.append(item)
                raise ValueError

            stream = using_async(lambda: Resource(watcher.log), lambda _: body(watcher.log))  # noqa: B023
            stream.subscribe(raises, watcher.on_error)
            await watcher.end()
            assert watcher.items == [1]
            assert [entry for entry in watcher.log if entry != "body cleaned"] == [
                "entered",
                "leaving: ValueError",
                "left",
                "ValueError",
            ]

    run(main)


def two() -> Any:
    yield 1
    yield 2


# --------------------------------------------------------------------------------------------------------- leaving


def test_b7_72_dispose_cleans_up_the_body_then_leaves_the_resource_and_tells_nobody() -> None:
    async def main() -> None:
        watcher = Watcher()
        scheduler = LoopScheduler(asyncio.get_running_loop())
        stream = using_async(lambda: Resource(watcher.log), lambda _: pump(1, log=watcher.log, idle=True))
        subscription = stream.subscribe(watcher, scheduler=scheduler)
        await until(lambda: watcher.items)
        subscription.dispose()
        await scheduler.joined()
        assert watcher.log == ["entered", "body cleaned", "leaving: CancelledError", "left"]
        assert not watcher.ends
        assert not other_tasks()

    run(main)


@pytest.mark.parametrize("delay", [i * 0.001 for i in range(12)])
def test_dispose_at_any_moment_leaves_what_was_entered_exactly_once_and_never_interrupts_the_leaving(
    delay: float,
) -> None:
    async def main() -> None:
        watcher = Watcher()
        scheduler = LoopScheduler(asyncio.get_running_loop())
        stream = using_async(lambda: Resource(watcher.log), lambda _: pump(1, 2, 3, log=watcher.log))
        subscription = stream.subscribe(watcher, scheduler=scheduler)
        await asyncio.sleep(delay)
        subscription.dispose()
        heard = list(watcher.ends)
        await asyncio.sleep(0)
        subscription.dispose()
        await scheduler.joined()
        assert watcher.log.count("entered") == watcher.log.count("left")
        assert watcher.ends == heard

    run(main)


def test_dispose_inside_on_next_stops_the_body_right_there() -> None:
    async def main() -> None:
        pulled: list[int] = []

        async def eager() -> AsyncIterator[int]:
            for i in range(1_000_000):
                pulled.append(i)
                yield i

        for body in (from_async_iterable(eager), concat_stages(lambda: _noting(pulled))):
            watcher = Watcher()
            pulled.clear()
            stream = using_async(lambda watcher=watcher: Resource(watcher.log), lambda _, body=body: body)  # type: ignore[misc]
            stream.pipe(ops.take(3)).subscribe(watcher)
            await until(lambda: not other_tasks())
            assert watcher.items == pulled == [0, 1, 2]
            assert watcher.log == ["entered", "completed", "leaving: CancelledError", "left"]

    run(main)


def _noting(pulled: list[int]) -> Any:
    for i in range(1_000_000):
        pulled.append(i)
        yield i


def test_dispose_while_entering_interrupts_it() -> None:
    async def main() -> None:
        lock = FifoLock()
        async with lock:
            first, second = Watcher(), Watcher()
            subscription = using_async(lambda: lock, lambda _: pump(1)).subscribe(first)
            using_async(lambda: lock, lambda _: pump(2)).subscribe(second)
            await asyncio.sleep(0.001)
            subscription.dispose()
            await asyncio.sleep(0.001)
            assert len(other_tasks()) == 1
        assert await second.end() == "completed"
        assert not first.items
        assert not first.ends
        assert not lock.locked

    run(main)


def test_dispose_before_the_task_has_run_enters_nothing() -> None:
    async def main() -> None:
        log: list[Any] = []
        using_async(lambda: Resource(log), lambda _: pump(1)).subscribe().dispose()
        await until(lambda: not other_tasks())
        assert log == []

    run(main)


def test_the_resource_may_dispose_the_subscription_while_it_enters() -> None:
    async def main() -> None:
        log: list[Any] = []

        @asynccontextmanager
        async def resource() -> AsyncIterator[None]:
            await asyncio.sleep(0)
            subscription.dispose()
            try:
                yield
            finally:
                await asyncio.sleep(0)
                log.append("left")

        subscription = using_async(resource, lambda _: log.append("body") or pump(1)).subscribe(log.append)
        await until(lambda: not other_tasks())
        assert log == ["left"]

    run(main)


def test_a_resource_that_swallows_the_cancel_while_entering_is_left_again() -> None:
    async def main() -> None:
        log: list[Any] = []

        @asynccontextmanager
        async def stubborn() -> AsyncIterator[None]:
            try:
                await asyncio.Event().wait()
            except asyncio.CancelledError:
                log.append("swallowed")
            try:
                yield
            finally:
                await asyncio.sleep(0)
                log.append("left")

        subscription = using_async(stubborn, lambda _: log.append("body") or pump(1)).subscribe(log.append)
        await asyncio.sleep(0.001)
        subscription.dispose()
        await until(lambda: not other_tasks())
        assert log == ["swallowed", "left"]

    run(main)


def test_an_error_of_the_leaving_after_dispose_is_reported() -> None:
    async def main() -> None:
        reported, watcher = reports(), Watcher()
        resource = Resource(watcher.log, fail=ValueError("leaving"))
        subscription = using_async(lambda: resource, lambda _: pump(1, idle=True)).subscribe(watcher)
        await until(lambda: watcher.items)
        subscription.dispose()
        await until(lambda: not other_tasks())
        assert [str(report["exception"]) for report in reported] == ["leaving"]
        assert not watcher.ends

    run(main)


def test_dispose_from_a_foreign_thread() -> None:
    async def main() -> None:
        watcher, left = Watcher(), asyncio.Event()

        @asynccontextmanager
        async def resource() -> AsyncIterator[None]:
            try:
                yield
            finally:
                watcher.log.append(threading.get_ident())
                left.set()

        subscription = using_async(resource, lambda _: pump(1, idle=True)).subscribe(watcher)
        await until(lambda: watcher.items)
        threading.Timer(0.02, subscription.dispose).start()
        await left.wait()
        assert watcher.log == [threading.get_ident()]

    run(main)


def test_a_task_group_may_be_the_resource() -> None:
    async def main() -> None:
        for group in (anyio.create_task_group, asyncio.TaskGroup):
            watcher = Watcher()

            def body(tasks: Any) -> Observable[Any]:
                start = getattr(tasks, "start_soon", None) or (lambda run: tasks.create_task(run()))
                start(asyncio.Event().wait)
                return pump(1, idle=True)

            using_async(group, body).pipe(ops.take(1)).subscribe(watcher)
            await watcher.end()
            await until(lambda: not other_tasks())

    run(main)


# ------------------------------------------------------------------------------------------- cancelled by somebody else


def test_one_cancel_of_the_task_while_the_body_runs_does_not_interrupt_the_leaving() -> None:
    async def main() -> None:
        watcher = Watcher()
        scheduler = LoopScheduler(asyncio.get_running_loop())
        stream = using_async(lambda: Resource(watcher.log), lambda _: pump(1, log=watcher.log, idle=True))
        stream.subscribe(watcher, scheduler=scheduler)
        await until(lambda: watcher.items)
        (task,) = scheduler.tasks
        task.cancel()
        assert isinstance(await watcher.end(), StreamCancelled)
        assert watcher.log == ["entered", "body cleaned", "leaving: CancelledError", "left", "StreamCancelled"]

    run(main)


def test_one_cancel_of_the_task_after_dispose_waits_for_the_body_and_is_raised() -> None:
    async def main() -> None:
        watcher = Watcher()
        scheduler = LoopScheduler(asyncio.get_running_loop())
        stream = using_async(lambda: Resource(watcher.log), lambda _: pump(1, log=watcher.log, idle=True))
        subscription = stream.subscribe(watcher, scheduler=scheduler)
        await until(lambda: watcher.items)
        (task,) = scheduler.tasks
        subscription.dispose()
        await asyncio.sleep(0)
        task.cancel()
        await asyncio.wait([task])
        assert task.cancelled()
        assert watcher.log == ["entered", "body cleaned", "leaving: CancelledError", "left"]

    run(main)


def test_a_second_cancel_of_the_task_ends_the_wait_for_the_body() -> None:
    async def main() -> None:
        watcher = Watcher()
        scheduler = LoopScheduler(asyncio.get_running_loop())
        stream = using_async(lambda: Resource(watcher.log), lambda _: pump(1, log=watcher.log, idle=True))
        stream.subscribe(watcher, scheduler=scheduler)
        await until(lambda: watcher.items)
        (task,) = scheduler.tasks
        for _ in range(2):
            task.cancel()
            await asyncio.sleep(0)
        await asyncio.wait([task])
        assert task.cancelled()
        assert watcher.log[:2] == ["entered", "leaving: CancelledError"]

    run(main)


def test_the_end_of_the_loop_leaves_the_resource() -> None:
    watcher = Watcher()

    async def main() -> None:
        stream = using_async(lambda: Resource(watcher.log), lambda _: pump(1, log=watcher.log, idle=True))
        stream.subscribe(watcher)
        await until(lambda: watcher.items)

    asyncio.run(main())
    # Whether the resource sees that its own task was cancelled, or that its body was, depends on which came first.
    assert [entry for entry in watcher.log if "leaving" not in entry] == [
        "entered",
        "body cleaned",
        "left",
        "StreamCancelled",
    ]


# ------------------------------------------------------------------------------------------- what travels upstream


def test_the_body_gets_the_gate_and_the_context_of_the_subscriber_and_tasks_of_its_own() -> None:
    async def main() -> None:
        seen: list[LoopScheduler] = []

        def body(value: Any) -> Observable[int]:
            def subscribe(observer: Any, scheduler: Any = None) -> Any:
                seen.append(scheduler)
                return pump(1).subscribe(observer, scheduler=scheduler)

            return Observable(subscribe)

        scheduler = LoopScheduler(asyncio.get_running_loop(), Gate(), {"session": "s1"})
        watcher = Watcher()
        using_async(lambda: Resource([]), body).subscribe(watcher, scheduler=scheduler)
        assert len(scheduler.tasks) == 1
        await watcher.end()
        assert (seen[0].loop, seen[0].gate, seen[0].context) == (scheduler.loop, scheduler.gate, {"session": "s1"})
        assert seen[0].tasks is not scheduler.tasks

    run(main)


def test_a_slow_consumer_slows_the_body() -> None:
    async def main() -> None:
        pulled = taken = lead = 0

        async def source() -> AsyncIterator[int]:
            nonlocal pulled
            for i in range(1000):
                pulled += 1
                yield i

        stream = using_async(lambda: Resource([]), lambda _: from_async_iterable(source))
        async for _ in stream.iterate(4):
            taken += 1
            lead = max(lead, pulled - taken)
            await asyncio.sleep(0)
        assert taken == 1000
        assert lead <= 5

    run(main)


def test_resource_and_body_run_in_the_contextvars_of_the_subscriber() -> None:
    async def main() -> None:
        span: contextvars.ContextVar[str] = contextvars.ContextVar("span", default="none")
        seen: list[str] = []

        @asynccontextmanager
        async def resource() -> AsyncIterator[None]:
            seen.append(span.get())
            token = span.set("resource")
            try:
                yield
            finally:
                span.reset(token)

        async def source() -> AsyncIterator[str]:
            yield span.get()

        token = span.set("subscriber")
        stream = using_async(resource, lambda _: from_async_iterable(source))
        watcher = Watcher()
        stream.subscribe(watcher)
        span.reset(token)
        await watcher.end()
        assert seen == ["subscriber"]
        assert watcher.items == ["resource"]

    run(main)


def test_without_a_loop_the_portal_runs_it() -> None:
    watcher = Watcher()
    using_async(lambda: Resource(watcher.log), lambda _: pump(1, 2)).subscribe(watcher)
    wait_for(lambda: watcher.ends)
    assert watcher.items == [1, 2]
    assert watcher.log == ["entered", "leaving: None", "left", "completed"]


def test_scopes_in_scopes_in_stages() -> None:
    async def main() -> None:
        log: list[Any] = []

        def stages() -> Any:
            last = yield using_async(lambda: Resource(log), lambda _: pump(1))
            yield using_async(lambda: Resource(log), lambda _: pump(last + 1))

        stream = using_async(lambda: Resource(log), lambda _: concat_stages(stages))
        assert [item async for item in stream] == [1, 2]
        assert log == ["entered", *["entered", "leaving: None", "left"] * 2, "leaving: None", "left"]

    run(main)
