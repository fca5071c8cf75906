"""Real parts for tests: third-party programs, installed once into pytest's cache, run as processes of their own."""

from __future__ import annotations

import shutil
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest

__all__ = ["free_port", "node_folder", "python_folder", "running"]

_INSTALL_SECONDS = 180
_START_SECONDS = 30


def python_folder(config: pytest.Config, *requirements: str) -> Path:
    """Return the commands of a virtual environment that holds these packages; skip the test if there can be none."""

    def install(folder: Path) -> None:
        _run([sys.executable, "-m", "venv", "--clear", str(folder)], folder)
        pip = [str(folder / "bin" / "python"), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
        _run([*pip, *requirements], folder)

    return _installed(config, requirements, install) / "bin"


def node_folder(config: pytest.Config, *requirements: str) -> Path:
    """Return the `node_modules` that holds these packages; skip the test if there can be none."""
    for program in ("node", "npm"):
        if shutil.which(program) is None:
            pytest.skip(f"{program} is not installed here")

    def install(folder: Path) -> None:
        _run(["npm", "install", "--prefix", str(folder), "--no-audit", "--no-fund", *requirements], folder)

    return _installed(config, requirements, install) / "node_modules"


def _installed(config: pytest.Config, requirements: Sequence[str], install: object) -> Path:
    cache = config.cache
    if cache is None:
        pytest.skip("what is installed for tests is kept in pytest's cache, which is switched off")
    name = "".join(character if character.isalnum() else "-" for character in "_".join(requirements))
    folder = cache.mkdir("parts") / name
    done = folder / ".installed"
    if not done.exists():
        folder.mkdir(exist_ok=True)
        install(folder)  # type: ignore[operator]
        done.touch()
    return folder


def _run(command: Sequence[str], folder: Path) -> None:
    try:
        done = subprocess.run(
            command, cwd=folder, capture_output=True, text=True, timeout=_INSTALL_SECONDS, check=False
        )
    except subprocess.TimeoutExpired:
        pytest.skip(f"{' '.join(command)} takes longer than {_INSTALL_SECONDS} seconds here")
    if done.returncode:
        said = (done.stderr or done.stdout).strip().splitlines()
        pytest.skip(f"{' '.join(command)} does not work here: {said[-1] if said else done.returncode}")


def free_port() -> int:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port: int = taken.getsockname()[1]
        return port


@contextmanager
def running(command: Sequence[str | Path], ready: str) -> Iterator[None]:
    """Run a server, from when the URL `ready` answers; it ends with the block."""
    with subprocess.Popen([str(part) for part in command], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE) as server:
        try:
            _wait_for(ready, server)
            yield
        finally:
            server.terminate()
            server.communicate()


def _wait_for(url: str, server: subprocess.Popen[bytes]) -> None:
    deadline = time.monotonic() + _START_SECONDS
    direct = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    while time.monotonic() < deadline:
        if server.poll() is not None:
            _, said = server.communicate()
            raise AssertionError(f"the server ended at once: {said.decode(errors='replace')[-1000:]}")
        try:
            with direct.open(url, timeout=1):
                return
        except urllib.error.HTTPError:
            return
        except OSError:
            time.sleep(0.05)
    raise AssertionError(f"nothing answers at {url}")
