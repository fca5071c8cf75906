"""Anthropic Messages, the writing half: a model request as the JSON body of a POST."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Any

from ...errors import ConfigurationError
from ..body import chosen_tool, merged_body
from ..profiles import ANTHROPIC, ProviderProfile
from ..types import ModelOptions, ModelRequest, ToolSchema
from .history import encode_messages

__all__ = ["encode_request"]

_ANSWER_TOKENS = 8192
"""The protocol demands a limit; every model in service can write as much."""

_BUDGETS = {"low": 2048, "medium": 8192, "high": 16384}
"""Tokens to think with, by effort, for models that are told a number."""
_LEAST_BUDGET = 1024

_CHOICES = {"auto": "auto", "none": "none", "required": "any"}


def encode_request(model_name: str, request: ModelRequest, profile: ProviderProfile = ANTHROPIC) -> dict[str, Any]:
    """Return the body of a streamed message.

    Args:
        model_name: the model.
        request: the conversation, the tools, and all options.
        profile: what is special about the server.

    Raises:
        UnsupportedContentError: the conversation holds something that the protocol cannot carry.
        ConfigurationError: the tool choice names a tool that is not among the tools, or the model knows no such effort.
    """
    options = request.options
    system, messages = encode_messages(request.messages)
    body: dict[str, Any] = {
        "model": model_name,
        "max_tokens": _ANSWER_TOKENS if options.max_tokens is None else options.max_tokens,
        **({"system": system} if system else {}),
        "messages": messages,
        "stream": True,
        **_encode_tools(request.tools, options.tool_choice, messages),
    }
    if options.temperature is not None:
        body["temperature"] = options.temperature
    if options.reasoning_effort is not None:
        body.update(_encode_thinking(model_name, options, body))
    return merged_body(body, options.extra_body)


def _encode_tools(tools: Sequence[ToolSchema], choice: str | None, messages: list[dict[str, Any]]) -> dict[str, Any]:
    if not tools:
        # A history with calls needs the tools that were called, even if the model may call none of them now.
        names = dict.fromkeys(block["name"] for block in _blocks(messages) if block["type"] == "tool_use")
        declared = [{"name": name, "input_schema": {"type": "object"}} for name in names]
        return {"tools": declared, "tool_choice": {"type": "none"}} if declared else {}
    encoded: dict[str, Any] = {
        "tools": [{"name": t.name, "description": t.description, "input_schema": t.parameters} for t in tools]
    }
    if (chosen := chosen_tool(tools, choice)) is not None:
        encoded["tool_choice"] = {"type": "tool", "name": chosen.name}
    elif choice is not None:
        encoded["tool_choice"] = {"type": _CHOICES[choice]}
    return encoded


def _encode_thinking(model_name: str, options: ModelOptions, body: dict[str, Any]) -> dict[str, Any]:
    """A model that must call a tool does not think; nor does one that made its last calls without thinking."""
    effort = options.reasoning_effort
    if body.get("tool_choice", {}).get("type") in ("any", "tool"):
        return {}
    if _paces_itself(model_name):
        return {"thinking": {"type": "adaptive"}, "output_config": {"effort": effort}}
    if effort not in _BUDGETS:
        raise ConfigurationError(
            f"{model_name} is told how much to think, not how hard; expected the reasoning effort to be one of "
            f"{', '.join(_BUDGETS)}, got {effort!r}. Any other number of tokens goes into extra_body"
        )
    budget = _BUDGETS[effort]
    if options.max_tokens is not None:
        budget = min(budget, options.max_tokens - _LEAST_BUDGET)
    if budget < _LEAST_BUDGET or _acts_without_thinking(body["messages"]):
        return {}
    limit = {} if options.max_tokens is not None else {"max_tokens": budget + _ANSWER_TOKENS}
    return {**limit, "thinking": {"type": "enabled", "budget_tokens": budget}}


def _paces_itself(model_name: str) -> bool:
    """Whether a model decides itself how much to think: all of Anthropic's since version 4.6, and nobody else's."""
    words = re.split(r"[^a-z0-9]+", model_name.lower())
    version = [int(word) for word in words if word.isdigit() and len(word) < 3]
    return "claude" in words and (not version or version[:2] >= [4, 6])


def _acts_without_thinking(messages: list[dict[str, Any]]) -> bool:
    """Whether the model waits for the results of calls that it made without thinking, as another model may have."""
    for message in reversed(messages):
        if message["role"] == "assistant":
            return message["content"][0]["type"] not in ("thinking", "redacted_thinking")
        if not any(block["type"] == "tool_result" for block in message["content"]):
            return False
    return False


def _blocks(messages: list[dict[str, Any]]) -> Iterable[dict[str, Any]]:
    return (block for message in messages for block in message["content"])
