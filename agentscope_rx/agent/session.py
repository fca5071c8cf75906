"""Sessions: who is talking in each conversation, and who waits to."""

from __future__ import annotations

import asyncio
import os
import threading
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager

from ..context import RuntimeContext
from ..errors import AgentShuttingDownError
from ..event import HintBlockEvent
from ..message import HintBlock
from ..stream import FifoLock, StageCut, call_on, wake

__all__ = ["Call", "Interrupted", "Session", "Sessions"]


class Interrupted(Exception):  # noqa: N818 - not a failure: thrown into a reply to end it in order
    """A person has stopped the reply."""

    def __init__(self, message: str | None = None) -> None:
        super().__init__("interrupted")
        self.message = message
        """What the person said."""


class Session:
    """One conversation: its gate, its queued hints and the calls in it. What it remembers is in the store."""

    def __init__(self, id: str, user_id: str | None) -> None:
        self.id = id
        """The session id."""
        self.user_id = user_id
        """The user, None when there is only one."""
        self.gate = FifoLock()
        """Lets one call in at a time, in the order of their coming."""
        self.hints: deque[HintBlock] = deque()
        """What the model is to be told before its next call."""
        self.calls: set[Call] = set()
        """The calls in it, the queued ones too."""

    def take_hints(self, reply_id: str) -> Iterator[HintBlockEvent]:
        """Take the queued hints, as events of a reply: each when it is asked for, so that none is lost on the way."""
        while self.hints:
            hint = self.hints.popleft()
            yield HintBlockEvent(reply_id=reply_id, block_id=hint.id, hint=hint.hint, hint_source=hint.source, seq=0)

    @property
    def idle(self) -> bool:
        """Whether nothing is lost when the session is forgotten."""
        return not self.calls and not self.hints


class Call:
    """One call of a session, from when it is accepted until its state is saved; made in the task that runs it."""

    def __init__(self, session: Session) -> None:
        self.session = session
        """Whose call it is."""
        self.cut = StageCut()
        """Cuts its stages short."""
        self.loop = asyncio.get_running_loop()
        """The loop that it runs on."""
        self._task = asyncio.current_task()
        self._process = os.getpid()
        self._running = False

    @property
    def gone(self) -> bool:
        """Whether it can never end: its loop is closed, or it stayed behind when this process was forked."""
        return self.loop.is_closed() or self._process != os.getpid()

    @contextmanager
    def running(self) -> Iterator[None]:
        """Let it be cancelled meanwhile, and not before or after, when its state is loaded and saved."""
        self._running = True
        try:
            yield
        finally:
            self._running = False

    def interrupt(self, message: str | None) -> bool:
        """End it in order, from any thread; returns whether it was not too late for that."""
        return self.cut.throw(Interrupted(message))

    def cancel(self) -> None:
        """Cancel it where it runs, from any thread; its subscriber is told StreamCancelled, and its state is saved."""
        call_on(self.loop, self._cancel)

    def _cancel(self) -> None:
        if self._running and self._task is not None:
            self._running = False
            self._task.cancel()


class Sessions:
    """The sessions of one agent in which something happens, by user and session id."""

    def __init__(self, default_id: str) -> None:
        self._default_id = default_id
        self._sessions: dict[tuple[str | None, str], Session] = {}
        self._closed = False
        self._waiters: set[asyncio.Future[None]] = set()
        self._lock = threading.Lock()

    def id_of(self, context: RuntimeContext) -> str:
        """Return the session id of a context."""
        return context.session_id or self._default_id

    @contextmanager
    def entered(self, context: RuntimeContext) -> Iterator[Call]:
        """Take part in the session of a context with one call; it is forgotten when nothing happens in it any more.

        Raises:
            AgentShuttingDownError: the sessions are closed.
        """
        with self._lock:
            session = self._of(context)
            call = Call(session)
            session.calls.add(call)
        try:
            yield call
        finally:
            with self._lock:
                session.calls.discard(call)
                if session.idle:
                    self._sessions.pop((session.user_id, session.id), None)
                if self._waiters and not self._calls():
                    for waiter in self._waiters:
                        wake(waiter)

    def add_hint(self, context: RuntimeContext, hint: HintBlock) -> None:
        """Queue a hint for the next model call of a session.

        Raises:
            AgentShuttingDownError: the sessions are closed.
        """
        with self._lock:
            self._of(context).hints.append(hint)

    def interrupt(self, context: RuntimeContext, message: str | None) -> bool:
        """Interrupt every call of a session, the queued ones too; returns whether there was one."""
        with self._lock:
            session = self._sessions.get((context.user_id, self.id_of(context)))
            calls = () if session is None else tuple(session.calls)
        thrown = [call.interrupt(message) for call in calls]
        return any(thrown)

    def close(self) -> None:
        """Accept no more calls and hints."""
        with self._lock:
            self._closed = True

    def calls(self) -> tuple[Call, ...]:
        """Return the calls of all sessions that have not ended, the queued ones too."""
        with self._lock:
            return self._calls()

    async def emptied(self, seconds: float) -> bool:
        """Wait until every call has ended; False when that takes longer."""
        waiter = asyncio.get_running_loop().create_future()
        with self._lock:
            if not self._calls():
                return True
            self._waiters.add(waiter)
        try:
            ended, _ = await asyncio.wait((waiter,), timeout=seconds)
            return bool(ended)
        finally:
            with self._lock:
                self._waiters.discard(waiter)

    def _calls(self) -> tuple[Call, ...]:
        return tuple(call for session in self._sessions.values() for call in session.calls if not call.gone)

    def _of(self, context: RuntimeContext) -> Session:
        if self._closed:
            raise AgentShuttingDownError(
                "the agent has been told to shut down and takes no more calls; nothing was changed, call another agent"
            )
        key = (context.user_id, self.id_of(context))
        if key not in self._sessions:
            self._sessions[key] = Session(key[1], key[0])
        return self._sessions[key]
