"""An event loop in a thread of its own, for what must stay on one loop while its users are on many."""

from __future__ import annotations

import asyncio
import contextvars
import os
import threading
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

from ..errors import ToolError
from ..stream import wake

__all__ = ["Worker"]

T = TypeVar("T")

_END_SECONDS = 10.0
"""How long `close` waits for the tasks to clean up: longer than they take when all goes well."""


class Worker:
    """One daemon thread that runs one loop, and on it nothing but what it is given, until it is closed."""

    def __init__(self, name: str) -> None:
        self._loop = asyncio.new_event_loop()
        self._tasks: set[asyncio.Task[Any]] = set()
        self._waiters: set[asyncio.Future[None]] = set()
        self._process = os.getpid()
        self._thread = threading.Thread(target=self._serve, name=name, daemon=True)
        self._thread.start()

    @property
    def alive(self) -> bool:
        """Whether it runs, and in this process: a fork takes the object along, and not the thread."""
        return self._process == os.getpid() and self._thread.is_alive()

    def start(self, coroutine: Coroutine[Any, Any, T], context: contextvars.Context | None = None) -> asyncio.Task[T]:
        """Start a task, which `close` cancels; called on the loop.

        Args:
            coroutine: What it runs.
            context: What it runs in, a copy of this context when None.
        """
        task = self._loop.create_task(coroutine, context=context)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

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
            task = self.start(make())
            task.add_done_callback(lambda _: wake(ended))

        def cancel() -> None:
            if task is not None:
                task.cancel()

        self._waiters.add(ended)
        try:
            self._call(start)
            await asyncio.wait((ended,))
        except asyncio.CancelledError:
            self._call(cancel)
            await asyncio.wait((ended,))
            raise
        finally:
            self._waiters.discard(ended)
        if task is None or task.cancelled():
            raise _closed()
        return task.result()

    def close(self) -> None:
        """Cancel all that runs, and wait until it has cleaned up; any thread may call this, and again."""
        if self.alive:
            self._loop.call_soon_threadsafe(self._loop.stop)
            if threading.current_thread() is not self._thread:
                self._thread.join(_END_SECONDS)

    def _call(self, callback: Callable[[], object]) -> None:
        try:
            self._loop.call_soon_threadsafe(callback)
        except RuntimeError:
            raise _closed() from None

    def _serve(self) -> None:
        try:
            self._loop.run_forever()
            self._loop.run_until_complete(self._end())
        finally:
            self._loop.close()
            for waiter in tuple(self._waiters):  # for what was called for too late to be started
                wake(waiter)

    async def _end(self) -> None:
        while self._tasks:
            tasks = tuple(self._tasks)
            for task in tasks:
                task.cancel()
            await asyncio.wait(tasks)
        await self._loop.shutdown_asyncgens()
        await self._loop.shutdown_default_executor()


def _closed() -> ToolError:
    return ToolError("The connections to the MCP servers are closed.")
