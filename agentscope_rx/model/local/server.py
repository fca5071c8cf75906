"""The server of an embedded model: one for this process, started when it is first needed, gone when the process is.

llama.cpp holds Python's interpreter lock while it loads a model, does not survive a fork, and takes its process along
when it crashes. So it runs in a child process, whose whole program is `serve`.
"""

from __future__ import annotations

import asyncio
import atexit
import contextlib
import json
import os
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

from ...errors import ModelHTTPError
from .catalog import MODELS, EmbeddedModel

__all__ = ["SERVERS", "EmbeddedServer"]

_PROGRAM = Path(__file__).with_name("serve.py")
_PATIENCE = 2.0
"""Seconds that the child has to end after its standard input has."""
_WAIT_PASSIVELY = {"OMP_WAIT_POLICY": "passive"}
"""Threads that spin while they wait for each other are up to fifty times slower on a machine that is busy otherwise."""


class EmbeddedServer:
    """The server of one model. Any number of threads and event loops may ask for it at once."""

    def __init__(self, model: EmbeddedModel) -> None:
        self._model = model
        self._lock = threading.Lock()
        self._child: subprocess.Popen[str] | None = None
        self._address = ""

    @property
    def url(self) -> str | None:
        """Where the server listens, such as `http://127.0.0.1:49152`; None while there is none."""
        child = self._child
        return self._address if child is not None and child.poll() is None else None

    async def running(self) -> str:
        """Return where the server listens; if there is none it is started, and the event loop goes on meanwhile.

        Raises:
            MissingExtraError: a part of the model is not installed.
            ModelHTTPError: the server cannot be started.
        """
        url = self.url
        return await asyncio.to_thread(self.start) if url is None else url

    def start(self) -> str:
        """Do the same and wait for it: a second or so."""
        with self._lock:
            if (url := self.url) is not None:
                return url
            self._end_child()  # it may be dead, but its input is still open
            settings = _settings(self._model)
            child = _spawn()
            try:
                self._address = _give_order(child, settings)
            except BaseException:
                _end(child)
                raise
            self._child = child
        return self._address

    def stop(self) -> None:
        """End the server; whoever asks for it next starts another."""
        with self._lock:
            self._end_child()

    def _end_child(self) -> None:
        child, self._child = self._child, None
        if child is not None:
            _end(child)

    def disown(self) -> None:
        """Forget a server that the process before the fork has started: it is not ours to end."""
        self._lock = threading.Lock()
        child, self._child = self._child, None
        if child is not None:
            _input_of(child).close()
            child.returncode = 0  # it is not our child either, so nobody waits for it


SERVERS = {name: EmbeddedServer(model) for name, model in MODELS.items()}
"""The server of each model, running or not."""


def _settings(model: EmbeddedModel) -> dict[str, Any]:
    threads = min(model.threads, os.cpu_count() or 1)
    return {
        "model.path": str(model.locate_weights()),
        "chat_template": model.read_template(),
        "use_jinja": True,
        "hostnames": ["127.0.0.1"],
        "port": 0,
        "n_threads_http": 32,  # each connection holds one, even while it rests
        "ui": False,
        "n_ctx": model.context,
        "n_parallel": model.parallel,
        "kv_unified": True,  # a lone conversation may have the whole context
        "cache_ram_mib": model.cache_mib,
        "cpuparams.n_threads": threads,
        "cpuparams_batch.n_threads": threads,
        "warmup": False,
        "verbosity": 0,
    }


def _spawn() -> subprocess.Popen[str]:
    try:
        return subprocess.Popen(
            [sys.executable, "-P", str(_PROGRAM)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=_WAIT_PASSIVELY | os.environ,
            encoding="utf-8",
            start_new_session=True,  # Ctrl-C is for whoever reads the stream, not for the server
        )
    except OSError as error:
        raise ModelHTTPError(f"the embedded model's server cannot be started: {error}") from error


def _give_order(child: subprocess.Popen[str], settings: dict[str, Any]) -> str:
    """Tell the child what to serve and return the address that it answers with."""
    order, answer = _input_of(child), child.stdout
    assert answer is not None
    with answer:
        try:
            order.write(json.dumps({"search_path": sys.path, "settings": settings}) + "\n")
            order.flush()
            said = json.loads(answer.readline() or "{}")
        except OSError:
            said = {}
    if "address" in said:
        return str(said["address"])
    reason = said.get("error") or f"its process ended with status {child.wait()}"
    raise ModelHTTPError(f"the embedded model's server cannot be started: {reason}")


def _input_of(child: subprocess.Popen[str]) -> Any:
    assert child.stdin is not None
    return child.stdin


def _end(child: subprocess.Popen[str]) -> None:
    with contextlib.suppress(BrokenPipeError):  # there may be an order in it that a dead child never took
        _input_of(child).close()
    try:
        child.wait(_PATIENCE)
    except subprocess.TimeoutExpired:
        child.kill()
        child.wait()


@atexit.register
def _stop_all() -> None:
    for server in SERVERS.values():
        server.stop()


def _disown_all() -> None:
    for server in SERVERS.values():
        server.disown()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_disown_all)
