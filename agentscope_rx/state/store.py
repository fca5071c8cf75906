"""What a store of states must do."""

from __future__ import annotations

from contextlib import AbstractAsyncContextManager, nullcontext
from typing import NamedTuple, Protocol, runtime_checkable

from ..errors import StateConflictError
from .agent_state import AgentState

__all__ = ["LeasingStateStore", "StateStore", "StoredState", "lease_lost", "leased", "state_conflict"]


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


@runtime_checkable
class LeasingStateStore(StateStore, Protocol):
    """A store that can keep everybody else out of a session, in other processes too."""

    def lease(self, session_id: str, user_id: str | None = None) -> AbstractAsyncContextManager[StateStore]:
        """Wait until nobody is in a session, and be in it alone; what is entered is the store to use inside.

        Its saves are StateConflictErrors once somebody else is in the session, as after a breakdown.

        Raises:
            StoreError: on entering, when the store fails.
        """
        ...


def leased(store: StateStore, session_id: str, user_id: str | None) -> AbstractAsyncContextManager[StateStore]:
    """Be in a session alone, if its store can see to it; what is entered is the store to use inside."""
    return store.lease(session_id, user_id) if isinstance(store, LeasingStateStore) else nullcontext(store)


def state_conflict(state: AgentState, version: int, held: int) -> StateConflictError:
    """Return the error about a state that was loaded at a version, while the store holds another one."""
    return StateConflictError(
        f"session {state.session_id!r} is at version {held}, and was loaded at version {version}; "
        "load it again and repeat the call"
    )


def lease_lost(state: AgentState) -> StateConflictError:
    """Return the error about a state that is saved by who has no longer the lease of its session."""
    return StateConflictError(
        f"session {state.session_id!r} has been taken over by somebody else, since its lease was not renewed in time; "
        "load it again and repeat the call"
    )
