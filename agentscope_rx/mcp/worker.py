"""An event loop in a thread of its own, for what must stay on one loop while its users are on many."""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import Callable, Coroutine
from contextlib import suppress
from functools import partial
from typing import Any, TypeVar

from ..errors import ToolError
from ..stream import wake

__all__ = ["Worker"]

T = TypeVar("T")

_END_SECONDS = 10.0
"""How long `close` waits for the tasks to clean up: longer than they take when all goes well."""


async def _nothing() -> None:
    pass


class Worker:
    """One daemon thread that runs one loop, and on it nothing but what it is given, until it is closed."""

    def __init__(self, name: str) -> None:
        self._loop = asyncio.new_event_loop()
        self._tasks: set[asyncio.Task[Any]] = set()
        self._waiters: set[asyncio.Future[None]] = set()
        self._farewell: Callable[[], Coroutine[Any, Any, object]] | None = None
        self._process = os.getpid()
        self._thread = threading.Thread(target=self._serve, name=name, daemon=True)
        self._thread.start()

    @property
    def alive(self) -> bool:
        """Whether it runs, and in this process: a fork takes the object along, and not the thread."""
        return self._process == os.getpid() and self._thread.is_alive()

    async def run(self, make: Callable[[], Coroutine[Any, Any, T]]) -> T:
        """Run a coroutine there, in a copy of this context, and return what it returns; called on any loop.

        A cancellation here cancels it there, and waits for its end.

        Raises:
            ToolError: the worker was closed before the coroutine had come to its end.
        """
        if not self.alive:
            raise _closed()
        ended = asyncio.get_running_loop().create_future()
        task: asyncio.Task[T] | None = None

        def start() -> None:
            nonlocal task
            task = self._loop.create_task(make())
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)
            task.add_done_callback(lambda _: wake(ended))

        def cancel() -> None:
            if task is not None:
                task.cancel()

        self._waiters.add(ended)
        try:
            self._call(start)
            await asyncio.wait((ended,))
        except asyncio.CancelledError:
            with suppress(ToolError):
                self._call(cancel)
            await asyncio.wait((ended,))
            raise
        finally:
            self._waiters.discard(ended)
        if task is None or task.cancelled():
            raise _closed()
        return task.result()

    def close(self, farewell: Callable[[], Coroutine[Any, Any, object]] = _nothing) -> None:
        """Cancel all that runs, then run a last coroutine, and wait for its end; any thread may call this, and again.

        Args:
            farewell: Makes the coroutine.
        """
        if self.alive:
            with suppress(ToolError):
                self._call(partial(self._stop, farewell))
            if threading.current_thread() is not self._thread:
                self._thread.join(_END_SECONDS)

    def _stop(self, farewell: Callable[[], Coroutine[Any, Any, object]]) -> None:
        if self._farewell is None:
            self._farewell = farewell
            self._loop.stop()

    def _call(self, callback: Callable[[], object]) -> None:
        try:
            self._loop.call_soon_threadsafe(callback)
        except RuntimeError:
            raise _closed() from None

    def _serve(self) -> None:
        try:
            self._loop.run_forever()
            self._loop.run_until_complete(self._end(self._farewell or _nothing))
        finally:
            self._loop.close()
            for waiter in tuple(self._waiters):  # for what was called for too late to be started
                wake(waiter)

    async def _end(self, farewell: Callable[[], Coroutine[Any, Any, object]]) -> None:
        while tasks := tuple(self._tasks):
            for task in tasks:
                task.cancel()
            await asyncio.wait(tasks)
        await farewell()
        await self._loop.shutdown_asyncgens()
        await self._loop.shutdown_default_executor()


def _closed() -> ToolError:
    return ToolError("The connections to the MCP servers are closed.")
