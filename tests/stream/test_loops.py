from __future__ import annotations

import asyncio
import threading

from agentscope_rx.stream.loops import call_on, on_loop, wake

from .watching import run


def test_on_loop_is_true_only_in_code_that_runs_on_that_very_loop() -> None:
    other = asyncio.new_event_loop()

    async def main() -> None:
        assert on_loop(asyncio.get_running_loop())
        assert not on_loop(other)

    assert not on_loop(other)
    run(main)
    other.close()


def test_call_on_calls_at_once_on_the_loop_and_in_its_thread_from_elsewhere() -> None:
    async def main() -> None:
        loop, calls, called = asyncio.get_running_loop(), list[int](), asyncio.Event()

        def callback() -> None:
            calls.append(threading.get_ident())
            called.set()

        assert call_on(loop, callback)
        assert calls == [threading.get_ident()]
        called.clear()
        assert await asyncio.to_thread(call_on, loop, callback)
        await called.wait()
        assert calls == [threading.get_ident()] * 2

    run(main)


def test_a_closed_loop_is_not_called() -> None:
    loop = asyncio.new_event_loop()
    waiter = loop.create_future()
    loop.close()
    assert not call_on(loop, lambda: 1 / 0)
    assert not wake(waiter)


def test_waking_twice_or_too_late_is_no_error() -> None:
    async def main() -> None:
        waiter: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        wake(waiter)
        wake(waiter)
        await waiter
        cancelled: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        cancelled.cancel()
        wake(cancelled)

    run(main)
