"""What only the SQLite store must stand."""

from __future__ import annotations

import asyncio
import os
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Coroutine
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from agentscope_rx import SqliteStateStore, StoreError

from ..agent.shapes import run
from .stores import Opened, sqlite, state

OPEN_TOGETHER = """
import os, sys
from agentscope_rx import SqliteStateStore

failed = 0
for number in range(30):
    ready, go = os.pipe()
    children = []
    for _ in range(4):
        if child := os.fork():
            children.append(child)
            continue
        os.close(go)
        os.read(ready, 1)
        try:
            SqliteStateStore(f"{sys.argv[1]}/{number}.db").close()
        except Exception as error:
            print(error)
            os._exit(1)
        os._exit(0)
    os.close(go)
    failed += sum(os.waitpid(child, 0)[1] != 0 for child in children)
    os.close(ready)
sys.exit(failed)
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="the processes that open are forked")
def test_several_processes_open_a_new_database_at_once(tmp_path: Path) -> None:
    """SQLite does not wait for the lock with which another process turns a new database to write-ahead logging."""
    done = subprocess.run(
        [sys.executable, "-c", OPEN_TOGETHER, str(tmp_path)], capture_output=True, text=True, timeout=60
    )
    assert (done.returncode, done.stdout) == (0, "")


def test_a_database_that_stays_locked_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "states.db"
    SqliteStateStore(path).close()
    monkeypatch.setattr("agentscope_rx.state.sqlite._PATIENCE", 0.05)
    holder = sqlite3.connect(path, isolation_level=None)
    try:
        holder.execute("PRAGMA journal_mode = DELETE")
        holder.execute("BEGIN EXCLUSIVE")
        with pytest.raises(StoreError, match=r"cannot open the SQLite database .*locked"):
            SqliteStateStore(path)
    finally:
        holder.close()


def test_a_closed_database_is_a_store_error(tmp_path: Path) -> None:
    store = SqliteStateStore(tmp_path / "states.db")
    store.close()
    store.close()
    operations: list[Callable[[], Coroutine[Any, Any, Any]]] = [
        lambda: store.load("s"),
        lambda: store.save(state(), 0),
        lambda: store.delete("s"),
    ]
    for operation in operations:
        with pytest.raises(StoreError, match=r"the SQLite database .*states\.db: Cannot operate on a closed database"):
            run(operation())


def test_a_file_that_is_no_database_is_an_error_at_once(tmp_path: Path) -> None:
    (tmp_path / "states.db").write_text("no database at all, " * 100)
    with pytest.raises(StoreError, match=r"cannot open the SQLite database .*states\.db: file is not a database"):
        SqliteStateStore(tmp_path / "states.db")
    with pytest.raises(StoreError, match=r"cannot open the SQLite database .*: unable to open database file"):
        SqliteStateStore(tmp_path / "nowhere" / "states.db")


def test_a_writer_waits_for_another_process(opened: Opened) -> None:
    store = opened(sqlite)

    async def main() -> None:
        with closing(sqlite3.connect(opened.folder / "states.db", isolation_level=None)) as other:
            other.execute("BEGIN IMMEDIATE")
            saving = asyncio.create_task(store.save(state("mine"), 0))
            await asyncio.sleep(0.05)
            assert not saving.done()
            other.execute("COMMIT")
            assert await saving == 1

    run(main())


def test_the_database_logs_ahead(opened: Opened) -> None:
    opened(sqlite)
    with closing(sqlite3.connect(opened.folder / "states.db")) as other:
        assert other.execute("PRAGMA journal_mode").fetchone() == ("wal",)
