"""One bit of demand, carried from a bounded consumer up to its sources."""

from __future__ import annotations

import asyncio
from collections import deque

from .loops import wake

__all__ = ["Gate"]


class Gate:
    """Closed by a consumer that is full; a source that honours it waits before it pulls its next item.

    Any thread may close or open it; waiters wait on their own loops.
    """

    __slots__ = ("_waiters", "closed")

    def __init__(self) -> None:
        self.closed = False
        """Whether sources should pause."""
        self._waiters: deque[asyncio.Future[None]] = deque()

    def close(self) -> None:
        """Ask the sources to pause."""
        self.closed = True

    def open(self) -> None:
        """Let the sources go on."""
        self.closed = False
        while self._waiters:
            wake(self._waiters.popleft())

    async def wait(self) -> None:
        """Wait until the gate is open."""
        while self.closed:
            waiter = asyncio.get_running_loop().create_future()
            self._waiters.append(waiter)
            if self.closed:  # still: another thread may have opened it before it could see this waiter
                await waiter
