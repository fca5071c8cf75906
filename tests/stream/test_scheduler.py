from __future__ import annotations

import asyncio
import contextvars
import threading
from collections.abc import AsyncIterator, Callable
from datetime import timedelta
from typing import Any

import pytest
import reactivex as rx
from reactivex import Observable, operators as ops
from reactivex.abc import DisposableBase, ObserverBase, SchedulerBase
from reactivex.disposable import Disposable

from agentscope_rx.stream import Gate, LoopScheduler, from_async_iterable

from .watching import Watcher, run, until

span: contextvars.ContextVar[str] = contextvars.ContextVar("span", default="none")


def scheduler(gate: Gate | None = None, context: dict[str, Any] | None = None) -> LoopScheduler:
    return LoopScheduler(asyncio.get_running_loop(), gate, context)


# --------------------------------------------------------------------------------------------------------- immediate


def test_immediate_work_runs_before_subscribe_returns() -> None:
    async def main() -> None:
        watcher = Watcher()
        rx.of(1, 2, 3).subscribe(watcher, scheduler=scheduler())
        assert watcher.items == [1, 2, 3]
        assert watcher.ends == ["completed"]

    run(main)


def test_an_action_gets_the_scheduler_it_was_scheduled_on() -> None:
    async def main() -> None:
        ours, got = scheduler(), list[Any]()
        ours.schedule(lambda given, state: got.append((given, state)), "state")
        ours.schedule_relative(0.0, lambda given, state: got.append((given, state)), "later")
        await until(lambda: len(got) == 2)
        assert got == [(ours, "state"), (ours, "later")]

    run(main)


# -------------------------------------------------------------------------------------------------------------- timed


@pytest.mark.parametrize("duetime", [0.01, timedelta(seconds=0.01)])
def test_relative_work_runs_on_the_loop_in_the_contextvars_of_whoever_scheduled_it(duetime: Any) -> None:
    async def main() -> None:
        seen: list[Any] = []
        token = span.set("scheduled")
        scheduler().schedule_relative(duetime, lambda *_: seen.append((threading.get_ident(), span.get())))
        span.reset(token)
        assert seen == []
        await until(lambda: seen)
        assert seen == [(threading.get_ident(), "scheduled")]

    run(main)


def test_work_in_the_past_runs_soon_and_absolute_work_at_its_time() -> None:
    async def main() -> None:
        ours, order = scheduler(), list[str]()
        ours.schedule_absolute(ours.now + timedelta(seconds=0.02), lambda *_: order.append("absolute"))
        ours.schedule_relative(-5, lambda *_: order.append("past"))
        await until(lambda: len(order) == 2)
        assert order == ["past", "absolute"]

    run(main)


def test_disposed_timed_work_does_not_run() -> None:
    async def main() -> None:
        ours, ran = scheduler(), list[int]()
        ours.schedule_relative(0.0, lambda *_: ran.append(1)).dispose()
        foreign = ours.schedule_relative(0.02, lambda *_: ran.append(2))
        await asyncio.to_thread(foreign.dispose)
        await asyncio.to_thread(lambda: ours.schedule_relative(0.02, lambda *_: ran.append(3)).dispose())
        await asyncio.sleep(0.04)
        assert ran == []

    run(main)


def test_work_from_a_foreign_thread_that_is_disposed_before_the_loop_gets_to_it_does_not_run() -> None:
    async def main() -> None:
        ours, ran, scheduled = scheduler(), list[int](), list[DisposableBase]()

        def schedule() -> None:
            scheduled.append(ours.schedule_relative(0.0, lambda *_: ran.append(1)))

        thread = threading.Thread(target=schedule)
        thread.start()
        thread.join()  # the loop stands still meanwhile
        scheduled[0].dispose()
        await asyncio.sleep(0.005)
        assert ran == []

    run(main)


def test_work_scheduled_from_a_foreign_thread_wakes_an_idle_loop() -> None:
    async def main() -> None:
        ours, ran, seen = scheduler(), asyncio.Event(), list[str]()

        def action(*_: Any) -> None:
            seen.append(span.get())
            ran.set()

        def schedule() -> None:
            span.set("foreign thread")
            ours.schedule_relative(0.0, action)

        thread = threading.Timer(0.02, schedule)
        thread.start()
        await ran.wait()
        thread.join()
        assert seen == ["foreign thread"]

    run(main)


def test_periodic_work_repeats_until_it_is_disposed() -> None:
    async def main() -> None:
        watcher = Watcher()
        rx.interval(0.001).pipe(ops.take(3)).subscribe(watcher, scheduler=scheduler())
        await watcher.end()
        assert watcher.items == [0, 1, 2]

    run(main)


async def one() -> AsyncIterator[int]:
    await asyncio.sleep(0)
    yield 1


@pytest.mark.parametrize(
    "source",
    [
        lambda: from_async_iterable(one).pipe(ops.delay(0.001)),
        lambda: from_async_iterable(one).pipe(ops.debounce(0.001)),
        lambda: from_async_iterable(one).pipe(ops.timeout(5)),
        lambda: rx.timer(0.001),
        lambda: rx.of(1).pipe(ops.delay_subscription(0.001)),
    ],
)
def test_timed_operators_stay_in_the_thread_and_the_contextvars_of_the_subscriber(
    source: Callable[[], Observable[Any]],
) -> None:
    async def main() -> None:
        watcher, seen = Watcher(), set[Any]()
        token = span.set("subscriber")
        observed = source().pipe(ops.do_action(lambda _: seen.add((threading.get_ident(), span.get()))))
        observed.subscribe(watcher, scheduler=scheduler())
        span.reset(token)
        await watcher.end()
        assert seen == {(threading.get_ident(), "subscriber")}

    run(main)


# --------------------------------------------------------------------------------------------- what travels upstream


def test_sources_see_the_context_of_the_subscriber() -> None:
    async def main() -> None:
        def source(observer: ObserverBase[str], scheduler: SchedulerBase | None = None) -> DisposableBase:
            assert isinstance(scheduler, LoopScheduler)
            observer.on_next(scheduler.context["session"])
            observer.on_completed()
            return Disposable()

        watcher = Watcher()
        stream = Observable(source).pipe(ops.concat(Observable(source)), ops.flat_map(lambda _: Observable(source)))
        stream.subscribe(watcher, scheduler=scheduler(context={"session": "s1"}))
        assert watcher.items == ["s1", "s1"]
        assert scheduler().context == {}

    run(main)


def _source(n: int, pulled: list[int]) -> Observable[int]:
    async def items() -> AsyncIterator[int]:
        for i in range(n):
            pulled.append(i)
            yield i

    return from_async_iterable(items)


@pytest.mark.parametrize(
    "build",
    [
        lambda source: source().pipe(ops.map(lambda x: x)),
        lambda source: source().pipe(ops.filter(lambda x: True), ops.scan(lambda _, x: x), ops.take(1000)),
        lambda source: rx.merge(source(), source()),
        lambda source: rx.concat(source(), source()),
        lambda source: rx.defer(lambda _: source()),
        lambda source: rx.of(0).pipe(ops.flat_map(lambda _: source())),
        lambda source: rx.of(0).pipe(ops.concat_map(lambda _: source())),
        lambda source: rx.of(-1).pipe(ops.expand(lambda x: source() if x < 0 else rx.empty()), ops.skip(1)),
        lambda source: source().pipe(ops.retry(2)),
        lambda source: source().pipe(ops.catch(lambda _, __: rx.empty())),
        lambda source: source().pipe(ops.group_by(lambda x: x % 2), ops.merge_all()),
        lambda source: source().pipe(ops.start_with(0), ops.finally_action(lambda: None)),
        lambda source: source().pipe(ops.share()),
        lambda source: source().pipe(ops.timeout(5)),
    ],
)
def test_the_gate_reaches_the_source_through_stock_operators(
    build: Callable[[Callable[[], Observable[int]]], Observable[int]],
) -> None:
    async def main() -> None:
        gate, pulled, watcher = Gate(), list[int](), Watcher()
        gate.close()
        subscription = build(lambda: _source(100, pulled)).subscribe(watcher, scheduler=scheduler(gate))
        await asyncio.sleep(0.002)
        assert 1 <= len(pulled) <= 2
        gate.open()
        await until(lambda: len(pulled) >= 100)
        subscription.dispose()

    run(main)


# ------------------------------------------------------------------------------------------------------------- joined


async def slow_to_leave(left: list[int]) -> AsyncIterator[int]:
    try:
        yield 1
        await asyncio.Event().wait()
    finally:
        await asyncio.sleep(0.01)
        left.append(1)


def test_joined_waits_for_the_cleanup_of_all_sources() -> None:
    async def main() -> None:
        ours, left, watcher = scheduler(), list[int](), Watcher()
        merged = rx.merge(*[from_async_iterable(lambda: slow_to_leave(left)) for _ in range(3)])
        subscription = merged.subscribe(watcher, scheduler=ours)
        await until(lambda: len(watcher.items) == 3)
        assert len(ours.tasks) == 3
        subscription.dispose()
        await ours.joined()
        assert left == [1, 1, 1]
        assert not ours.tasks

    run(main)


def test_joined_does_not_wait_for_the_task_that_waits() -> None:
    async def main() -> None:
        ours, watcher = scheduler(), Watcher()

        async def joins_itself() -> AsyncIterator[int]:
            await ours.joined()
            yield 1

        from_async_iterable(joins_itself).subscribe(watcher, scheduler=ours)
        assert await watcher.end() == "completed"

    run(main)


@pytest.mark.parametrize(("cancels", "cleaned"), [(1, [1]), (2, [])])
def test_the_first_cancel_of_joined_is_raised_after_the_wait_and_the_second_at_once(
    cancels: int, cleaned: list[int]
) -> None:
    async def main() -> None:
        ours, left, watcher = scheduler(), list[int](), Watcher()
        subscription = from_async_iterable(lambda: slow_to_leave(left)).subscribe(watcher, scheduler=ours)
        await until(lambda: watcher.items)
        subscription.dispose()
        waiter = asyncio.create_task(ours.joined())
        for _ in range(cancels):
            await asyncio.sleep(0)
            waiter.cancel()
        await asyncio.wait([waiter])
        assert waiter.cancelled()
        assert left == cleaned
        await ours.joined()

    run(main)


def test_a_child_shares_all_but_the_tasks() -> None:
    async def main() -> None:
        ours = scheduler(Gate(), {"key": "value"})
        child = ours.child()
        assert (child.loop, child.gate, child.context) == (ours.loop, ours.gate, ours.context)
        subscription = from_async_iterable(one).subscribe(scheduler=child)
        assert child.tasks
        assert not ours.tasks
        subscription.dispose()

    run(main)
