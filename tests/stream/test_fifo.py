from __future__ import annotations

import asyncio
import contextvars
import gc
import os
import random
import threading

import pytest

from agentscope_rx import SessionBusyError
from agentscope_rx.stream import FifoLock

from .watching import python, run, until, wait_for


def test_it_is_free_again_when_left() -> None:
    async def main() -> None:
        lock = FifoLock()
        assert not lock.locked
        assert not lock.locked
        async with lock:
            assert lock.locked
            assert lock.locked
        assert not lock.locked
        with pytest.raises(ZeroDivisionError):
            async with lock:
                raise ZeroDivisionError
        assert not lock.locked

    run(main)


def test_waiters_enter_in_the_order_of_their_coming() -> None:
    async def main() -> None:
        lock, order = FifoLock(), list[int]()

        async def enter(i: int) -> None:
            async with lock:
                order.append(i)
                await asyncio.sleep(0)

        await asyncio.gather(*[enter(i) for i in range(100)])
        assert order == list(range(100))
        assert not lock.locked

    run(main)


def test_nobody_overtakes_a_waiter_who_has_been_told_but_has_not_run_yet() -> None:
    async def main() -> None:
        lock, order = FifoLock(), list[str]()

        async def enter(name: str) -> None:
            async with lock:
                order.append(name)

        async with lock:
            waiter = asyncio.create_task(enter("waiter"))
            await asyncio.sleep(0)
        async with lock:
            order.append("newcomer")
        await waiter
        assert order == ["waiter", "newcomer"]

    run(main)


def test_cancelled_while_waiting() -> None:
    async def main() -> None:
        lock, order = FifoLock(), list[int]()

        async def enter(i: int) -> None:
            async with lock:
                order.append(i)

        async with lock:
            tasks = [asyncio.create_task(enter(i)) for i in range(4)]
            await asyncio.sleep(0)
            tasks[0].cancel()
            tasks[2].cancel()
        await asyncio.wait(tasks)
        assert order == [1, 3]
        assert not lock.locked

    run(main)


def test_cancelled_when_its_turn_has_come_but_before_it_has_run() -> None:
    async def main() -> None:
        lock, order = FifoLock(), list[int]()

        async def enter(i: int) -> None:
            async with lock:
                order.append(i)

        async with lock:
            first, second = asyncio.create_task(enter(1)), asyncio.create_task(enter(2))
            await asyncio.sleep(0)
        first.cancel()
        await asyncio.wait([first, second])
        assert first.cancelled()
        assert order == [2]
        assert not lock.locked

    run(main)


def test_several_loops_in_several_threads() -> None:
    lock, inside, entered = FifoLock(), list[str](), list[str]()

    async def enter(name: str) -> None:
        async with lock:
            inside.append(name)
            assert inside == [name]
            await asyncio.sleep(0)
            assert inside == [name]
            inside.remove(name)
            entered.append(name)

    async def main(thread: str) -> None:
        async with asyncio.timeout(10):
            await asyncio.gather(*[enter(f"{thread}{i}") for i in range(100)])

    threads = [threading.Thread(target=lambda name=name: asyncio.run(main(name))) for name in "abcd"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(entered) == 400
    for name in "abcd":
        assert [entry for entry in entered if entry[0] == name] == [f"{name}{i}" for i in range(100)]
    assert not lock.locked


@pytest.mark.parametrize("seed", range(5))
def test_200_waiters_in_four_threads_with_random_cancels(seed: int) -> None:
    # Each thread's waiters come in order; whoever is not cancelled must enter in that order, one at a time.
    lock, inside, entered = FifoLock(), list[str](), list[str]()

    async def enter(name: str, chance: random.Random) -> None:
        async with lock:
            inside.append(name)
            try:
                if chance.random() < 0.5:
                    await asyncio.sleep(0)
                assert inside == [name]
                entered.append(name)
            finally:
                inside.remove(name)

    async def main(thread: str, chance: random.Random) -> None:
        tasks = []
        for i in range(50):
            tasks.append(asyncio.create_task(enter(f"{thread}{i}", chance)))
            if chance.random() < 0.3:
                await asyncio.sleep(0)
            if chance.random() < 0.4:
                chance.choice(tasks).cancel()
        async with asyncio.timeout(10):
            await asyncio.wait(tasks)
        survivors = {f"{thread}{i}" for i, task in enumerate(tasks) if not task.cancelled()}
        assert survivors <= set(entered)

    threads = [
        threading.Thread(target=lambda i=i, name=name: asyncio.run(main(name, random.Random(10 * seed + i))))
        for i, name in enumerate("abcd")
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not lock.locked
    assert not inside
    for name in "abcd":
        order = [int(entry[1:]) for entry in entered if entry[0] == name]
        assert order == sorted(set(order))


def test_a_waiter_whose_loop_has_been_closed_is_passed_over() -> None:
    async def main() -> None:
        lock = FifoLock()
        async with lock:
            dead = _leave_a_waiter_on_a_dead_loop(lock)
            alive = asyncio.create_task(_enter(lock))
            await asyncio.sleep(0)
        await alive
        assert not lock.locked
        del dead
        gc.collect()  # the dead waiter leaves a queue in which it is no more
        assert not lock.locked

    run(main)


def test_many_waiters_whose_loops_have_been_closed_are_passed_over() -> None:
    async def main() -> None:
        lock = FifoLock()
        async with lock:
            dead = [_leave_a_waiter_on_a_dead_loop(lock) for _ in range(50)]
        async with lock:
            pass
        assert not lock.locked
        del dead
        gc.collect()
        assert not lock.locked

    run(main)


def test_a_holder_whose_loop_has_been_closed_is_passed_over_too() -> None:
    async def main() -> None:
        lock = FifoLock()
        dead = _leave_a_waiter_on_a_dead_loop(lock)  # nobody else is there: it is inside
        assert not lock.locked
        await asyncio.gather(*[_enter(lock) for _ in range(3)])
        assert not lock.locked
        del dead

    run(main)


def test_the_next_comer_lets_those_in_who_wait_for_a_holder_whose_loop_has_been_closed() -> None:
    lock, loop, order = FifoLock(), asyncio.new_event_loop(), list[str]()
    loop.run_until_complete(lock.__aenter__())

    async def main() -> None:
        async def enter(name: str) -> None:
            async with lock:
                order.append(name)

        waiter = asyncio.create_task(enter("waiter"))
        await asyncio.sleep(0)
        loop.close()
        await asyncio.gather(waiter, enter("next comer"))
        assert order == ["waiter", "next comer"]
        assert not lock.locked

    run(main)


def test_a_holder_that_was_passed_over_and_is_collected_does_not_leave_for_another() -> None:
    async def main() -> None:
        lock, order = FifoLock(), list[str]()

        async def enter(name: str) -> None:
            async with lock:
                order.append(f"{name} in")
                await asyncio.sleep(0)
                order.append(f"{name} out")

        dead = _leave_a_waiter_on_a_dead_loop(lock)
        async with lock:
            dead.clear()
            gc.collect()
            waiter = asyncio.create_task(enter("waiter"))
            await asyncio.sleep(0.005)
            assert order == []
        await waiter
        assert order == ["waiter in", "waiter out"]
        assert not lock.locked

    run(main)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.parametrize("place", ["fork(None)", "Stream(rx.of(1)).pipe(ops.do_action(fork)).run()"])
def test_a_forked_child_passes_over_who_stayed_in_its_parent(place: str) -> None:
    program = """
    import asyncio, os, warnings
    import reactivex as rx
    from reactivex import operators as ops
    from agentscope_rx.stream import FifoLock, Stream

    warnings.simplefilter("ignore", DeprecationWarning)  # of a fork while several threads run
    lock = FifoLock()

    async def enter():
        async with asyncio.timeout(10), lock:
            print("in", flush=True)

    def fork(_):
        if child := os.fork():
            assert os.waitpid(child, 0)[1] == 0
            assert lock.locked
            print("parent", flush=True)
        else:
            try:
                assert not lock.locked
                print("child", flush=True)
                asyncio.run(enter())
                assert not lock.locked
                os._exit(0)
            finally:
                os._exit(1)

    async def main():
        async with lock:
            waiter = asyncio.create_task(enter())
            await asyncio.sleep(0)
            PLACE
        await waiter

    asyncio.run(main())
    """
    assert python(program.replace("PLACE", place)) == ["child", "in", "parent", "in"]


def test_a_waiter_that_is_collected_leaves_the_queue() -> None:
    async def main() -> None:
        lock, holder_leaves = FifoLock(), asyncio.Event()

        async def hold() -> None:
            async with lock:
                await holder_leaves.wait()

        holder = asyncio.create_task(hold())
        await asyncio.sleep(0)
        waiting = lock.__aenter__()
        waiting.send(None)
        waiting.close()
        holder_leaves.set()
        await holder
        assert not lock.locked

    run(main)


async def _enter(lock: FifoLock) -> None:
    async with lock:
        await asyncio.sleep(0)


def _leave_a_waiter_on_a_dead_loop(lock: FifoLock) -> list[object]:
    """A program that stops its loop in the middle, without cancelling what runs on it."""
    kept: list[object] = []

    def work() -> None:
        loop = asyncio.new_event_loop()
        coroutine = _enter(lock)
        task = loop.create_task(coroutine)
        task._log_destroy_pending = False  # type: ignore[attr-defined]
        kept.append(task)
        loop.call_soon(loop.stop)
        loop.run_forever()
        loop.close()

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    return kept


def test_it_works_from_one_event_loop_after_another() -> None:
    lock = FifoLock()
    for _ in range(2):
        asyncio.run(_enter(lock))
    assert not lock.locked


def test_a_holder_in_one_thread_wakes_a_waiter_in_another_whose_loop_is_idle() -> None:
    lock, held, let_go, entered = FifoLock(), threading.Event(), threading.Event(), threading.Event()

    async def hold() -> None:
        async with lock:
            held.set()
            await until(let_go.is_set)

    async def wait() -> None:
        async with lock:
            entered.set()

    holder, waiter = (threading.Thread(target=lambda main=main: asyncio.run(main())) for main in (hold, wait))
    holder.start()
    held.wait()
    waiter.start()
    wait_for(lambda: len(lock._queue) == 2)
    assert not entered.is_set()
    let_go.set()
    waiter.join(10)
    assert entered.is_set()
    holder.join()


def test_what_the_holder_waits_for_may_not_wait_for_the_lock() -> None:
    async def main() -> None:
        lock, other = FifoLock(), FifoLock()

        async def enter(which: FifoLock) -> None:
            async with which:
                pass

        async with lock:
            waited_for = lock.waited_for()
            for where in (waited_for, waited_for.run(contextvars.copy_context)):
                with pytest.raises(SessionBusyError, match=r"hint\(\)"):
                    await asyncio.create_task(enter(lock), context=where)
            await asyncio.create_task(enter(other), context=waited_for)
            unrelated = asyncio.create_task(enter(lock))
            await asyncio.sleep(0)
        await unrelated
        await asyncio.create_task(enter(lock), context=waited_for)  # nobody waits for it any more

    run(main)
