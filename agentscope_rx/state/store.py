"""What a store of states must do."""

from __future__ import annotations

from typing import NamedTuple, Protocol, runtime_checkable

from ..errors import StateConflictError
from .agent_state import AgentState

__all__ = ["StateStore", "StoredState", "state_conflict"]


class StoredState(NamedTuple):
    """A state and its version."""

    state: AgentState
    """The state: the caller's own, to change as it likes."""
    version: int
    """The version of the state in the store, from 1; it rises with every save."""


@runtime_checkable
class StateStore(Protocol):
    """Keeps the states of sessions. All three operations may be called from any event loop and thread."""

    async def load(self, session_id: str, user_id: str | None = None) -> StoredState | None:
        """Return the state of a session, None when there is none.

        Raises:
            StoreError: the state cannot be read.
        """
        ...

    async def save(self, state: AgentState, version: int) -> int:
        """Save a state over the version that it was loaded with, 0 when there was none; return the new version.

        Raises:
            StateConflictError: the store holds another version; nothing was saved.
            StoreError: the state cannot be written; the old one stands.
        """
        ...

    async def delete(self, session_id: str, user_id: str | None = None) -> None:
        """Forget a session; none is fine too.

        Raises:
            StoreError: it cannot be deleted.
        """
        ...


def state_conflict(state: AgentState, version: int, held: int) -> StateConflictError:
    """Return the error about a state that was loaded at a version, while the store holds another one."""
    return StateConflictError(
        f"session {state.session_id!r} is at version {held}, and was loaded at version {version}; "
        "load it again and repeat the call"
    )
