"""How records and leases are kept in a SQL database."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, NamedTuple

from sqlalchemy import Connection, inspect, text
from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import DBAPIError, InvalidRequestError, NoSuchModuleError, SQLAlchemyError
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine, create_async_engine

from ...errors import ConfigurationError, StoreError
from ..keys import RowKey
from .server import Lease, Refusal

__all__ = ["SqlServer", "url_of"]

_TRIES, _PAUSE, _PATIENCE = 20, 0.05, 30.0
"""How often the tables are tried to be made, the seconds in between, and those after which it is not tried again: no
database lets several do so at once."""

_TABLES = {
    "agent_states": """
        CREATE TABLE IF NOT EXISTS agent_states (
            user_id TEXT NOT NULL, session_id TEXT NOT NULL, version INTEGER NOT NULL, record TEXT NOT NULL,
            PRIMARY KEY (user_id, session_id)
        )""",
    "agent_leases": """
        CREATE TABLE IF NOT EXISTS agent_leases (
            user_id TEXT NOT NULL, session_id TEXT NOT NULL, holder TEXT NOT NULL, expires DOUBLE PRECISION NOT NULL,
            PRIMARY KEY (user_id, session_id)
        )""",
}

_THE_SESSION = "user_id = :user_id AND session_id = :session_id"
_LOAD = text(f"SELECT record FROM agent_states WHERE {_THE_SESSION}")
_VERSION = text(f"SELECT version FROM agent_states WHERE {_THE_SESSION}")
_INSERT = text("""
    INSERT INTO agent_states (user_id, session_id, version, record) VALUES (:user_id, :session_id, :next, :record)
    ON CONFLICT DO NOTHING""")
_UPDATE = text(f"UPDATE agent_states SET version = :next, record = :record WHERE {_THE_SESSION} AND version = :version")
_DELETE = text(f"DELETE FROM agent_states WHERE {_THE_SESSION}")
_HOLD = """
    INSERT INTO agent_leases (user_id, session_id, holder, expires)
    VALUES (:user_id, :session_id, :holder, {now} + :seconds)
    ON CONFLICT (user_id, session_id) DO UPDATE SET holder = excluded.holder, expires = excluded.expires
    WHERE agent_leases.holder = excluded.holder OR agent_leases.expires < {now}"""
_RELEASE = text(f"DELETE FROM agent_leases WHERE {_THE_SESSION} AND holder = :holder")


class _Dialect(NamedTuple):
    driver: str
    """What is used when the URL names none."""
    now: str
    """The seconds since 1970 by the clock of the database, also within a transaction."""
    connect: dict[str, Any]
    """For the driver."""
    execution: dict[str, Any]
    """For every transaction."""
    first: tuple[str, ...] = ()
    """Statements to begin with."""


_DIALECTS = {
    "postgresql": _Dialect(
        "asyncpg",
        "EXTRACT(EPOCH FROM clock_timestamp())",
        {},
        {"isolation_level": "READ COMMITTED"},  # a statement sees what it waited for, instead of failing
    ),
    "sqlite": _Dialect(
        "aiosqlite",
        "(julianday('now') - 2440587.5) * 86400.0",
        {"timeout": 30.0},  # seconds to wait for another process that writes
        {},
        ("PRAGMA journal_mode = WAL",),  # a commit then waits for the disk once
    ),
}


def url_of(database: str | URL) -> URL:
    """Return the URL of a database, with its asynchronous driver.

    Raises:
        ConfigurationError: it is no URL, or that of a database that cannot be used.
    """
    try:
        url = make_url(database)
    except (SQLAlchemyError, ValueError):
        raise ConfigurationError(
            "the URL of the database cannot be read (it is not shown, since it may hold a password); "
            "postgresql://user:password@host:port/name and sqlite:///file.db are some, with special characters as %XX"
        ) from None
    kind = url.drivername.partition("+")[0]
    _check_kind(kind)
    if kind == "sqlite" and url.database in (None, "", ":memory:"):
        raise ConfigurationError(
            "a SQLite database in memory is another one on every connection; "
            "name a file, sqlite:///file.db, or use InMemoryStateStore"
        )
    return url.set(drivername=f"{kind}+{_DIALECTS[kind].driver}") if kind == url.drivername else url


class SqlServer:
    """A database for one event loop.

    Args:
        engine: How it is reached.

    Raises:
        ConfigurationError: it is of a kind that cannot be used.
    """

    def __init__(self, engine: AsyncEngine) -> None:
        _check_kind(engine.dialect.name)
        dialect = _DIALECTS[engine.dialect.name]
        self._engine = engine.execution_options(**dialect.execution)
        self._first = [text(statement) for statement in dialect.first]
        self._hold = text(_HOLD.format(now=dialect.now))
        url = engine.url
        place = "" if url.host is None else f" at {url.host}" + (f":{url.port}" if url.port else "")
        self._name = f"the {engine.dialect.name} database {url.database}{place}"
        self._preparing = asyncio.Lock()
        self._prepared = False

    @classmethod
    def at(cls, url: URL) -> SqlServer:
        """Return the database of a URL, not connected yet.

        Raises:
            ConfigurationError: the driver is none, or not asynchronous.
            ImportError: the driver is not installed.
        """
        kind = url.get_backend_name()
        driver, connect = _DIALECTS[kind].driver, _DIALECTS[kind].connect
        try:
            return cls(create_async_engine(url, connect_args=connect, pool_pre_ping=True, hide_parameters=True))
        except (InvalidRequestError, NoSuchModuleError):
            raise ConfigurationError(
                f"{url.drivername} is no asynchronous driver of SQLAlchemy; use {kind}+{driver}"
            ) from None

    async def load(self, key: RowKey) -> str | bytes | None:
        """Return the record of a session."""
        async with self._transaction("read") as connection:
            record: str | None = (await connection.execute(_LOAD, key._asdict())).scalar()
        return record

    async def save(self, key: RowKey, version: int, record: str, lease: Lease | None) -> Refusal | None:
        """Put a record in the place of a version."""
        async with self._transaction("write") as connection:
            if lease is not None and not await self._holding(connection, key, lease):
                return Refusal(None)
            values = {**key._asdict(), "version": version, "next": version + 1, "record": record}
            saved = await connection.execute(_UPDATE if version else _INSERT, values)
            if saved.rowcount:
                return None
            return Refusal((await connection.execute(_VERSION, key._asdict())).scalar() or 0)

    async def delete(self, key: RowKey) -> None:
        """Forget the record of a session."""
        async with self._transaction("write") as connection:
            await connection.execute(_DELETE, key._asdict())

    async def hold(self, key: RowKey, lease: Lease) -> bool:
        """Take or keep a lease."""
        async with self._transaction("write") as connection:
            return await self._holding(connection, key, lease)

    async def release(self, key: RowKey, lease: Lease) -> None:
        """Give back a lease."""
        async with self._transaction("write") as connection:
            await connection.execute(_RELEASE, {**key._asdict(), "holder": lease.holder})

    async def aclose(self) -> None:
        """Close the connections."""
        await self._engine.dispose()

    def place(self, key: RowKey) -> str:
        """Return where a record is."""
        return f"the row of session {key.session_id} and user {key.user_id} in agent_states of {self._name}"

    async def _holding(self, connection: AsyncConnection, key: RowKey, lease: Lease) -> bool:
        """Hold a lease to the end of the transaction at least: its row is locked."""
        held = await connection.execute(self._hold, {**key._asdict(), **lease._asdict()})
        return bool(held.rowcount)

    @asynccontextmanager
    async def _transaction(self, what: str) -> AsyncIterator[AsyncConnection]:
        try:
            await self._prepare()
            async with self._engine.begin() as connection:
                yield connection
        except (SQLAlchemyError, OSError) as error:
            raise StoreError(
                f"cannot {what} {self._name}: {_said(error)}; see that it runs and lets this program in, and try again"
            ) from None  # the error may show the record

    async def _prepare(self) -> None:
        async with self._preparing:
            left, give_up = _TRIES, time.monotonic() + _PATIENCE
            while not self._prepared:
                try:
                    await self._make_tables()
                    self._prepared = True
                except DBAPIError:  # perhaps since another process does the same at the moment
                    left -= 1
                    if not left or time.monotonic() > give_up:
                        raise
                    await asyncio.sleep(_PAUSE)

    async def _make_tables(self) -> None:
        async with self._engine.begin() as connection:
            for first in self._first:
                await connection.execute(first)
            for name, statement in _TABLES.items():
                # First a look: who may use a table need not be allowed to make one.
                if not await connection.run_sync(_has_table, name):
                    await connection.execute(text(statement))


def _has_table(connection: Connection, name: str) -> bool:
    return inspect(connection).has_table(name)


def _check_kind(kind: str) -> None:
    if kind not in _DIALECTS:
        raise ConfigurationError(f"states are kept in databases of {' and '.join(_DIALECTS)}: got {kind}")


def _said(error: SQLAlchemyError | OSError) -> str:
    """What the database said, without the statement, its values and the row."""
    told = error.orig if isinstance(error, DBAPIError) else error
    return (str(told).splitlines() or [type(told).__name__])[0]
