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
from agentscope_rx.model import ModelOptions, ModelRequest, OutputFormat, ToolSchema
from agentscope_rx.model.native import native
from agentscope_rx.model.ollama import encode_request
from agentscope_rx.model.profiles import OLLAMA_NATIVE

from ..histories import HISTORIES, PNG, ZIP, random_histories, result, use
from ..rules import OLLAMA, violations

CLOCK = ToolSchema("clock", "The time.", {"type": "object", "properties": {}})
WEATHER = ToolSchema("get_weather", "The weather of a city.", {"type": "object", "properties": {"city": {}}})
OPTIONS = [ModelOptions(), ModelOptions(temperature=0.1, max_tokens=7, tool_choice="clock", reasoning_effort="low")]


def encode(*conversation: Msg, tools: Any = (), **options: Any) -> dict[str, Any]:
    body = encode_request("m", ModelRequest(conversation, tools, ModelOptions(**options)))
    assert violations(OLLAMA, body) == []
    return body


def messages(*conversation: Msg) -> list[dict[str, Any]]:
    encoded: list[dict[str, Any]] = encode(*conversation)["messages"]
    return encoded


def settings(tools: Any = (), **options: Any) -> dict[str, Any]:
    body = encode(UserMessage("hi"), tools=tools, **options)
    assert body.pop("messages") == [{"role": "user", "content": "hi"}]
    assert (body.pop("model"), body.pop("stream")) == ("m", True)
    return body


def said(content: str, **more: Any) -> dict[str, Any]:
    return {"role": "assistant", "content": content, **more}


def asked(content: str, **more: Any) -> dict[str, Any]:
    return {"role": "user", "content": content, **more}


def called(name: str = "f", **arguments: Any) -> dict[str, Any]:
    return {"function": {"name": name, "arguments": arguments}}


def told(content: str, name: str = "f", **more: Any) -> dict[str, Any]:
    return {"role": "tool", "content": content, "tool_name": name, **more}


# --- every history --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("options", OPTIONS, ids=str)
@pytest.mark.parametrize("name", HISTORIES)
def test_whatever_happened_the_server_accepts_it(name: str, options: ModelOptions) -> None:
    encoded = encode_request("m", ModelRequest(HISTORIES[name], (CLOCK,), options))
    assert violations(OLLAMA, encoded) == []


OWN = st.builds(
    lambda id: use("x", metadata=native("ollama-native", call={"id": id, "function": {"index": 0}})),
    st.sampled_from(["call_1", "call_2"]),
)


@given(random_histories(OWN))
def test_whatever_may_ever_happen_the_server_accepts_it(history: list[Msg]) -> None:
    assert violations(OLLAMA, encode_request("m", ModelRequest(history))) == []


# --- one reply, many messages ---------------------------------------------------------------------------------------


def test_one_reply_becomes_the_messages_that_the_server_accepts() -> None:
    reply = AssistantMessage(
        ThinkingBlock("I need it."), TextBlock("Let me look."),
        use("a", "get_weather", '{"city":"Paris"}', input={"city": "Paris"}), use("b", "clock"),
        result("b", "noon", name="clock"), result("a", "21", "degrees", name="get_weather"),
        HintBlock(hint="Be brief."),
        ThinkingBlock("So."), TextBlock("Warm."),
    )  # fmt: skip
    assert messages(SystemMessage("Help."), UserMessage("Weather?"), reply, UserMessage("Thanks")) == [
        {"role": "system", "content": "Help."},
        asked("Weather?"),
        said("Let me look.", thinking="I need it.", tool_calls=[called("get_weather", city="Paris"), called("clock")]),
        told("21\ndegrees", "get_weather"),
        told("noon", "clock"),
        asked("Be brief."),
        said("Warm.", thinking="So."),
        asked("Thanks"),
    ]


def test_texts_side_by_side_stay_apart_and_what_a_call_divides_goes_on() -> None:
    [_, message, _] = messages(
        UserMessage("q"), AssistantMessage(TextBlock("a"), TextBlock("b"), use("x"), TextBlock("c"))
    )
    assert message["content"] == "a\nbc"


@pytest.mark.parametrize(
    ("call", "arguments"),
    [
        (use("a", raw='{"b":1,"a":[2.50]}'), {"b": 1, "a": [2.5]}),
        (use("a", raw='{"city": "Par'), {}),
        (use("a", raw='{"x": NaN}', input={"x": 1}), {"x": 1}),
        (use("a", raw="[1]"), {}),
        (use("a", raw="", input={"x": "y"}), {"x": "y"}),
    ],
)
def test_arguments_are_an_object_of_strict_json(call: ContentBlock, arguments: dict[str, Any]) -> None:
    assert messages(AssistantMessage(call))[0]["tool_calls"] == [called(**arguments)]


def test_ids_that_the_server_gave_go_back_and_no_others() -> None:
    own = use("a~2", metadata=native("ollama-native", call={"id": "a", "function": {"index": 0}}))
    foreign = use("b", metadata=native("openai-responses", call={"id": "x"}))
    reply = AssistantMessage(own, foreign, result("a~2", "1"), result("b", "2"))
    [message, *results] = messages(reply)
    assert message["tool_calls"] == [
        {"id": "a", "function": {"index": 0, "name": "f", "arguments": {}}},
        called(),
    ]
    assert results == [told("1", tool_call_id="a"), told("2")]


# --- media ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("block", [PNG, ImageBlock(source=Base64Source(media_type="image/webp", data="aGk="))])
def test_images_stand_beside_the_text(block: ContentBlock) -> None:
    assert messages(UserMessage(TextBlock("Look:"), block, TextBlock("What is it?"), PNG)) == [
        asked("Look:\nWhat is it?", images=["aGk=", "aGk="])
    ]
    assert messages(UserMessage(block)) == [asked("", images=["aGk="])]


@pytest.mark.parametrize(
    ("block", "what"),
    [
        (ZIP, "application/zip"),
        (DataBlock(Base64Source(media_type="image/svg+xml", data="aGk=")), r"image/svg\+xml"),
        (DataBlock(URLSource(url="https://example.com/a.png")), "image/png by URL"),
        (ImageBlock(source=URLSource(url="https://example.com/a")), r"image/\* by URL"),
        (AudioBlock(source=Base64Source(media_type="audio/wav", data="aGk=")), "audio/wav"),
        (VideoBlock(source=Base64Source(media_type="video/mp4", data="aGk=")), "video/mp4"),
    ],
)
def test_other_content_is_refused(block: ContentBlock, what: str) -> None:
    with pytest.raises(UnsupportedContentError, match=f"cannot carry {what}; it takes PNG, JPEG and WebP images"):
        messages(UserMessage(block))


def test_a_hint_is_refused_like_what_a_user_says() -> None:
    with pytest.raises(UnsupportedContentError, match="cannot carry application/zip"):
        messages(AssistantMessage(HintBlock(hint=(ZIP,))))


def test_what_tools_and_the_assistant_made_is_shown_after_the_results() -> None:
    reply = AssistantMessage(TextBlock("I made:"), PNG, use("a"), result("a", "this", PNG, ZIP))
    assert messages(UserMessage("q"), reply) == [
        asked("q"),
        said("I made:", tool_calls=[called()]),
        told("this\n[image/png: see the next message]\n[application/zip: cannot be shown here]"),
        asked("Output of the assistant:", images=["aGk="]),
        asked("Output of the tool f:", images=["aGk="]),
    ]


# --- settings -------------------------------------------------------------------------------------------------------


def test_nothing_is_sent_that_was_not_asked_for() -> None:
    assert settings() == {}


def test_options_have_a_place_of_their_own() -> None:
    assert settings(temperature=0.0, max_tokens=7) == {"options": {"temperature": 0.0, "num_predict": 7}}


@pytest.mark.parametrize(("effort", "think"), [("low", "low"), ("high", "high"), ("max", "max"), ("none", False)])
def test_the_effort_is_what_the_server_calls_think(effort: str, think: Any) -> None:
    assert settings(reasoning_effort=effort) == {"think": think}


def test_extra_fields_win_and_join_the_options() -> None:
    extra = {"keep_alive": "10m", "think": True, "options": {"num_ctx": 16384, "temperature": 1}}
    assert settings(temperature=0.5, max_tokens=7, reasoning_effort="low", extra_body=extra) == {
        "keep_alive": "10m",
        "think": True,
        "options": {"temperature": 1, "num_predict": 7, "num_ctx": 16384},
    }
    assert settings(extra_body={"options": {"seed": 1}}) == {"options": {"seed": 1}}


FUNCTIONS = [
    {"type": "function", "function": {"name": t.name, "description": t.description, "parameters": t.parameters}}
    for t in (CLOCK, WEATHER)
]


@pytest.mark.parametrize(
    ("choice", "shown"),
    [
        (None, FUNCTIONS),
        ("auto", FUNCTIONS),
        ("required", FUNCTIONS),
        ("get_weather", FUNCTIONS[1:]),
    ],
)
def test_tools_that_the_model_may_not_call_are_not_shown(choice: str | None, shown: list[Any]) -> None:
    assert settings([CLOCK, WEATHER], tool_choice=choice) == {"tools": shown}


def test_no_tool_is_shown_to_a_model_that_may_call_none() -> None:
    assert settings([CLOCK], tool_choice="none") == {}
    assert settings() == {}


def test_a_choice_of_no_tool_is_refused() -> None:
    with pytest.raises(ConfigurationError, match="which is none of the tools"):
        settings([CLOCK], tool_choice="x")


@pytest.mark.parametrize("url", ["http://127.0.0.1:11434", "http://gpu:11434", "https://ollama.com"])
def test_every_server_is_asked_to_see_to_the_output(url: str) -> None:
    output = OutputFormat("weather", {"type": "object", "properties": {"celsius": {"type": "number"}}})
    assert settings(output=output) == {"format": output.json_schema}
    profile = OLLAMA_NATIVE.served_at(OLLAMA_NATIVE.endpoint(base_url=url))
    request = ModelRequest([UserMessage("hi")], options=ModelOptions(output=output))
    assert encode_request("m", request, profile)["format"] == output.json_schema
