"""Run a coroutine to its end in a thread that does something else."""

from __future__ import annotations

import asyncio
import contextvars
import threading
from collections.abc import Callable, Coroutine
from concurrent.futures import Future, wait
from typing import Any, TypeVar

from reactivex.scheduler import CurrentThreadScheduler

from .loops import call_on, running_loop

__all__ = ["blocked_loops", "run_blocking"]

T = TypeVar("T")

_POLL_SECONDS = 0.1
"""How often a blocked task looks whether it has been cancelled: nothing can wake it, since its loop stands still."""

_blocks: contextvars.ContextVar[tuple[tuple[asyncio.AbstractEventLoop, Future[Any]], ...]] = contextvars.ContextVar(
    "agentscope_rx_blocks", default=()
)
"""Loops, each blocked until its future is done; seen by everything that the blocking call starts."""


def blocked_loops() -> set[asyncio.AbstractEventLoop]:
    """Return the loops that are blocked by calls of `run_blocking` of which the caller is a part.

    What waits here for something on one of them waits for ever.
    """
    return {loop for loop, _ in _open_blocks()}


def run_blocking(make: Callable[[], Coroutine[Any, Any, T]]) -> T:
    """Run `make()` on a new event loop and return its result.

    It runs in this thread, so that callbacks do too and Ctrl-C cancels it, unless a loop or an RxPY trampoline is
    already busy here; then it runs in a thread of its own, in a copy of this thread's contextvars.
    """
    if _thread_is_free():
        return _run(make, asyncio.new_event_loop())
    return _run_in_thread(make)


def _open_blocks() -> tuple[tuple[asyncio.AbstractEventLoop, Future[Any]], ...]:
    return tuple(block for block in _blocks.get() if not block[1].done())


def _thread_is_free() -> bool:
    return running_loop() is None and CurrentThreadScheduler.singleton().schedule_required()


def _run(make: Callable[[], Coroutine[Any, Any, T]], loop: asyncio.AbstractEventLoop) -> T:
    # Given a factory, the runner leaves this thread's current event loop as it was.
    with asyncio.Runner(loop_factory=lambda: loop) as runner:
        return runner.run(make())


def _run_in_thread(make: Callable[[], Coroutine[Any, Any, T]]) -> T:
    caller = running_loop()
    result: Future[T] = Future()
    task: asyncio.Task[Any] | None = None
    interrupted = False

    async def main() -> T:
        nonlocal task
        task = asyncio.current_task()
        if interrupted:
            raise asyncio.CancelledError
        return await make()

    def work() -> None:
        if not result.set_running_or_notify_cancel():
            return
        if caller is not None:
            _blocks.set((*_open_blocks(), (caller, result)))
        try:
            result.set_result(_run(main, loop))
        except BaseException as error:
            result.set_exception(error)

    def interrupt() -> None:
        if task is not None:
            task.cancel()

    context = contextvars.copy_context()
    thread = threading.Thread(target=context.run, args=(work,), name="agentscope-rx-run", daemon=True)
    loop = asyncio.new_event_loop()
    try:
        thread.start()
        _wait_unless_cancelled(result)
    finally:  # also reached by a KeyboardInterrupt
        interrupted = True
        if result.cancel():  # the work has not begun, and so never will
            loop.close()
        else:
            call_on(loop, interrupt)
            thread.join()
    return result.result()


def _wait_unless_cancelled(result: Future[Any]) -> None:
    """Wait for the result, or until the task that waits here is cancelled: asyncio does that at the first Ctrl-C."""
    caller = asyncio.current_task() if running_loop() else None
    cancels = caller.cancelling() if caller else 0
    while not wait([result], _POLL_SECONDS).done:
        if caller and caller.cancelling() > cancels and result.running():
            return
