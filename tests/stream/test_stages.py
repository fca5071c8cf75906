from __future__ import annotations

import asyncio
import contextvars
import sys
import threading
from collections.abc import AsyncIterator, Callable, Generator, Iterator
from functools import partial
from typing import Any

import pytest
import reactivex as rx
from reactivex import Observable, operators as ops
from reactivex.disposable import CompositeDisposable, Disposable, SingleAssignmentDisposable
from reactivex.subject import Subject

from agentscope_rx.errors import StreamCancelled
from agentscope_rx.stream import Gate, LoopScheduler, StageCut, Stream, concat_stages, from_async_iterable
from agentscope_rx.stream.stages import _Stages

from .sources import pumped
from .watching import Watcher, other_tasks, reports, run, until

Stages = Generator[Any, Any, None]
pump = partial(pumped, note="stage cleaned")


# --------------------------------------------------------------------------------------------------- the usual course


def test_values_are_emitted_and_stages_run_to_their_end_one_after_the_other() -> None:
    async def main() -> None:
        def stages() -> Stages:
            yield "start"
            yield pump(1, 2)
            yield rx.of(3, 4)
            yield pump()
            yield rx.empty()
            yield None
            yield pump(5)

        watcher = Watcher()
        stream = concat_stages(stages)
        assert isinstance(stream, Stream)
        stream.subscribe(watcher)
        assert await watcher.end() == "completed"
        assert watcher.items == ["start", 1, 2, 3, 4, None, 5]

    run(main)


@pytest.mark.parametrize("make", [rx.of, pump])
def test_the_last_item_of_a_stage_is_sent_back(make: Callable[..., Any]) -> None:
    async def main() -> None:
        sent: list[Any] = []

        def stages() -> Stages:
            sent.append((yield make(1, 2, 3)))
            sent.append((yield rx.empty()))
            sent.append((yield "value"))
            sent.append((yield make(4)))

        await concat_stages(stages)
        assert sent == [3, None, None, 4]

    run(main)


def test_the_error_of_a_stage_is_thrown_in() -> None:
    async def main() -> None:
        def stages() -> Stages:
            try:
                yield rx.concat(rx.of(1), rx.throw(KeyError("sync")))
            except KeyError as error:
                yield f"caught {error}"
            try:
                yield pump(2).pipe(ops.map(lambda x: x / 0))
            except ZeroDivisionError:
                yield "caught too"

        assert [item async for item in concat_stages(stages)] == [1, "caught 'sync'", "caught too"]

    run(main)


def test_an_error_that_the_generator_does_not_catch_or_raises_itself_ends_the_stream_once() -> None:
    async def main() -> None:
        def uncaught() -> Stages:
            yield 1
            yield rx.throw(KeyError())
            yield "never"

        def own() -> Stages:
            yield 1
            raise KeyError

        for stages in (uncaught, own):
            watcher = Watcher()
            concat_stages(stages).subscribe(watcher)
            assert watcher.items == [1]
            assert [type(end) for end in watcher.ends] == [KeyError]

    run(main)


def test_an_error_of_the_generator_function_is_told() -> None:
    def broken() -> Stages:
        raise KeyError

    watcher = Watcher()
    concat_stages(broken).subscribe(watcher)
    assert [type(end) for end in watcher.ends] == [KeyError]


def test_stop_iteration_as_error_of_a_stage_is_no_completion() -> None:
    def stages() -> Stages:
        yield rx.throw(StopIteration())

    watcher = Watcher()
    concat_stages(stages).subscribe(watcher)
    assert [type(end) for end in watcher.ends] == [RuntimeError]


def test_cancelled_error_never_becomes_an_error_value() -> None:
    async def main() -> None:
        cancelled = asyncio.get_running_loop().create_future()
        cancelled.cancel()
        caught: list[BaseException] = []

        def of_a_stage() -> Stages:
            try:
                yield rx.from_future(cancelled)
            except Exception as error:
                caught.append(error)
                raise

        def of_the_generator() -> Stages:
            yield 1
            raise asyncio.CancelledError

        for stages in (of_a_stage, of_the_generator):
            watcher = Watcher()
            concat_stages(stages).subscribe(watcher)
            assert isinstance(await watcher.end(), StreamCancelled)
        assert [type(error) for error in caught] == [StreamCancelled]

    run(main)


def test_two_subscribers_have_a_generator_each() -> None:
    async def main() -> None:
        made: list[int] = []

        def stages() -> Stages:
            made.append(1)
            yield pump(1, 2)
            yield 3

        stream = concat_stages(stages)
        assert made == []
        first, second = stream.iterate(), stream.iterate()
        assert [(await anext(first), await anext(second)) for _ in range(3)] == [(1, 1), (2, 2), (3, 3)]
        assert len(made) == 2
        assert [item async for item in first] == [item async for item in second] == []

    run(main)


def test_stages_may_be_stages() -> None:
    async def main() -> None:
        def inner(n: int) -> Stages:
            yield n
            yield pump(n + 1)

        def outer() -> Stages:
            last = yield concat_stages(lambda: inner(10))
            yield concat_stages(lambda: inner(last * 2))

        assert [item async for item in concat_stages(outer)] == [10, 11, 22, 23]

    run(main)


# ------------------------------------------------------------------------------------------------------ a flat stack


def _depth() -> int:
    frame, depth = sys._getframe(), 0
    while frame := frame.f_back:  # type: ignore[assignment]
        depth += 1
    return depth


@pytest.mark.parametrize(
    ("stage", "n"),
    [
        (rx.return_value, 100_000),
        (lambda i: i, 100_000),
        (lambda i: rx.create(lambda observer, _: emit(observer, i)), 10_000),
        (lambda i: concat_stages(lambda: iter_once(i)), 10_000),
    ],
)
def test_100_000_stages_that_finish_at_once_leave_the_stack_flat(stage: Callable[[int], Any], n: int) -> None:
    depths: set[int] = set()

    def stages() -> Stages:
        for i in range(n):
            yield stage(i)

    def look(item: int) -> None:
        if item % 997 == 0:
            depths.add(_depth())

    items: list[int] = []
    concat_stages(stages).pipe(ops.do_action(look)).subscribe(items.append)
    assert items == list(range(n))
    assert max(depths) - min(depths) < 10


def iter_once(item: Any) -> Stages:
    yield item


def emit(observer: Any, item: Any) -> None:
    observer.on_next(item)
    observer.on_completed()


def test_stages_that_finish_later_leave_the_stack_flat() -> None:
    async def main() -> None:
        depths: set[int] = set()

        async def later(i: int) -> AsyncIterator[int]:
            await asyncio.sleep(0)
            yield i

        def stages() -> Stages:
            for i in range(1000):
                yield from_async_iterable(lambda i=i: later(i))

        watcher = Watcher()
        concat_stages(stages).pipe(ops.do_action(lambda _: depths.add(_depth()))).subscribe(watcher)
        assert await watcher.end() == "completed"
        assert len(depths) == 1

    run(main)


# --------------------------------------------------------------------------------------------------------- leaving


def test_dispose_closes_the_generator_and_disposes_the_stage() -> None:
    async def main() -> None:
        watcher = Watcher()

        def stages() -> Stages:
            try:
                yield pump(1, log=watcher.log, idle=True)
            finally:
                watcher.log.append("generator closed")

        subscription = concat_stages(stages).subscribe(watcher)
        await until(lambda: watcher.items)
        subscription.dispose()
        subscription.dispose()
        assert watcher.log == ["generator closed"]
        await until(lambda: not other_tasks())
        assert watcher.log == ["generator closed", "stage cleaned"]
        assert not watcher.ends

    run(main)


@pytest.mark.parametrize("scheduled", [True, False])
def test_take_n_of_an_endless_generator_pulls_n(scheduled: bool) -> None:
    async def main() -> None:
        pulled: list[int] = []

        def stages() -> Stages:
            for i in range(1_000_000):
                pulled.append(i)
                yield i

        watcher = Watcher()
        scheduler = LoopScheduler(asyncio.get_running_loop()) if scheduled else None
        concat_stages(stages).pipe(ops.take(3)).subscribe(watcher, scheduler=scheduler)
        assert watcher.ends == ["completed"]
        assert pulled == [0, 1, 2]

    run(main)


@pytest.mark.parametrize("first", [lambda: 0, lambda: rx.of(0), lambda: pump(0)])
def test_take_n_of_an_endless_stage_that_does_not_wait_pulls_n(first: Callable[[], Any]) -> None:
    async def main() -> None:
        pulled: list[int] = []

        def endless() -> Iterator[int]:
            for i in range(1, 1_000_000):
                pulled.append(i)
                yield i

        def stages() -> Stages:
            yield first()
            yield rx.from_iterable(endless())

        watcher = Watcher()
        concat_stages(stages).pipe(ops.take(3)).subscribe(watcher)
        assert await watcher.end() == "completed"
        assert watcher.items == [0, 1, 2]
        assert pulled == [1, 2]

    run(main)


def test_take_n_in_a_stage_stops_the_stage_there() -> None:
    async def main() -> None:
        watcher = Watcher()

        def stages() -> Stages:
            try:
                yield 0
                yield pump(1, 2, 3, log=watcher.log)
                watcher.log.append("went on")
            finally:
                watcher.log.append("closed")

        concat_stages(stages).pipe(ops.take(3)).subscribe(watcher)
        await watcher.end()
        await until(lambda: not other_tasks())
        assert watcher.items == [0, 1, 2]
        assert sorted(watcher.log) == ["closed", "completed", "stage cleaned"]

    run(main)


def test_dispose_from_a_foreign_thread_closes_the_generator_in_the_thread_of_the_stream() -> None:
    async def main() -> None:
        watcher, closed = Watcher(), asyncio.Event()

        def stages() -> Stages:
            try:
                yield pump(1, log=watcher.log, idle=True)
            finally:
                watcher.log.append(threading.get_ident())
                closed.set()

        scheduler = LoopScheduler(asyncio.get_running_loop())
        subscription = concat_stages(stages).subscribe(watcher, scheduler=scheduler)
        await until(lambda: watcher.items)
        await asyncio.to_thread(subscription.dispose)
        await closed.wait()
        await scheduler.joined()
        assert sorted(watcher.log, key=str) == [threading.get_ident(), "stage cleaned"]

    run(main)


def test_dispose_from_a_foreign_thread_stops_a_generator_of_values() -> None:
    async def main() -> None:
        watcher, begun = Watcher(), threading.Event()

        def stages() -> Stages:
            while True:  # it never comes back to the loop
                begun.set()
                yield 0

        scheduler = LoopScheduler(asyncio.get_running_loop())
        subscription = SingleAssignmentDisposable()

        def subscribe(*_: Any) -> None:
            subscription.disposable = concat_stages(stages).subscribe(watcher, scheduler=scheduler)

        def dispose() -> None:
            begun.wait()
            subscription.dispose()

        thread = threading.Thread(target=dispose)
        thread.start()
        scheduler.schedule(subscribe)
        thread.join()
        assert not watcher.ends

    run(main)


def test_the_generator_may_dispose_its_own_subscription() -> None:
    async def main() -> None:
        watcher = Watcher()

        def stages() -> Stages:
            try:
                yield pump(1)
                subscription.dispose()
                yield 2
            finally:
                watcher.log.append("closed")

        subscription = concat_stages(stages).subscribe(watcher)
        await until(lambda: watcher.log)
        assert watcher.items == [1]
        assert watcher.log == ["closed"]

    run(main)


def test_an_error_in_the_closing_of_the_generator_is_reported() -> None:
    async def main() -> None:
        reported, watcher = reports(), Watcher()

        def stages() -> Stages:
            try:
                yield pump(idle=True)
            finally:
                raise ValueError("closing")

        subscription = concat_stages(stages).subscribe(watcher)
        await asyncio.sleep(0)
        subscription.dispose()
        await until(lambda: not other_tasks())
        assert [str(report["exception"]) for report in reported] == ["closing"]
        assert not watcher.ends

    run(main)


def test_an_error_that_nobody_listens_to_is_reported() -> None:
    async def main() -> None:
        reported = reports()

        def stages() -> Stages:
            yield pump(1)
            raise ValueError("nobody listens")

        concat_stages(stages).subscribe()
        await until(lambda: not other_tasks())
        assert [str(report["exception"]) for report in reported] == ["nobody listens"]

    run(main)


def test_the_end_of_the_loop_is_thrown_into_the_generator_as_stream_cancelled() -> None:
    caught: list[str] = []
    watcher = Watcher()

    def stages() -> Stages:
        try:
            yield pump(1, idle=True)
        except StreamCancelled:
            caught.append("StreamCancelled")
            raise

    async def main() -> None:
        concat_stages(stages).subscribe(watcher)
        await until(lambda: watcher.items)

    asyncio.run(main())
    assert caught == ["StreamCancelled"]
    assert watcher.log == ["StreamCancelled"]


# ------------------------------------------------------------------------------------------ a consumer that misbehaves


@pytest.mark.parametrize(
    "stage", [lambda: 1, lambda: rx.of(1), lambda: pump(1, 2, 3), lambda: concat_stages(lambda: iter_once(1))]
)
def test_an_error_of_the_consumer_ends_the_stream_and_is_not_seen_by_the_generator(stage: Callable[[], Any]) -> None:
    async def main() -> None:
        watcher = Watcher()

        def stages() -> Stages:
            try:
                yield stage()
            except Exception:
                watcher.log.append("caught")
            finally:
                watcher.log.append("closed")
            yield "more"

        def raises(item: Any) -> None:
            watcher.items.append(item)
            raise ValueError("consumer")

        concat_stages(stages).subscribe(raises, watcher.on_error, watcher.on_completed)
        await watcher.end()
        await until(lambda: not other_tasks())
        assert watcher.items == [1]
        assert watcher.log == ["closed", "ValueError"]

    run(main)


def test_an_error_of_the_consumer_does_not_reach_the_producer_of_a_hot_stage() -> None:
    subject: Subject[int] = Subject()
    watcher = Watcher()

    def stages() -> Stages:
        yield subject

    def raises(item: Any) -> None:
        raise ValueError

    concat_stages(stages).subscribe(raises, watcher.on_error)
    subject.on_next(1)
    assert [type(end) for end in watcher.ends] == [ValueError]
    assert not subject.observers


# -------------------------------------------------------------------------------------------------------- contextvars

span: contextvars.ContextVar[str] = contextvars.ContextVar("span", default="none")


def test_a_stage_starts_in_the_context_of_the_subscriber_and_not_in_that_of_the_stage_before() -> None:
    async def main() -> None:
        async def stage(name: str) -> AsyncIterator[str]:
            yield f"{name} sees {span.get()}"
            span.set(name)

        def stages() -> Stages:
            yield from_async_iterable(lambda: stage("first"))
            yield from_async_iterable(lambda: stage("second"))

        token = span.set("subscriber")
        stream = concat_stages(stages)
        items = [item async for item in stream]
        span.reset(token)
        assert items == ["first sees subscriber", "second sees subscriber"]

    run(main)


def test_what_a_stage_sets_while_it_is_being_started_stays_with_it() -> None:
    def stage(_: Any) -> Observable[str]:
        seen = span.get()
        span.set("stage")
        return rx.of(seen)

    def stages() -> Stages:
        yield rx.defer(stage)
        yield rx.defer(stage)
        yield span.get()

    watcher = Watcher()
    concat_stages(stages).subscribe(watcher)
    assert watcher.items == ["none", "none", "none"]


def test_the_generator_has_one_context_that_its_stages_copy() -> None:
    async def main() -> None:
        async def stage() -> AsyncIterator[str]:
            yield span.get()

        def stages() -> Stages:
            token = span.set("generator")
            try:
                yield from_async_iterable(stage)
                yield from_async_iterable(stage)
            finally:
                span.reset(token)  # fails in any other context
            yield span.get()

        assert [item async for item in concat_stages(stages)] == ["generator", "generator", "none"]
        assert span.get() == "none"

    run(main)


@pytest.mark.parametrize("foreign", [True, False])
def test_a_token_of_the_generator_can_be_reset_on_dispose(foreign: bool) -> None:
    async def main() -> None:
        closed = asyncio.Event()

        def stages() -> Stages:
            token = span.set("generator")
            try:
                yield pump(idle=True)
            finally:
                span.reset(token)
                closed.set()

        scheduler = LoopScheduler(asyncio.get_running_loop())
        subscription = concat_stages(stages).subscribe(scheduler=scheduler)
        await (asyncio.to_thread(subscription.dispose) if foreign else asyncio.sleep(0))
        subscription.dispose()
        await closed.wait()

    run(main)


# ------------------------------------------------------------------------------------------------------------- demand


def test_a_closed_gate_holds_the_generator_between_values_and_stages() -> None:
    async def main() -> None:
        gate, watcher, pulled = Gate(), Watcher(), list[str]()

        def note(item: Any) -> Any:
            pulled.append(item)
            return item

        def stages() -> Stages:
            yield note("a")
            yield note("b")
            yield rx.of(note("c"))
            yield rx.of(note("d"))

        def close_after(item: Any) -> None:
            gate.close()

        scheduler = LoopScheduler(asyncio.get_running_loop(), gate)
        concat_stages(stages).pipe(ops.do_action(close_after)).subscribe(watcher, scheduler=scheduler)
        for n in range(1, 5):
            assert watcher.items == pulled == ["a", "b", "c", "d"][:n]
            await asyncio.sleep(0.001)
            assert len(pulled) == n
            gate.open()
            await asyncio.sleep(0.001)
        assert watcher.ends == ["completed"]

    run(main)


def test_dispose_while_the_gate_is_closed_leaves_no_task() -> None:
    async def main() -> None:
        gate, watcher = Gate(), Watcher()

        def stages() -> Stages:
            watcher.log.append("began")
            yield 1

        gate.close()
        scheduler = LoopScheduler(asyncio.get_running_loop(), gate)
        subscription = concat_stages(stages).subscribe(watcher, scheduler=scheduler)
        await asyncio.sleep(0.001)
        assert watcher.items == []
        subscription.dispose()
        await scheduler.joined()
        gate.open()
        assert not other_tasks()
        assert watcher.log == []

    run(main)


def test_a_slow_consumer_bounds_the_lead_of_values_and_stages() -> None:
    async def main() -> None:
        pulled = taken = lead = 0

        def stages() -> Stages:
            nonlocal pulled
            for _ in range(100):
                for _ in range(10):
                    pulled += 1
                    yield 0
                pulled += 10
                yield pump(*range(10))

        async for _ in concat_stages(stages).iterate(4):
            taken += 1
            lead = max(lead, pulled - taken)
            await asyncio.sleep(0)
        assert taken == 2000
        assert lead <= 4 + 10 + 1

    run(main)


# ------------------------------------------------------------------------------------------------------------- threads


def test_stages_that_end_in_other_threads_are_neither_lost_nor_run_twice() -> None:
    def threaded(i: int) -> Any:
        def subscribe(observer: Any, scheduler: Any = None) -> None:
            def work() -> None:
                observer.on_next(i)
                observer.on_completed()

            threading.Thread(target=work).start()

        return rx.create(subscribe)

    def stages() -> Iterator[Any]:
        for i in range(300):
            yield threaded(i)

    watcher, done = Watcher(), threading.Event()
    concat_stages(stages).pipe(ops.finally_action(done.set)).subscribe(watcher)  # type: ignore[arg-type]
    assert done.wait(10)
    assert watcher.items == list(range(300))
    assert watcher.ends == ["completed"]


def test_a_step_that_another_thread_posts_while_the_driver_comes_to_rest_is_not_lost() -> None:
    generator, watcher = iter_once(1), Watcher()
    run_of_stages: _Stages[int] = _Stages(generator, watcher, None)
    run_of_stages._driving = True
    run_of_stages._post((generator.send, None))
    assert not run_of_stages._rest()
    run_of_stages._drive()
    assert run_of_stages._done
    assert watcher.items == [1]


def test_dispose_races_with_the_end_of_a_stage() -> None:
    for _ in range(200):
        subject: Subject[int] = Subject()
        log: list[str] = []

        def stages(subject: Subject[int] = subject, log: list[str] = log) -> Stages:
            try:
                yield subject
                yield rx.never()
            finally:
                log.append("closed")

        subscription = concat_stages(stages).subscribe()
        thread = threading.Thread(target=subscription.dispose)
        thread.start()
        subject.on_completed()
        thread.join()
        assert log == ["closed"]


def test_a_cut_disposes_the_live_stage_and_throws_into_the_generator_once() -> None:
    left: list[str] = []

    async def endless() -> AsyncIterator[int]:
        try:
            while True:
                yield 1
                await asyncio.sleep(0)
        finally:
            left.append("stage")

    async def main() -> list[Any]:
        cut, got = StageCut(), []

        def stages() -> Generator[Any, Any, None]:
            try:
                yield from_async_iterable(endless)
            except KeyError as error:
                yield f"cut by {error}"

        async for item in concat_stages(stages, cut):
            got.append(item)
            if len(got) == 3:
                assert cut.throw(KeyError("first"))
                assert not cut.throw(KeyError("second"))
                assert got == [1, 1, 1]  # nothing happens inside on_next
        return got

    got = asyncio.run(main())
    assert got[-1] == "cut by 'first'"
    assert left == ["stage"]


def test_a_cut_before_the_start_is_for_the_generator_to_find() -> None:
    cut = StageCut()
    cut.throw(KeyError("early"))

    def stages() -> Generator[Any, Any, None]:
        yield 1
        if cut.early:
            yield f"found {cut.error}"

    assert concat_stages(stages, cut).pipe(ops.to_list()).run() == [1, "found 'early'"]


def test_a_cut_from_a_foreign_thread_works_while_the_loop_is_idle() -> None:
    async def silent() -> AsyncIterator[int]:
        yield 1
        await asyncio.sleep(60)

    async def main() -> list[Any]:
        cut = StageCut()

        def stages() -> Generator[Any, Any, None]:
            try:
                yield from_async_iterable(silent)
            except KeyError:
                yield "cut"

        threading.Timer(0.02, cut.throw, [KeyError()]).start()
        return [item async for item in concat_stages(stages, cut)]

    assert asyncio.run(main()) == [1, "cut"]


def test_a_cut_without_a_scheduler_is_thrown_in_the_thread_of_the_stream() -> None:
    async def main() -> None:
        cut, watcher, parked, thrown = StageCut(), Watcher(), asyncio.Event(), asyncio.Event()

        def stages() -> Stages:
            yield pump(1)
            try:
                parked.set()
                yield rx.never()
            except KeyError:
                watcher.log.append(threading.get_ident())
                thrown.set()

        concat_stages(stages, cut).subscribe(watcher)
        await parked.wait()
        await asyncio.to_thread(cut.throw, KeyError())
        await thrown.wait()
        assert watcher.log[0] == threading.get_ident()

    run(main)


@pytest.mark.parametrize("first", [lambda: pump(1), lambda: rx.of(1)], ids=["where a loop runs", "where none does"])
def test_dispose_without_a_scheduler_closes_the_generator_in_the_thread_it_ran_in(first: Callable[[], Any]) -> None:
    threads: list[int] = []
    parked, closed = threading.Event(), threading.Event()

    def stages() -> Stages:
        yield first()
        threads.append(threading.get_ident())
        try:
            parked.set()
            yield rx.never()
        finally:
            threads.append(threading.get_ident())
            closed.set()

    subscription = concat_stages(stages).subscribe()
    assert parked.wait(5)
    subscription.dispose()
    assert closed.wait(5)
    assert threads[0] == threads[1]


# ------------------------------------------------------------------------------------------- operators that fail late


def failing_at(where: str, source: Observable[Any]) -> Observable[Any]:
    """What an operator makes of a source that fails when it is told of the end, or when it cleans up."""

    def subscribe(observer: Any, scheduler: Any = None) -> Any:
        def on_completed() -> None:
            if where == "end":
                raise KeyError(where)
            observer.on_completed()

        def clean_up() -> None:
            if where == "cleanup":
                raise KeyError(where)

        subscription = source.subscribe(observer.on_next, observer.on_error, on_completed, scheduler=scheduler)
        return CompositeDisposable(subscription, Disposable(clean_up))

    return Observable(subscribe)


@pytest.mark.parametrize("where", ["end", "cleanup"])
@pytest.mark.parametrize("merged", [False, True])
def test_b7_78_an_operator_that_fails_at_the_end_of_a_stage_does_not_hang(where: str, merged: bool) -> None:
    async def main() -> None:
        def stages() -> Stages:
            stage = failing_at(where, pump(1))
            try:
                yield rx.merge(stage, pump(1)) if merged else stage
            except KeyError as error:
                yield error.args[0]
            yield pump(2)

        assert [item async for item in concat_stages(stages)] == [*[1] * (1 + merged), where, 2]

    run(main)


@pytest.mark.parametrize("way", [lambda stream: stream, lambda stream: stream.iterate().__anext__()])
def test_b7_78_an_operator_that_fails_at_the_end_of_a_stream_does_not_hang(way: Any) -> None:
    async def main() -> None:
        def stages() -> Stages:
            yield pump()

        for source in (pump(), concat_stages(stages)):
            with pytest.raises(KeyError):
                await way(Stream(failing_at("end", source)))

    run(main)
