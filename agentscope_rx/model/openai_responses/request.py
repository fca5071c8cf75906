"""OpenAI Responses, the writing half: a model request as the JSON body of a POST."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from ..body import chosen_tool, merged_body
from ..profiles import OPENAI, ProviderProfile
from ..types import ModelRequest, OutputFormat, OutputSupport, ToolSchema
from .history import encode_conversation

__all__ = ["encode_request"]

_SILENT = re.compile(r"gpt-3|gpt-4|chatgpt-4|gpt-5-chat")
"""Models that do not reason, and refuse to be asked for their reasoning; none is made any more."""


def encode_request(model_name: str, request: ModelRequest, profile: ProviderProfile = OPENAI) -> dict[str, Any]:
    """Return the body of a streamed response.

    Args:
        model_name: the model.
        request: the conversation, the tools, and all options.
        profile: what is special about the server.

    Raises:
        UnsupportedContentError: the conversation holds something that the protocol cannot carry.
        ConfigurationError: the tool choice names a tool that is not among the tools.
    """
    options = request.options
    stored = bool(options.extra_body.get("store"))
    instructions, items = encode_conversation(request.messages, stored=stored)
    body: dict[str, Any] = {
        "model": model_name,
        **({"instructions": instructions} if instructions else {}),
        "input": items,
        "stream": True,
        "store": False,
        **({} if stored or _SILENT.match(model_name) else {"include": ["reasoning.encrypted_content"]}),
        **_encode_tools(request.tools, options.tool_choice, profile),
    }
    settings = {
        "temperature": options.temperature,
        "max_output_tokens": options.max_tokens,
        "reasoning": None if options.reasoning_effort is None else {"effort": options.reasoning_effort},
        "text": _encode_output(options.output) if profile.output is not OutputSupport.NONE else None,
    }
    body.update((name, value) for name, value in settings.items() if value is not None)
    return merged_body(body, options.extra_body)


def _encode_output(output: OutputFormat | None) -> dict[str, Any] | None:
    """Not strict, as that would change the schema: what does not fit is noticed, and asked for again."""
    if output is None:
        return None
    return {"format": {"type": "json_schema", "name": output.name, "schema": output.json_schema, "strict": False}}


def _encode_tools(tools: Sequence[ToolSchema], choice: str | None, profile: ProviderProfile) -> dict[str, Any]:
    """Functions are not strict: that would change their schemas, and all of them were made for any provider."""
    if not tools:
        return {}
    encoded: Any = choice
    if (chosen := chosen_tool(tools, choice)) is not None:
        if profile.forces_tool_by_name:
            encoded = {"type": "function", "name": chosen.name}
        else:
            tools, encoded = [chosen], "required"
    functions = [
        {
            "type": "function",
            "name": tool.name,
            "description": tool.description,
            "parameters": tool.parameters,
            "strict": False,
        }
        for tool in tools
    ]
    return {"tools": functions, "tool_choice": encoded} if encoded is not None else {"tools": functions}
