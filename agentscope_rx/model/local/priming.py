"""Shows a very small model how the tools of a request are called, and makes it a little more willing to.

Such a model learns from examples, not from instructions. So, where a request has tools, a few short exchanges stand
between the system message and the conversation. They are made from the schemas: for each tool a question, a call, a
result and the answer, and some questions that need no tool.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import chain
from typing import Any

from ...message import AssistantMessage, Msg, MsgRole, TextBlock, ToolResultBlock, ToolUseBlock, UserMessage
from ..types import ModelOptions, ModelRequest, ToolSchema
from .catalog import EmbeddedModel

__all__ = ["demonstrate", "prime"]


def prime(request: ModelRequest, model: EmbeddedModel) -> ModelRequest:
    """Return the request with what helps the model to call the right tool; without tools, the request as it is."""
    if not request.tools or request.options.tool_choice == "none":
        return request
    head = [m for m in request.messages if m.role is MsgRole.SYSTEM]
    rest = [m for m in request.messages if m.role is not MsgRole.SYSTEM]
    options = request.options
    if not _answers_tool(rest):
        bias = ModelOptions(extra_body={"logit_bias": [[model.call_marker, model.call_bias]]})
        options = bias.merged(options)
    return replace(request, messages=[*head, *demonstrate(request.tools), *rest], options=options)


def _answers_tool(messages: Sequence[Msg]) -> bool:
    """Whether the model is about to speak after a tool result."""
    return bool(messages) and messages[-1].has_content_blocks(ToolResultBlock)


def demonstrate(tools: Sequence[ToolSchema]) -> list[Msg]:
    """Return example exchanges for the tools."""
    shown = [_exchange(number, tool) for number, tool in enumerate(tools)]
    half = len(shown) // 2
    return [*chain(*shown[:half]), *_small_talk(), *chain(*shown[half:])]


def _small_talk() -> list[Msg]:
    pairs = (("What is the color of grass?", "Grass is green."), ("Thank you!", "You are welcome!"))
    return [message for question, answer in pairs for message in (UserMessage(question), AssistantMessage(answer))]


_RESULTS = ("17 blue", "red, 31", "8 and 9")
_SAMPLES: Mapping[str, Any] = {
    "city": "Rome",
    "location": "Rome",
    "timezone": "UTC",
    "expression": "2 + 3",
    "query": "cats",
}
_BY_TYPE: Mapping[str, Any] = {"integer": 2, "number": 2, "boolean": True, "array": [], "object": {}}


def _exchange(number: int, tool: ToolSchema) -> list[Msg]:
    arguments = _arguments(tool.parameters)
    words = " ".join(w for w in tool.name.split("_") if w not in ("get", "current"))
    values = " and ".join(str(value) for value in arguments.values())
    question = f"What is the {words}{' of ' + values if values else ''}?"
    result = _RESULTS[number % len(_RESULTS)]
    id = f"example_{number}"
    call = ToolUseBlock(id=id, name=tool.name, input=arguments)
    output = ToolResultBlock(id=id, name=tool.name, output=(TextBlock(result),))
    return [UserMessage(question), AssistantMessage([call, output, TextBlock(f"It is {result}.")])]


def _arguments(schema: Mapping[str, Any]) -> dict[str, Any]:
    properties = schema.get("properties", {})
    names = schema.get("required") or list(properties)[:1]
    return {name: _sample(name, properties.get(name, {})) for name in names}


def _sample(name: str, schema: Mapping[str, Any]) -> Any:
    for key in ("examples", "enum"):
        if values := schema.get(key):
            return values[0]
    if name in _SAMPLES:
        return _SAMPLES[name]
    return _BY_TYPE.get(schema.get("type", "string"), name)
