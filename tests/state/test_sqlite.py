"""What only the SQLite store must stand: a database that several open at once."""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

from agentscope_rx import SqliteStateStore, StoreError
from agentscope_rx.state import sqlite

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
    monkeypatch.setattr(sqlite, "_PATIENCE", 0.05)
    holder = sqlite3.connect(path, isolation_level=None)
    try:
        holder.execute("PRAGMA journal_mode = DELETE")
        holder.execute("BEGIN EXCLUSIVE")
        with pytest.raises(StoreError, match=r"cannot open the SQLite database .*locked"):
            SqliteStateStore(path)
    finally:
        holder.close()
