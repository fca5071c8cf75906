"""Sessions: who is talking in each conversation, and who waits to."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager

from ..context import RuntimeContext
from ..event import HintBlockEvent
from ..message import HintBlock
from ..stream import FifoLock, StageCut

__all__ = ["Interrupted", "Session", "Sessions"]


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
        self.calls: set[StageCut] = set()
        """What can interrupt the calls in it, the queued ones too."""

    def take_hints(self, reply_id: str) -> Iterator[HintBlockEvent]:
        """Take the queued hints, as events of a reply: each when it is asked for, so that none is lost on the way."""
        while self.hints:
            hint = self.hints.popleft()
            yield HintBlockEvent(reply_id=reply_id, block_id=hint.id, hint=hint.hint, hint_source=hint.source, seq=0)

    @property
    def idle(self) -> bool:
        """Whether nothing is lost when the session is forgotten."""
        return not self.calls and not self.hints


class Sessions:
    """The sessions of one agent in which something happens, by user and session id."""

    def __init__(self, default_id: str) -> None:
        self._default_id = default_id
        self._sessions: dict[tuple[str | None, str], Session] = {}
        self._lock = threading.Lock()

    def id_of(self, context: RuntimeContext) -> str:
        """Return the session id of a context."""
        return context.session_id or self._default_id

    @contextmanager
    def entered(self, context: RuntimeContext, cut: StageCut) -> Iterator[Session]:
        """Take part in the session of a context with one call; it is forgotten when nothing happens in it any more."""
        with self._lock:
            session = self._of(context)
            session.calls.add(cut)
        try:
            yield session
        finally:
            with self._lock:
                session.calls.discard(cut)
                if session.idle:
                    self._sessions.pop((session.user_id, session.id), None)

    def add_hint(self, context: RuntimeContext, hint: HintBlock) -> None:
        """Queue a hint for the next model call of a session."""
        with self._lock:
            self._of(context).hints.append(hint)

    def interrupt(self, context: RuntimeContext, message: str | None) -> bool:
        """Interrupt every call of a session, the queued ones too; returns whether there was one."""
        with self._lock:
            session = self._sessions.get((context.user_id, self.id_of(context)))
            calls = () if session is None else tuple(session.calls)
        thrown = [call.throw(Interrupted(message)) for call in calls]
        return any(thrown)

    def _of(self, context: RuntimeContext) -> Session:
        key = (context.user_id, self.id_of(context))
        if key not in self._sessions:
            self._sessions[key] = Session(key[1], key[0])
        return self._sessions[key]
