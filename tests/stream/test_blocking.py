"""`.run()` where a loop runs already, and locks that somebody on that loop holds."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import AsyncIterator
from typing import Any

import pytest
import reactivex as rx
from reactivex import operators as ops

from agentscope_rx.errors import SessionBusyError
from agentscope_rx.stream import FifoLock, LoopScheduler, Stream, from_async_iterable
from agentscope_rx.stream.portal import portal_loop

from .watching import run, until


class Session:
    """Streams of which only one runs at a time."""

    def __init__(self) -> None:
        self.lock = FifoLock()

    def stream(self) -> Stream[int]:
        """Two items."""
        return from_async_iterable(lambda: self._items(endless=False))

    def endless(self) -> Stream[int]:
        """Two items, and no end until it is disposed."""
        return from_async_iterable(lambda: self._items(endless=True))

    async def _items(self, endless: bool) -> AsyncIterator[int]:
        async with self.lock:
            for item in (1, 2):
                yield item
                await asyncio.sleep(0)
            if endless:
                await asyncio.Event().wait()


def refused(stream: Stream[Any]) -> None:
    with pytest.raises(SessionBusyError, match=r"await it instead of \.run\(\), or close the other stream first"):
        stream.run()


# ----------------------------------------------------------------------------------------------------- it would hang


def test_run_after_a_break_is_refused_and_await_is_not() -> None:
    async def main() -> None:
        session = Session()
        async for _ in session.stream():
            break
        refused(session.stream())
        assert await session.stream() == 2
        assert session.stream().run() == 2

    run(main)


def test_run_after_dispose_is_refused_until_the_cleanup_has_finished() -> None:
    async def main() -> None:
        session, first = Session(), asyncio.Event()
        subscription = session.stream().subscribe(lambda _: first.set())
        await first.wait()
        subscription.dispose()
        refused(session.stream())
        await until(lambda: not session.lock.locked)
        assert session.stream().run() == 2

    run(main)


def test_run_inside_an_open_async_for_is_refused_and_the_loop_goes_on() -> None:
    async def main() -> None:
        session, items = Session(), list[int]()
        async for item in session.stream():
            refused(session.stream())
            items.append(item)
        assert items == [1, 2]
        assert not session.lock.locked

    run(main)


def test_run_is_refused_behind_a_waiter_of_the_blocked_loop() -> None:
    session, inside, leave = Session(), threading.Event(), threading.Event()

    async def hold() -> None:
        async with session.lock:
            inside.set()
            await until(leave.is_set)

    async def main() -> None:
        waiter = asyncio.create_task(_await(session.stream()))
        await until(lambda: len(session.lock._queue) == 2)
        refused(session.stream())
        leave.set()
        assert await waiter == 2

    holder = threading.Thread(target=lambda: asyncio.run(hold()))
    holder.start()
    inside.wait()
    run(main)
    holder.join()


def test_run_inside_a_run_is_refused_whichever_of_the_blocked_loops_holds_the_lock() -> None:
    async def main() -> None:
        session = Session()

        def inner() -> Stream[Any]:
            return Session().stream().pipe(ops.do_action(lambda _: refused(session.stream())))

        async for _ in session.stream():
            assert Session().stream().pipe(ops.do_action(lambda _: inner().run())).run() == 2
        assert session.stream().pipe(ops.do_action(lambda _: inner().run())).run() == 2

    run(main)


def test_run_in_a_worker_thread_of_a_run_is_refused() -> None:
    async def main() -> None:
        session = Session()

        async def in_a_worker() -> AsyncIterator[None]:
            await asyncio.to_thread(refused, session.stream())
            yield

        async for _ in session.stream():
            from_async_iterable(in_a_worker).run()

    run(main)


# ------------------------------------------------------------------------------------------------- it would not hang


def test_run_waits_for_a_holder_on_a_loop_that_goes_on() -> None:
    async def main() -> None:
        session, inside = Session(), threading.Event()
        portal = LoopScheduler(portal_loop())
        subscription = session.endless().subscribe(lambda _: inside.set(), scheduler=portal)
        inside.wait()
        threading.Timer(0.02, subscription.dispose).start()
        assert session.stream().run() == 2

    run(main)


def test_run_in_a_worker_thread_waits_while_the_loop_goes_on() -> None:
    async def main() -> None:
        session = Session()
        async with session.lock:
            worker = asyncio.create_task(asyncio.to_thread(session.stream().run))
            await until(lambda: len(session.lock._queue) == 2)
        assert await worker == 2

    run(main)


def test_what_was_started_in_a_run_and_outlives_it_may_wait_again() -> None:
    async def main() -> None:
        session, results, over = Session(), list[int](), asyncio.Event()

        async def later() -> AsyncIterator[int]:
            await until(over.is_set)
            yield await session.stream()

        def start(_: object) -> None:
            from_async_iterable(later).subscribe(results.append, scheduler=LoopScheduler(portal_loop()))

        async for _ in session.endless():
            Stream(rx.of(1)).pipe(ops.do_action(start)).run()
            over.set()
            await until(lambda: len(session.lock._queue) == 2)
            break
        await until(lambda: results)
        assert results == [2]

    run(main)


async def _await(stream: Stream[int]) -> int:
    return await stream


def test_run_leaves_no_thread_behind(monkeypatch: pytest.MonkeyPatch) -> None:
    work = threading.Thread.run

    def slow_to_end(thread: threading.Thread) -> None:
        work(thread)
        time.sleep(0.05)

    async def main() -> None:
        monkeypatch.setattr(threading.Thread, "run", slow_to_end)
        assert Session().stream().run() == 2
        assert "agentscope-rx-run" not in [thread.name for thread in threading.enumerate()]

    run(main)


# ------------------------------------------------------------------------------------------------------------- Ctrl-C


@pytest.mark.parametrize("begun", [False, True])
def test_ctrl_c_while_the_thread_of_a_run_starts(begun: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    entered, left = list[int](), list[int]()
    start = threading.Thread.start

    async def endless() -> AsyncIterator[int]:
        try:
            entered.append(1)
            await asyncio.Event().wait()
            yield 0
        finally:
            left.append(1)

    def interrupted(thread: threading.Thread) -> None:
        if begun:
            start(thread)
        raise KeyboardInterrupt

    async def main() -> None:
        with monkeypatch.context() as patch:
            patch.setattr(threading.Thread, "start", interrupted)
            with pytest.raises(KeyboardInterrupt):
                from_async_iterable(endless).run()
        assert entered == left
        assert Session().stream().run() == 2

    run(main)
