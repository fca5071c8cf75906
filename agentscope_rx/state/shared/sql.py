"""States in a SQL database."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...errors import MissingExtraError
from ...stream import LoopLocal
from .store import OneLoop, SharedStateStore

if TYPE_CHECKING:
    from sqlalchemy.engine import URL
    from sqlalchemy.ext.asyncio import AsyncEngine

__all__ = ["SqlStateStore"]


class SqlStateStore(SharedStateStore):
    """Keeps sessions in a database that SQLAlchemy reaches: PostgreSQL, or a SQLite file.

    The tables are `agent_states`, the same as that of `SqliteStateStore`, and `agent_leases`; they are made on first
    use where they are not there.

    Args:
        database: `postgresql://user:password@host:port/name` or `sqlite:///file.db`, as text or as URL of SQLAlchemy;
            without a driver in it, asyncpg and aiosqlite are used. Or an asynchronous engine, which stays the caller's
            to dispose of and can be used on one event loop.
        lease: Seconds after which others no longer wait for a process that has died or hangs; None: nobody waits, and
            who saves a session second gets StateConflictError.

    Raises:
        MissingExtraError: the extra `sql` is not installed, or the driver is not.
        ConfigurationError: the URL is none, the database is of a kind that is not supported, or the lease is not
            longer than 0.
    """

    def __init__(self, database: str | URL | AsyncEngine, *, lease: float | None = 30.0) -> None:
        try:
            from sqlalchemy.ext.asyncio import AsyncEngine

            from .sql_server import SqlServer, url_of
        except ImportError as error:
            raise MissingExtraError("SqlStateStore", 'pip install "agentscope-rx[sql]"') from error
        servers: LoopLocal[SqlServer] | OneLoop
        if isinstance(database, AsyncEngine):
            servers = OneLoop(SqlServer(database), "engine of SQLAlchemy")
        else:
            url = url_of(database)
            try:
                SqlServer.at(url)  # connects when it is first used
            except ImportError as error:
                raise MissingExtraError(
                    f"SqlStateStore with {url.drivername}", 'pip install "agentscope-rx[sql]"'
                ) from error
            servers = LoopLocal(lambda: SqlServer.at(url), SqlServer.aclose)
        super().__init__(servers, lease)
