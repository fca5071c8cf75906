"""The life of the server's process; a small program stands in for the server itself."""

from __future__ import annotations

import subprocess
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


@pytest.mark.usefixtures("program")
def test_a_server_that_was_killed_is_replaced_and_its_input_closed(children: list[subprocess.Popen[str]]) -> None:
    server = EmbeddedServer(next(iter(MODELS.values())))
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
    program: Path, children: list[subprocess.Popen[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    program.write_text("raise SystemExit(3)")
    give_order = server_module._give_order

    def give_order_late(child: subprocess.Popen[str], settings: dict[str, Any]) -> str:
        child.wait()
        return give_order(child, settings)

    monkeypatch.setattr(server_module, "_give_order", give_order_late)
    server = EmbeddedServer(next(iter(MODELS.values())))
    with pytest.raises(ModelHTTPError, match="status 3"):
        server.start()
    assert server.url is None
    assert has_ended(children[0])
