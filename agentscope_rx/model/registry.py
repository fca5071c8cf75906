"""From a model id such as `openai:gpt-5-mini` to a model: the providers, as a table that users may add to."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from typing import Any, TypeAlias

from ..errors import ConfigurationError
from .profiles import (
    ANTHROPIC,
    DASHSCOPE,
    DASHSCOPE_NATIVE,
    DEEPSEEK,
    GEMINI,
    OLLAMA,
    OLLAMA_NATIVE,
    OPENAI,
    ProviderProfile,
)
from .types import ChatModel

__all__ = ["MakeModel", "Provider", "providers", "register_provider", "resolve_model"]

MakeModel: TypeAlias = Callable[..., ChatModel]
"""Makes a model from its name and the settings of `resolve_model`, such as a class of models."""


@dataclass(frozen=True, slots=True)
class Provider:
    """What stands in front of the colon of a model id."""

    name: str
    """The name."""
    model: MakeModel
    """Makes its models."""
    profile: ProviderProfile | None = None
    """Where its API is and where its key; the models are made with it. None when they need neither."""
    example: str = "model"
    """The name of one of its models, for people."""

    def make(self, model_name: str, **settings: Any) -> ChatModel:
        """Make a model; nothing is sent.

        Raises:
            ConfigurationError: the settings or the environment are not what the provider needs.
            MissingExtraError: the model needs a package that is not installed.
        """
        if self.profile is not None:
            settings = {"profile": self.profile, **settings}
        return self.model(model_name, **settings)

    @property
    def problem(self) -> str | None:
        """Why no model can be made just now, None when one can be; whether a server answers is not asked."""
        try:
            self.make(self.example)
        except ConfigurationError as error:
            return str(error)
        return None


def resolve_model(model: str | ChatModel, **settings: Any) -> ChatModel:
    """Return the model that an id names; a model is returned as it is.

    Args:
        model: `provider:name`, where the name may hold colons: `openai:gpt-5-mini`, `openai-responses:gpt-5`,
            `anthropic:claude-sonnet-4-5`, `gemini:gemini-2.5-flash`, `deepseek:deepseek-chat`, `dashscope:qwen-plus`,
            `ollama:qwen3:0.6b`, `local:smollm2`, or a provider of `register_provider`. Any other server is reached with
            the provider whose protocol it speaks, and a `base_url`.
        settings: passed on to the model: `api_key`, `base_url`, `options`, `retry`, `stall_timeout`, `http_client`.
            What is not given comes from the environment variables of the provider.

    Raises:
        ConfigurationError: no such provider, no name, a key is missing, or settings came with a finished model.
        MissingExtraError: the model needs a package that is not installed.
    """
    if not isinstance(model, str):
        if not isinstance(model, ChatModel):
            raise ConfigurationError(
                f"a model is an id such as openai:gpt-5-mini or a ChatModel, got {type(model).__name__}"
            )
        if settings:
            raise ConfigurationError(
                f"settings belong to a model id, but a finished model came with: {', '.join(settings)}"
            )
        return model
    name, _, model_name = model.partition(":")
    provider = _providers.get(name)
    if provider is None or not model_name:
        raise ConfigurationError(
            f"{model!r} is no model id; expected provider:name, the provider one of {', '.join(sorted(_providers))}. "
            "Any server that speaks the OpenAI Chat protocol is reached with openai:name and its base_url"
        )
    return provider.make(model_name, **settings)


def register_provider(
    name: str, model: MakeModel, profile: ProviderProfile | None = None, *, example: str = "model"
) -> None:
    """Let model ids begin with a name of your own; a provider of the same name is replaced.

    Args:
        name: what stands in front of the colon.
        model: makes a model from its name and the settings of `resolve_model`: `OpenAIChatModel` or another class of
            models whose protocol the server speaks, or any function.
        profile: where the API is and which environment variables hold its key; the models are made with it.
        example: the name of a model, for lists.

    Raises:
        ConfigurationError: the name is empty, or holds a colon or white space.
    """
    if not name or ":" in name or any(map(str.isspace, name)):
        raise ConfigurationError(f"the name of a provider is a word without a colon: got {name!r}")
    _providers[name] = Provider(name, model, profile, example)


def providers() -> list[Provider]:
    """Return all providers, by name."""
    return sorted(_providers.values(), key=lambda provider: provider.name)


def _adapter(module: str, cls: str) -> MakeModel:
    """Return what makes a model of an adapter, which is imported only then: it takes time, or needs an extra."""

    def make(name: str, **settings: Any) -> ChatModel:
        model: ChatModel = getattr(import_module(module, __package__), cls)(name, **settings)
        return model

    return make


_chat = _adapter(".openai_chat", "OpenAIChatModel")

_providers = {
    provider.name: provider
    for provider in (
        Provider("openai", _chat, OPENAI, "gpt-5-mini"),
        Provider("openai-responses", _adapter(".openai_responses", "OpenAIResponsesModel"), OPENAI, "gpt-5"),
        Provider("anthropic", _adapter(".anthropic", "AnthropicModel"), ANTHROPIC, "claude-sonnet-4-5"),
        Provider("gemini", _adapter(".gemini", "GeminiModel"), GEMINI, "gemini-2.5-flash"),
        Provider("deepseek", _chat, DEEPSEEK, "deepseek-chat"),
        Provider("dashscope", _chat, DASHSCOPE, "qwen-plus"),
        Provider("dashscope-native", _adapter(".dashscope", "DashScopeModel"), DASHSCOPE_NATIVE, "qwen-plus"),
        Provider("ollama", _chat, OLLAMA, "qwen3:0.6b"),
        Provider("ollama-native", _adapter(".ollama", "OllamaModel"), OLLAMA_NATIVE, "qwen3:0.6b"),
        Provider("local", _adapter(".local", "LocalModel"), example="smollm2"),
    )
}
