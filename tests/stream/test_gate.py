from __future__ import annotations

import asyncio
import sys
import threading
from collections.abc import Iterator

import pytest

from agentscope_rx.stream import Gate

from .watching import run


def test_an_open_gate_does_not_make_wait() -> None:
    async def main() -> None:
        gate = Gate()
        gate.close()
        gate.open()
        gate.open()
        await gate.wait()

    run(main)


def test_opening_lets_all_waiters_go_on() -> None:
    async def main() -> None:
        gate = Gate()
        gate.close()
        waiters = [asyncio.create_task(gate.wait()) for _ in range(3)]
        await asyncio.sleep(0)
        assert not any(waiter.done() for waiter in waiters)
        gate.open()
        await asyncio.gather(*waiters)

    run(main)


def test_a_gate_that_is_closed_again_before_the_waiter_runs_keeps_it() -> None:
    async def main() -> None:
        gate = Gate()
        gate.close()
        waiter = asyncio.create_task(gate.wait())
        await asyncio.sleep(0)
        gate.open()
        gate.close()
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        assert not waiter.done()
        gate.open()
        await waiter

    run(main)


def test_a_cancelled_waiter_does_not_disturb_the_others() -> None:
    async def main() -> None:
        gate = Gate()
        gate.close()
        first, second = asyncio.create_task(gate.wait()), asyncio.create_task(gate.wait())
        await asyncio.sleep(0)
        first.cancel()
        gate.open()
        await second
        await asyncio.wait([first])
        assert first.cancelled()

    run(main)


def test_opening_from_a_foreign_thread_wakes_an_idle_loop() -> None:
    async def main() -> None:
        gate = Gate()
        gate.close()
        threading.Timer(0.02, gate.open).start()
        await gate.wait()

    run(main)


@pytest.fixture
def eager_thread_switches() -> Iterator[None]:
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(interval)


@pytest.mark.usefixtures("eager_thread_switches")
def test_no_opening_is_lost_when_threads_race() -> None:
    async def main() -> None:
        gate, stop = Gate(), threading.Event()

        def flip() -> None:
            while not stop.is_set():
                gate.close()
                gate.open()

        thread = threading.Thread(target=flip)
        thread.start()
        for _ in range(2000):
            await gate.wait()
        stop.set()
        thread.join()

    run(main)
