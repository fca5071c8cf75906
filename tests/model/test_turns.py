from __future__ import annotations

import math
import string
from typing import Any

import pytest
from hypothesis import given, strategies as st

from agentscope_rx.message import (
    AssistantMessage,
    Base64Source,
    DataBlock,
    HintBlock,
    Msg,
    MsgRole,
    SystemMessage,
    TextBlock,
    ThinkingBlock,
    ToolResultBlock,
    ToolResultMessage,
    ToolResultState,
    ToolUseBlock,
    UserMessage,
)
from agentscope_rx.model.turns import NO_RESULT, CallNames, Spoken, Turn, arguments_text, has_failed, split_turns

from ..arbitrary import messages

PNG = DataBlock(Base64Source(media_type="image/png", data="aGk="))


def use(id: str, name: str = "f", **fields: Any) -> ToolUseBlock:
    return ToolUseBlock(id=id, name=name, **fields)


def result(id: str, text: str = "ok", **fields: Any) -> ToolResultBlock:
    fields = {"name": "f", "state": ToolResultState.SUCCESS, **fields}
    return ToolResultBlock(id=id, output=(TextBlock(text),), **fields)


def split(*conversation: Msg) -> list[str]:
    """Every item in short: who speaks, what, results in brackets, hints after a bar."""
    return [_short(item) for item in split_turns(conversation)]


def _short(item: Spoken | Turn) -> str:
    if isinstance(item, Spoken):
        return f"{item.role.value}: {_blocks(item.content)}"
    results = [f"{block.id}={_blocks(block.output)}" for block in item.results]
    hints = "".join(f" | {_blocks(hint.content)}" for hint in item.hints)
    return f"assistant: {_blocks(item.said)} {results}{hints}"


def _blocks(blocks: Any) -> str:
    names = {"text": "text", "thinking": "thinking", "tool_use": "id"}
    return " ".join(getattr(block, names.get(block.type, "type")) for block in blocks)


def test_a_reply_becomes_a_turn_for_each_iteration() -> None:
    reply = AssistantMessage(
        ThinkingBlock("hm"), TextBlock("look"), use("a"), use("b"), result("b", "2"), result("a", "1"),
        HintBlock(hint="brief"), TextBlock("so"), use("c"), result("c", "3"), TextBlock("done"),
    )  # fmt: skip
    assert split(SystemMessage("s"), UserMessage("q"), reply, UserMessage("thanks")) == [
        "system: s",
        "user: q",
        "assistant: hm look a b ['a=1', 'b=2'] | brief",
        "assistant: so c ['c=3']",
        "assistant: done []",
        "user: thanks",
    ]


@pytest.mark.parametrize(
    ("conversation", "turns"),
    [
        ([AssistantMessage(use("a")), UserMessage("q")], [f"assistant: a ['a={NO_RESULT}']", "user: q"]),
        ([AssistantMessage(result("x", "lost"), TextBlock("t"))], ["assistant: t []"]),
        ([AssistantMessage(use("a")), ToolResultMessage(result("a", "1"))], ["assistant: a ['a=1']"]),
        (
            [AssistantMessage(use("a")), ToolResultMessage(result("a", "1"), TextBlock("and")), UserMessage("q")],
            ["assistant: a ['a=1']", "user: and", "user: q"],
        ),
        ([AssistantMessage(use("a"), result("a", "1"), result("a", "2"))], ["assistant: a ['a=1']"]),
        ([AssistantMessage(TextBlock("a")), AssistantMessage(TextBlock("b"))], ["assistant: a b []"]),
        (
            [AssistantMessage(use("a"), result("a", "1")), AssistantMessage(use("a"), result("a", "2"))],
            ["assistant: a ['a=1']", "assistant: a ['a=2']"],
        ),
        ([AssistantMessage(use("a")), SystemMessage("s"), ToolResultMessage(result("a", "1"))],
         ["system: s", "assistant: a ['a=1']"]),
        ([AssistantMessage(HintBlock(hint="h"), TextBlock("t"))], ["assistant:  [] | h", "assistant: t []"]),
        ([AssistantMessage(HintBlock(hint=(TextBlock("look"), PNG)))], ["assistant:  [] | look data"]),
        ([UserMessage(TextBlock(""), TextBlock("x")), UserMessage(""), AssistantMessage()], ["user: x"]),
        ([AssistantMessage(ThinkingBlock(""), TextBlock(""))], []),
        ([AssistantMessage(ThinkingBlock("", signature="s")), AssistantMessage(ThinkingBlock("", metadata={"k": 1}))],
         ["assistant:   []"]),
    ],
)  # fmt: skip
def test_turns(conversation: list[Msg], turns: list[str]) -> None:
    assert split(*conversation) == turns


@given(st.lists(messages(), max_size=5))
def test_every_call_has_one_result_in_its_place_and_nothing_is_empty(conversation: list[Msg]) -> None:
    for item in split_turns(conversation):
        if isinstance(item, Turn):
            assert [(call.id, call.name) for call in item.calls] == [(r.id, r.name) for r in item.results]
            assert item.said or item.hints
            assert not any(isinstance(block, ToolResultBlock | HintBlock) for block in item.said)
        else:
            assert item.content
            assert item.role in (MsgRole.USER, MsgRole.SYSTEM)


def test_a_call_and_its_result_are_renamed_together() -> None:
    reply = AssistantMessage(use("a.b", "x.y"), result("a.b", "1"))
    [turn] = split_turns([reply], CallNames())
    assert isinstance(turn, Turn)
    assert [(block.id, block.name) for block in (*turn.calls, *turn.results)] == [("a_b", "x_y")] * 2


def test_a_name_that_is_fit_is_left_alone() -> None:
    call = use("toolu_01-A", "get_weather")
    assert CallNames()(call) is call


@pytest.mark.parametrize(
    ("given", "made"),
    [
        (["call_1", "call_1", "call_1"], ["call_1", "call_1-2", "call_1-3"]),
        (["a-2", "a", "a"], ["a-2", "a", "a-3"]),
        (["call_1~2", "functions.f:0"], ["call_1_2", "functions_f_0"]),
        (["", ""], ["call", "call-2"]),
        (["x" * 70, "x" * 70], ["x" * 64, "x" * 62 + "-2"]),
        (["äöü"], ["___"]),
    ],
)
def test_ids_are_made_fit_and_unique(given: list[str], made: list[str]) -> None:
    name = CallNames()
    assert [name(use(id)).id for id in given] == made


def test_the_name_of_a_tool_may_come_again_but_is_never_empty() -> None:
    name = CallNames()
    assert [name(use("a", tool)).name for tool in ("f", "f", "")] == ["f", "f", "unknown"]


@given(st.lists(st.text(max_size=70), max_size=12))
def test_ids_are_unique_whatever_came(ids: list[str]) -> None:
    name = CallNames()
    made = [name(use(id)).id for id in ids]
    assert len(set(made)) == len(made)
    assert all(0 < len(id) <= 64 and set(id) <= {*string.ascii_letters, *string.digits, "_", "-"} for id in made)


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (use("a", raw_input='{"x": 1}', input={"x": 1}), '{"x": 1}'),
        (use("a", raw_input=""), "{}"),
        (use("a", raw_input='{"x'), "{}"),
        (use("a", raw_input="[1]"), "{}"),
        (use("a", raw_input='{"x": NaN}', input={"x": 1}), '{"x": 1}'),
        (use("a", input={"city": "Zürich"}), '{"city": "Zürich"}'),
    ],
)
def test_arguments_are_an_object_of_strict_json(call: ToolUseBlock, text: str) -> None:
    assert arguments_text(call) == text


@pytest.mark.parametrize(
    "hostile", ['{"a":"\\ud83c"}', '{"a":1e999}', '{"a":' + "9" * 4_000 + "}", '{"a":' * 150 + "1" + "}" * 150]
)
def test_arguments_that_parse_nowhere_else_are_not_sent_again_with_every_request(hostile: str) -> None:
    assert arguments_text(use("a", raw_input=hostile)) == "{}"
    assert arguments_text(use("a", raw_input=hostile, input={"b": 1})) == '{"b": 1}'


@pytest.mark.parametrize("value", [10**400, math.inf, "\ud83c"])
def test_input_that_no_json_carries_is_not_sent(value: Any) -> None:
    call = ToolUseBlock.model_construct(id="a", name="f", input={"a": value}, raw_input="")
    assert arguments_text(call) == "{}"


def test_which_results_tell_of_a_failure() -> None:
    states = {state: has_failed(result("a", state=state)) for state in ToolResultState}
    assert [state.value for state, failed in states.items() if failed] == ["error", "interrupted", "denied"]
