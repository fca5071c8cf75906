"""The native codec: nothing is lost, and no error says more than it should."""

from __future__ import annotations

import json
import warnings
from datetime import UTC, datetime
from typing import Any, get_args

import pytest
from hypothesis import given, strategies as st
from pydantic_core import from_json

from agentscope_rx.errors import ConfigurationError, LocalProtocolError, RemoteProtocolError
from agentscope_rx.event import (
    AgentEndEvent,
    AgentEvent,
    AgentEventType,
    AgentResultEvent,
    AgentStartEvent,
    BaseEvent,
    ConfirmResult,
    CustomEvent,
    ModelCallEndEvent,
    RequireUserConfirmEvent,
    TextBlockDeltaEvent,
    UnknownEvent,
    UserConfirmResultEvent,
    decode,
    decode_message,
    encode,
    encode_message,
)
from agentscope_rx.event.codec.native import EVENT_OF_TYPE
from agentscope_rx.message import AssistantMessage, Msg, TextBlock, ToolCallState, ToolUseBlock, UserMessage
from tests.arbitrary import events, json_values, messages, texts

NOON = datetime(2026, 5, 6, 12, tzinfo=UTC)
DELTA = TextBlockDeltaEvent(reply_id="r", block_id="b", delta="Hi", id="e", created_at=NOON)
SECRET = "sk-SECRET and the text of a prompt"


# -------------------------------------------------------------------------------------------------- the law


@pytest.mark.parametrize("cls", [*EVENT_OF_TYPE.values(), UnknownEvent], ids=lambda cls: cls.__name__)
def test_decode_inverts_encode_for_every_class_and_field(cls: type[BaseEvent]) -> None:
    @given(events(cls))
    def check(event: Any) -> None:
        written = encode(event)
        read = decode(written)
        assert read == event
        assert type(read) is type(event)
        assert "\n" not in written
        assert decode(written.encode()) == decode(bytearray(written.encode())) == decode(json.loads(written)) == event
        assert encode(read) == written

    check()


@given(messages())
def test_decode_message_inverts_encode_message(message: Msg) -> None:
    written = encode_message(message)
    read = decode_message(written)
    assert read == message
    assert type(read) is type(message)
    assert "\n" not in written
    assert decode_message(written.encode()) == decode_message(json.loads(written)) == message


@given(events(), st.data())
def test_keys_that_a_class_does_not_have_are_ignored(event: Any, data: st.DataObject) -> None:
    fields = json.loads(encode(event))
    extra = data.draw(st.dictionaries(texts.map("new_{}".format), json_values(), max_size=2))
    read = decode({**fields, **extra})
    if isinstance(event, UnknownEvent):
        read = read.model_copy(update={"raw": event.raw})
    assert read == event


# ------------------------------------------------------------------------------------------------ the form


def test_the_native_form_is_snake_case_and_leaves_none_out() -> None:
    assert json.loads(encode(DELTA)) == {
        "type": "TEXT_BLOCK_DELTA",
        "id": "e",
        "created_at": "2026-05-06T12:00:00Z",
        "reply_id": "r",
        "block_id": "b",
        "delta": "Hi",
    }
    assert json.loads(encode(DELTA.model_copy(update={"seq": 0, "source": "main/child", "metadata": {"k": 1}}))) == {
        "type": "TEXT_BLOCK_DELTA",
        "id": "e",
        "created_at": "2026-05-06T12:00:00Z",
        "source": "main/child",
        "metadata": {"k": 1},
        "seq": 0,
        "reply_id": "r",
        "block_id": "b",
        "delta": "Hi",
    }


@given(events())
def test_no_field_is_written_as_none(event: Any) -> None:
    if not isinstance(event, UnknownEvent):
        assert None not in json.loads(encode(event)).values()


@given(st.dictionaries(texts, json_values(), max_size=3))
def test_none_inside_a_value_is_kept(value: dict[str, Any]) -> None:
    value = {**value, "none": None, "nested": {"none": None, "list": [None]}}
    custom = CustomEvent(name="x", value=value, metadata=value)
    call = ToolUseBlock(id="c", name="f", input=value)
    for event in (
        custom,
        AgentEndEvent(reply_id="r", structured_output=value),
        AgentResultEvent(reply_id="r", result=AssistantMessage(call, metadata=value)),
        RequireUserConfirmEvent(reply_id="r", tool_calls=(call,)),
        UserConfirmResultEvent(reply_id="r", confirm_results=(ConfirmResult(confirmed=True, tool_call=call),)),
    ):
        assert decode(encode(event)) == event


def test_times_are_read_in_any_zone_and_kept_in_utc() -> None:
    event = decode({**json.loads(encode(DELTA)), "created_at": "2026-05-06T14:00:00+02:00"})
    assert event == DELTA
    assert event.created_at.tzinfo is UTC


def test_an_event_without_id_and_time_gets_its_own() -> None:
    fields = {"type": "TEXT_BLOCK_DELTA", "reply_id": "r", "block_id": "b", "delta": "x"}
    one, other = decode(fields), decode(fields)
    assert one.id != other.id
    assert one.created_at.utcoffset() is not None


def test_messages_in_events_are_of_the_class_of_their_role() -> None:
    event = AgentStartEvent(reply_id="r", name="x", resumed=True, message=Msg(role="assistant", content="hi"))
    read = decode(encode(event))
    assert isinstance(read, AgentStartEvent)
    assert type(read.message) is AssistantMessage


# ------------------------------------------------------------------------------------------ unknown events


@given(st.dictionaries(texts, json_values(), max_size=4), texts.filter(lambda name: name not in EVENT_OF_TYPE))
def test_an_unknown_event_is_written_back_as_it_came(payload: dict[str, Any], name: str) -> None:
    for envelope in ("id", "created_at", "source", "metadata", "seq"):
        payload.pop(envelope, None)
    came = {**payload, "type": name}
    event = decode(json.dumps(came))
    assert isinstance(event, UnknownEvent)
    assert event.type == name
    assert from_json(encode(event)) == came


def test_an_unknown_event_has_the_envelope_that_it_came_with() -> None:
    came = {"type": "X", "id": "e", "created_at": "2026-05-06T14:00:00+02:00", "source": "a/b", "metadata": {"k": None}}
    event = decode({**came, "seq": 7, "payload": 1})
    assert isinstance(event, UnknownEvent)
    assert (event.id, event.created_at, event.source, event.metadata, event.seq) == ("e", NOON, "a/b", {"k": None}, 7)
    assert json.loads(encode(event)) == {**came, "seq": 7, "payload": 1}


def test_an_unknown_event_carries_the_number_that_publication_gave_it() -> None:
    event = decode({"type": "X", "id": "e", "created_at": "2026-05-06T12:00:00Z", "seq": 3})
    published = event.model_copy(update={"seq": 40})
    assert json.loads(encode(published))["seq"] == 40
    assert decode(encode(published)) == published


def test_only_a_type_that_is_not_in_the_table_is_unknown() -> None:
    known = {cls for cls in get_args(AgentEvent) if cls is not UnknownEvent}
    assert set(EVENT_OF_TYPE.values()) == known
    assert set(EVENT_OF_TYPE) == set(AgentEventType)
    assert isinstance(decode({"type": "text_block_delta"}), UnknownEvent)


# ------------------------------------------------------------------------------------------------- bad input


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ("", "an event is a JSON object: got 0 characters that are not JSON"),
        (SECRET, f"got {len(SECRET)} characters that are not JSON"),
        (b"\xff\xfe{}", "got 4 characters that are not JSON"),
        ('{"type": "CUSTOM"', "characters that are not JSON"),
        ("null", "an event is a JSON object: got a JSON NoneType"),
        ('["a"]', "an event is a JSON object: got a JSON list"),
        ("{}", "an event has a string `type`: got NoneType, keys none"),
        ({"type": 5, "reply_id": SECRET}, "an event has a string `type`: got int, keys reply_id, type"),
        ({"type": [SECRET]}, "an event has a string `type`: got list, keys type"),
    ],
)
def test_what_is_no_event_is_a_typed_error(data: Any, message: str) -> None:
    with pytest.raises(RemoteProtocolError) as caught:
        decode(data)
    assert message in str(caught.value)
    assert SECRET not in str(caught.value)


def refusal(fields: dict[str, Any]) -> str:
    """What decode says against an event, nothing when it takes it."""
    try:
        decode(fields)
    except RemoteProtocolError as error:
        return str(error)
    return ""


CALL = {"type": "tool_use", "id": "c", "name": "f"}
TEXT = {"type": "TEXT_BLOCK_DELTA", "reply_id": "r", "block_id": "b"}
DATA = {"type": "DATA_BLOCK_DELTA", "reply_id": "r", "block_id": "b", "media_type": "x/y"}
BAD_EVENTS: list[tuple[dict[str, Any], str]] = [
    (TEXT, "TEXT_BLOCK_DELTA has 1 bad field(s), the first is delta: Field required"),
    ({**TEXT, "reply_id": 1}, "TEXT_BLOCK_DELTA has 2 bad field(s), the first is reply_id"),
    ({"type": "CUSTOM", "name": "x", "value": SECRET}, "CUSTOM has 1 bad field(s), the first is value"),
    ({"type": "CUSTOM", "name": "x", "created_at": SECRET}, "the first is created_at"),
    ({"type": "CUSTOM", "name": "x", "created_at": "2026-05-06T12:00:00"}, "the first is created_at"),
    ({"type": "CUSTOM", "name": "x", "seq": SECRET}, "the first is seq"),
    ({"type": "AGENT_END", "reply_id": "r", "generate_reason": SECRET}, "the first is generate_reason"),
    ({"type": "HINT_BLOCK", "reply_id": "r", "block_id": "b", "hint": [{"type": SECRET}]}, "the first is hint"),
    ({"type": "TOOL_RESULT_END", "reply_id": "r", "tool_call_id": "c", "state": SECRET}, "the first is state"),
    (DATA, "exactly one of data and url"),
    ({**DATA, "data": SECRET, "url": SECRET}, "exactly one of data and url"),
    (
        {"type": "REQUIRE_USER_CONFIRM", "reply_id": "r", "tool_calls": [CALL, {**CALL, "input": SECRET}]},
        "the first is tool_calls.1.input",
    ),
    (
        {"type": "AGENT_RESULT", "reply_id": "r", "result": {"role": SECRET}},
        "the first is result.role",
    ),
    (
        {"type": "AGENT_RESULT", "reply_id": "r", "result": {"role": "assistant", "content": [{"type": SECRET}]}},
        "the first is result.content.0: its `type` is none that can stand here",
    ),
    (
        {"type": "AGENT_RESULT", "reply_id": "r", "result": {"role": "system", "content": [CALL]}},
        "SYSTEM message may only contain text blocks, got ToolUseBlock",
    ),
    ({"type": "NEW_THING", "id": 5, "secret": SECRET}, "NEW_THING has 1 bad field(s), the first is id"),
]  # fmt: skip


@pytest.mark.parametrize(("data", "message"), BAD_EVENTS, ids=lambda value: value if isinstance(value, str) else "")
def test_a_bad_event_names_its_type_and_field_and_holds_no_content(data: dict[str, Any], message: str) -> None:
    for form in (data, json.dumps(data)):
        with pytest.raises(RemoteProtocolError) as caught:
            decode(form, "native")
        assert str(caught.value).startswith(data["type"])
        assert message in str(caught.value)
        assert SECRET not in str(caught.value)


@given(events(), st.data())
def test_whatever_is_wrong_with_an_event_is_a_typed_error_without_content(event: Any, data: st.DataObject) -> None:
    fields = json.loads(encode(event))
    broken = data.draw(st.sampled_from(sorted(fields)))
    fields[broken] = data.draw(st.sampled_from([SECRET, [SECRET], {"type": SECRET}, 1.5, None, [{"type": SECRET}]]))
    assert SECRET not in refusal(fields)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ("[]", "a message is a JSON object: got a JSON list"),
        ({"content": SECRET}, "a message has 1 bad field(s), the first is role: Field required"),
        ({"role": "user", "content": [{"type": "thinking", "thinking": SECRET}]}, "got ThinkingBlock"),
        ({"role": "user", "content": [{"type": "text", "text": [SECRET]}]}, "the first is content.0.text.text"),
        (
            {"role": "ASSISTANT", "content": [{"type": "tool_use", "id": "c", "input": {SECRET: "\ud83c"}}]},
            "the `input` of a call holds what JSON cannot",
        ),
    ],
)
def test_a_bad_message_names_its_field_and_holds_no_content(data: Any, message: str) -> None:
    with pytest.raises(RemoteProtocolError) as caught:
        decode_message(data)
    assert message in str(caught.value)
    assert SECRET not in str(caught.value)


@pytest.mark.parametrize("value", [object(), "\ud83c", {"k": {1: object()}}])
def test_what_json_cannot_carry_is_our_own_error(value: Any) -> None:
    for write, holder in (
        (encode, CustomEvent(name="x", value={"v": value})),
        (encode, UnknownEvent(type="X", raw={"type": "X", "v": value})),
        (encode_message, UserMessage("hi", metadata={"v": value})),
    ):
        with pytest.raises(LocalProtocolError, match="holds a value that JSON cannot"):
            write(holder)


def test_a_copy_with_a_field_of_another_type_is_written_without_a_warning_that_quotes_it() -> None:
    call = ToolUseBlock(id="c", name="f").model_copy(update={"state": "asking", "raw_input": 5})
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        written = encode(RequireUserConfirmEvent(reply_id="r", tool_calls=(call,)))
        assert json.loads(written)["tool_calls"][0]["state"] == ToolCallState.ASKING


@pytest.mark.parametrize("deep", ["[" * 150 + "]" * 150, '{"a":' * 150 + "1" + "}" * 150])
def test_deep_json_is_carried(deep: str) -> None:
    event = CustomEvent(name="x", value={"v": json.loads(deep)})
    assert decode(encode(event)) == event


def test_endless_nesting_is_a_typed_error() -> None:
    endless = '{"type": "CUSTOM", "name": "x", "value": ' + '{"a":' * 100_000 + "1" + "}" * 100_001
    with pytest.raises(RemoteProtocolError, match="not JSON"):
        decode(endless)


@pytest.mark.parametrize("call", [
    lambda dialect: encode(DELTA, dialect),
    lambda dialect: decode(encode(DELTA), dialect),
    lambda dialect: encode_message(UserMessage("hi"), dialect),
    lambda dialect: decode_message(encode_message(UserMessage("hi")), dialect),
])  # fmt: skip
def test_a_dialect_that_is_not_there_is_named_with_those_that_are(call: Any) -> None:
    with pytest.raises(ConfigurationError, match=r"no dialect 'klingon'; known: .*native"):
        call("klingon")
    assert call("native") is not None


def test_usage_that_is_unknown_stays_unknown() -> None:
    event = ModelCallEndEvent(reply_id="r", model_call_id="m", input_tokens=0)
    read = decode(encode(event))
    assert isinstance(read, ModelCallEndEvent)
    assert (read.input_tokens, read.output_tokens) == (0, None)


def test_text_of_every_kind_survives() -> None:
    text = 'a\u2028b\u0085\x00\ud7ff🌍\r\n"\\'
    event = DELTA.model_copy(update={"delta": text})
    assert decode(encode(event)) == event
    assert decode_message(encode_message(UserMessage(TextBlock(text)))).get_text_content() == text
