"""States in the memory of this process."""

from __future__ import annotations

import threading

from .agent_state import AgentState
from .store import StoredState, state_conflict

__all__ = ["InMemoryStateStore"]


class InMemoryStateStore:
    """Keeps copies of states until the process ends; what an agent uses when it is given no store."""

    def __init__(self) -> None:
        self._stored: dict[tuple[str | None, str], StoredState] = {}
        self._lock = threading.Lock()

    async def load(self, session_id: str, user_id: str | None = None) -> StoredState | None:
        """Return a copy of the state of a session, None when there is none."""
        stored = self._stored.get((user_id, session_id))
        return None if stored is None else stored._replace(state=stored.state.snapshot())

    async def save(self, state: AgentState, version: int) -> int:
        """Keep a copy of a state.

        Raises:
            StateConflictError: the session is at another version.
        """
        key = (state.user_id, state.session_id)
        with self._lock:
            stored = self._stored.get(key)
            held = 0 if stored is None else stored.version
            if held != version:
                raise state_conflict(state, version, held)
            self._stored[key] = StoredState(state.snapshot(), version + 1)
        return version + 1

    async def delete(self, session_id: str, user_id: str | None = None) -> None:
        """Forget a session."""
        with self._lock:
            self._stored.pop((user_id, session_id), None)
