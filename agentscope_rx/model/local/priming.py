"""Shows a very small model how the tools of a request are called.

Such a model learns from examples, not from instructions. So, where a request has tools, a few short exchanges stand
between the system message and the conversation: for each tool a question, the call, a result and the answer, made from
its schema, and in front of them and behind them a question that needs no tool. What each part is for has been measured:

* All answers to results have one form, that in which the template puts the results, and no result is what one would
  expect: so the model repeats what it is given, and does not guess.
* Questions about numbers come last. Other questions find their tool by their words; numbers have nothing to hold on to
  but nearness.
* One example for each tool. More of them pull all questions to the tools that they are for.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import takewhile
from typing import Any

from ...message import AssistantMessage, Msg, MsgRole, TextBlock, ToolResultBlock, ToolUseBlock, UserMessage
from ..types import ModelRequest, ToolSchema
from .examples import example_arguments, example_question

__all__ = ["demonstrate", "may_call", "prime"]

_MAX_SHOWN = 8
"""Tools that are demonstrated; the model is told of all, but examples of so many would only confuse it."""
_BEFORE = ("What is the capital of Peru?", "The capital of Peru is Lima.")
_AFTER = ("Thank you!", "You are welcome!")
_RESULTS = ("17 blue", "red, 31 degrees", "8 of 9 stars")


def may_call(request: ModelRequest) -> bool:
    """Tell whether the model may call a tool."""
    return bool(request.tools) and request.options.tool_choice != "none"


def prime(request: ModelRequest) -> ModelRequest:
    """Return the request with examples for the tools that may be called; without any, the request as it is."""
    if not may_call(request):
        return request
    system = list(takewhile(lambda message: message.role is MsgRole.SYSTEM, request.messages))
    choice = request.options.tool_choice
    tools = [tool for tool in request.tools if choice in (None, "auto", "required", tool.name)]
    return replace(request, messages=[*system, *demonstrate(tools), *request.messages[len(system) :]])


def demonstrate(tools: Sequence[ToolSchema]) -> list[Msg]:
    """Return example exchanges: one for each tool, between two that need none."""
    shown = [(tool, example_arguments(tool)) for tool in tools[:_MAX_SHOWN]]
    shown.sort(key=lambda each: _is_numeric(each[1]))
    exchanges = [
        message
        for number, (tool, arguments) in enumerate(shown)
        for message in _exchange(tool, arguments, f"example_{number}", _RESULTS[number % len(_RESULTS)])
    ]
    return [
        UserMessage(_BEFORE[0]),
        AssistantMessage(_BEFORE[1]),
        *exchanges,
        UserMessage(_AFTER[0]),
        AssistantMessage(_AFTER[1]),
    ]


def _exchange(tool: ToolSchema, arguments: dict[str, Any], id: str, result: str) -> tuple[Msg, Msg]:
    return UserMessage(example_question(tool, arguments)), AssistantMessage(
        ToolUseBlock(id=id, name=tool.name, input=arguments),
        ToolResultBlock(id=id, name=tool.name, output=(TextBlock(result),)),
        TextBlock(f"The result is {result}."),
    )


def _is_numeric(arguments: Mapping[str, Any]) -> bool:
    values = "".join(map(str, arguments.values()))
    return bool(values) and not any(map(str.isalpha, values))
