"""What only the SQLite store must stand: a database that several open at once."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier

import pytest

from agentscope_rx import SqliteStateStore, StoreError
from agentscope_rx.state import sqlite


def test_many_open_a_new_database_at_once(tmp_path: Path) -> None:
    """Of those who turn a database to write-ahead logging at once, SQLite lets only one, and the others do not wait."""
    together = Barrier(8)

    def open_and_close(path: Path) -> None:
        together.wait(10)
        SqliteStateStore(path).close()

    with ThreadPoolExecutor(8) as threads:
        for number in range(20):
            list(threads.map(open_and_close, [tmp_path / f"{number}.db"] * 8))


def test_a_database_that_stays_locked_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "states.db"
    SqliteStateStore(path).close()
    monkeypatch.setattr(sqlite, "_PATIENCE", 0.05)
    holder = sqlite.sqlite3.connect(path, isolation_level=None)
    try:
        holder.execute("PRAGMA journal_mode = DELETE")
        holder.execute("BEGIN EXCLUSIVE")
        with pytest.raises(StoreError, match=r"cannot open the SQLite database .*locked"):
            SqliteStateStore(path)
    finally:
        holder.close()
