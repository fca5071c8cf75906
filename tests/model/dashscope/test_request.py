from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, strategies as st

from agentscope_rx.errors import ConfigurationError, UnsupportedContentError
from agentscope_rx.message import (
    AssistantMessage,
    AudioBlock,
    Base64Source,
    ContentBlock,
    DataBlock,
    HintBlock,
    ImageBlock,
    Msg,
    SystemMessage,
    TextBlock,
    ThinkingBlock,
    URLSource,
    UserMessage,
    VideoBlock,
)
from agentscope_rx.model import ModelOptions, ModelRequest, ToolSchema
from agentscope_rx.model.dashscope import encode_request

from ..histories import HISTORIES, PNG, ZIP, random_histories, result, use
from ..rules import DASHSCOPE, DASHSCOPE_MULTIMODAL, violations

CLOCK = ToolSchema("clock", "The time.", {"type": "object", "properties": {}})
WEATHER = ToolSchema("get_weather", "The weather of a city.", {"type": "object", "properties": {"city": {}}})
OPTIONS = [
    ModelOptions(),
    ModelOptions(tool_choice="required", reasoning_effort="low"),
    ModelOptions(extra_body={"parameters": {"preserve_thinking": True}}),
]
RULES = {False: DASHSCOPE, True: DASHSCOPE_MULTIMODAL}


def encode(*conversation: Msg, tools: Any = (), multimodal: bool = False, **options: Any) -> dict[str, Any]:
    request = ModelRequest(conversation, tools, ModelOptions(**options))
    body = encode_request("m", request, multimodal=multimodal)
    assert violations(RULES[multimodal], body) == []
    return body


def messages(*conversation: Msg, **settings: Any) -> list[dict[str, Any]]:
    encoded: list[dict[str, Any]] = encode(*conversation, **settings)["input"]["messages"]
    return encoded


def parameters(tools: Any = (), **options: Any) -> dict[str, Any]:
    """What is asked for besides the form of the answer."""
    body = encode(UserMessage("hi"), tools=tools, **options)
    assert body.keys() == {"model", "input", "parameters"}
    asked: dict[str, Any] = body["parameters"]
    assert (asked.pop("result_format"), asked.pop("incremental_output")) == ("message", True)
    return asked


def called(id: str, name: str = "f", arguments: str = "{}") -> dict[str, Any]:
    return {"id": id, "type": "function", "function": {"name": name, "arguments": arguments}}


def told(id: str, content: str) -> dict[str, Any]:
    return {"role": "tool", "tool_call_id": id, "content": content}


# --- every history --------------------------------------------------------------------------------------------------


SHOWN = ("pictures from everyone", "hinted before, between and after")
"""What happened in histories in which a user or a hint shows a picture."""


@pytest.mark.parametrize("options", OPTIONS, ids=str)
@pytest.mark.parametrize("tools", [(), (CLOCK, WEATHER)], ids=["no tools", "tools"])
@pytest.mark.parametrize("multimodal", [False, True], ids=["text", "multimodal"])
@pytest.mark.parametrize("name", HISTORIES)
def test_whatever_happened_the_api_accepts_it(name: str, multimodal: bool, tools: Any, options: ModelOptions) -> None:
    request = ModelRequest(HISTORIES[name], tools, options)
    if name in SHOWN and not multimodal:
        with pytest.raises(UnsupportedContentError, match="cannot carry image/png"):
            encode_request("m", request)
    else:
        assert violations(RULES[multimodal], encode_request("m", request, multimodal=multimodal)) == []


@given(random_histories(), st.booleans(), st.sampled_from([(), (CLOCK,)]), st.sampled_from(OPTIONS))
def test_whatever_may_ever_happen_the_api_accepts_it(
    history: list[Msg], multimodal: bool, tools: Any, options: ModelOptions
) -> None:
    encoded = encode_request("m", ModelRequest(history, tools, options), multimodal=multimodal)
    assert violations(RULES[multimodal], encoded) == []


# --- one reply, many messages ---------------------------------------------------------------------------------------

REPLY = AssistantMessage(
    ThinkingBlock("I need it."), TextBlock("Let me look."), use("a", "get_weather", '{"city":"Paris"}'),
    use("b", "clock"), result("b", "noon", name="clock"), result("a", "21", "degrees", name="get_weather"),
    HintBlock(hint="Be brief."), ThinkingBlock("So."), TextBlock("Warm."),
)  # fmt: skip
TALK = [SystemMessage("Help."), UserMessage("Weather?"), REPLY, SystemMessage("Please."), UserMessage("Thanks")]


def test_one_reply_becomes_the_messages_that_a_model_of_text_accepts() -> None:
    assert messages(*TALK) == [
        {"role": "system", "content": "Help.\n\nPlease."},
        {"role": "user", "content": "Weather?"},
        {
            "role": "assistant",
            "content": "Let me look.",
            "tool_calls": [called("a", "get_weather", '{"city":"Paris"}'), called("b", "clock")],
        },
        told("a", "21\ndegrees"),
        told("b", "noon"),
        {"role": "user", "content": "Be brief."},
        {"role": "assistant", "content": "Warm."},
        {"role": "user", "content": "Thanks"},
    ]


def test_to_a_multimodal_model_all_but_results_are_lists() -> None:
    text, multimodal = messages(*TALK), messages(*TALK, multimodal=True)
    for one, other in zip(text, multimodal, strict=True):
        expected = one["content"] if one["role"] == "tool" else [{"text": one["content"]}]
        assert other == {**one, "content": expected}
    assert messages(UserMessage("q"), AssistantMessage(use("a")), multimodal=True)[1]["content"] == [{"text": ""}]


def test_thoughts_are_shown_when_they_are_to_be_preserved() -> None:
    shown = messages(*TALK, extra_body={"parameters": {"preserve_thinking": True}})
    assert [message.get("reasoning_content") for message in shown if message["role"] == "assistant"] == [
        "I need it.",
        "So.",
    ]
    assert not any("reasoning_content" in message for message in messages(*TALK))


def test_the_assistant_goes_on_with_its_last_word() -> None:
    assert messages(UserMessage("q"), AssistantMessage(TextBlock("The answer is ")))[-1] == {
        "role": "assistant",
        "content": "The answer is ",
        "partial": True,
    }


def test_names_and_ids_of_another_world_are_made_fit() -> None:
    reply = AssistantMessage(use("a.b~2", "functions.f"), result("a.b~2", "1"))
    [_, said, answer] = messages(UserMessage("q"), reply)
    assert said["tool_calls"] == [called("a_b_2", "functions_f")]
    assert answer == told("a_b_2", "1")


# --- media ----------------------------------------------------------------------------------------------------------

WAV = AudioBlock(source=Base64Source(media_type="audio/wav", data="aGk="))
MP4 = "https://example.com/a.mp4"


@pytest.mark.parametrize(
    ("block", "part"),
    [
        (PNG, {"image": "data:image/png;base64,aGk="}),
        (ImageBlock(source=URLSource(url="https://example.com/a")), {"image": "https://example.com/a"}),
        (WAV, {"audio": "data:audio/wav;base64,aGk="}),
        (VideoBlock(source=URLSource(url=MP4)), {"video": MP4}),
        (DataBlock(URLSource(url=MP4)), {"video": MP4}),
    ],
)
def test_media_stand_in_their_place(block: ContentBlock, part: dict[str, str]) -> None:
    conversation = UserMessage(TextBlock("Look:"), block, TextBlock("What is it?"))
    assert messages(conversation, multimodal=True) == [
        {"role": "user", "content": [{"text": "Look:"}, part, {"text": "What is it?"}]}
    ]
    with pytest.raises(UnsupportedContentError, match=r"it takes nothing but text.*made with multimodal=True"):
        messages(conversation)


@pytest.mark.parametrize("multimodal", [False, True])
def test_other_content_is_refused(multimodal: bool) -> None:
    for said in (UserMessage(ZIP), AssistantMessage(HintBlock(hint=(ZIP,)))):
        with pytest.raises(UnsupportedContentError, match="cannot carry application/zip"):
            messages(said, multimodal=multimodal)


def test_what_tools_and_the_assistant_made_is_shown_after_the_results() -> None:
    reply = AssistantMessage(TextBlock("I made:"), PNG, use("a"), result("a", "this", PNG, ZIP))
    image = {"image": "data:image/png;base64,aGk="}
    assert messages(UserMessage("q"), reply, multimodal=True)[2:] == [
        told("a", "this\n[image/png: see the next message]\n[application/zip: cannot be shown here]"),
        {"role": "user", "content": [{"text": "Output of the assistant:"}, image]},
        {"role": "user", "content": [{"text": "Output of the tool call a (f):"}, image]},
    ]
    assert messages(UserMessage("q"), reply)[2:] == [
        told("a", "this\n[image/png: cannot be shown here]\n[application/zip: cannot be shown here]")
    ]


# --- parameters -----------------------------------------------------------------------------------------------------


def test_nothing_is_sent_that_was_not_asked_for() -> None:
    assert parameters() == {}


def test_options_are_parameters() -> None:
    assert parameters(temperature=0.0, max_tokens=7) == {"temperature": 0.0, "max_tokens": 7}


@pytest.mark.parametrize("effort", ["low", "medium", "high"])
def test_an_effort_switches_the_thinking_on(effort: str) -> None:
    assert parameters(reasoning_effort=effort) == {"enable_thinking": True, "reasoning_effort": effort}


def test_no_effort_switches_it_off() -> None:
    assert parameters(reasoning_effort="none") == {"enable_thinking": False}


def test_extra_fields_win_and_join_the_parameters() -> None:
    extra = {"parameters": {"enable_search": True, "temperature": 1, "tools": [{"type": "x"}]}, "resources": []}
    body = encode_request(
        "m", ModelRequest([UserMessage("hi")], [CLOCK], ModelOptions(temperature=0.5, max_tokens=7, extra_body=extra))
    )
    assert body["resources"] == []
    assert body["parameters"] == {
        "result_format": "message",
        "incremental_output": True,
        "temperature": 1,
        "max_tokens": 7,
        "enable_search": True,
        "parallel_tool_calls": True,
        "tools": [FUNCTIONS[0], {"type": "x"}],
    }


FUNCTIONS = [
    {"type": "function", "function": {"name": t.name, "description": t.description, "parameters": t.parameters}}
    for t in (CLOCK, WEATHER)
]
ONE_BY_NAME = {"type": "function", "function": {"name": "clock"}}


@pytest.mark.parametrize(
    ("choice", "encoded"),
    [
        (None, {}),
        ("auto", {"tool_choice": "auto"}),
        ("none", {"tool_choice": "none"}),
        ("required", {"tool_choice": "auto"}),
        ("clock", {"tool_choice": ONE_BY_NAME}),
    ],
)
def test_a_tool_may_be_forced_by_name_only(choice: str | None, encoded: dict[str, Any]) -> None:
    shown = {"tools": FUNCTIONS, "parallel_tool_calls": True}
    assert parameters([CLOCK, WEATHER], tool_choice=choice) == {**shown, **encoded}


def test_the_only_tool_is_forced_where_one_is_required() -> None:
    assert parameters([CLOCK], tool_choice="required")["tool_choice"] == ONE_BY_NAME


def test_a_choice_of_no_tool_is_refused() -> None:
    with pytest.raises(ConfigurationError, match="which is none of the tools"):
        parameters([CLOCK], tool_choice="x")


def test_tools_that_were_called_are_declared_even_if_none_may_be_called_now() -> None:
    asked = encode(*TALK)["parameters"]
    assert [tool["function"]["name"] for tool in asked["tools"]] == ["get_weather", "clock"]
    assert asked["tool_choice"] == "none"
