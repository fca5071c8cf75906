"""Which event loop runs here, and how to reach another one."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress
from typing import TypeVarTuple

__all__ = ["call_on", "on_loop", "report", "running_loop", "wake"]

Ts = TypeVarTuple("Ts")


def running_loop() -> asyncio.AbstractEventLoop | None:
    """Return the loop that runs in this thread right now, None if none does."""
    try:
        return asyncio.get_running_loop()
    except RuntimeError:
        return None


def on_loop(loop: asyncio.AbstractEventLoop) -> bool:
    """Whether `loop` is the one that runs in this thread right now."""
    return running_loop() is loop


def call_on(loop: asyncio.AbstractEventLoop, callback: Callable[[*Ts], object], *args: *Ts) -> bool:
    """Call back at once if `loop` runs in this thread, else soon in the thread of `loop`, in this one's contextvars.

    Returns False, and does nothing, if the loop is closed: whatever the call was to reach has ended with it.
    """
    if on_loop(loop):
        callback(*args)
        return True
    with suppress(RuntimeError):
        loop.call_soon_threadsafe(callback, *args)
        return True
    return False


def wake(waiter: asyncio.Future[None]) -> bool:
    """Make the coroutine that awaits `waiter` go on, in whatever thread it is; again, or too late, is no error.

    Returns False if its loop is closed.
    """
    return call_on(waiter.get_loop(), _complete, waiter)


def _complete(waiter: asyncio.Future[None]) -> None:
    if not waiter.done():
        waiter.set_result(None)


def report(loop: asyncio.AbstractEventLoop, message: str, error: Exception) -> None:
    """Give an error that nobody else can be told of to the exception handler of the loop."""
    loop.call_exception_handler({"message": message, "exception": error})
