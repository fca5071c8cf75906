"""Sessions: what an agent remembers of each conversation, and who is talking in it."""

from __future__ import annotations

import threading
from collections import deque

from ..context import RuntimeContext
from ..event import HintBlockEvent
from ..message import HintBlock, Msg
from ..stream import FifoLock

__all__ = ["Session", "Sessions"]


class Session:
    """One conversation, in memory."""

    def __init__(self, id: str) -> None:
        self.id = id
        """The session id."""
        self.gate = FifoLock()
        """Lets one call in at a time, in the order of their coming."""
        self.history: list[Msg] = []
        """The turns so far; changed only behind the gate."""
        self._hints: deque[HintBlock] = deque()

    def add_hint(self, hint: HintBlock) -> None:
        """Queue a hint for the next model call; from any thread."""
        self._hints.append(hint)

    def take_hints(self, reply_id: str) -> list[HintBlockEvent]:
        """Take the queued hints, as events of a reply."""
        taken = []
        while self._hints:
            hint = self._hints.popleft()
            taken.append(
                HintBlockEvent(reply_id=reply_id, block_id=hint.id, hint=hint.hint, hint_source=hint.source, seq=0)
            )
        return taken


class Sessions:
    """The sessions of one agent, by user and session id."""

    def __init__(self) -> None:
        self._sessions: dict[tuple[str | None, str], Session] = {}
        self._lock = threading.Lock()

    def of(self, context: RuntimeContext, default_session_id: str) -> Session:
        """Return the session of a context, a new one when there is none."""
        session_id = context.session_id or default_session_id
        key = (context.user_id, session_id)
        with self._lock:
            if key not in self._sessions:
                self._sessions[key] = Session(session_id)
            return self._sessions[key]
