"""States in files, one for each session."""

from __future__ import annotations

import asyncio
import hashlib
import json
import os
import re
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

from ..errors import StoreError
from .agent_state import AgentState
from .file_lock import file_locked
from .record import read_record, read_version, write_record
from .store import StoredState, state_conflict

__all__ = ["JsonFileStateStore"]

_READABLE = 40
"""How many characters of a session id are in the name of its file, for people who look for it."""


class JsonFileStateStore:
    """Keeps every session in a JSON file of its own, which is replaced as a whole: no reader sees half of one.

    Threads and processes may share a directory; a lock file keeps their saves apart (`flock`; on Windows only the
    threads of one process may share it). The files are readable by their owner only. A save whose await is cancelled
    may still be done.

    Args:
        directory: Where the files are; made when it is not there.

    Raises:
        StoreError: the directory cannot be made.
    """

    def __init__(self, directory: str | os.PathLike[str]) -> None:
        self._directory = Path(directory)
        with _failing_as(f"cannot make the directory {self._directory}"):
            self._directory.mkdir(parents=True, exist_ok=True)

    async def load(self, session_id: str, user_id: str | None = None) -> StoredState | None:
        """Return the state of a session, None when there is none.

        Raises:
            StoreError: the file cannot be read, is no state, or is of a newer format; the error names the file.
        """
        return await asyncio.to_thread(self._load, self._path(session_id, user_id))

    async def save(self, state: AgentState, version: int) -> int:
        """Save a state over the version that it was loaded with, 0 when there was none; return the new version.

        Raises:
            StateConflictError: the file holds another version; nothing was saved.
            StoreError: the state is not JSON, or its file cannot be written; the old one stands.
        """
        record = write_record(state, version + 1)  # at once: the caller may go on to change its state
        return await asyncio.to_thread(self._save, state, version, record)

    async def delete(self, session_id: str, user_id: str | None = None) -> None:
        """Forget a session; none is fine too, and so is a file that cannot be read.

        Raises:
            StoreError: its file cannot be deleted.
        """
        await asyncio.to_thread(self._delete, self._path(session_id, user_id))

    def _load(self, path: Path) -> StoredState | None:
        record = _read(path)
        return None if record is None else read_record(record, str(path))

    def _save(self, state: AgentState, version: int, record: str) -> int:
        path = self._path(state.session_id, state.user_id)
        with _failing_as(f"cannot write {path}"), self._locked(path):
            old = _read(path)
            held = 0 if old is None else read_version(old, str(path))
            if held != version:
                raise state_conflict(state, version, held)
            _replace(path, record.encode())
        return version + 1

    def _delete(self, path: Path) -> None:
        with _failing_as(f"cannot delete {path}"), self._locked(path):
            path.unlink(missing_ok=True)

    def _path(self, session_id: str, user_id: str | None) -> Path:
        """The digest tells sessions apart on every file system; the rest is for people."""
        digest = hashlib.sha256(json.dumps([user_id, session_id]).encode()).hexdigest()
        readable = re.sub(r"[^a-z0-9]+", "-", session_id.lower())[:_READABLE].strip("-")
        return self._directory / f"{readable or 'session'}-{digest}.json"

    def _locked(self, path: Path) -> AbstractContextManager[None]:
        """Sessions share a few lock files, which can stay: to delete one while somebody waits for it would be wrong."""
        return file_locked(self._directory / f".{path.stem[-2:]}.lock")


def _read(path: Path) -> bytes | None:
    with _failing_as(f"cannot read {path}"):
        try:
            return path.read_bytes()
        except FileNotFoundError:
            return None


def _replace(path: Path, content: bytes) -> None:
    """Put a new file in the place of the old one, on the disk too. Call it under the lock: the new one has one name."""
    new = path.with_suffix(".new")
    try:
        with open(new, "wb", opener=_open_private) as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        os.replace(new, path)
    except BaseException:
        new.unlink(missing_ok=True)
        raise


def _open_private(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)


@contextmanager
def _failing_as(what: str) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise StoreError(f"{what}: {error.strerror}; see that it is there and may be used, and try again") from error
