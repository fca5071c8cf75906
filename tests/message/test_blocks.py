"""Content blocks: what a message is made of."""

from __future__ import annotations

from typing import Any, get_args

import pytest
from hypothesis import given, strategies as st
from pydantic import TypeAdapter, ValidationError

from agentscope_rx.message import (
    AssistantMessage,
    AudioBlock,
    Base64Source,
    ContentBlock,
    DataBlock,
    HintBlock,
    ImageBlock,
    PermissionBehavior,
    PermissionRule,
    TextBlock,
    ThinkingBlock,
    ToolCallState,
    ToolResultBlock,
    ToolResultState,
    ToolUseBlock,
    URLSource,
    VideoBlock,
)
from tests.arbitrary import messages

CLASSES: tuple[Any, ...] = get_args(get_args(ContentBlock)[0])
ANY = TypeAdapter[Any](ContentBlock)
LINK = URLSource(url="https://example.org/a b?c=ü", media_type="image/png")
EXAMPLES: dict[str, Any] = {
    "text": TextBlock("hi"),
    "thinking": ThinkingBlock("hm", signature="sig", metadata={"provider": "p", "item": {"n": None}}),
    "data": DataBlock(Base64Source(media_type="x/y", data="AA=="), name="file"),
    "tool_use": ToolUseBlock(id="c", name="f", input={"a": None}, raw_input='{"a": null}'),
    "tool_result": ToolResultBlock(id="c", name="f", output=(TextBlock("ok"), DataBlock(LINK))),
    "hint": HintBlock(hint="x", source="inbox"),
    "image": ImageBlock(source=LINK),
    "audio": AudioBlock(source=LINK),
    "video": VideoBlock(source=LINK),
}


def test_there_is_an_example_of_every_block() -> None:
    assert {type(block) for block in EXAMPLES.values()} == set(CLASSES)


@pytest.mark.parametrize("name", EXAMPLES)
def test_a_block_is_parsed_by_its_type(name: str) -> None:
    block = EXAMPLES[name]
    assert block.type == name
    for read in (ANY.validate_python(block.model_dump()), ANY.validate_json(block.model_dump_json())):
        assert read == block
        assert type(read) is type(block)


@given(messages().filter(lambda message: message.content), st.data())
def test_every_block_survives_json(message: Any, data: st.DataObject) -> None:
    block = data.draw(st.sampled_from(message.content))
    assert ANY.validate_json(block.model_dump_json()) == block
    assert ANY.validate_json(block.model_dump_json(exclude_none=True)) == block


@pytest.mark.parametrize("name", EXAMPLES)
def test_blocks_are_frozen(name: str) -> None:
    with pytest.raises(ValidationError, match="frozen"):
        EXAMPLES[name].type = "other"


def test_the_main_field_may_be_given_by_position() -> None:
    assert TextBlock("hi") == TextBlock(text="hi")
    assert ThinkingBlock("hm") == ThinkingBlock(thinking="hm")
    assert DataBlock(LINK, id="d") == DataBlock(source=LINK, id="d")
    assert DataBlock({"type": "url", "url": "x:y"}, id="d").source == URLSource(url="x:y")


def test_only_blocks_without_events_lack_an_id() -> None:
    assert TextBlock("hi").id is None
    assert ThinkingBlock("hm").id is None
    assert DataBlock(LINK).id != DataBlock(LINK).id
    assert HintBlock(hint="x").id != HintBlock(hint="x").id


def test_a_call_and_a_result_start_out_open() -> None:
    call = ToolUseBlock(id="c", name="f")
    assert (call.input, call.raw_input, call.state, call.suggested_rules) == ({}, "", ToolCallState.PENDING, ())
    assert ToolResultBlock(id="c", name="f").state is ToolResultState.RUNNING


def test_the_states_are_those_of_agentscope() -> None:
    assert list(ToolCallState) == ["pending", "asking", "allowed", "submitted", "finished"]
    assert set(ToolResultState) == {"success", "error", "interrupted", "denied", "running"}
    assert set(PermissionBehavior) == {"allow", "deny", "ask", "passthrough"}


def test_a_result_holds_text_and_data_only() -> None:
    thinking: Any = ThinkingBlock("SECRET")
    with pytest.raises(ValidationError, match="output") as caught:
        ToolResultBlock(id="c", name="f", output=(thinking,))
    assert "SECRET" not in str(caught.value)


def test_a_hint_is_text_or_blocks() -> None:
    assert HintBlock(hint=[TextBlock("a")]).hint == (TextBlock("a"),)
    with pytest.raises(ValidationError, match="hint"):
        HintBlock(hint=5)


@pytest.mark.parametrize("cls", [ImageBlock, AudioBlock, VideoBlock])
@pytest.mark.parametrize("source", [LINK, Base64Source(media_type="x/y", data="AA==")])
def test_legacy_media_become_data_blocks(cls: Any, source: Any) -> None:
    block = cls(source=source).to_data_block()
    assert type(block) is DataBlock
    assert block.source == source
    assert ANY.validate_python({"type": cls(source=source).type, "source": source.model_dump()}) == cls(source=source)


def test_a_url_is_kept_as_it_was_written() -> None:
    for url in ("http://x.com", "https://example.org/a b?c=ü", "file:///tmp/x", "data:,x"):
        assert URLSource(url=url).url == url


@pytest.mark.parametrize("block", [{"text": "SECRET"}, {"type": "hologram", "text": "SECRET"}, 5, {"type": "tool_use"}])
def test_what_is_no_block_is_an_error(block: Any) -> None:
    with pytest.raises(ValidationError, match=r"content\.0") as caught:
        AssistantMessage(content=[block])
    assert "SECRET" not in str(caught.value)


def test_a_rule_names_its_tool_and_what_it_says() -> None:
    rule = PermissionRule(tool_name="bash", rule_content="git:*", behavior=PermissionBehavior.ALLOW, source="suggested")
    assert rule.model_dump() == {
        "tool_name": "bash",
        "rule_content": "git:*",
        "behavior": "allow",
        "source": "suggested",
    }
    with pytest.raises(ValidationError, match="behavior"):
        PermissionRule(tool_name="bash", behavior="maybe")


def test_unknown_keys_are_ignored() -> None:
    assert ANY.validate_python({"type": "text", "text": "hi", "created_at": "now", "finished_at": None}) == TextBlock(
        "hi"
    )
