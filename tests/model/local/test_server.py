"""The life of the server's process; a small program stands in for the server itself."""

from __future__ import annotations

import asyncio
import os
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from agentscope_rx.errors import ModelHTTPError
from agentscope_rx.model.local import server as server_module
from agentscope_rx.model.local.catalog import MODELS
from agentscope_rx.model.local.server import EmbeddedServer

SERVING = """
import json, sys
sys.stdin.readline()
print(json.dumps({"address": "http://127.0.0.1:1"}), flush=True)
sys.stdin.read()
"""


@pytest.fixture
def program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The program of the server, which the test may write anew."""
    path = tmp_path / "serve.py"
    path.write_text(SERVING)
    monkeypatch.setattr(server_module, "_PROGRAM", path)
    monkeypatch.setattr(server_module, "_settings", lambda model: {"any": "thing"})
    return path


@pytest.fixture
def children(monkeypatch: pytest.MonkeyPatch) -> list[subprocess.Popen[str]]:
    """The processes that are started, in order."""
    started: list[subprocess.Popen[str]] = []
    spawn = server_module._spawn

    def note() -> subprocess.Popen[str]:
        started.append(spawn())
        return started[-1]

    monkeypatch.setattr(server_module, "_spawn", note)
    return started


def has_ended(child: subprocess.Popen[str]) -> bool:
    return child.poll() is not None and child.stdin is not None and child.stdin.closed


@pytest.fixture
def server() -> Iterator[EmbeddedServer]:
    server = EmbeddedServer(next(iter(MODELS.values())))
    yield server
    server.stop()


@pytest.mark.usefixtures("program")
def test_it_runs_from_the_first_call_until_it_is_stopped(
    server: EmbeddedServer, children: list[subprocess.Popen[str]]
) -> None:
    assert server.url is None
    assert server.start() == server.start() == server.url == "http://127.0.0.1:1"
    server.stop()
    server.stop()
    assert server.url is None
    assert len(children) == 1
    assert children[0].returncode == 0


@pytest.mark.usefixtures("program")
def test_first_calls_at_once_from_loops_and_threads_start_one_server(
    server: EmbeddedServer, children: list[subprocess.Popen[str]]
) -> None:
    async def ask() -> None:
        urls.extend(await asyncio.gather(*(server.running() for _ in range(3))))

    urls: list[str] = []
    threads = [threading.Thread(target=asyncio.run, args=(ask(),)) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert urls == ["http://127.0.0.1:1"] * 12
    assert len(children) == 1


def test_the_loop_goes_on_while_the_server_starts(server: EmbeddedServer, program: Path, tmp_path: Path) -> None:
    go = tmp_path / "go"
    program.write_text(f"import os, time\nwhile not os.path.exists({str(go)!r}): time.sleep(0.005)\n{SERVING}")

    async def main() -> str:
        start = asyncio.create_task(server.running())
        await asyncio.sleep(0.02)
        assert not start.done()
        go.touch()
        return await start

    assert asyncio.run(main()) == "http://127.0.0.1:1"


def test_what_the_server_says_of_its_failure_is_passed_on(
    server: EmbeddedServer, program: Path, children: list[subprocess.Popen[str]]
) -> None:
    program.write_text("""print('{"error": "RuntimeError: no such weights"}')""")
    with pytest.raises(ModelHTTPError, match="RuntimeError: no such weights"):
        server.start()
    assert has_ended(children[0])


def test_a_server_that_does_not_end_is_killed(
    server: EmbeddedServer, program: Path, children: list[subprocess.Popen[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    program.write_text(SERVING + "import time\nwhile True: time.sleep(1)\n")
    monkeypatch.setattr(server_module, "_PATIENCE", 0.05)
    server.start()
    server.stop()
    assert has_ended(children[0])


@pytest.mark.usefixtures("program")
@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.filterwarnings("ignore:.*multi-threaded.*:DeprecationWarning")
def test_a_forked_process_has_no_server_and_leaves_that_of_its_parent_alone(server: EmbeddedServer) -> None:
    server.start()
    if not (pid := os.fork()):  # pragma: no cover - another process
        try:
            server.disown()
            mine = server.start()
            server.stop()
            os._exit(0 if mine and server.url is None else 1)
        finally:
            os._exit(2)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
    assert server.url == "http://127.0.0.1:1"


@pytest.mark.usefixtures("program")
def test_a_server_that_was_killed_is_replaced_and_its_input_closed(
    server: EmbeddedServer, children: list[subprocess.Popen[str]]
) -> None:
    server.start()
    children[0].kill()
    children[0].wait()
    assert server.url is None
    assert server.start() == server.url == "http://127.0.0.1:1"
    assert len(children) == 2
    assert has_ended(children[0])
    server.stop()
    assert has_ended(children[1])


def test_a_server_that_dies_before_it_has_its_order_is_an_error(
    server: EmbeddedServer, program: Path, children: list[subprocess.Popen[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    program.write_text("raise SystemExit(3)")
    give_order = server_module._give_order

    def give_order_late(child: subprocess.Popen[str], settings: dict[str, Any]) -> str:
        child.wait()
        return give_order(child, settings)

    monkeypatch.setattr(server_module, "_give_order", give_order_late)
    with pytest.raises(ModelHTTPError, match="status 3"):
        server.start()
    assert server.url is None
    assert has_ended(children[0])
