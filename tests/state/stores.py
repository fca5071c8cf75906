"""The stores that tests try, each opened by the folder of the test; a new store joins by a line in LASTING."""

from __future__ import annotations

import hashlib
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from agentscope_rx import (
    AgentState,
    InMemoryStateStore,
    JsonFileStateStore,
    RedisStateStore,
    SqliteStateStore,
    SqlStateStore,
    StateStore,
    UserMessage,
)

from .servers import Server, ask_postgresql, ask_redis

Opener = Callable[[Path], StateStore]


def in_memory(folder: Path) -> StateStore:
    return InMemoryStateStore()


def json_files(folder: Path) -> StateStore:
    return JsonFileStateStore(folder / "states")


def sqlite(folder: Path) -> StateStore:
    return SqliteStateStore(folder / "states.db")


def sql_file(folder: Path) -> StateStore:
    return SqlStateStore(f"sqlite:///{folder / 'states.db'}")


def url_in(folder: Path) -> str:
    """The server of a test, which its other processes use too."""
    return (folder / "url").read_text()


def redis(folder: Path) -> StateStore:
    return RedisStateStore(url_in(folder))


def postgresql(folder: Path) -> StateStore:
    return SqlStateStore(url_in(folder))


SHARED: tuple[Opener, ...] = (sql_file, redis, postgresql)
"""Stores that several machines may share."""

LASTING: tuple[Opener, ...] = (json_files, sqlite, *SHARED)
"""Stores that outlive the process: opened again in the same folder, they hold the same states."""

STORES: tuple[Opener, ...] = (in_memory, *LASTING)

SERVERS: dict[Opener, str] = {redis: "redis_server", postgresql: "postgresql_server"}
"""The fixture of the server that a store needs."""


def params(openers: tuple[Opener, ...]) -> list[Any]:
    """Openers as parameters of a fixture or test; those that need a server are heavy."""
    marks = {opener: [pytest.mark.heavy] if opener in SERVERS else [] for opener in openers}
    return [pytest.param(opener, id=opener.__name__, marks=marks[opener]) for opener in openers]


def prepared(request: pytest.FixtureRequest, opener: Opener) -> Opener:
    """The opener, with its server running and empty."""
    if opener in SERVERS:
        server: Server = request.getfixturevalue(SERVERS[opener])
        Path(request.getfixturevalue("tmp_path"), "url").write_text(server.url)
        if opener is redis:
            ask_redis(server.url, "FLUSHALL")
        else:
            ask_postgresql(server.url, "DROP TABLE IF EXISTS agent_states, agent_leases")
    return opener


class Opened:
    """The stores of a test, closed at its end."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._stores: list[StateStore] = []

    def __call__(self, opener: Opener) -> StateStore:
        self._stores.append(opener(self.folder))
        return self._stores[-1]

    def close(self) -> None:
        for store in self._stores:
            if isinstance(store, SqliteStateStore):
                store.close()


def state(text: str = "hi", session_id: str = "s", user_id: str | None = None, **values: Any) -> AgentState:
    return AgentState(session_id=session_id, user_id=user_id, history=(UserMessage(text),), values=values)


async def text_of(store: StateStore, session_id: str = "s", user_id: str | None = None) -> tuple[str, int] | None:
    """What was said in a session, and its version."""
    stored = await store.load(session_id, user_id)
    return None if stored is None else (stored.state.history[0].get_text_content(), stored.version)


_ENDLESS = "".join(hashlib.sha256(bytes([number])).hexdigest() for number in range(100))
"""What no index can shorten."""

HOSTILE_IDS = (
    *("", " ", ".", "..", "../x", "a/b", "a\\b", "/etc/passwd", "~", "C:\\x", "CON", "nul.txt", "a:b", "*?"),
    *("A", "a", "é", "e\u0301", "漢字", "🌍", "\x00", "a\x00b", "a\x00c", "\n", "null", '"', "'; DROP TABLE x; --"),
    *("x" * 255, "x" * 5_000, "x" * 5_001, _ENDLESS, _ENDLESS + "x", "-", "--", "session", ".lock", "a.json", "%2e%2e"),
)


# ---------------------------------------------------------------------------------------------- behind its back

_KEY = 'agentscope_rx:state:null "s"'
_READ, _WRITE = "SELECT record FROM agent_states", "UPDATE agent_states SET record = {}"

Change = Callable[[str], str]


def _in_files(folder: Path, change: Change) -> None:
    [path] = (folder / "states").glob("*.json")
    path.write_text(change(path.read_text()))


def _in_sqlite(folder: Path, change: Change) -> None:
    with closing(sqlite3.connect(folder / "states.db")) as other, other:
        [record] = other.execute(_READ).fetchone()
        other.execute(_WRITE.format("?"), (change(record),))


def _in_redis(folder: Path, change: Change) -> None:
    record = ask_redis(url_in(folder), "HGET", _KEY, "record").decode()
    ask_redis(url_in(folder), "HSET", _KEY, "record", change(record))


def _in_postgresql(folder: Path, change: Change) -> None:
    [[record]] = ask_postgresql(url_in(folder), _READ)
    changed = change(record).replace("\0", " ")  # which PostgreSQL does not hold
    ask_postgresql(url_in(folder), _WRITE.format("$1"), changed)


_CHANGES: dict[Opener, Callable[[Path, Change], None]] = {
    json_files: _in_files,
    sqlite: _in_sqlite,
    sql_file: _in_sqlite,
    redis: _in_redis,
    postgresql: _in_postgresql,
}


def change_record(opener: Opener, folder: Path, change: Change) -> None:
    """Change the record of the only session, `s` of no user, behind the back of its store."""
    _CHANGES[opener](folder, change)
