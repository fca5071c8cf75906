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
    ToolResultState,
    URLSource,
    UserMessage,
)
from agentscope_rx.model import ModelOptions, ModelRequest, ToolSchema
from agentscope_rx.model.anthropic import encode_request
from agentscope_rx.model.native import native

from ..histories import HISTORIES, PNG, random_histories, result, use
from ..rules import ANTHROPIC, violations

CLOCK = ToolSchema("clock", "The time.", {"type": "object", "properties": {}})
WEATHER = ToolSchema("get_weather", "The weather of a city.", {"type": "object", "properties": {"city": {}}})
OPTIONS = [
    ModelOptions(),
    ModelOptions(reasoning_effort="high"),
    ModelOptions(reasoning_effort="low", tool_choice="required", max_tokens=2048),
]


def encode(*conversation: Msg, model: str = "claude-sonnet-4-5", tools: Any = (), **options: Any) -> dict[str, Any]:
    return encode_request(model, ModelRequest(conversation, tools, ModelOptions(**options)))


def messages(*conversation: Msg) -> list[dict[str, Any]]:
    body = encode(*conversation)
    assert violations(ANTHROPIC, body) == []
    encoded: list[dict[str, Any]] = body["messages"]
    return encoded


def body(**settings: Any) -> dict[str, Any]:
    encoded = encode(UserMessage("hi"), **settings)
    assert violations(ANTHROPIC, encoded) == []
    assert encoded.pop("messages") == [user(text("hi"))]
    return encoded


def user(*blocks: Any) -> dict[str, Any]:
    return {"role": "user", "content": list(blocks)}


def assistant(*blocks: Any) -> dict[str, Any]:
    return {"role": "assistant", "content": list(blocks)}


def text(text: str, **more: Any) -> dict[str, Any]:
    return {"type": "text", "text": text, **more}


def call(id: str, name: str = "f", **input: Any) -> dict[str, Any]:
    return {"type": "tool_use", "id": id, "name": name, "input": input}


def output(id: str, *content: Any, **more: Any) -> dict[str, Any]:
    return {"type": "tool_result", "tool_use_id": id, **({"content": list(content)} if content else {}), **more}


def own(**block: Any) -> ThinkingBlock:
    """The provider's own work."""
    return ThinkingBlock("", metadata=native("anthropic", block=block))


# --- every history --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("options", OPTIONS, ids=str)
@pytest.mark.parametrize("tools", [(), (CLOCK,)], ids=["no tools", "tools"])
@pytest.mark.parametrize("name", HISTORIES)
def test_whatever_happened_the_api_accepts_it(name: str, tools: Any, options: ModelOptions) -> None:
    encoded = encode_request("claude-sonnet-4-5", ModelRequest(HISTORIES[name], tools, options))
    assert violations(ANTHROPIC, encoded) == []


SEARCH = {"type": "server_tool_use", "name": "web_search", "input": {"query": "q"}}
FOUND = {"type": "web_search_tool_result", "content": []}
WORK = st.one_of(
    st.builds(lambda id: own(**SEARCH, id=id), st.sampled_from("st")),
    st.builds(lambda id: own(**FOUND, tool_use_id=id), st.sampled_from("st")),
    st.just(own(type="compaction", content="so far")),
    st.just(ThinkingBlock("", redacted_data="d", metadata=native("anthropic"))),
)


@given(random_histories(WORK), st.sampled_from([(), (CLOCK,)]), st.sampled_from(OPTIONS))
def test_whatever_may_ever_happen_the_api_accepts_it(history: list[Msg], tools: Any, options: ModelOptions) -> None:
    encoded = encode_request("claude-sonnet-4-5", ModelRequest(history, tools, options))
    assert violations(ANTHROPIC, encoded) == []


# --- one reply, many messages ---------------------------------------------------------------------------------------


def test_one_reply_becomes_the_messages_that_the_protocol_accepts() -> None:
    reply = AssistantMessage(
        ThinkingBlock("I need it.", signature="s1"),
        TextBlock("Let me look."),
        use("a", "get_weather", '{"city":"Paris"}', input={"city": "Paris"}),
        use("b", "clock"),
        result("b", "noon"),
        result("a", "rain"),
        HintBlock(hint="Be brief."),
        ThinkingBlock("", redacted_data="e1"),
        use("c", "clock"),
        result("c", "one"),
        ThinkingBlock("Now.", signature="s2"),
        TextBlock("Rain."),
    )
    encoded = encode(
        SystemMessage("Help."), SystemMessage("Much."), UserMessage("Weather?"), reply, UserMessage("Thanks")
    )
    assert encoded["system"] == "Help.\n\nMuch."
    assert encoded["messages"] == [
        user(text("Weather?")),
        assistant(
            {"type": "thinking", "thinking": "I need it.", "signature": "s1"},
            text("Let me look."),
            call("a", "get_weather", city="Paris"),
            call("b", "clock"),
        ),
        user(output("a", text("rain")), output("b", text("noon")), text("Be brief.")),
        assistant({"type": "redacted_thinking", "data": "e1"}, call("c", "clock")),
        user(output("c", text("one"))),
        assistant({"type": "thinking", "thinking": "Now.", "signature": "s2"}, text("Rain.")),
        user(text("Thanks")),
    ]
    assert violations(ANTHROPIC, encoded) == []


def test_what_one_speaker_says_in_a_row_is_one_message() -> None:
    hinted = AssistantMessage(TextBlock("a"), HintBlock(hint="h"))
    assert messages(UserMessage("1"), UserMessage("2"), hinted, UserMessage("3")) == [
        user(text("1"), text("2")),
        assistant(text("a")),
        user(text("h"), text("3")),
    ]


def test_thinking_without_a_proof_is_left_out() -> None:
    reply = AssistantMessage(ThinkingBlock("hm"), TextBlock("t", id="x"), ThinkingBlock("", id="y"))
    assert messages(reply) == [assistant(text("t"))]


def test_thinking_at_the_end_of_a_message_is_left_out() -> None:
    reply = AssistantMessage(TextBlock("t"), ThinkingBlock("hm", signature="s"), HintBlock(hint="h"))
    assert messages(reply) == [assistant(text("t")), user(text("h"))]


def test_a_failed_call_says_why_in_text() -> None:
    reply = AssistantMessage(
        use("a"), result("a", "no such city", state=ToolResultState.ERROR),
        use("b"), result("b", state=ToolResultState.DENIED),
        use("c"), result("c", "see", PNG, state=ToolResultState.INTERRUPTED),
    )  # fmt: skip
    assert [block for message in messages(reply) for block in message["content"] if block["type"] == "tool_result"] == [
        output("a", text("no such city"), is_error=True),
        output("b", text("The call gave no reason."), is_error=True),
        output("c", text("see"), text("[image/png: cannot be shown here]"), is_error=True),
    ]


def test_a_result_may_be_empty_and_may_hold_pictures() -> None:
    image = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "aGk="}}
    audio = DataBlock(Base64Source(media_type="audio/wav", data="aGk="))
    assert messages(AssistantMessage(use("a"), use("b"), result("a"), result("b", "see", PNG, audio)))[1] == user(
        output("a"), output("b", text("see"), image, text("[audio/wav: cannot be shown here]"))
    )


def test_a_picture_that_the_assistant_made_is_shown_by_the_user() -> None:
    [said, shown] = messages(AssistantMessage(TextBlock("Here:"), PNG))
    assert said == assistant(text("Here:"))
    assert [block["type"] for block in shown["content"]] == ["text", "image"]


# --- the provider's own work ----------------------------------------------------------------------------------------


def test_the_providers_own_work_is_sent_back_as_it_came_and_in_its_place() -> None:
    found = {**FOUND, "tool_use_id": "s", "content": [{"type": "web_search_result", "encrypted_content": "e"}]}
    citations = [{"type": "web_search_result_location", "encrypted_index": "i"}]
    reply = AssistantMessage(
        TextBlock("Searching."),
        own(**SEARCH, id="s"),
        own(**found),
        TextBlock("It rains.", metadata=native("anthropic", block={"citations": citations})),
        use("a", metadata=native("anthropic", block={"caller": {"type": "direct"}})),
    )
    assert messages(reply)[0] == assistant(
        text("Searching."),
        {**SEARCH, "id": "s"},
        found,
        text("It rains.", citations=citations),
        {**call("a"), "caller": {"type": "direct"}},
    )


def test_work_that_was_cut_off_is_left_out() -> None:
    searching = AssistantMessage(TextBlock("t"), own(**SEARCH, id="s"))
    assert messages(searching, UserMessage("Well?"))[0] == assistant(text("t"))
    assert messages(AssistantMessage(own(**FOUND, tool_use_id="gone"), TextBlock("t"))) == [assistant(text("t"))]


def test_work_that_the_provider_may_still_go_on_with_is_kept() -> None:
    searching = assistant(text("t"), {**SEARCH, "id": "s"})
    assert messages(AssistantMessage(TextBlock("t"), own(**SEARCH, id="s"))) == [searching]
    both = AssistantMessage(TextBlock("t"), own(**SEARCH, id="s"), use("a"), result("a", "1"))
    assert {**SEARCH, "id": "s"} in messages(both)[0]["content"]


def test_nobody_elses_proof_or_work_is_sent() -> None:
    encoded = messages(*HISTORIES["thoughts of somebody else"])
    assert encoded[1] == assistant(text("t"), call("a"))


# --- content --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("block", "part"),
    [
        (PNG, {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "aGk="}}),
        (
            ImageBlock(source=Base64Source(media_type="image/jpg", data="aGk=")),
            {"type": "image", "source": {"type": "base64", "media_type": "image/jpeg", "data": "aGk="}},
        ),
        (
            DataBlock(URLSource(url="https://x.org/a")),
            {"type": "image", "source": {"type": "url", "url": "https://x.org/a"}},
        ),
        (
            DataBlock(Base64Source(media_type="application/pdf", data="aGk="), name="a.pdf"),
            {
                "type": "document",
                "source": {"type": "base64", "media_type": "application/pdf", "data": "aGk="},
                "title": "a.pdf",
            },
        ),
        (
            DataBlock(URLSource(url="https://x.org/a.pdf")),
            {"type": "document", "source": {"type": "url", "url": "https://x.org/a.pdf"}},
        ),
    ],
)
def test_media_of_a_user(block: ContentBlock, part: dict[str, Any]) -> None:
    assert messages(UserMessage(TextBlock("look"), block)) == [user(text("look"), part)]


@pytest.mark.parametrize(
    "block",
    [
        AudioBlock(source=Base64Source(media_type="audio/wav", data="aGk=")),
        DataBlock(Base64Source(media_type="image/tiff", data="aGk=")),
        DataBlock(URLSource(url="https://x.org/a.mp4")),
    ],
)
def test_media_that_the_protocol_cannot_carry(block: ContentBlock) -> None:
    with pytest.raises(
        UnsupportedContentError, match=r"JPEG, PNG, GIF and WebP images and PDF documents\. Nothing was"
    ):
        encode(UserMessage(block))


# --- options and tools ----------------------------------------------------------------------------------------------

PLAIN = {"model": "claude-sonnet-4-5", "max_tokens": 8192, "stream": True}


def test_a_plain_request() -> None:
    assert body() == PLAIN


def test_options() -> None:
    assert body(temperature=0.0, max_tokens=9, extra_body={"top_k": 1, "cache_control": {"type": "ephemeral"}}) == {
        **PLAIN, "temperature": 0.0, "max_tokens": 9, "top_k": 1, "cache_control": {"type": "ephemeral"},
    }  # fmt: skip


def test_tools() -> None:
    assert body(tools=[CLOCK])["tools"] == [
        {"name": "clock", "description": "The time.", "input_schema": CLOCK.parameters}
    ]


def test_a_tool_that_the_provider_runs_joins_those_of_the_agent() -> None:
    search = {"type": "web_search_20250305", "name": "web_search"}
    assert [tool["name"] for tool in body(tools=[CLOCK], extra_body={"tools": [search]})["tools"]] == [
        "clock",
        "web_search",
    ]


@pytest.mark.parametrize(
    ("choice", "encoded"),
    [
        ("auto", {"type": "auto"}),
        ("none", {"type": "none"}),
        ("required", {"type": "any"}),
        ("get_weather", {"type": "tool", "name": "get_weather"}),
    ],
)
def test_tool_choices(choice: str, encoded: dict[str, Any]) -> None:
    chosen = body(tools=[CLOCK, WEATHER], tool_choice=choice)
    assert chosen["tool_choice"] == encoded
    assert len(chosen["tools"]) == 2


def test_a_tool_choice_without_tools_is_none_and_one_that_is_no_tool_is_an_error() -> None:
    assert body(tool_choice="required") == PLAIN
    with pytest.raises(ConfigurationError, match=r"'x'.*clock"):
        encode(UserMessage("hi"), tools=[CLOCK], tool_choice="x")


def test_a_history_with_calls_declares_their_tools_even_if_none_may_be_called() -> None:
    encoded = encode(AssistantMessage(use("a", "clock"), result("a"), use("b", "clock"), result("b")))
    assert encoded["tools"] == [{"name": "clock", "input_schema": {"type": "object"}}]
    assert encoded["tool_choice"] == {"type": "none"}


@pytest.mark.parametrize(
    ("effort", "limit", "budget", "sent_limit"),
    [
        ("low", None, 2048, 2048 + 8192),
        ("medium", None, 8192, 8192 + 8192),
        ("high", None, 16384, 16384 + 8192),
        ("high", 4096, 3072, 4096),
        ("low", 2048, 1024, 2048),
        ("low", 2047, None, 2047),
    ],
)
def test_effort_is_a_budget_within_the_limit(
    effort: str, limit: int | None, budget: int | None, sent_limit: int
) -> None:
    encoded = body(reasoning_effort=effort, max_tokens=limit)
    assert encoded["max_tokens"] == sent_limit
    assert encoded.get("thinking") == (budget and {"type": "enabled", "budget_tokens": budget})


@pytest.mark.parametrize(
    ("model", "paces_itself"),
    [
        ("claude-3-7-sonnet-20250219", False),
        ("claude-opus-4-20250514", False),
        ("claude-haiku-4-5-20251001", False),
        ("claude-2.1", False),
        ("claude-opus-4-6", True),
        ("anthropic.claude-sonnet-4-6-v1:0", True),
        ("claude-opus-5", True),
        ("claude-mythos-preview", True),
        ("smollm2", False),
        ("deepseek-reasoner", False),
    ],
)
def test_a_model_that_paces_itself_is_told_the_effort(model: str, paces_itself: bool) -> None:
    encoded = body(model=model, reasoning_effort="high")
    adaptive = {"thinking": {"type": "adaptive"}, "output_config": {"effort": "high"}}
    budget = {"thinking": {"type": "enabled", "budget_tokens": 16384}, "max_tokens": 16384 + 8192}
    assert encoded == {**PLAIN, "model": model, **(adaptive if paces_itself else budget)}


def test_an_effort_that_has_no_budget() -> None:
    with pytest.raises(ConfigurationError, match="low, medium, high, got 'xhigh'"):
        body(reasoning_effort="xhigh")
    assert body(model="claude-opus-5", reasoning_effort="xhigh")["output_config"] == {"effort": "xhigh"}


def test_who_must_call_a_tool_does_not_think() -> None:
    assert "thinking" not in body(reasoning_effort="high", tools=[CLOCK], tool_choice="required")
    assert "thinking" in body(reasoning_effort="high", tools=[CLOCK], tool_choice="auto")


def test_who_called_without_thinking_does_not_think_about_the_results() -> None:
    called = AssistantMessage(use("a"), result("a", "1"))
    thought = AssistantMessage(ThinkingBlock("hm", signature="s"), use("a"), result("a", "1"))
    assert "thinking" not in encode(UserMessage("q"), called, reasoning_effort="high")
    assert "thinking" in encode(UserMessage("q"), thought, reasoning_effort="high")
    said = AssistantMessage(*called.content, TextBlock("It is 1."))
    assert "thinking" in encode(UserMessage("q"), said, UserMessage("and?"), reasoning_effort="high")
