"""Ollama, the writing half: a model request as the JSON body of a POST."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..body import chosen_tool, merged_body
from ..profiles import OLLAMA_NATIVE, ProviderProfile
from ..types import ModelRequest, OutputSupport, ToolSchema
from .history import encode_messages

__all__ = ["encode_request"]

_THINK: dict[str | None, Any] = {None: None, "none": False}
"""What is sent for a reasoning effort; one that is not here is a level that the server knows, or refuses."""


def encode_request(model_name: str, request: ModelRequest, profile: ProviderProfile = OLLAMA_NATIVE) -> dict[str, Any]:
    """Return the body of a streamed chat.

    Args:
        model_name: the model.
        request: the conversation, the tools, and all options.
        profile: what is special about the server.

    Raises:
        UnsupportedContentError: the conversation holds something that the protocol cannot carry.
        ConfigurationError: the tool choice names a tool that is not among the tools.
    """
    options = request.options
    output = options.output if profile.output is not OutputSupport.NONE else None
    sampling = {"temperature": options.temperature, "num_predict": options.max_tokens}
    settings = {
        "tools": _encode_tools(request.tools, options.tool_choice) or None,
        "think": _THINK.get(options.reasoning_effort, options.reasoning_effort),
        "format": None if output is None else output.json_schema,
        "options": _given(sampling) or None,
    }
    body = {
        "model": model_name,
        "messages": encode_messages(request.messages),
        "stream": True,
        **_given(settings),
    }
    return merged_body(body, options.extra_body, "options")


def _given(settings: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in settings.items() if value is not None}


def _encode_tools(tools: Sequence[ToolSchema], choice: str | None) -> list[dict[str, Any]]:
    """The server takes no choice: a tool that the model may not call it is not shown, and none can be forced."""
    chosen = chosen_tool(tools, choice)
    return [
        {"type": "function", "function": {"name": t.name, "description": t.description, "parameters": t.parameters}}
        for t in tools
        if choice != "none" and chosen in (None, t)
    ]
