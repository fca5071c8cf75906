"""How willing the model is made to call a tool, by what was said before."""

from __future__ import annotations

import pytest

from agentscope_rx.message import (
    AssistantMessage,
    Msg,
    TextBlock,
    ToolResultBlock,
    ToolResultMessage,
    ToolUseBlock,
    UserMessage,
)
from agentscope_rx.model import ModelOptions, ModelRequest, ToolSchema
from agentscope_rx.model.local.catalog import MODELS
from agentscope_rx.model.local.priming import prime
from agentscope_rx.model.local.sampling import default_options

MODEL = MODELS["smollm2"]
TOOL = ToolSchema("now", "Tells the time.", {"type": "object", "properties": {}})
CALL = ToolUseBlock(id="c", name="now")
RESULT = ToolResultBlock(id="c", name="now", output=(TextBlock("noon"),))


def history(turns: str) -> list[Msg]:
    """A conversation of replies in text (t) and with a call (c), and a question."""
    replies = {"t": AssistantMessage("Fine."), "c": AssistantMessage(CALL, RESULT, TextBlock("Noon."))}
    return [message for turn in turns for message in (UserMessage("?"), replies[turn])] + [UserMessage("?")]


def options_for(messages: list[Msg], *, tools: bool = True, choice: str | None = None) -> ModelOptions:
    request = ModelRequest(messages, [TOOL] if tools else [], ModelOptions(tool_choice=choice))
    return default_options(prime(request), MODEL)


def bias_for(messages: list[Msg], choice: str | None = None) -> float | None:
    match options_for(messages, choice=choice).extra_body.get("logit_bias"):
        case [[MODEL.call_bias.marker, bias]]:
            return bias
        case nothing:
            assert nothing is None
            return None


@pytest.mark.parametrize(
    ("turns", "streak"),
    [("", 1), ("t", 2), ("ttt", 4), ("ct", 1), ("cctt", 2), ("c", -1), ("tc", -1), ("tccc", -3)],
)
def test_the_bias_follows_the_last_replies_and_the_examples_before_them(turns: str, streak: int) -> None:
    assert bias_for(history(turns)) == MODEL.call_bias.after(streak)
    assert bias_for(history(turns), "auto") == MODEL.call_bias.after(streak)


@pytest.mark.parametrize(
    "told",
    [[AssistantMessage(CALL, RESULT)], [AssistantMessage(CALL), ToolResultMessage(RESULT)]],
    ids=["own tool", "outside tool"],
)
def test_a_result_is_told_and_not_called_for_again(told: list[Msg]) -> None:
    options = options_for([*history("t"), *told])
    assert "logit_bias" not in options.extra_body
    assert options.extra_body["frequency_penalty"] == 0
    assert MODEL.options.extra_body["frequency_penalty"] > 0


@pytest.mark.parametrize("choice", ["required", "now"])
def test_a_call_that_is_required_gets_all_the_bias_there_is(choice: str) -> None:
    assert bias_for(history("c"), choice) == MODEL.call_bias.limit
    assert bias_for([*history(""), AssistantMessage(CALL, RESULT)], choice) == MODEL.call_bias.limit


def test_without_tools_there_is_no_bias() -> None:
    assert options_for(history("c"), tools=False) == MODEL.options
    assert options_for(history("c"), choice="none") == MODEL.options
