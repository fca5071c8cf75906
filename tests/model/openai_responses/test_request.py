from __future__ import annotations

from itertools import count
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
    ToolUseBlock,
    URLSource,
    UserMessage,
)
from agentscope_rx.model import ModelOptions, ModelRequest, ToolSchema
from agentscope_rx.model.native import native
from agentscope_rx.model.openai_responses import encode_request
from agentscope_rx.model.profiles import OLLAMA, OPENAI

from ..histories import HISTORIES, PNG, ZIP, random_histories, result, use
from ..rules import RESPONSES, violations

CLOCK = ToolSchema("clock", "The time.", {"type": "object", "properties": {}})
WEATHER = ToolSchema("get_weather", "The weather of a city.", {"type": "object", "properties": {"city": {}}})
STORED = {"store": True}


def encode(*conversation: Msg, tools: Any = (), profile: Any = OPENAI, **options: Any) -> dict[str, Any]:
    return encode_request("gpt-5", ModelRequest(conversation, tools, ModelOptions(**options)), profile)


def items(*conversation: Msg, **options: Any) -> list[dict[str, Any]]:
    body = encode(*conversation, **options)
    assert violations(RESPONSES, body) == []
    encoded: list[dict[str, Any]] = body["input"]
    return encoded


def body(**settings: Any) -> dict[str, Any]:
    encoded = encode(UserMessage("hi"), **settings)
    assert violations(RESPONSES, encoded) == []
    assert encoded.pop("input") == [user("hi")]
    return encoded


def user(content: Any) -> dict[str, Any]:
    return {"type": "message", "role": "user", "content": content}


def assistant(content: Any) -> dict[str, Any]:
    return {"type": "message", "role": "assistant", "content": content}


def call(call_id: str, name: str = "f", arguments: str = "{}", **own: Any) -> dict[str, Any]:
    return {"type": "function_call", "call_id": call_id, "name": name, "arguments": arguments, **own}


def output(id: str, output: Any) -> dict[str, Any]:
    return {"type": "function_call_output", "call_id": id, "output": output}


# What the provider said, as blocks and as the items that they came from.


def own(**item: Any) -> dict[str, Any]:
    return native("openai", item=item)


def thought(id: str, *texts: str, encrypted: str | None = "e") -> list[ThinkingBlock]:
    metadata = native("openai", item={"type": "reasoning", "id": id}, part={"type": "summary_text"})
    blocks = [ThinkingBlock(text, metadata=metadata) for text in texts]
    if not blocks:
        return [ThinkingBlock("", redacted_data=encrypted, metadata=own(type="reasoning", id=id))]
    return [*blocks[:-1], blocks[-1].model_copy(update={"redacted_data": encrypted})]


def reasoning(id: str, *texts: str, encrypted: str | None = "e") -> dict[str, Any]:
    summary = [{"type": "summary_text", "text": text} for text in texts]
    return {
        "type": "reasoning",
        "id": id,
        "summary": summary,
        **({"encrypted_content": encrypted} if encrypted else {}),
    }


def said(id: str, text: str, type: str = "output_text", **part: Any) -> TextBlock:
    item = {"type": "message", "id": id, "role": "assistant", "status": "completed"}
    return TextBlock(text, metadata=native("openai", item=item, part={"type": type, **part}))


def message(id: str | None, *parts: dict[str, Any]) -> dict[str, Any]:
    item = {"type": "message", "id": id, "role": "assistant", "status": "completed", "content": list(parts)}
    return {name: value for name, value in item.items() if value is not None}


def part(text: str, **more: Any) -> dict[str, Any]:
    return {"type": "output_text", "text": text, "annotations": [], **more}


def own_call(id: str, item_id: str) -> ToolUseBlock:
    return use(id, metadata=own(type="function_call", id=item_id, status="completed"))


def work(**item: Any) -> ThinkingBlock:
    return ThinkingBlock("", metadata=own(**item))


SEARCH = {"type": "web_search_call", "id": "ws", "status": "completed"}


# --- every history --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("extra", [{}, STORED], ids=["not stored", "stored"])
@pytest.mark.parametrize("tools", [(), (CLOCK,)], ids=["no tools", "tools"])
@pytest.mark.parametrize("name", HISTORIES)
def test_whatever_happened_the_api_accepts_it(name: str, tools: Any, extra: dict[str, Any]) -> None:
    assert violations(RESPONSES, encode(*HISTORIES[name], tools=tools, extra_body=extra)) == []


_NUMBERS = count()
IDS = st.builds(lambda: str(next(_NUMBERS)))
"""The id of an item does not come twice."""
OWN = st.one_of(
    st.builds(lambda id, e: thought(f"rs{id}", encrypted=e)[0], IDS, st.sampled_from(["e", None])),
    st.builds(lambda id: thought(f"rs{id}", "hm")[0], IDS),
    st.builds(lambda id: said(f"msg{id}", "text"), IDS),
    st.builds(lambda id, item: own_call(id, f"fc{item}"), st.sampled_from("abc"), IDS),
    st.builds(lambda id: work(**{**SEARCH, "id": f"ws{id}"}), IDS),
    st.builds(
        lambda kind, id, call: work(type=kind, id=f"sh{id}", call_id=call),
        st.sampled_from(["shell_call", "shell_call_output"]),
        IDS,
        st.sampled_from("xyz"),
    ),
)


@given(random_histories(OWN), st.sampled_from([{}, STORED]))
def test_whatever_may_ever_happen_the_api_accepts_it(history: list[Msg], extra: dict[str, Any]) -> None:
    assert violations(RESPONSES, encode(*history, extra_body=extra)) == []


# --- one reply, many items ------------------------------------------------------------------------------------------


def test_one_reply_becomes_the_items_that_it_came_as() -> None:
    reply = AssistantMessage(
        *thought("rs1", "First.", "Then."),
        said("msg1", "Let me look.", logprobs=[]),
        own_call("a", "fc1"),
        own_call("b", "fc2"),
        result("b", "noon"),
        result("a", "rain"),
        HintBlock(hint="Be brief."),
        *thought("rs2"),
        work(**SEARCH),
        said("msg2", "Rain", annotations=[{"type": "url_citation"}]),
        said("msg2", "no more", type="refusal"),
    )
    encoded = encode(
        SystemMessage("Help."), SystemMessage("Much."), UserMessage("Weather?"), reply, UserMessage("Thanks")
    )
    assert encoded["instructions"] == "Help.\n\nMuch."
    assert encoded["input"] == [
        user("Weather?"),
        reasoning("rs1", "First.", "Then."),
        message("msg1", part("Let me look.", logprobs=[])),
        call("a", id="fc1", status="completed"),
        call("b", id="fc2", status="completed"),
        output("a", "rain"),
        output("b", "noon"),
        user("Be brief."),
        reasoning("rs2"),
        SEARCH,
        message(
            "msg2", part("Rain", annotations=[{"type": "url_citation"}]), {"type": "refusal", "refusal": "no more"}
        ),
        user("Thanks"),
    ]
    assert violations(RESPONSES, encoded) == []


def test_what_came_from_elsewhere_is_plain() -> None:
    reply = AssistantMessage(
        ThinkingBlock("hm", signature="s"), TextBlock("a"), TextBlock("b"), use("c"), result("c", "1")
    )
    assert items(reply) == [assistant("a"), assistant("b"), call("c"), output("c", "1")]


def test_reasoning_in_the_open_goes_back_to_the_server_that_sent_it() -> None:
    metadata = native("openai", item={"type": "reasoning", "id": "rs"}, part={"type": "reasoning_text"})
    encoded = items(AssistantMessage(ThinkingBlock("hm", metadata=metadata), said("msg", "t")))
    assert encoded[0] == {
        "type": "reasoning", "id": "rs", "summary": [], "content": [{"type": "reasoning_text", "text": "hm"}],
    }  # fmt: skip


@pytest.mark.parametrize(
    ("lost", "extra"),
    [(thought("rs", "hm", encrypted=None), {}), (thought("rs", encrypted=None), {})],
    ids=["a summary alone", "an id alone"],
)
def test_reasoning_that_nobody_can_read_is_lost_and_what_it_led_to_has_no_id(lost: Any, extra: Any) -> None:
    reply = AssistantMessage(*lost, said("msg", "t"), work(**SEARCH), own_call("a", "fc"), result("a", "1"))
    assert items(reply, extra_body=extra) == [
        message(None, part("t")),
        call("a", status="completed"),
        output("a", "1"),
    ]


def test_reasoning_that_is_stored_is_found_by_its_id() -> None:
    reply = AssistantMessage(*thought("rs", "hm", encrypted=None), said("msg", "t"))
    assert items(reply, extra_body=STORED) == [reasoning("rs", "hm", encrypted=None), message("msg", part("t"))]


@pytest.mark.parametrize(
    "following",
    [[], [TextBlock("cut off in the mid")], [HintBlock(hint="h")]],
    ids=["nothing", "half a text", "a hint"],
)
def test_reasoning_that_led_to_nothing_is_left_out(following: list[ContentBlock]) -> None:
    encoded = items(UserMessage("q"), AssistantMessage(*thought("rs"), *following), UserMessage("Well?"))
    assert not [item for item in encoded if item["type"] == "reasoning"]


def test_reasoning_that_led_to_lost_reasoning_is_lost_with_it() -> None:
    lost = thought("rs2", encrypted=None)
    assert items(AssistantMessage(*thought("rs1"), *lost, said("msg", "t"))) == [message(None, part("t"))]


def test_later_reasoning_gives_ids_back() -> None:
    lost = thought("rs1", encrypted=None)
    assert items(AssistantMessage(*lost, said("msg1", "a"), *thought("rs2"), said("msg2", "b"))) == [
        message(None, part("a")),
        reasoning("rs2"),
        message("msg2", part("b")),
    ]


def test_work_that_waits_for_an_output_is_left_out_without_one() -> None:
    patch = {"type": "apply_patch_call", "id": "apc", "call_id": "p"}
    patched = {"type": "apply_patch_call_output", "id": "apo", "call_id": "p"}
    assert items(AssistantMessage(work(**patch), said("msg", "t"))) == [message("msg", part("t"))]
    assert items(AssistantMessage(work(**patched), said("msg", "t"))) == [message("msg", part("t"))]
    both = AssistantMessage(work(**patch), work(**patched), said("msg", "t"))
    assert items(both) == [patch, patched, message("msg", part("t"))]


def test_an_image_of_the_model_goes_back_as_its_item() -> None:
    item = {"type": "image_generation_call", "id": "ig", "status": "completed"}
    image = DataBlock(Base64Source(media_type="image/png", data="aGk="), metadata=own(**item))
    assert items(AssistantMessage(image)) == [{**item, "result": "aGk="}]


def test_an_image_of_another_model_is_shown_by_the_user() -> None:
    assert items(AssistantMessage(TextBlock("Here:"), PNG)) == [
        assistant("Here:"),
        user([
            {"type": "input_text", "text": "Output of the assistant:"},
            {"type": "input_image", "image_url": "data:image/png;base64,aGk=", "detail": "auto"},
        ]),
    ]  # fmt: skip


def test_nobody_elses_proof_or_work_is_sent() -> None:
    assert items(*HISTORIES["thoughts of somebody else"])[1:] == [assistant("t"), call("a"), output("a", "1")]


def test_the_output_of_a_call_may_hold_pictures() -> None:
    assert items(AssistantMessage(use("a"), use("b"), result("a"), result("b", "see", PNG, ZIP)))[2:] == [
        output("a", ""),
        output("b", [
            {"type": "input_text", "text": "see"},
            {"type": "input_image", "image_url": "data:image/png;base64,aGk=", "detail": "auto"},
            {"type": "input_text", "text": "[application/zip: cannot be shown here]"},
        ]),
    ]  # fmt: skip


# --- content --------------------------------------------------------------------------------------------------------


def test_text_alone_is_one_string() -> None:
    assert items(UserMessage(TextBlock("a"), TextBlock("b"))) == [user("a\nb")]


@pytest.mark.parametrize(
    ("block", "part"),
    [
        (
            ImageBlock(source=URLSource(url="https://x.org/a")),
            {"type": "input_image", "image_url": "https://x.org/a", "detail": "auto"},
        ),
        (
            DataBlock(Base64Source(media_type="application/pdf", data="aGk="), name="a.pdf"),
            {"type": "input_file", "filename": "a.pdf", "file_data": "data:application/pdf;base64,aGk="},
        ),
        (DataBlock(URLSource(url="https://x.org/a.pdf")), {"type": "input_file", "file_url": "https://x.org/a.pdf"}),
    ],
)
def test_media_of_a_user(block: ContentBlock, part: dict[str, Any]) -> None:
    assert items(UserMessage(TextBlock("look"), block)) == [user([{"type": "input_text", "text": "look"}, part])]


@pytest.mark.parametrize("block", [AudioBlock(source=Base64Source(media_type="audio/wav", data="aGk=")), ZIP])
def test_media_that_the_protocol_cannot_carry(block: ContentBlock) -> None:
    with pytest.raises(UnsupportedContentError, match=r"images and PDF documents\. Nothing was sent"):
        encode(UserMessage(block))


# --- options and tools ----------------------------------------------------------------------------------------------

PLAIN = {"model": "gpt-5", "stream": True, "store": False, "include": ["reasoning.encrypted_content"]}


def test_a_plain_request() -> None:
    assert body() == PLAIN


def test_options() -> None:
    assert body(temperature=0.0, max_tokens=9, reasoning_effort="low", extra_body={"top_p": 1, "include": []}) == {
        **PLAIN, "temperature": 0.0, "max_output_tokens": 9, "reasoning": {"effort": "low"}, "top_p": 1, "include": [],
    }  # fmt: skip


def test_what_is_stored_needs_no_encryption() -> None:
    assert body(extra_body=STORED) == {"model": "gpt-5", "stream": True, "store": True}


@pytest.mark.parametrize(
    ("model", "reasons"),
    [("gpt-4o-mini", False), ("gpt-4.1", False), ("chatgpt-4o-latest", False), ("gpt-5-chat-latest", False),
     ("gpt-5-nano", True), ("o4-mini", True), ("gpt-6-astra", True), ("smollm2", True)],
)  # fmt: skip
def test_only_models_that_reason_are_asked_for_their_reasoning(model: str, reasons: bool) -> None:
    assert ("include" in encode_request(model, ModelRequest([UserMessage("hi")]))) == reasons


def test_tools() -> None:
    assert body(tools=[CLOCK])["tools"] == [
        {
            "type": "function",
            "name": "clock",
            "description": "The time.",
            "parameters": CLOCK.parameters,
            "strict": False,
        }
    ]


def test_a_tool_that_the_provider_runs_joins_those_of_the_agent() -> None:
    tools = body(tools=[CLOCK], extra_body={"tools": [{"type": "web_search"}]})["tools"]
    assert [tool["type"] for tool in tools] == ["function", "web_search"]


@pytest.mark.parametrize("choice", ["auto", "none", "required"])
def test_general_tool_choices(choice: str) -> None:
    assert body(tools=[CLOCK], tool_choice=choice)["tool_choice"] == choice
    assert "tool_choice" not in body(tool_choice=choice)


def test_a_tool_choice_by_name() -> None:
    chosen = body(tools=[CLOCK, WEATHER], tool_choice="get_weather")
    assert chosen["tool_choice"] == {"type": "function", "name": "get_weather"}
    assert len(chosen["tools"]) == 2
    forced = body(profile=OLLAMA, tools=[CLOCK, WEATHER], tool_choice="get_weather")
    assert forced["tool_choice"] == "required"
    assert [tool["name"] for tool in forced["tools"]] == ["get_weather"]


def test_a_tool_choice_that_is_no_tool() -> None:
    with pytest.raises(ConfigurationError, match=r"'x'.*clock"):
        body(tools=[CLOCK], tool_choice="x")
