"""A lock that is a file."""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

__all__ = ["file_locked"]

if sys.platform == "win32":
    _lock = threading.Lock()

    @contextmanager
    def file_locked(path: Path) -> Iterator[None]:
        """Keep every other thread of this process out; Windows has no lock that is as simple between processes."""
        with _lock:
            yield

else:
    import fcntl

    @contextmanager
    def file_locked(path: Path) -> Iterator[None]:
        """Keep every other thread and process out that locks the same file; it is made, and never deleted.

        Raises:
            OSError: the file cannot be made or locked.
        """
        with path.open("ab") as file:  # opened anew, so that flock also keeps threads of one process apart
            fcntl.flock(file, fcntl.LOCK_EX)
            try:
                yield
            finally:
                fcntl.flock(file, fcntl.LOCK_UN)  # closing would not do while a forked child has it open
