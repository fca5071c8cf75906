"""What a very small model is shown before a conversation with tools."""

from __future__ import annotations

import pytest

from agentscope_rx.message import (
    AssistantMessage,
    Msg,
    SystemMessage,
    TextBlock,
    ToolResultBlock,
    ToolUseBlock,
    UserMessage,
)
from agentscope_rx.model import ModelOptions, ModelRequest, ToolSchema
from agentscope_rx.model.local.catalog import MODELS
from agentscope_rx.model.local.examples import example_arguments, example_question
from agentscope_rx.model.local.priming import demonstrate, prime

SYSTEM = SystemMessage("Be brief.")
QUESTION = UserMessage("How warm is it?")


def tool(name: str, **properties: str) -> ToolSchema:
    typed = {key: {"type": kind} for key, kind in properties.items()}
    return ToolSchema(name, f"Does {name}.", {"type": "object", "properties": typed, "required": list(properties)})


ADD = tool("add", a="integer", b="integer")
CALCULATE = tool("calculate", expression="string")
WEATHER = tool("get_weather", city="string")
TIME = tool("current_time")


def calls(messages: list[Msg]) -> list[str]:
    return [call.name for message in messages for call in message.get_content_blocks(ToolUseBlock)]


@pytest.mark.parametrize(
    "request_",
    [ModelRequest([SYSTEM, QUESTION]), ModelRequest([QUESTION], [ADD], ModelOptions(tool_choice="none"))],
    ids=["no tools", "tools that may not be called"],
)
def test_where_nothing_can_be_called_nothing_is_shown(request_: ModelRequest) -> None:
    assert prime(request_) is request_


def test_examples_stand_between_the_system_and_the_conversation() -> None:
    conversation = [QUESTION, AssistantMessage("Very."), QUESTION]
    primed = prime(ModelRequest([SYSTEM, *conversation], [WEATHER]))
    assert primed.messages[0] is SYSTEM
    assert primed.messages[-3:] == conversation
    assert calls(primed.messages[1:-3]) == ["get_weather"]
    assert primed.tools == [WEATHER]


def test_an_example_is_a_question_a_call_its_result_and_the_result_told() -> None:
    asked, reply = demonstrate([WEATHER])[2:-2]
    arguments = example_arguments(WEATHER)
    call, result, told = reply.content
    assert asked.get_text_content() == example_question(WEATHER, arguments)
    assert isinstance(call, ToolUseBlock)
    assert isinstance(result, ToolResultBlock)
    assert isinstance(told, TextBlock)
    assert (call.name, call.input) == ("get_weather", arguments)
    assert result.id == call.id
    (output,) = result.output
    assert isinstance(output, TextBlock)
    assert told.text == f"The result is {output.text}."


@pytest.mark.parametrize("model", MODELS.values(), ids=MODELS.keys())
def test_a_result_is_told_as_the_template_puts_it(model) -> None:
    assert "The result is ' + turn.content + '." in model.read_template()


def test_questions_that_need_no_tool_come_first_and_last() -> None:
    shown = demonstrate([ADD, WEATHER])
    assert calls(shown[:2]) == calls(shown[-2:]) == []
    assert calls(shown) == calls(shown[2:-2])


def test_numbers_come_last_and_other_tools_keep_their_order() -> None:
    assert calls(demonstrate([ADD, WEATHER, CALCULATE, TIME])) == ["get_weather", "current_time", "add", "calculate"]


def test_only_a_tool_that_was_chosen_by_name_is_shown() -> None:
    primed = prime(ModelRequest([QUESTION], [ADD, WEATHER], ModelOptions(tool_choice="get_weather")))
    assert calls(list(primed.messages)) == ["get_weather"]
    assert primed.tools == [ADD, WEATHER]


def test_of_many_tools_a_few_are_shown() -> None:
    assert calls(demonstrate([tool(f"tool_{letter}") for letter in "abcdefghijkl"])) == [
        f"tool_{letter}" for letter in "abcdefgh"
    ]
