"""Messages: how they are made, what each role may hold, what they tell."""

from __future__ import annotations

import copy
import pickle
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest
from hypothesis import given
from pydantic import BaseModel, ValidationError

from agentscope_rx.identity import set_clock, set_id_factory
from agentscope_rx.message import (
    AssistantMessage,
    AudioBlock,
    Base64Source,
    ChatUsage,
    DataBlock,
    GenerateReason,
    HintBlock,
    ImageBlock,
    Msg,
    MsgRole,
    SystemMessage,
    TextBlock,
    ThinkingBlock,
    ToolResultBlock,
    ToolResultMessage,
    ToolUseBlock,
    URLSource,
    UserMessage,
    VideoBlock,
)
from tests.arbitrary import messages

LINK = URLSource(url="https://example.org/x.png")
TEXT, DATA = TextBlock("hi"), DataBlock(LINK, id="d")
BLOCKS: dict[str, Any] = {
    "TextBlock": TEXT,
    "DataBlock": DATA,
    "ImageBlock": ImageBlock(source=LINK),
    "AudioBlock": AudioBlock(source=LINK),
    "VideoBlock": VideoBlock(source=LINK),
    "ThinkingBlock": ThinkingBlock("SECRET"),
    "ToolUseBlock": ToolUseBlock(id="c", name="f", raw_input="SECRET"),
    "ToolResultBlock": ToolResultBlock(id="c", name="f", output=(TextBlock("SECRET"),)),
    "HintBlock": HintBlock(hint="SECRET"),
}
ROLES: dict[str, type[Msg]] = {
    "user": UserMessage,
    "assistant": AssistantMessage,
    "system": SystemMessage,
    "tool": ToolResultMessage,
}


# ------------------------------------------------------------------------------------------------ making one


@pytest.mark.parametrize(
    "made",
    [
        UserMessage("hi"),
        UserMessage("user", "hi"),
        UserMessage(content="hi"),
        UserMessage(name="user", content="hi"),
        UserMessage("hi", name="user"),
        UserMessage(TextBlock("hi")),
        UserMessage("user", TextBlock("hi")),
        UserMessage(["hi"]),
        UserMessage([TextBlock("hi")]),
        UserMessage(content=TextBlock("hi")),
        UserMessage(content=({"type": "text", "text": "hi"},)),
        UserMessage({"type": "text", "text": "hi"}),
        UserMessage(block for block in ["hi"]),
        Msg("hi", role="user"),
        Msg("user", "hi", role=MsgRole.USER),
        Msg(name="user", role="user", content="hi"),
    ],
)
def test_every_form_makes_the_same_message(made: Msg) -> None:
    assert type(made) is UserMessage
    assert (made.name, made.role, made.content) == ("user", MsgRole.USER, (TextBlock("hi"),))


@pytest.mark.parametrize(("role", "cls"), ROLES.items())
def test_the_name_is_the_role_when_none_is_given(role: str, cls: type[Msg]) -> None:
    assert cls("hi").name == role
    assert cls("hi", name="").name == role
    assert cls("Bob", "hi").name == "Bob"


def test_several_positionals_are_blocks_after_a_name() -> None:
    message = UserMessage("Bob", "look", DATA)
    assert (message.name, message.content) == ("Bob", (TextBlock("look"), DATA))
    assert UserMessage(TEXT, DATA).content == (TEXT, DATA)
    assert UserMessage(TEXT, DATA).name == "user"


@pytest.mark.parametrize("content", [(), [], None])
def test_empty_content_is_valid(content: Any) -> None:
    for cls in ROLES.values():
        assert cls(content=content).content == cls().content == ()


def test_a_plain_string_is_one_text_block_even_when_empty() -> None:
    assert UserMessage("").content == (TextBlock(""),)


def test_a_thing_given_twice_is_an_error() -> None:
    with pytest.raises(TypeError, match="content was given twice"):
        UserMessage("hi", content="hi")
    with pytest.raises(TypeError, match="name was given twice"):
        UserMessage("Bob", "hi", name="Bob")


@pytest.mark.parametrize(("role", "cls"), ROLES.items())
def test_a_msg_with_a_role_is_of_its_class(role: str, cls: type[Msg]) -> None:
    fields: dict[str, Any] = {"role": role, "content": "hi"}
    for message in (
        Msg(**fields),
        Msg.model_validate(fields),
        Msg.model_validate_json(f'{{"role": "{role}", "content": "hi"}}'),
        cls.model_validate(fields),
        cls.model_validate({"content": "hi"}),
    ):
        assert type(message) is cls
        assert message.role == role


@pytest.mark.parametrize("role", ["USER", "robot", "", None, 5, ["SECRET"]])
def test_a_role_that_is_none_is_an_error(role: Any) -> None:
    for make in (lambda: Msg("hi", role=role), lambda: Msg.model_validate({"role": role, "content": "hi"})):
        with pytest.raises(ValidationError, match="role") as caught:
            make()
        assert "SECRET" not in str(caught.value)
    with pytest.raises(ValidationError, match="role\n  Field required"):
        Msg.model_validate({"content": "hi"})


def test_a_role_class_takes_no_other_role() -> None:
    with pytest.raises(ValidationError, match="role"):
        UserMessage("hi", role="assistant")
    with pytest.raises(ValidationError):
        UserMessage.model_validate({"role": "assistant", "content": "hi"})


def test_role_classes_have_no_fields_of_their_own() -> None:
    for cls in ROLES.values():
        assert list(cls.model_fields) == list(Msg.model_fields)


# ------------------------------------------------------------------------------------- what a role may hold

ALLOWED = {
    "user": {"TextBlock", "DataBlock", "ImageBlock", "AudioBlock", "VideoBlock"},
    "system": {"TextBlock"},
    "assistant": set(BLOCKS),
    "tool": set(BLOCKS),
}
TEXTS = {
    "user": "USER message may only contain text/data/image/audio/video blocks, got {}",
    "system": "SYSTEM message may only contain text blocks, got {}",
}


@pytest.mark.parametrize("role", ROLES)
@pytest.mark.parametrize("block", BLOCKS)
def test_a_role_holds_its_blocks_and_no_others(role: str, block: str) -> None:
    cls, content = ROLES[role], (TEXT, BLOCKS[block])
    plain = [one.model_dump() for one in content]
    ways: list[Any] = [
        lambda: cls(content=content),
        lambda: Msg(role=role, content=content),
        lambda: cls(*content),
        lambda: cls("hi").with_content(*content),
        lambda: Msg.model_validate({"role": role, "content": plain}),
        lambda: cls.model_validate({"content": plain}),
        lambda: Msg.model_validate_json(AssistantMessage(*content).model_dump_json().replace("assistant", role)),
    ]
    for way in ways:
        if block in ALLOWED[role]:
            assert way().content == content
            continue
        with pytest.raises(ValidationError) as caught:
            way()
        assert TEXTS[role].format(block) in str(caught.value)
        assert "SECRET" not in str(caught.value)


def test_an_unknown_block_rejects_the_message() -> None:
    with pytest.raises(ValidationError, match=r"content\.1"):
        Msg.model_validate({"role": "user", "content": [{"type": "text", "text": "hi"}, {"type": "hologram"}]})


@pytest.mark.parametrize("content", [5, [5], [None], b"SECRET", {"text": "SECRET"}, [{"type": "text", "text": 5}]])
def test_content_that_is_none_is_an_error_that_does_not_quote_it(content: Any) -> None:
    with pytest.raises(ValidationError, match="content") as caught:
        UserMessage(content=content)
    assert "SECRET" not in str(caught.value)
    assert "input_value" not in str(caught.value)


# ---------------------------------------------------------------------------------------------------- reading


def test_text_content_is_the_text_blocks_by_line() -> None:
    message = AssistantMessage(TextBlock("a"), ThinkingBlock("no"), TextBlock("b\nc"), TextBlock(""))
    assert message.get_text_content() == "a\nb\nc\n"
    assert AssistantMessage(ThinkingBlock("no")).get_text_content() == ""


def test_blocks_are_found_by_class() -> None:
    first, second = ToolUseBlock(id="1", name="f"), ToolUseBlock(id="2", name="f")
    message = AssistantMessage(TEXT, first, second)
    assert message.get_content_blocks(ToolUseBlock) == [first, second]
    assert message.get_first_content_block(ToolUseBlock) is message.content[1]
    assert message.get_first_content_block(HintBlock) is None
    assert message.get_content_blocks(HintBlock) == []
    assert message.has_content_blocks(TextBlock)
    assert not message.has_content_blocks(HintBlock)


def test_with_content_changes_the_content_alone() -> None:
    message = AssistantMessage("Friday", "hi", metadata={"k": 1}, usage=ChatUsage(input_tokens=1))
    for changed in (message.with_content("new"), message.with_content(TextBlock("new")), message.with_content(["new"])):
        assert type(changed) is AssistantMessage
        assert changed == message.model_copy(update={"content": (TextBlock("new"),)})
    assert message.with_content().content == ()
    assert message.get_text_content() == "hi"


class City(BaseModel):
    name: str


def test_structured_output_is_read_as_a_model() -> None:
    assert AssistantMessage(structured_output={"name": "Ulm"}).structured(City) == City(name="Ulm")
    with pytest.raises(ValidationError):
        AssistantMessage(structured_output={}).structured(City)
    message = AssistantMessage("SECRET", id="m1")
    with pytest.raises(ValueError, match=r"message m1 has no structured output.*output_type=City") as caught:
        message.structured(City)
    assert "SECRET" not in str(caught.value)


# ------------------------------------------------------------------------------------------- values and time


@given(messages())
def test_a_message_survives_json(message: Msg) -> None:
    for written in (message.model_dump_json(), message.model_dump_json(exclude_none=True)):
        read = Msg.model_validate_json(written)
        assert read == message
        assert type(read) is type(message)
    assert Msg.model_validate(message.model_dump()) == message
    assert Msg.model_validate(message.model_dump(mode="json")) == message


@given(messages())
def test_a_message_survives_copying_and_pickling(message: Msg) -> None:
    for other in (
        copy.copy(message),
        copy.deepcopy(message),
        pickle.loads(pickle.dumps(message)),
        message.model_copy(),
    ):
        assert other == message
        assert type(other) is type(message)


def test_messages_are_frozen_and_hold_tuples() -> None:
    message = UserMessage(["a", "b"])
    assert isinstance(message.content, tuple)
    with pytest.raises(ValidationError, match="frozen"):
        message.name = "x"


def test_unknown_keys_are_ignored() -> None:
    assert not hasattr(Msg.model_validate({"role": "user", "content": "hi", "colour": "red"}), "colour")


def test_times_are_aware_and_in_utc() -> None:
    before = datetime.now(UTC)
    message = UserMessage("hi")
    assert before <= message.timestamp <= datetime.now(UTC)
    assert message.timestamp.tzinfo is UTC
    east = datetime(2026, 5, 6, 14, tzinfo=timezone(timedelta(hours=2)))
    assert UserMessage("hi", timestamp=east).timestamp.isoformat() == "2026-05-06T12:00:00+00:00"
    assert UserMessage("hi", timestamp="2026-05-06T14:00:00+02:00").timestamp == east
    for naive in (datetime(2026, 5, 6), "2026-05-06T14:00:00"):
        with pytest.raises(ValidationError, match="timezone"):
            UserMessage("hi", timestamp=naive)


def test_every_message_has_an_id_of_its_own() -> None:
    assert UserMessage("hi").id != UserMessage("hi").id
    assert UserMessage("hi", id="mine").id == "mine"


def test_the_factories_rule_ids_and_times() -> None:
    noon = datetime(2026, 5, 6, 12, tzinfo=UTC)
    set_id_factory(iter("abc").__next__)
    set_clock(lambda: noon)
    try:
        message = AssistantMessage(HintBlock(hint="x"), DataBlock(LINK))
    finally:
        set_id_factory(None)
        set_clock(None)
    assert (message.content[0].id, message.content[1].id, message.id) == ("a", "b", "c")
    assert message.timestamp == noon


def test_usage_is_unknown_unless_told() -> None:
    assert set(ChatUsage().model_dump().values()) == {None}
    assert UserMessage("hi").usage is None


def test_the_reasons_are_those_of_agentscope_java_and_error() -> None:
    assert set(GenerateReason) == {
        "MODEL_STOP",
        "TOOL_CALLS",
        "STRUCTURED_OUTPUT",
        "TOOL_SUSPENDED",
        "REASONING_STOP_REQUESTED",
        "ACTING_STOP_REQUESTED",
        "PERMISSION_ASKING",
        "MIDDLEWARE_STOP_REQUESTED",
        "ALL_TOOLS_DENIED",
        "INTERRUPTED",
        "MAX_ITERATIONS",
        "ERROR",
    }


def test_base64_content_is_not_shown_in_a_repr() -> None:
    assert "SECRET" not in repr(UserMessage(DataBlock(Base64Source(media_type="x/y", data="SECRET"))))
