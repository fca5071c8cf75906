"""How output gets from a running tool, on whatever thread, to the event loop."""

from __future__ import annotations

import asyncio
import threading
from collections import deque
from collections.abc import Awaitable, Generator
from typing import Any, Generic, TypeVar
from weakref import WeakSet

from ..errors import BufferOverflowError

__all__ = ["READY", "Channel", "ToolCancelled"]

T = TypeVar("T")

_OVERDRAFT = 1024
"""How far code on the loop, which must not block, may go over the limit without waiting."""


class ToolCancelled(BaseException):
    """The call is over: raised in a thread of the tool when it next emits or yields.

    Like `asyncio.CancelledError` it is no `Exception`, so that a tool's own error handling lets it through, and it
    is told once: what the thread emits while it cleans up is dropped.
    """


class _Ready:
    def __await__(self) -> Generator[Any, Any, None]:
        return
        yield


READY: Awaitable[None] = _Ready()
"""An awaitable that is always done."""


class _Room:
    def __init__(self, channel: Channel[Any]) -> None:
        self._channel = channel

    def __await__(self) -> Generator[Any, Any, None]:
        return self._channel.room().__await__()


class Channel(Generic[T]):
    """A bounded queue into one event loop: any thread puts, one coroutine on the loop takes.

    A thread that puts into a full channel blocks until half of it is taken, and the loop is woken once per burst.
    Code on the loop never blocks: it awaits what `put` returns. Order is kept per thread.
    """

    def __init__(self, limit: int) -> None:
        self._loop = asyncio.get_running_loop()
        self._loop_thread = threading.get_ident()
        self._limit = limit
        self._items: deque[T] = deque()
        self._closed = False
        self._told: WeakSet[threading.Thread] = WeakSet()
        self._lock = threading.Condition()
        self._arrived = asyncio.Event()
        self._drained = asyncio.Event()

    def put(self, item: T) -> Awaitable[None]:
        """Add an item. Blocks in a thread; on the loop, awaiting the result waits until there is room.

        Raises:
            ToolCancelled: the channel is closed and this thread was not told before.
            BufferOverflowError: code on the loop went far over the limit without ever awaiting.
        """
        if threading.get_ident() == self._loop_thread:
            return self._put_on_loop(item)
        with self._lock:
            while len(self._items) >= self._limit and not self._closed:
                self._lock.wait()
            if self._closed or not self._append_from_thread(item):
                self._tell()
        return READY

    def _put_on_loop(self, item: T) -> Awaitable[None]:
        with self._lock:
            if self._closed:
                return READY
            if len(self._items) >= self._limit + _OVERDRAFT:
                raise BufferOverflowError(
                    f"a tool on the event loop emitted {len(self._items)} pieces that nobody has read yet, "
                    f"{self._limit} may wait; await what emit() returns"
                )
            self._items.append(item)
        self._arrived.set()
        return READY if len(self._items) < self._limit else _Room(self)

    def _append_from_thread(self, item: T) -> bool:
        self._items.append(item)
        if len(self._items) == 1:  # only now: woken any earlier, the reader would find nothing and sleep on
            try:
                self._loop.call_soon_threadsafe(self._arrived.set)
            except RuntimeError:  # the loop is closed, and this channel with it
                self._closed = True
        return not self._closed

    def _tell(self) -> None:
        thread = threading.current_thread()
        if thread not in self._told:
            self._told.add(thread)
            raise ToolCancelled("the tool call is over")

    async def room(self) -> None:
        """Wait until the channel has room or is closed."""
        while len(self._items) >= self._limit and not self._closed:
            self._drained.clear()
            await self._drained.wait()

    async def ready(self) -> bool:
        """Wait for an item; False once the channel is closed and empty."""
        while not self._items:
            if self._closed:
                return False
            self._arrived.clear()
            if not self._items:
                await self._arrived.wait()
        return True

    def take(self) -> T:
        """Return the oldest item; only after `ready` said that there is one."""
        with self._lock:
            item = self._items.popleft()
            if len(self._items) == self._limit // 2:
                self._lock.notify_all()
                self._drained.set()
        return item

    def close(self) -> None:
        """Take no more items; those already in can still be taken. Called on the loop."""
        with self._lock:
            self._closed = True
            self._lock.notify_all()
        self._arrived.set()
        self._drained.set()
