"""OpenAI Chat Completions, the writing half: a model request as the JSON body of a POST."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..body import chosen_tool, merged_body
from ..profiles import OPENAI, ProviderProfile
from ..types import ModelRequest, OutputFormat, OutputSupport, ToolSchema
from .history import encode_messages

__all__ = ["encode_request"]


def encode_request(model_name: str, request: ModelRequest, profile: ProviderProfile = OPENAI) -> dict[str, Any]:
    """Return the body of a streamed chat completion.

    Args:
        model_name: the model.
        request: the conversation, the tools, and all options.
        profile: what is special about the server.

    Raises:
        UnsupportedContentError: the conversation holds something that the protocol cannot carry.
        ConfigurationError: the tool choice names a tool that is not among the tools.
    """
    options = request.options
    body: dict[str, Any] = {
        "model": model_name,
        "messages": encode_messages(
            request.messages, names_speakers=profile.names_speakers, replay_reasoning=profile.replays_reasoning
        ),
        "stream": True,
        "stream_options": {"include_usage": True},
        **_encode_tools(request.tools, options.tool_choice, profile),
    }
    settings = {
        "temperature": options.temperature,
        profile.max_tokens_field: options.max_tokens,
        "reasoning_effort": options.reasoning_effort,
        "response_format": _encode_output(options.output) if profile.output is not OutputSupport.NONE else None,
    }
    body.update((name, value) for name, value in settings.items() if value is not None)
    return merged_body(body, options.extra_body)


def _encode_output(output: OutputFormat | None) -> dict[str, Any] | None:
    """Not strict, as that would change the schema: what does not fit is noticed, and asked for again."""
    if output is None:
        return None
    schema = {"name": output.name, "schema": output.json_schema, "strict": False}
    return {"type": "json_schema", "json_schema": schema}


def _encode_tools(tools: Sequence[ToolSchema], choice: str | None, profile: ProviderProfile) -> dict[str, Any]:
    if not tools:
        return {}
    encoded: Any = choice
    if (chosen := chosen_tool(tools, choice)) is not None:
        if profile.forces_tool_by_name:
            encoded = {"type": "function", "function": {"name": chosen.name}}
        else:
            tools, encoded = [chosen], "required"
    functions = [
        {"type": "function", "function": {"name": t.name, "description": t.description, "parameters": t.parameters}}
        for t in tools
    ]
    return {"tools": functions, "tool_choice": encoded} if encoded is not None else {"tools": functions}
