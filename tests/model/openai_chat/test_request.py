from __future__ import annotations

import json
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
    ToolResultBlock,
    ToolResultMessage,
    ToolResultState,
    ToolUseBlock,
    URLSource,
    UserMessage,
    VideoBlock,
)
from agentscope_rx.model import ModelOptions, ModelRequest, ProviderProfile, ToolSchema
from agentscope_rx.model.openai_chat import encode_request
from agentscope_rx.model.profiles import DEEPSEEK, OLLAMA, OPENAI

PNG = Base64Source(media_type="image/png", data="aGk=")
WEATHER = ToolSchema("get_weather", "The weather of a city.", {"type": "object", "properties": {"city": {}}})
CLOCK = ToolSchema("clock", "The time.", {"type": "object", "properties": {}})


def messages(*conversation: Msg, **settings: Any) -> list[dict[str, Any]]:
    encoded: list[dict[str, Any]] = encode_request("m", ModelRequest(conversation), **settings)["messages"]
    assert json.loads(json.dumps(encoded, allow_nan=False)) == encoded
    return encoded


def body(profile: Any = OPENAI, tools: Any = (), **options: Any) -> dict[str, Any]:
    encoded = encode_request("m", ModelRequest([UserMessage("hi")], tools, ModelOptions(**options)), profile)
    assert encoded.pop("messages") == [{"role": "user", "content": "hi"}]
    return encoded


def use(id: str, name: str = "f", raw: str = "{}", **fields: Any) -> ToolUseBlock:
    return ToolUseBlock(id=id, name=name, raw_input=raw, **fields)


def result(id: str, *output: Any, name: str = "f", state: ToolResultState = ToolResultState.SUCCESS) -> ToolResultBlock:
    return ToolResultBlock(
        id=id, name=name, output=tuple(TextBlock(o) if isinstance(o, str) else o for o in output), state=state
    )


def call(id: str, name: str = "f", arguments: str = "{}") -> dict[str, Any]:
    return {"id": id, "type": "function", "function": {"name": name, "arguments": arguments}}


def tool(id: str, content: str) -> dict[str, Any]:
    return {"role": "tool", "tool_call_id": id, "content": content}


# --- one reply, many turns ------------------------------------------------------------------------------------------


def test_one_reply_becomes_the_turns_that_the_protocol_accepts() -> None:
    reply = AssistantMessage(
        ThinkingBlock("I need the weather."),
        TextBlock("Let me look."),
        use("a", "get_weather", '{"city":"Paris"}'),
        use("b", "get_weather", '{"city":"Rome"}'),
        result("b", "sunny"),
        result("a", "rain"),
        HintBlock(hint="Be brief."),
        ThinkingBlock("Now I know."),
        use("c", "clock", ""),
        result("c", "noon"),
        TextBlock("Rain in Paris, sun in Rome."),
    )
    assert messages(SystemMessage("Help."), UserMessage("Weather?"), reply, UserMessage("Thanks")) == [
        {"role": "system", "content": "Help."},
        {"role": "user", "content": "Weather?"},
        {
            "role": "assistant",
            "content": "Let me look.",
            "tool_calls": [
                call("a", "get_weather", '{"city":"Paris"}'),
                call("b", "get_weather", '{"city":"Rome"}'),
            ],
        },
        tool("a", "rain"),
        tool("b", "sunny"),
        {"role": "user", "content": "Be brief."},
        {"role": "assistant", "content": None, "tool_calls": [call("c", "clock", "{}")]},
        tool("c", "noon"),
        {"role": "assistant", "content": "Rain in Paris, sun in Rome."},
        {"role": "user", "content": "Thanks"},
    ]


def test_system_messages_come_first() -> None:
    assert [m["role"] for m in messages(UserMessage("a"), SystemMessage("s"), AssistantMessage("b"))] == [
        "system",
        "user",
        "assistant",
    ]


def test_text_around_calls_of_one_turn_stays_in_the_turn() -> None:
    reply = AssistantMessage(TextBlock("one"), use("a"), TextBlock("two"), result("a", "x"))
    assert messages(reply) == [
        {"role": "assistant", "content": "one\ntwo", "tool_calls": [call("a")]},
        tool("a", "x"),
    ]


def test_a_hint_never_stands_between_calls_and_results() -> None:
    reply = AssistantMessage(
        use("a"), use("b"), result("a", "1"), HintBlock(hint="h"), result("b", "2"), TextBlock("t")
    )
    assert messages(reply) == [
        {"role": "assistant", "content": None, "tool_calls": [call("a"), call("b")]},
        tool("a", "1"),
        tool("b", "2"),
        {"role": "user", "content": "h"},
        {"role": "assistant", "content": "t"},
    ]


def test_a_hint_before_the_reply_and_one_after_thinking_alone() -> None:
    reply = AssistantMessage(HintBlock(hint="h1"), ThinkingBlock("…"), HintBlock(hint="h2"), TextBlock("t"))
    assert messages(reply) == [
        {"role": "user", "content": "h1"},
        {"role": "user", "content": "h2"},
        {"role": "assistant", "content": "t"},
    ]


def test_a_hint_may_hold_blocks() -> None:
    reply = AssistantMessage(HintBlock(hint=(TextBlock("look"), DataBlock(PNG))))
    [message] = messages(reply)
    assert [part["type"] for part in message["content"]] == ["text", "image_url"]


def test_empty_blocks_and_messages_are_left_out() -> None:
    reply = AssistantMessage(ThinkingBlock(""), TextBlock(""), ThinkingBlock("only thinking"))
    assert messages(
        SystemMessage(""), UserMessage(""), reply, AssistantMessage(), UserMessage(TextBlock(""), TextBlock("x"))
    ) == [{"role": "user", "content": "x"}]


def test_a_call_without_a_result_gets_a_tool_message_that_says_so() -> None:
    [_, first, second, user] = messages(AssistantMessage(use("a"), use("b"), result("b", "2")), UserMessage("go on"))
    assert first["tool_call_id"] == "a"
    assert "No result was recorded" in first["content"]
    assert second == tool("b", "2")
    assert user["role"] == "user"


def test_a_result_without_a_call_is_left_out() -> None:
    assert messages(AssistantMessage(result("x", "lost"), TextBlock("t"))) == [{"role": "assistant", "content": "t"}]


def test_results_may_come_in_messages_of_their_own() -> None:
    assert messages(
        AssistantMessage(use("a"), use("b")), ToolResultMessage(result("b", "2")), ToolResultMessage(result("a", "1"))
    ) == [
        {"role": "assistant", "content": None, "tool_calls": [call("a"), call("b")]},
        tool("a", "1"),
        tool("b", "2"),
    ]


def test_an_id_that_comes_back_in_a_later_reply_keeps_its_own_result() -> None:
    replies = [AssistantMessage(use("call_1"), result("call_1", text), TextBlock("t")) for text in ("one", "two")]
    assert [m["content"] for m in messages(*replies) if m["role"] == "tool"] == ["one", "two"]


def test_b4_51_results_go_out_in_call_order_each_with_its_own_id() -> None:
    reply = AssistantMessage(use("slow"), use("fast"), result("fast", "hare"), result("slow", "tortoise"))
    assert messages(reply)[1:] == [tool("slow", "tortoise"), tool("fast", "hare")]


def test_a_failed_call_sends_its_error_text() -> None:
    reply = AssistantMessage(use("a"), result("a", "Error: no such city", state=ToolResultState.ERROR))
    assert messages(reply)[1] == tool("a", "Error: no such city")


@pytest.mark.parametrize(
    ("block", "sent"),
    [
        (use("a", raw='{"x": 1}', input={"x": 1}), '{"x": 1}'),
        (use("a", raw=""), "{}"),
        (use("a", raw='{"x', input={}), "{}"),
        (use("a", raw="[1]", input={}), "{}"),
        (use("a", raw='{"x": NaN}', input={"x": 1}), '{"x": 1}'),
        (use("a", raw="", input={"city": "Zürich"}), '{"city": "Zürich"}'),
        (use("a", raw="[" * 100_000, input={}), "{}"),
    ],
)
def test_b4_47_arguments_are_always_an_object_of_strict_json(block: ToolUseBlock, sent: str) -> None:
    assert messages(AssistantMessage(block))[0]["tool_calls"][0]["function"]["arguments"] == sent


BLOCKS = st.one_of(
    st.builds(TextBlock, st.sampled_from(["", "text"])),
    st.builds(ThinkingBlock, st.just("thinking")),
    st.builds(HintBlock, hint=st.just("hint")),
    st.builds(use, st.sampled_from("abcd"), raw=st.sampled_from(["", "{}", '{"x'])),
    st.builds(result, st.sampled_from("abcd"), st.just("out")),
    st.builds(DataBlock, st.just(PNG)),
)


@given(st.lists(st.lists(BLOCKS, max_size=8), max_size=4))
def test_whatever_the_history_every_call_has_one_result_right_after_it(replies: list[list[ContentBlock]]) -> None:
    conversation = [m for blocks in replies for m in (UserMessage("q"), AssistantMessage(*_without_repeats(blocks)))]
    encoded = messages(*conversation)
    while encoded:
        message = encoded.pop(0)
        assert message["role"] != "tool", "a tool message follows its call"
        assert message["content"] or message.get("tool_calls"), "no message is empty"
        for made in message.get("tool_calls", ()):
            answer = encoded.pop(0)
            assert (answer["role"], answer["tool_call_id"]) == ("tool", made["id"])


def _without_repeats(blocks: list[ContentBlock]) -> list[ContentBlock]:
    """An id belongs to one call of a reply."""
    seen: set[str] = set()
    return [b for b in blocks if not isinstance(b, ToolUseBlock) or not (b.id in seen or seen.add(b.id))]


# --- B5-54, B4-41 ---------------------------------------------------------------------------------------------------


def test_b5_54_reasoning_is_replayed_with_calls_where_the_provider_wants_it_and_dropped_elsewhere() -> None:
    history = [
        UserMessage("q"),
        AssistantMessage(
            ThinkingBlock("hm"),
            use("a"),
            result("a", "1"),
            use("b"),
            result("b", "2"),
            ThinkingBlock("so"),
            TextBlock("t"),
        ),
    ]
    sent = [m for m in messages(*history, profile=DEEPSEEK) if m["role"] == "assistant"]
    assert [m.get("reasoning_content") for m in sent] == ["hm", "", None]
    assert "reasoning_content" not in sent[2]
    for profile in (OPENAI, OLLAMA):
        assert all("reasoning_content" not in m for m in messages(*history, profile=profile))


# --- content --------------------------------------------------------------------------------------------------------


def test_text_alone_is_one_string() -> None:
    assert messages(UserMessage(TextBlock("a"), TextBlock("b"))) == [{"role": "user", "content": "a\nb"}]


@pytest.mark.parametrize(
    ("block", "part"),
    [
        (DataBlock(PNG), {"type": "image_url", "image_url": {"url": "data:image/png;base64,aGk="}}),
        (ImageBlock(source=PNG), {"type": "image_url", "image_url": {"url": "data:image/png;base64,aGk="}}),
        (
            DataBlock(URLSource(url="https://x.org/a.jpg?size=2")),
            {"type": "image_url", "image_url": {"url": "https://x.org/a.jpg?size=2"}},
        ),
        (
            ImageBlock(source=URLSource(url="https://x.org/a")),
            {"type": "image_url", "image_url": {"url": "https://x.org/a"}},
        ),
        (DataBlock(URLSource(url="https://x.org/a")), {"type": "image_url", "image_url": {"url": "https://x.org/a"}}),
        (
            DataBlock(Base64Source(media_type="audio/mpeg", data="aGk=")),
            {"type": "input_audio", "input_audio": {"data": "aGk=", "format": "mp3"}},
        ),
        (
            AudioBlock(source=Base64Source(media_type="audio/x-wav; rate=8000", data="aGk=")),
            {"type": "input_audio", "input_audio": {"data": "aGk=", "format": "wav"}},
        ),
        (
            DataBlock(Base64Source(media_type="application/pdf", data="aGk="), name="a.pdf"),
            {"type": "file", "file": {"filename": "a.pdf", "file_data": "data:application/pdf;base64,aGk="}},
        ),
    ],
)
def test_media_of_a_user(block: ContentBlock, part: dict[str, Any]) -> None:
    assert messages(UserMessage(TextBlock("look"), block)) == [
        {"role": "user", "content": [{"type": "text", "text": "look"}, part]}
    ]


@pytest.mark.parametrize(
    "block",
    [
        DataBlock(Base64Source(media_type="application/zip", data="aGk=")),
        DataBlock(Base64Source(media_type="video/mp4", data="aGk=")),
        DataBlock(Base64Source(media_type="audio/ogg", data="aGk=")),
        DataBlock(URLSource(url="https://x.org/a.pdf")),
        DataBlock(URLSource(url="https://x.org/secret", media_type="audio/wav")),
        AudioBlock(source=URLSource(url="https://x.org/a")),
        VideoBlock(source=URLSource(url="https://x.org/a")),
    ],
)
def test_content_that_cannot_be_sent_is_an_error_before_anything_is(block: ContentBlock) -> None:
    with pytest.raises(UnsupportedContentError, match="Nothing was sent") as caught:
        messages(UserMessage(block))
    assert "x.org" not in str(caught.value)


def test_media_in_a_result_follow_in_a_user_message() -> None:
    archive = DataBlock(Base64Source(media_type="application/zip", data="aGk="))
    reply = AssistantMessage(
        use("a"), use("b"), result("a", "the chart:", DataBlock(PNG)), result("b", archive), TextBlock("nice")
    )
    assert messages(reply) == [
        {"role": "assistant", "content": None, "tool_calls": [call("a"), call("b")]},
        tool("a", "the chart:\n[image/png: see the next message]"),
        tool("b", "[application/zip: cannot be shown here]"),
        {
            "role": "user",
            "content": [
                {"type": "text", "text": "Output of the tool call a (f):"},
                {"type": "image_url", "image_url": {"url": "data:image/png;base64,aGk="}},
            ],
        },
        {"role": "assistant", "content": "nice"},
    ]


@pytest.mark.parametrize(
    ("profile", "base_url", "named"),
    [
        (OPENAI, OPENAI.base_url, True),
        (DEEPSEEK, DEEPSEEK.base_url, True),
        (OPENAI, "https://api.groq.com/openai/v1", False),  # which refuses a name
        (OLLAMA, OLLAMA.base_url, False),
    ],
)
def test_names_are_sent_to_those_that_know_them(profile: ProviderProfile, base_url: str, named: bool) -> None:
    request = ModelRequest([UserMessage("alice", "hi"), AssistantMessage("friday", "hello"), UserMessage("bye")])
    body = encode_request("m", request, profile.served_at(profile.endpoint("key", base_url)))
    assert ["name" in message for message in body["messages"]] == [named, named, False]


def test_names_are_sent_when_they_say_something_and_are_valid() -> None:
    assert messages(
        UserMessage("alice", "a"), UserMessage("user", "b"), UserMessage("Dr. No", "c"), AssistantMessage("Friday", "d")
    ) == [
        {"role": "user", "name": "alice", "content": "a"},
        {"role": "user", "content": "b"},
        {"role": "user", "content": "c"},
        {"role": "assistant", "name": "Friday", "content": "d"},
    ]


# --- options and tools ----------------------------------------------------------------------------------------------

STREAM = {"model": "m", "stream": True, "stream_options": {"include_usage": True}}


def test_a_plain_request() -> None:
    assert body() == STREAM


def test_options() -> None:
    assert body(
        temperature=0.0, max_tokens=9, reasoning_effort="low", extra_body={"seed": 1, "stream_options": None}
    ) == {
        **STREAM,
        "temperature": 0.0,
        "max_completion_tokens": 9,
        "reasoning_effort": "low",
        "seed": 1,
        "stream_options": None,
    }
    assert body(DEEPSEEK, max_tokens=9)["max_tokens"] == 9


def test_tools() -> None:
    assert body(tools=[CLOCK]) == {
        **STREAM,
        "tools": [
            {
                "type": "function",
                "function": {"name": "clock", "description": "The time.", "parameters": CLOCK.parameters},
            }
        ],
    }


@pytest.mark.parametrize("choice", ["auto", "none", "required"])
def test_general_tool_choices(choice: str) -> None:
    assert body(tools=[CLOCK], tool_choice=choice)["tool_choice"] == choice
    assert "tool_choice" not in body(tool_choice=choice)


def test_a_tool_choice_by_name() -> None:
    chosen = body(tools=[CLOCK, WEATHER], tool_choice="get_weather")
    assert chosen["tool_choice"] == {"type": "function", "function": {"name": "get_weather"}}
    assert len(chosen["tools"]) == 2


def test_a_tool_choice_by_name_for_a_server_that_does_not_obey_it() -> None:
    chosen = body(OLLAMA, tools=[CLOCK, WEATHER], tool_choice="get_weather")
    assert chosen["tool_choice"] == "required"
    assert [tool["function"]["name"] for tool in chosen["tools"]] == ["get_weather"]


def test_a_tool_choice_that_is_no_tool() -> None:
    with pytest.raises(ConfigurationError, match=r"'x'.*clock, get_weather"):
        body(tools=[CLOCK, WEATHER], tool_choice="x")
