"""From a model id such as `openai:gpt-4o-mini` to a model."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from importlib import import_module
from typing import Any

from ..errors import ConfigurationError
from .openai_chat import OpenAIChatModel
from .profiles import PROFILES
from .types import ChatModel

__all__ = ["resolve_model"]


def resolve_model(model: str | ChatModel, **settings: Any) -> ChatModel:
    """Return the model that an id names; a model is returned as it is.

    Args:
        model: `provider:name`, where the name may hold colons: `openai:gpt-4o-mini`, `openai-responses:gpt-5`,
            `anthropic:claude-sonnet-4-5`, `gemini:gemini-2.5-flash`, `deepseek:deepseek-chat`, `dashscope:qwen-plus`,
            `ollama:qwen3:0.6b`, `local:smollm2`. Any other server is reached with the provider whose protocol it
            speaks, and a `base_url`.
        settings: passed on to the model: `api_key`, `base_url`, `options`, `retry`, `stall_timeout`, `http_client`.
            What is not given comes from the environment variables of the provider.

    Raises:
        ConfigurationError: no such provider, no name, a key is missing, or settings came with a finished model.
        MissingExtraError: the model needs a package that is not installed.
    """
    if not isinstance(model, str):
        if not isinstance(model, ChatModel):
            raise ConfigurationError(
                f"a model is an id such as openai:gpt-4o-mini or a ChatModel, got {type(model).__name__}"
            )
        if settings:
            raise ConfigurationError(
                f"settings belong to a model id, but a finished model came with: {', '.join(settings)}"
            )
        return model
    provider, _, name = model.partition(":")
    make = _PROVIDERS.get(provider)
    if make is None or not name:
        raise ConfigurationError(
            f"{model!r} is no model id; expected provider:name, the provider one of {', '.join(sorted(_PROVIDERS))}. "
            "Any server that speaks the OpenAI Chat protocol is reached with openai:name and its base_url"
        )
    return make(name, **settings)


def _adapter(module: str, cls: str) -> Callable[..., ChatModel]:
    """Return what makes a model of an adapter, which is imported only then: it takes time, or needs an extra."""

    def make(name: str, **settings: Any) -> ChatModel:
        model: ChatModel = getattr(import_module(module, __package__), cls)(name, **settings)
        return model

    return make


_PROVIDERS: dict[str, Callable[..., ChatModel]] = {
    **{name: partial(OpenAIChatModel, profile=profile) for name, profile in PROFILES.items()},
    "anthropic": _adapter(".anthropic", "AnthropicModel"),
    "gemini": _adapter(".gemini", "GeminiModel"),
    "openai-responses": _adapter(".openai_responses", "OpenAIResponsesModel"),
    "local": _adapter(".local", "LocalModel"),
}
