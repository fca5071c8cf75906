"""Redis and PostgreSQL servers for tests: real ones, on a free port, with their data in a folder of their own."""

from __future__ import annotations

import asyncio
import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import asyncpg
import pytest
from redis import Redis

PASSWORD = "pa$$word:/@"
IN_URL = "pa%24%24word%3A%2F%40"
"""The password as a part of a URL."""

_PATIENCE = 30.0
"""Seconds that a server has to start or to end."""

_DATABASES = ("/usr/lib/postgresql/*/bin", "/usr/local/pgsql/bin", "/opt/homebrew/opt/postgresql*/bin")
"""Where programs of PostgreSQL are that are not on the PATH."""


class Server:
    """A server that runs, and can be stopped and started again with the data it has."""

    def __init__(self, command: list[str], url: str, ready: Callable[[str], object], **settings: Any) -> None:
        self._command, self.url, self._ready, self._settings = command, url, ready, settings
        self.start()

    def start(self) -> None:
        """Start it, and wait until it answers."""
        self._process = subprocess.Popen(
            self._command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, **self._settings
        )
        give_up = time.monotonic() + _PATIENCE
        while True:
            try:
                self._ready(self.url)
                return
            except Exception:
                if time.monotonic() > give_up or self._process.poll() is not None:
                    self.stop()
                    raise
            time.sleep(0.02)

    def stop(self) -> None:
        """End it in order."""
        self._process.send_signal(signal.SIGINT)
        try:
            self._process.wait(_PATIENCE)
        finally:
            self._process.kill()


def program(name: str) -> str:
    """Where a program is; without it a test is skipped, but on CI, which has to have it."""
    places = [os.environ["PATH"], *(str(path) for glob in _DATABASES for path in sorted(Path("/").glob(glob[1:])))]
    found = shutil.which(name, path=os.pathsep.join(places))
    if found is None:
        (pytest.fail if os.environ.get("CI") else pytest.skip)(f"there is no {name}: apt-get install it")
    return found


def free_port() -> int:
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        port: int = listening.getsockname()[1]
    return port


@contextmanager
def running_redis() -> Iterator[Server]:
    port = free_port()
    with tempfile.TemporaryDirectory() as folder:
        command = [program("redis-server"), "--port", str(port), "--bind", "127.0.0.1", "--requirepass", PASSWORD]
        command += ["--dir", folder, "--save", "", "--appendonly", "yes", "--appendfsync", "always"]
        server = Server(command, f"redis://:{IN_URL}@127.0.0.1:{port}/0", ask_redis)
        try:
            yield server
        finally:
            server.stop()


def ask_redis(url: str, *command: Any) -> Any:
    """What a Redis server answers."""
    with Redis.from_url(url) as client:
        return client.execute_command(*(command or ("PING",)))


@contextmanager
def running_postgresql() -> Iterator[Server]:
    """It does not run as root, but then as the user that comes with its package."""
    initdb, postgres = program("initdb"), program("postgres")
    user = {"user": "postgres", "group": "postgres", "extra_groups": []} if os.geteuid() == 0 else {}
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        password, data = Path(folder, "password"), Path(folder, "data")
        password.write_text(PASSWORD)
        if user:
            shutil.chown(folder, "postgres")
            shutil.chown(password, "postgres")
        made = [initdb, "-D", str(data), "-U", "postgres", "-A", "scram-sha-256", "--pwfile", str(password), "-N"]
        subprocess.run(
            [*made, "-E", "UTF8", "--locale", "C"], check=True, capture_output=True, timeout=60, cwd=folder, **user
        )
        port = free_port()
        command = [postgres, "-D", str(data), "-p", str(port), "-k", folder, "-c", "listen_addresses=127.0.0.1"]
        url = f"postgresql://postgres:{IN_URL}@127.0.0.1:{port}/postgres"
        server = Server(command, url, ask_postgresql, cwd=folder, **user)
        try:
            yield server
        finally:
            server.stop()


def ask_postgresql(url: str, statement: str = "SELECT 1", *values: Any) -> list[Any]:
    """The rows that a PostgreSQL server answers."""

    async def ask() -> list[Any]:
        connection = await asyncpg.connect(url, timeout=_PATIENCE)
        try:
            return list(await connection.fetch(statement, *values))
        finally:
            await connection.close()

    return asyncio.run(ask())
