"""States in a SQLite database."""

from __future__ import annotations

import asyncio
import os
import sqlite3
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from ..errors import StoreError
from .agent_state import AgentState
from .keys import row_key
from .record import read_record, write_record
from .store import StoredState, state_conflict

__all__ = ["SqliteStateStore"]

_PATIENCE = 30.0
"""Seconds to wait for another process that writes."""

_PAUSE = 0.01
"""Seconds between two tries for a lock that SQLite itself does not wait for."""

_TABLE = """
CREATE TABLE IF NOT EXISTS agent_states (
    user_id TEXT NOT NULL, session_id TEXT NOT NULL, version INTEGER NOT NULL, record TEXT NOT NULL,
    PRIMARY KEY (user_id, session_id)
)"""
_LOAD = "SELECT record FROM agent_states WHERE user_id = ? AND session_id = ?"
_VERSION = "SELECT version FROM agent_states WHERE user_id = ? AND session_id = ?"
_INSERT = "INSERT OR IGNORE INTO agent_states (version, record, user_id, session_id) VALUES (?, ?, ?, ?)"
_UPDATE = "UPDATE agent_states SET version = ?, record = ? WHERE user_id = ? AND session_id = ? AND version = ?"
_DELETE = "DELETE FROM agent_states WHERE user_id = ? AND session_id = ?"


class SqliteStateStore:
    """Keeps sessions in a table `agent_states` of a SQLite database, which processes and other tables may share.

    It has one connection, which threads and event loops take turns to use; make one store in each process. Close it
    when it is not needed any more. In the table, ids are JSON: `"ann"`, and `null` for no user; long ones are digests.
    A save whose await is cancelled may still be done.

    Args:
        path: The database file, made when it is not there; on a local disk, since write-ahead logging needs that.

    Raises:
        StoreError: the file cannot be opened, or is no database.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self._path = os.fspath(path)
        self._lock = threading.Lock()
        with self._failing_as("open"):
            self._connection = sqlite3.connect(
                self._path, timeout=_PATIENCE, isolation_level=None, check_same_thread=False
            )
        try:
            self._share()
            self._execute("open", _TABLE)
        except BaseException:
            self.close()
            raise

    async def load(self, session_id: str, user_id: str | None = None) -> StoredState | None:
        """Return the state of a session, None when there is none.

        Raises:
            StoreError: the database cannot be read, or the record is no state, or of a newer format.
        """
        return await asyncio.to_thread(self._load, session_id, user_id)

    async def save(self, state: AgentState, version: int) -> int:
        """Save a state over the version that it was loaded with, 0 when there was none; return the new version.

        Raises:
            StateConflictError: the table holds another version; nothing was saved.
            StoreError: the state is not JSON, or the database cannot be written; the old state stands.
        """
        record = write_record(state, version + 1)  # at once: the caller may go on to change its state
        return await asyncio.to_thread(self._save, state, version, record)

    async def delete(self, session_id: str, user_id: str | None = None) -> None:
        """Forget a session; none is fine too.

        Raises:
            StoreError: the database cannot be written.
        """
        await asyncio.to_thread(self._execute, "write", _DELETE, *row_key(session_id, user_id))

    def close(self) -> None:
        """Close the database, after what is being done; what comes later is a StoreError."""
        with self._lock:
            self._connection.close()

    def _load(self, session_id: str, user_id: str | None) -> StoredState | None:
        rows, _ = self._execute("read", _LOAD, *row_key(session_id, user_id))
        where = f"the row of session {session_id!r} and user {user_id!r} in agent_states of {self._path}"
        return read_record(rows[0][0], where) if rows else None

    def _save(self, state: AgentState, version: int, record: str) -> int:
        key = row_key(state.session_id, state.user_id)
        if version:
            _, saved = self._execute("write", _UPDATE, version + 1, record, *key, version)
        else:
            _, saved = self._execute("write", _INSERT, version + 1, record, *key)
        if not saved:
            rows, _ = self._execute("read", _VERSION, *key)
            raise state_conflict(state, version, rows[0][0] if rows else 0)
        return version + 1

    def _share(self) -> None:
        """Turn to write-ahead logging, whose lock SQLite does not wait for while another process turns to it."""
        give_up = time.monotonic() + _PATIENCE
        with self._failing_as("open"):
            while True:
                try:
                    self._connection.execute("PRAGMA journal_mode = WAL")
                    return
                except sqlite3.OperationalError as error:
                    if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY or time.monotonic() > give_up:
                        raise
                time.sleep(_PAUSE)

    def _execute(self, what: str, statement: str, *values: Any) -> tuple[list[Any], int]:
        """Execute a statement, which is a transaction of its own; returns its rows, and how many it changed."""
        with self._lock, self._failing_as(what):
            cursor = self._connection.execute(statement, values)
            return cursor.fetchall(), cursor.rowcount

    @contextmanager
    def _failing_as(self, what: str) -> Iterator[None]:
        try:
            yield
        except sqlite3.Error as error:
            raise StoreError(
                f"cannot {what} the SQLite database {self._path}: {error}; "
                "see that it is there, open and not locked, and try again"
            ) from error
