"""Gemini, the writing half: a model request as the JSON body of a POST."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from ...errors import ConfigurationError
from ..body import chosen_tool, merged_body
from ..profiles import GEMINI, ProviderProfile
from ..types import ModelRequest, OutputFormat, OutputSupport, ToolSchema
from .history import encode_contents
from .schema import known_schema, parameters_of

__all__ = ["encode_request"]

_CURRENT = re.compile(r"gemini-(?![12](?!\d))")
"""Models since Gemini 3: they check the proofs of calls, see media in results, and are told a level of thinking."""

_BUDGETS = {"none": 0, "minimal": 1024, "low": 1024, "medium": 8192, "high": 24576}
"""Tokens to think with, by effort, for models that are told a number."""

_MODES = {"auto": "AUTO", "none": "NONE", "required": "ANY"}


def encode_request(model_name: str, request: ModelRequest, profile: ProviderProfile = GEMINI) -> dict[str, Any]:
    """Return the body of a request for streamed content.

    Args:
        model_name: the model; it stands in the URL, and decides what the model is told and how.
        request: the conversation, the tools, and all options.
        profile: what is special about the server.

    Raises:
        UnsupportedContentError: the conversation holds something that the protocol cannot carry.
        ConfigurationError: the tool choice names a tool that is not among the tools, or the model knows no such effort.
    """
    options = request.options
    current = _CURRENT.search(model_name) is not None
    system, contents = encode_contents(request.messages, current=current)
    output = None if profile.output is OutputSupport.NONE else options.output
    settings = {
        "temperature": options.temperature,
        "maxOutputTokens": options.max_tokens,
        "thinkingConfig": _encode_thinking(model_name, options.reasoning_effort, current),
        **({} if output is None else _encode_output(output)),
    }
    config = {name: value for name, value in settings.items() if value is not None}
    # A model takes either functions or a format of its answer, before Gemini 3.
    called = [] if output is not None and not current else _called(contents)
    body: dict[str, Any] = {
        **({"systemInstruction": {"parts": system}} if system else {}),
        "contents": contents,
        **(_encode_tools(request.tools, options.tool_choice) if request.tools else _encode_called(called)),
        **({"generationConfig": config} if config else {}),
    }
    return merged_body(body, options.extra_body, "generationConfig", "toolConfig")


def _encode_tools(tools: Sequence[ToolSchema], choice: str | None) -> dict[str, Any]:
    functions = [_declaration(tool) for tool in tools]
    if (chosen := chosen_tool(tools, choice)) is not None:
        return _functions(functions, {"mode": "ANY", "allowedFunctionNames": [chosen.name]})
    return _functions(functions, None if choice is None else {"mode": _MODES[choice]})


def _called(contents: list[dict[str, Any]]) -> list[str]:
    """Return the names of the functions that were called, each once."""
    calls = (part.get("functionCall") for content in contents for part in content["parts"])
    return list(dict.fromkeys(call["name"] for call in calls if call is not None))


def _encode_called(names: list[str]) -> dict[str, Any]:
    """A history with calls needs the functions that were called, even if the model may call none of them now."""
    declared = [{"name": name, "description": "Not available now."} for name in names]
    return _functions(declared, {"mode": "NONE"}) if declared else {}


def _declaration(tool: ToolSchema) -> dict[str, Any]:
    parameters = parameters_of(tool.parameters)
    return {
        "name": tool.name,
        "description": tool.description,
        **({} if parameters is None else {"parametersJsonSchema": parameters}),
    }


def _functions(declarations: list[dict[str, Any]], calling: dict[str, Any] | None) -> dict[str, Any]:
    tools = {"tools": [{"functionDeclarations": declarations}]}
    return tools if calling is None else {**tools, "toolConfig": {"functionCallingConfig": calling}}


def _encode_thinking(model_name: str, effort: str | None, current: bool) -> dict[str, Any] | None:
    if effort is None:
        return None
    if current:
        return {"includeThoughts": True, "thinkingLevel": effort.upper()}
    if effort not in _BUDGETS:
        raise ConfigurationError(
            f"{model_name} is told how much to think, not how hard; expected the reasoning effort to be one of "
            f"{', '.join(_BUDGETS)}, got {effort!r}. Any other number of tokens goes into extra_body"
        )
    return {"includeThoughts": True, "thinkingBudget": _BUDGETS[effort]}


def _encode_output(output: OutputFormat) -> dict[str, Any]:
    return {"responseMimeType": "application/json", "responseJsonSchema": known_schema(output.json_schema)}
