"""A fair lock for asyncio code in any number of event loops and threads."""

from __future__ import annotations

import asyncio
from collections import deque
from contextlib import suppress
from types import TracebackType

from .loops import wake

__all__ = ["FifoLock"]


class FifoLock:
    """Mutual exclusion in order of arrival, across event loops and threads: `async with lock:`.

    It never blocks a loop. A waiter that is cancelled leaves the queue; one whose loop has been closed is passed over.
    Not reentrant.
    """

    # The queue holds everybody who is inside or waits; who is at its head is inside, or has been told to come in.
    # So the head changes only by leaving, and there is no other state to keep in step with the queue: appending,
    # removing and looking at the head are each atomic. A future is done when its owner has been told.

    def __init__(self) -> None:
        self._queue: deque[asyncio.Future[None]] = deque()

    @property
    def locked(self) -> bool:
        """Whether somebody holds the lock."""
        return bool(self._queue)

    @property
    def idle(self) -> bool:
        """Whether nobody holds the lock and nobody waits for it."""
        return not self._queue

    async def __aenter__(self) -> None:
        turn = asyncio.get_running_loop().create_future()
        self._queue.append(turn)
        if self._queue[0] is turn:
            wake(turn)
        try:
            await turn  # at once, if it has been told already
        except BaseException:  # cancelled, perhaps when its turn had come; or collected, because its loop is gone
            self._leave(turn)
            raise

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._leave(self._queue[0])

    def _leave(self, turn: asyncio.Future[None]) -> None:
        self._remove(turn)
        with suppress(IndexError):  # nobody is left
            while not (wake(head := self._queue[0]) or head.done()):
                self._remove(head)  # its loop was closed while it waited

    def _remove(self, turn: asyncio.Future[None]) -> None:
        with suppress(ValueError):  # it has been removed because its loop was closed
            self._queue.remove(turn)
