"""A fair lock for asyncio code in any number of event loops and threads."""

from __future__ import annotations

import asyncio
import contextvars
import os
from collections import deque
from contextlib import suppress
from types import TracebackType

from ..errors import SessionBusyError
from .blocking import blocked_loops
from .loops import wake

__all__ = ["FifoLock"]

_waited_for: contextvars.ContextVar[tuple[_Turn, ...]] = contextvars.ContextVar("agentscope_rx_waited_for", default=())
"""The turns that do not end before the work in this context does."""


class FifoLock:
    """Mutual exclusion in order of arrival, across event loops and threads: `async with lock:`.

    It never blocks a loop. A waiter that is cancelled leaves the queue. Whoever can never go on, because its loop has
    been closed or because it stayed behind when this process was forked, is passed over by the next who comes or
    leaves, even if it was inside. Not reentrant.

    Raises:
        SessionBusyError: on entering inside `Stream.run()`, if somebody on an event loop that this `.run()` blocks is
            inside or waits: neither could ever go on. On entering in a context made by `waited_for`, too.
    """

    # The queue holds everybody who is inside or waits; who is at its head is inside, or has been told to come in.
    # So the head changes only by leaving, and there is no other state to keep in step with the queue: appending,
    # removing, copying and looking at the head are each atomic.

    def __init__(self) -> None:
        self._queue: deque[_Turn] = deque()
        self._gone: list[_Turn] = []  # were inside; kept, because a holder that is collected leaves in the head's name

    @property
    def locked(self) -> bool:
        """Whether somebody holds the lock, or waits for it."""
        return any(not turn.gone for turn in self._queue.copy())

    def waited_for(self) -> contextvars.Context:
        """Return a copy of the current contextvars for work that whoever is inside waits for.

        Called by whoever is inside. While it is, entering in that context, or in a copy of it, is refused: it would
        wait for ever.
        """
        context = contextvars.copy_context()
        context.run(_waited_for.set, (*_waited_for.get(), self._queue[0]))
        return context

    async def __aenter__(self) -> None:
        self._refuse_deadlock()
        turn = _Turn()
        self._queue.append(turn)
        try:
            self._admit()
            await turn.told  # at once, if it has been told already
        except BaseException:  # cancelled, perhaps when its turn had come; or collected, because its loop is gone
            self._leave(turn)
            raise

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        with suppress(IndexError):  # it was passed over: a fork copied it while it was inside
            self._leave(self._queue[0])

    def _refuse_deadlock(self) -> None:
        # A blocked loop adds nobody, so there is none to miss between this look and the append.
        blocked, queue = blocked_loops(), self._queue.copy()
        if any(turn in queue for turn in _waited_for.get()):
            raise SessionBusyError(
                "the session is taken by the call that this tool is part of, and that waits for the tool; use "
                "agent.hint() to tell it something, another session_id, or, for a task that the tool leaves behind, "
                "asyncio.create_task(..., context=contextvars.Context())"
            )
        if blocked and any(turn.loop in blocked and not turn.gone for turn in queue):
            raise SessionBusyError(
                ".run() would never return: the session is taken by another stream, which cannot finish while .run() "
                "blocks its event loop; await it instead of .run(), or close the other stream first"
            )

    def _leave(self, turn: _Turn) -> None:
        self._remove(turn)
        self._admit()

    def _admit(self) -> None:
        """Tell the head to come in, if it has not been told."""
        with suppress(IndexError):  # nobody is left
            while (head := self._queue[0]).gone or not (head.told.done() or wake(head.told)):
                if head.told.done():
                    self._gone.append(head)
                self._remove(head)

    def _remove(self, turn: _Turn) -> None:
        with suppress(ValueError):  # it has been passed over
            self._queue.remove(turn)


class _Turn:
    """Somebody who is inside or waits, on the running loop."""

    __slots__ = ("_process", "_task", "loop", "told")

    def __init__(self) -> None:
        self.loop = asyncio.get_running_loop()
        self.told: asyncio.Future[None] = self.loop.create_future()  # done when it has been told to come in
        self._task = asyncio.current_task()  # is not collected before this turn is
        self._process = os.getpid()

    @property
    def gone(self) -> bool:
        """Whether it can never go on."""
        return self.loop.is_closed() or self._process != os.getpid()
