"""DashScope, the writing half: a model request as the JSON body of a POST."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ..body import chosen_tool, merged_body
from ..profiles import DASHSCOPE_NATIVE, ProviderProfile
from ..types import ModelRequest, ToolSchema
from .history import encode_messages

__all__ = ["encode_request"]

_THINKING: dict[str | None, dict[str, Any]] = {None: {}, "none": {"enable_thinking": False}}
"""What is sent for a reasoning effort; one that is not here is a level that the model knows, or refuses."""


def encode_request(
    model_name: str, request: ModelRequest, profile: ProviderProfile = DASHSCOPE_NATIVE, *, multimodal: bool = False
) -> dict[str, Any]:
    """Return the body of a request for streamed generation.

    Args:
        model_name: the model.
        request: the conversation, the tools, and all options.
        profile: what is special about the server.
        multimodal: whether the model is one that takes more than text.

    Raises:
        UnsupportedContentError: the conversation holds something that the model cannot be sent.
        ConfigurationError: the tool choice names a tool that is not among the tools.
    """
    options = request.options
    messages = encode_messages(
        request.messages, multimodal=multimodal, replay_reasoning=_preserves_thinking(options.extra_body)
    )
    effort = options.reasoning_effort
    settings = {"temperature": options.temperature, "max_tokens": options.max_tokens}
    body: dict[str, Any] = {
        "model": model_name,
        "input": {"messages": messages},
        "parameters": {
            "result_format": "message",
            "incremental_output": True,
            **{name: value for name, value in settings.items() if value is not None},
            **_THINKING.get(effort, {"enable_thinking": True, "reasoning_effort": effort}),
            **_encode_tools(request.tools, options.tool_choice, messages),
        },
    }
    return merged_body(body, options.extra_body, "input", "parameters")


def _preserves_thinking(extra: Mapping[str, Any]) -> bool:
    parameters = extra.get("parameters")
    return isinstance(parameters, Mapping) and bool(parameters.get("preserve_thinking"))


def _encode_tools(tools: Sequence[ToolSchema], choice: str | None, messages: list[dict[str, Any]]) -> dict[str, Any]:
    if not tools:
        # A history with calls needs the tools that were called, even if the model may call none of them now.
        calls = [call["function"]["name"] for message in messages for call in message.get("tool_calls", ())]
        declared = [_function(name, "Not available now.", {"type": "object"}) for name in dict.fromkeys(calls)]
        return {"tools": declared, "tool_choice": "none"} if declared else {}
    functions = [_function(tool.name, tool.description, tool.parameters) for tool in tools]
    chosen = tools[0] if choice == "required" and len(tools) == 1 else chosen_tool(tools, choice)
    encoded = {"tools": functions, "parallel_tool_calls": True}
    if chosen is not None:
        return {**encoded, "tool_choice": {"type": "function", "function": {"name": chosen.name}}}
    if choice is None:
        return encoded
    # The API can force a call of one tool, but not of any tool.
    return {**encoded, "tool_choice": "auto" if choice == "required" else choice}


def _function(name: str, description: str, parameters: Mapping[str, Any]) -> dict[str, Any]:
    return {"type": "function", "function": {"name": name, "description": description, "parameters": parameters}}
