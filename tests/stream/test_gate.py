from __future__ import annotations

import asyncio
import threading

from agentscope_rx.stream import Gate, JointGate

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


def test_an_opening_just_before_the_waiter_is_ready_is_not_lost() -> None:
    async def main() -> None:
        loop, gate = asyncio.get_running_loop(), Gate()
        create_future = loop.create_future

        def open_first() -> asyncio.Future[None]:  # as another thread may, between the look and the wait
            gate.open()
            return create_future()

        gate.close()
        loop.create_future = open_first  # type: ignore[method-assign]
        await gate.wait()
        loop.create_future = create_future  # type: ignore[method-assign]

    run(main)


def test_a_joint_gate_is_closed_while_one_of_both_is() -> None:
    async def main() -> None:
        other = Gate()
        joint = JointGate(other)
        assert not joint.closed
        for closing in ([joint], [other], [joint, other], [other, joint]):
            for gate in closing:
                gate.close()
            assert joint.closed
            assert other.closed is (other in closing)
            waiter = asyncio.create_task(joint.wait())
            for gate in closing:
                await asyncio.sleep(0)
                assert not waiter.done()
                gate.open()
            await waiter
            assert not joint.closed

    run(main)


def test_a_joint_gate_waits_again_for_what_has_closed_meanwhile() -> None:
    async def main() -> None:
        other = Gate()
        joint = JointGate(other)
        other.close()
        waiter = asyncio.create_task(joint.wait())
        await asyncio.sleep(0)
        joint.close()
        other.open()
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        assert not waiter.done()
        joint.open()
        await waiter

    run(main)
