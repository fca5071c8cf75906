"""One bit of demand, carried from a bounded consumer up to its sources."""

from __future__ import annotations

import asyncio
from collections import deque
from contextlib import suppress

from .loops import wake

__all__ = ["Gate", "JointGate"]


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
        with suppress(IndexError):  # none is left, or another thread that opens the gate has taken it
            while True:
                wake(self._waiters.popleft())

    async def wait(self) -> None:
        """Wait until the gate is open."""
        while self.closed:
            waiter = asyncio.get_running_loop().create_future()
            self._waiters.append(waiter)
            if self.closed:  # still: another thread may have opened it before it could see this waiter
                await waiter


class JointGate(Gate):
    """A gate of one's own that is also closed while another one is: for an operator that has a buffer."""

    __slots__ = ("_other", "_own")

    def __init__(self, other: Gate) -> None:
        """Make an open gate that is closed while `other` is."""
        self._own, self._other = Gate(), other
        super().__init__()

    @property
    def closed(self) -> bool:
        """Whether sources should pause."""
        return self._own.closed or self._other.closed

    @closed.setter
    def closed(self, closed: bool) -> None:
        """Close or open this gate alone."""
        self._own.closed = closed

    def open(self) -> None:
        """Let the sources go on, as far as this gate is concerned."""
        self._own.open()

    async def wait(self) -> None:
        """Wait until both are open."""
        while self.closed:
            await self._own.wait()
            await self._other.wait()
