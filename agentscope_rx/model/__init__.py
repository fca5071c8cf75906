"""Models (floor 4): what an agent asks of a model, and adapters for the wire protocols of the providers.

The types load with the package; adapters, and with them the HTTP client, when they are first asked for.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..lazy import lazily
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
    from .dashscope import DashScopeModel
    from .gemini import GeminiModel
    from .local import LocalModel
    from .ollama import OllamaModel
    from .openai_chat import OpenAIChatModel
    from .openai_responses import OpenAIResponsesModel
    from .profiles import ProviderProfile
    from .registry import Provider, providers, register_provider, resolve_model
    from .retry import NO_RETRY, RetryPolicy

__all__ = [
    "NO_RETRY",
    "AnthropicModel",
    "ChatModel",
    "DashScopeModel",
    "DataPiece",
    "FinishPiece",
    "GeminiModel",
    "LocalModel",
    "ModelChunk",
    "ModelOptions",
    "ModelRequest",
    "OllamaModel",
    "OpenAIChatModel",
    "OpenAIResponsesModel",
    "OutputFormat",
    "OutputSupport",
    "Piece",
    "Provider",
    "ProviderProfile",
    "ResetPiece",
    "RetryPolicy",
    "TextPiece",
    "ThinkingPiece",
    "ToolCallPiece",
    "ToolSchema",
    "UsagePiece",
    "providers",
    "register_provider",
    "resolve_model",
]

_LAZY = {
    "AnthropicModel": ".anthropic",
    "DashScopeModel": ".dashscope",
    "GeminiModel": ".gemini",
    "NO_RETRY": ".retry",
    "LocalModel": ".local",
    "OllamaModel": ".ollama",
    "OpenAIChatModel": ".openai_chat",
    "OpenAIResponsesModel": ".openai_responses",
    "Provider": ".registry",
    "ProviderProfile": ".profiles",
    "RetryPolicy": ".retry",
    "providers": ".registry",
    "register_provider": ".registry",
    "resolve_model": ".registry",
}

__getattr__ = lazily(__name__, _LAZY)


def __dir__() -> list[str]:
    return __all__
