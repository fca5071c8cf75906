"""What the stores have in common that keep sessions on a server."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Protocol

from ...errors import ConfigurationError, StoreError
from ..agent_state import AgentState
from ..keys import row_key
from ..record import read_record, write_record
from ..store import StateStore, StoredState, lease_lost, state_conflict
from .finished import finished
from .lease import holding
from .server import Lease, StateServer

__all__ = ["OneLoop", "ServerOfLoop", "SharedStateStore"]


class ServerOfLoop(Protocol):
    """Where the running loop finds its connections."""

    def get(self) -> StateServer:
        """Return the connections of the running loop."""
        ...

    async def aclose(self) -> None:
        """Close the connections of the running loop."""
        ...


class OneLoop:
    """Connections that the caller has made, and closes: those of the first loop that asks for them, and of no other."""

    def __init__(self, server: StateServer, name: str) -> None:
        self._server, self._name = server, name
        self._loop: asyncio.AbstractEventLoop | None = None

    def get(self) -> StateServer:
        """Return the connections.

        Raises:
            ConfigurationError: they belong to another loop.
        """
        loop = asyncio.get_running_loop()
        self._loop = self._loop or loop
        if self._loop is not loop:
            raise ConfigurationError(
                f"the {self._name} belongs to the event loop that used it first, and another one runs; "
                "give the store a URL, so that every loop has connections of its own, or use one loop"
            )
        return self._server

    async def aclose(self) -> None:
        """Do nothing: they are the caller's."""


class SharedStateStore:
    """Keeps sessions on a server that any number of machines share.

    A session is saved over the version that it was loaded with, or not at all. With a lease, an agent waits for its
    turn before it loads one, as calls of one agent wait for each other, so that no work is in vain; it does not wait
    in order of arrival. The lease of a process that has died or hangs is somebody else's after `lease` seconds. If that
    process comes back nevertheless, it cannot save any more: StateConflictError.

    May be used from any event loop and thread: each loop has connections of its own, which are closed when it shuts
    down. Whoever is cancelled leaves when the server has answered. When a save fails because the server cannot be
    reached, it may be done all the same.
    """

    def __init__(self, servers: ServerOfLoop, lease: float | None) -> None:
        if lease is not None and not lease > 0:
            raise ConfigurationError(f"a lease lasts more than 0 seconds, and None is for no lease: got {lease}")
        self._servers, self._lease = servers, lease
        self._closed = False

    async def load(self, session_id: str, user_id: str | None = None) -> StoredState | None:
        """Return the state of a session, None when there is none.

        Raises:
            StoreError: the server cannot be asked, or the record is no state, or of a newer format.
        """
        server, key = self._server(), row_key(session_id, user_id)
        record = await finished(server.load(key))
        return None if record is None else read_record(record, server.place(key))

    async def save(self, state: AgentState, version: int) -> int:
        """Save a state over the version that it was loaded with, 0 when there was none; return the new version.

        Raises:
            StateConflictError: the server holds another version; nothing was saved.
            StoreError: the state is not JSON, or the server cannot be asked.
        """
        return await self._save(state, version, None)

    async def delete(self, session_id: str, user_id: str | None = None) -> None:
        """Forget a session; none is fine too.

        Raises:
            StoreError: the server cannot be asked.
        """
        await finished(self._server().delete(row_key(session_id, user_id)))

    @asynccontextmanager
    async def lease(self, session_id: str, user_id: str | None = None) -> AsyncIterator[StateStore]:
        """Wait for the lease of a session and hold it inside: `async with store.lease("s") as held:`.

        What is entered is this store, but its saves are StateConflictErrors once the lease is somebody else's. Not
        reentrant. Without leases there is nothing to wait for, and it is this store itself.

        Raises:
            StoreError: the server cannot be asked.
        """
        if self._lease is None:
            yield self
        else:
            async with holding(self._server(), row_key(session_id, user_id), self._lease) as lease:
                yield _Held(self, lease)

    async def aclose(self) -> None:
        """Close the connections of the running loop; those of other loops are closed when these shut down.

        What comes later is a StoreError.
        """
        self._closed = True
        await self._servers.aclose()

    def _server(self) -> StateServer:
        if self._closed:
            raise StoreError(f"this {type(self).__name__} is closed; make a new one")
        return self._servers.get()

    async def _save(self, state: AgentState, version: int, lease: Lease | None) -> int:
        record = write_record(state, version + 1)  # at once: the caller may go on to change its state
        key = row_key(state.session_id, state.user_id)
        refusal = await finished(self._server().save(key, version, record, lease))
        if refusal is None:
            return version + 1
        raise lease_lost(state) if refusal.held is None else state_conflict(state, version, refusal.held)


class _Held:
    """A store for whoever holds the lease of a session."""

    def __init__(self, store: SharedStateStore, lease: Lease) -> None:
        self._store, self._lease = store, lease
        self.load, self.delete = store.load, store.delete

    async def save(self, state: AgentState, version: int) -> int:
        return await self._store._save(state, version, self._lease)
