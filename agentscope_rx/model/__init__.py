"""Models (floor 4): what an agent asks of a model, and adapters for the wire protocols of the providers.

The types load with the package; adapters, and with them the HTTP client, when they are first asked for.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from .types import (
    ChatModel,
    DataPiece,
    FinishPiece,
    ModelChunk,
    ModelOptions,
    ModelRequest,
    OutputFormat,
    OutputSupport,
    Piece,
    ResetPiece,
    TextPiece,
    ThinkingPiece,
    ToolCallPiece,
    ToolSchema,
    UsagePiece,
)

if TYPE_CHECKING:
    from .anthropic import AnthropicModel
    from .gemini import GeminiModel
    from .local import LocalModel
    from .openai_chat import OpenAIChatModel
    from .openai_responses import OpenAIResponsesModel
    from .profiles import ProviderProfile
    from .registry import resolve_model
    from .retry import NO_RETRY, RetryPolicy

__all__ = [
    "NO_RETRY",
    "AnthropicModel",
    "ChatModel",
    "DataPiece",
    "FinishPiece",
    "GeminiModel",
    "LocalModel",
    "ModelChunk",
    "ModelOptions",
    "ModelRequest",
    "OpenAIChatModel",
    "OpenAIResponsesModel",
    "OutputFormat",
    "OutputSupport",
    "Piece",
    "ProviderProfile",
    "ResetPiece",
    "RetryPolicy",
    "TextPiece",
    "ThinkingPiece",
    "ToolCallPiece",
    "ToolSchema",
    "UsagePiece",
    "resolve_model",
]

_LAZY = {
    "AnthropicModel": ".anthropic",
    "GeminiModel": ".gemini",
    "NO_RETRY": ".retry",
    "LocalModel": ".local",
    "OpenAIChatModel": ".openai_chat",
    "OpenAIResponsesModel": ".openai_responses",
    "ProviderProfile": ".profiles",
    "RetryPolicy": ".retry",
    "resolve_model": ".registry",
}


def __getattr__(name: str) -> Any:
    if (module := _LAZY.get(name)) is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = globals()[name] = getattr(import_module(module, __name__), name)
    return value


def __dir__() -> list[str]:
    return __all__
