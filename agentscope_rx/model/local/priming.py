"""Shows a very small model how the tools of a request are called, and makes it willing to call them.

Such a model learns from examples, not from instructions. So, where a request has tools, a few short exchanges stand
between the system message and the conversation: for each tool a question, the call, a result and the answer, made from
its schema, and in front of them and behind them a question that needs no tool. What each part is for has been measured:

* All answers to results have one form, and no result is what one would expect: so the model repeats what it is given,
  and does not guess.
* Questions about numbers come last. Other questions find their tool by their words; numbers have nothing to hold on to
  but nearness.
* Whether to call is decided by one token, the marker of the template. The model knows well which questions are for a
  tool, but its threshold is off: it rises with every answer in plain text, and falls with every call. A bias on that
  token takes this back.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import takewhile
from typing import Any

from ...message import AssistantMessage, Msg, MsgRole, TextBlock, ToolResultBlock, ToolUseBlock, UserMessage
from ..types import ModelOptions, ModelRequest, ToolSchema
from .catalog import CallBias
from .examples import example_arguments, example_question

__all__ = ["demonstrate", "prime"]

_MAX_SHOWN = 8
"""Tools that are demonstrated; the model is told of all, but examples of so many would only confuse it."""
_BEFORE = ("What is the capital of Peru?", "The capital of Peru is Lima.")
_AFTER = ("Thank you!", "You are welcome!")
_RESULTS = ("17 blue", "red, 31 degrees", "8 of 9 stars")


def prime(request: ModelRequest, call_bias: CallBias) -> ModelRequest:
    """Return the request with what helps the model to call the right tool; one without tools is returned as it is."""
    choice = request.options.tool_choice
    if not request.tools or choice == "none":
        return request
    system = list(takewhile(lambda message: message.role is MsgRole.SYSTEM, request.messages))
    shown = [tool for tool in request.tools if choice in (None, "auto", "required", tool.name)]
    messages = [*system, *demonstrate(shown), *request.messages[len(system) :]]
    options = request.options
    if (bias := _bias(messages, choice, call_bias)) is not None:
        options = ModelOptions(extra_body={"logit_bias": [[call_bias.marker, bias]]}).merged(options)
    return replace(request, messages=messages, options=options)


def _bias(messages: Sequence[Msg], choice: str | None, call_bias: CallBias) -> float | None:
    """Return what to add to the logit of the marker, None for nothing: results were just given, and are to be told."""
    if choice not in (None, "auto"):
        return call_bias.limit
    return call_bias.after(_streak(messages)) if messages[-1].role is MsgRole.USER else None


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
        TextBlock(f"It is {result}."),
    )


def _is_numeric(arguments: Mapping[str, Any]) -> bool:
    values = "".join(map(str, arguments.values()))
    return bool(values) and not any(map(str.isalpha, values))


def _streak(messages: Sequence[Msg]) -> int:
    """Return how many replies in a row, up to now, were plain text, or how many had a call: those count negative."""
    streak = 0
    for message in reversed(messages):
        if message.role is MsgRole.ASSISTANT:
            step = -1 if message.has_content_blocks(ToolUseBlock) else 1
            if streak * step < 0:
                break
            streak += step
    return streak
