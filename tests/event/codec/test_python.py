"""The Python dialect, field by field: what AgentScope Python 2 writes and expects to receive."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest

from agentscope_rx.errors import RemoteProtocolError
from agentscope_rx.event import (
    AgentEndEvent,
    AgentErrorInfo,
    AgentStartEvent,
    DataBlockDeltaEvent,
    FinishReason,
    HintBlockEvent,
    ModelCallEndEvent,
    TextBlockDeltaEvent,
    ToolResultDataDeltaEvent,
    UnknownEvent,
    decode,
    decode_message,
    encode,
    encode_message,
)
from agentscope_rx.event.codec import losses
from agentscope_rx.message import (
    AssistantMessage,
    ChatUsage,
    DataBlock,
    GenerateReason,
    HintBlock,
    ImageBlock,
    PermissionRule,
    SystemMessage,
    TextBlock,
    ThinkingBlock,
    ToolResultBlock,
    ToolResultMessage,
    ToolUseBlock,
    URLSource,
    UserMessage,
)

from .differences import differences
from .samples import CALL, EVENTS, NOON, REPLY

LOST = {(loss.cls, loss.field) for loss in losses("python")}
LOCAL = NOON.astimezone().replace(tzinfo=None).isoformat()

BORN = {"created_at": LOCAL, "finished_at": None}
RULE = {"tool_name": "search", "rule_content": "git:*", "behavior": "allow", "source": "suggested"}
TOOL_CALL = {
    "type": "tool_call",
    "id": "c1",
    "name": "search",
    "input": '{"q": "x"}',
    "state": "asking",
    "suggested_rules": [RULE],
    **BORN,
}
IMAGE = {
    "type": "data",
    "id": "d1",
    "source": {"type": "base64", "data": "YWJj", "media_type": "image/png"},
    "name": "a.png",
    **BORN,
}
LINK = {
    "type": "data",
    "id": "d2",
    "source": {"type": "url", "url": "https://example.org/a.pdf", "media_type": "application/pdf"},
    "name": None,
    **BORN,
}
TOOL_RESULT = {
    "type": "tool_result",
    "id": "c1",
    "name": "search",
    "output": [{"type": "text", "text": "found", **BORN}, LINK],
    "state": "success",
    "metadata": {"rows": 3},
    **BORN,
}
MESSAGE = {
    "name": "Friday",
    "content": [
        {
            "type": "thinking",
            "thinking": "hm",
            "id": "b1",
            "signature": "c2ln",
            "redacted_thinking_data": "gAAA",
            **BORN,
        },
        {"type": "text", "text": "Hi", "id": "b2", **BORN},
        IMAGE,
        TOOL_CALL,
        TOOL_RESULT,
        {"type": "hint", "hint": "be short", "id": "h1", "source": "inbox", "created_at": LOCAL, "finished_at": LOCAL},
    ],
    "role": "assistant",
    "id": "r",
    "metadata": {"k": "v"},
    "created_at": LOCAL,
    "usage": {"input_tokens": 7, "output_tokens": 5, "cache_input_tokens": 2, "cache_creation_input_tokens": 0},
    "finished_at": None,
    "finished_reason": "completed",
    "structured_output": {"answer": 42},
    "error": None,
}

REPLY_ID = {"reply_id": "r"}
BLOCK = {**REPLY_ID, "block_id": "b1"}
TOOL = {**REPLY_ID, "tool_call_id": "c1"}
META = {**TOOL, "metadata": {"k": "v"}}

WIRE: dict[str, dict[str, Any]] = {
    "REPLY_START": {"session_id": "s", **REPLY_ID, "name": "Friday", "role": "assistant"},
    "REPLY_END": {
        "session_id": "",
        **REPLY_ID,
        "finished_reason": "error",
        "error": {"type": "upstream", "message": "it broke"},
    },
    "MODEL_CALL_START": {**REPLY_ID, "model_name": "qwen"},
    "MODEL_CALL_END": {
        **REPLY_ID,
        "input_tokens": 7,
        "output_tokens": 5,
        "cache_input_tokens": 2,
        "cache_creation_input_tokens": 0,
        "finished_reason": "completed",
    },
    "TEXT_BLOCK_START": BLOCK,
    "TEXT_BLOCK_DELTA": {**BLOCK, "delta": "Hi", "metadata": {"source": "main/child", "seq": 3}},
    "TEXT_BLOCK_END": BLOCK,
    "THINKING_BLOCK_START": BLOCK,
    "THINKING_BLOCK_DELTA": {**BLOCK, "delta": "hm"},
    "THINKING_BLOCK_END": BLOCK,
    "DATA_BLOCK_START": {**BLOCK, "media_type": "image/png"},
    "DATA_BLOCK_DELTA": {**BLOCK, "media_type": "image/png", "data": "YWJj"},
    "DATA_BLOCK_END": BLOCK,
    "HINT_BLOCK": {**BLOCK, "source": "inbox", "hint": "be short"},
    "TOOL_CALL_START": {**TOOL, "tool_call_name": "search"},
    "TOOL_CALL_DELTA": {**TOOL, "delta": '{"q": '},
    "TOOL_CALL_END": TOOL,
    "TOOL_RESULT_START": {**META, "tool_call_name": "search"},
    "TOOL_RESULT_TEXT_DELTA": {**META, "delta": "found"},
    "TOOL_RESULT_DATA_DELTA": {**META, "block_id": "d1", "media_type": "image/png", "data": "YWJj", "url": None},
    "TOOL_RESULT_END": {**META, "state": "success"},
    "EXCEED_MAX_ITERS": {**REPLY_ID, "name": ""},
    "REQUIRE_USER_CONFIRM": {**REPLY_ID, "tool_calls": [TOOL_CALL]},
    "REQUIRE_EXTERNAL_EXECUTION": {**REPLY_ID, "tool_calls": [TOOL_CALL]},
    "USER_CONFIRM_RESULT": {
        **REPLY_ID,
        "confirm_results": [{"confirmed": True, "tool_call": TOOL_CALL, "rules": [RULE]}],
    },
    "EXTERNAL_EXECUTION_RESULT": {**REPLY_ID, "execution_results": [TOOL_RESULT]},
    "USER_INTERRUPT": REPLY_ID,
    "CUSTOM": {"name": "state_updated", "value": {"n": 1}},
}
"""The fields of every event that AgentScope Python has, besides type, id, created_at and empty metadata."""

NAMES = {"AGENT_START": "REPLY_START", "AGENT_END": "REPLY_END"}
ENVELOPE = {"id": "e", "created_at": LOCAL, "metadata": {}}


def wire(type: str, **fields: Any) -> dict[str, Any]:
    return {"type": type, **ENVELOPE, **fields}


def named(event: Any) -> str:
    return NAMES.get(event.type, event.type)


# ------------------------------------------------------------------------------------------------ events


@pytest.mark.parametrize("event", [event for event in EVENTS if named(event) in WIRE], ids=named)
def test_an_event_has_the_fields_of_the_table(event: Any) -> None:
    expected = wire(named(event), **WIRE[named(event)])
    assert json.loads(encode(event, "python")) == expected
    read = decode(json.dumps(expected))
    assert type(read) is type(event)
    assert differences(event, read) <= LOST


LACKING = ("AGENT_RESULT", "REQUEST_STOP", "ALL_TOOLS_DENIED", "SUBAGENT_EXPOSED", "MODEL_CALL_RESET")


def test_the_samples_and_the_table_have_every_event() -> None:
    assert len(WIRE) == 28
    assert {named(event) for event in EVENTS} == WIRE.keys() | set(LACKING)


@pytest.mark.parametrize("type", LACKING)
def test_an_event_that_python_lacks_is_custom_and_comes_back_whole(type: str) -> None:
    event = next(event for event in EVENTS if event.type == type)
    written = json.loads(encode(event, "python"))
    assert written == wire("CUSTOM", name=f"agentscope_rx.{type}", value=json.loads(encode(event)))
    assert decode(written) == event


def test_the_keys_of_a_reply_start_are_those_of_agentscope() -> None:
    event = AgentStartEvent(reply_id="test_reply", session_id="test_session", name="Friday")
    written = json.loads(encode(event, "python"))
    assert written.keys() == {"type", "id", "created_at", "metadata", "session_id", "reply_id", "name", "role"}
    assert (written["type"], written["metadata"], written["role"]) == ("REPLY_START", {}, "assistant")


def test_a_reply_start_without_metadata_keeps_its_id_and_time() -> None:
    fields = {"type": "REPLY_START", "id": "1", "created_at": "2026-01-02T03:04:05.000006", "session_id": "s"}
    event = decode({**fields, "reply_id": "r", "name": "Friday"})
    assert event.id == "1"
    assert event.created_at == datetime(2026, 1, 2, 3, 4, 5, 6).astimezone()
    assert event.metadata is None


def test_times_may_have_a_zone() -> None:
    event = decode(wire("REPLY_START", **WIRE["REPLY_START"]) | {"created_at": "2026-05-06T14:00:00.25+02:00"})
    assert event.created_at == NOON
    assert event.created_at.tzinfo is UTC
    assert NOON.astimezone(timezone(timedelta(hours=5))) == NOON


@pytest.mark.parametrize(
    ("reason", "word"),
    [
        (GenerateReason.MODEL_STOP, "completed"),
        (GenerateReason.STRUCTURED_OUTPUT, "completed"),
        (GenerateReason.TOOL_CALLS, "completed"),
        (GenerateReason.ALL_TOOLS_DENIED, "completed"),
        (GenerateReason.INTERRUPTED, "interrupted"),
        (GenerateReason.MAX_ITERATIONS, "exceed_max_iters"),
        (GenerateReason.ERROR, "error"),
    ],
)
def test_why_a_reply_ended(reason: GenerateReason, word: str) -> None:
    written = json.loads(encode(AgentEndEvent(reply_id="r", generate_reason=reason), "python"))
    assert (written["type"], written["finished_reason"], written["error"]) == ("REPLY_END", word, None)
    read = decode(written)
    assert isinstance(read, AgentEndEvent)
    assert read.generate_reason is (GenerateReason.MODEL_STOP if word == "completed" else reason)
    message = json.loads(encode_message(AssistantMessage("x", generate_reason=reason), "python"))
    assert message["finished_reason"] == word


@pytest.mark.parametrize(
    "reason", ["TOOL_SUSPENDED", "PERMISSION_ASKING", "REASONING_STOP_REQUESTED", "ACTING_STOP_REQUESTED"]
)
def test_a_pause_is_no_end_for_python(reason: str) -> None:
    event = AgentEndEvent(reply_id="r", generate_reason=GenerateReason(reason))
    written = json.loads(encode(event, "python"))
    assert (written["type"], written["name"]) == ("CUSTOM", "agentscope_rx.AGENT_END")
    assert decode(written) == event
    message = AssistantMessage("x", generate_reason=GenerateReason(reason))
    assert json.loads(encode_message(message, "python"))["finished_reason"] is None


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("rate_limit", "rate_limit"),
        ("ModelHTTPError", "upstream"),
        ("ModelStallError", "connection"),
        ("ConfigurationError", "setup"),
        ("ZeroDivisionError", "internal"),
    ],
)
def test_an_error_is_of_one_of_nine_kinds(name: str, kind: str) -> None:
    error = AgentErrorInfo(type=name, message="it broke")
    event = AgentEndEvent(reply_id="r", generate_reason=GenerateReason.ERROR, error=error)
    assert json.loads(encode(event, "python"))["error"] == {"type": kind, "message": "it broke"}


def test_no_usage_is_zero_and_zero_is_no_usage() -> None:
    written = json.loads(encode(ModelCallEndEvent(reply_id="r", model_call_id="m"), "python"))
    assert [written[key] for key in ("input_tokens", "output_tokens", "cache_input_tokens")] == [0, 0, 0]
    read = decode(written)
    assert isinstance(read, ModelCallEndEvent)
    assert (read.input_tokens, read.output_tokens, read.cached_input_tokens) == (None, None, None)
    partly = decode({**written, "output_tokens": 4})
    assert isinstance(partly, ModelCallEndEvent)
    assert (partly.input_tokens, partly.output_tokens, partly.cached_input_tokens) == (0, 4, 0)


def test_a_model_call_is_completed_or_interrupted() -> None:
    for reason in FinishReason:
        event = ModelCallEndEvent(reply_id="r", model_call_id="m", finish_reason=reason)
        word = "interrupted" if reason is FinishReason.INTERRUPTED else "completed"
        assert json.loads(encode(event, "python"))["finished_reason"] == word


def test_a_hint_may_hold_blocks() -> None:
    hint = (TextBlock("see", id="t"), DataBlock(URLSource(url="https://example.org/a.png"), id="d"))
    written = json.loads(encode(HintBlockEvent(reply_id="r", block_id="b", hint=hint), "python"))
    assert [block["type"] for block in written["hint"]] == ["text", "data"]
    assert written["source"] is None
    read = decode(written)
    assert isinstance(read, HintBlockEvent)
    assert read.hint[0] == hint[0]
    assert read.hint_source is None


def test_links_travel_as_links() -> None:
    fields: dict[str, Any] = {"reply_id": "r", "block_id": "b", "media_type": "image/png", "url": "x:y"}
    event = DataBlockDeltaEvent(**fields)
    assert differences(event, decode(encode(event, "python"))) == set()
    result = ToolResultDataDeltaEvent(**fields, tool_call_id="c")
    written = json.loads(encode(result, "python"))
    assert (written["data"], written["url"]) == (None, "x:y")
    assert differences(result, decode(written)) == set()
    with pytest.raises(RemoteProtocolError, match="exactly one of data and url"):
        decode({**written, "data": "YQ=="})


def test_result_data_without_a_block_id_is_a_block_of_its_own() -> None:
    fields = wire("TOOL_RESULT_DATA_DELTA", **TOOL, media_type="x/y", data="YQ==", url=None)
    one, other = decode(fields), decode(fields)
    assert isinstance(one, ToolResultDataDeltaEvent)
    assert isinstance(other, ToolResultDataDeltaEvent)
    assert one.block_id != other.block_id


def test_an_unknown_event_is_written_back_as_it_came() -> None:
    came = wire("DREAM_START", reply_id="r")
    event = decode(came)
    assert isinstance(event, UnknownEvent)
    assert event.created_at == NOON
    assert json.loads(encode(event, "python")) == came
    assert json.loads(encode(event, "java"))["name"] == "agentscope_rx.DREAM_START"
    assert decode(encode(event, "java")).type == "DREAM_START"


def test_keys_that_nobody_knows_are_ignored() -> None:
    event = decode(wire("TEXT_BLOCK_END", **BLOCK, text=None, mood="good"))
    assert differences(event, decode(wire("TEXT_BLOCK_END", **BLOCK))) == set()


def test_what_was_heard_of_a_voice_that_was_cut_short_is_kept() -> None:
    event = decode(wire("TEXT_BLOCK_END", **BLOCK, text="Once upon"))
    assert event.metadata == {"final_text": "Once upon"}
    written = json.loads(encode(event, "python"))
    assert (written["text"], written["metadata"]) == ("Once upon", {"final_text": "Once upon"})


@pytest.mark.parametrize(
    ("fields", "where"),
    [
        ({"type": "REPLY_START", "reply_id": "r"}, "name"),
        ({"type": "MODEL_CALL_END", "reply_id": "r", "cache_input_tokens": "sk-SECRET"}, "cache_input_tokens"),
        ({"type": "REPLY_END", "reply_id": "r", "finished_reason": "sk-SECRET"}, "finished_reason"),
        ({"type": "HINT_BLOCK", "reply_id": "r", "block_id": "b", "hint": [{"type": "video"}]}, "hint"),
        ({"type": "EXTERNAL_EXECUTION_RESULT", "reply_id": "r"}, "execution_results"),
    ],
)
def test_a_bad_event_names_its_type_and_its_field_on_the_wire(fields: dict[str, Any], where: str) -> None:
    with pytest.raises(RemoteProtocolError) as caught:
        decode(fields, "python")
    assert f"the first is {where}" in str(caught.value)
    assert "SECRET" not in str(caught.value)


# ------------------------------------------------------------------------------------------------ messages


def test_a_message_has_the_fields_of_the_table() -> None:
    written = json.loads(encode_message(REPLY, "python"))
    assert written == MESSAGE
    assert list(written) == list(MESSAGE)
    read = decode_message(json.dumps(MESSAGE))
    assert differences(REPLY, read) <= LOST
    assert read.timestamp == NOON


def test_users_and_systems_are_finished_when_they_speak() -> None:
    for message in (UserMessage("hi", timestamp=NOON), SystemMessage("hi", timestamp=NOON)):
        written = json.loads(encode_message(message, "python"))
        assert written["finished_at"] == written["created_at"] == LOCAL
        assert (written["usage"], written["structured_output"], written["metadata"]) == (None, None, {})


def test_results_from_outside_are_said_by_the_assistant() -> None:
    message = ToolResultMessage(ToolResultBlock(id="c", name="t"))
    written = json.loads(encode_message(message, "python"))
    assert (written["role"], written["name"]) == ("assistant", "tool")
    assert isinstance(decode_message(written), AssistantMessage)


def test_what_python_must_have_is_there() -> None:
    message = AssistantMessage(
        ToolUseBlock(id="c", name="t", suggested_rules=(PermissionRule(tool_name="t", behavior="ask"),)),  # type: ignore[arg-type]
        DataBlock(URLSource(url="https://example.org/a.pdf")),
        DataBlock(URLSource(url="https://example.org/what")),
        HintBlock(hint="x"),
        usage=ChatUsage(output_tokens=3),
    )
    call, known, unknown, hint = json.loads(encode_message(message, "python"))["content"]
    assert call["input"] == ""
    assert call["suggested_rules"] == [{"tool_name": "t", "rule_content": None, "behavior": "ask", "source": ""}]
    assert known["source"]["media_type"] == "application/pdf"
    assert unknown["source"]["media_type"] == "application/octet-stream"
    assert hint["finished_at"] is not None
    usage = json.loads(encode_message(message, "python"))["usage"]
    assert usage == {
        "input_tokens": 0,
        "output_tokens": 3,
        "cache_input_tokens": 0,
        "cache_creation_input_tokens": 0,
    }


def test_legacy_blocks_are_written_as_data() -> None:
    (block,) = json.loads(encode_message(UserMessage(ImageBlock(source=URLSource(url="x:y"))), "python"))["content"]
    assert block["type"] == "data"
    assert "id" not in block


@pytest.mark.parametrize(
    ("block", "cls"),
    [
        ({"text": "x"}, TextBlock),
        ({"thinking": "x", "text": "y"}, TextBlock),
        ({"thinking": "x"}, ThinkingBlock),
        ({"hint": "x"}, HintBlock),
        ({"source": {"type": "url", "url": "x:y"}}, DataBlock),
        ({"id": "c", "name": "t", "input": "{}"}, ToolUseBlock),
        ({"id": "c", "name": "t", "output": "x"}, ToolResultBlock),
    ],
)
def test_a_block_without_a_type_is_told_by_its_keys(block: dict[str, Any], cls: type) -> None:
    message = {"name": "a", "role": "assistant", "created_at": LOCAL, "content": [block]}
    assert [type(block) for block in decode_message(message).content] == [cls]


@pytest.mark.parametrize(
    ("given", "input", "raw_input"),
    [
        ('{"a": 1}', {"a": 1}, '{"a": 1}'),
        ({"a": 1}, {"a": 1}, '{"a":1}'),
        ('{"a"', {}, '{"a"'),
        ("", {}, ""),
    ],
)
def test_arguments_may_be_text_or_an_object(given: Any, input: Any, raw_input: str) -> None:
    for type in ("tool_use", "tool_call"):
        content = [{"type": type, "id": "c", "name": "t", "input": given}]
        (call,) = decode_message({"role": "assistant", "content": content}, "python").get_content_blocks(ToolUseBlock)
        assert (call.input, call.raw_input) == (input, raw_input)


def test_output_may_be_text_or_blocks() -> None:
    def output(value: Any) -> Any:
        content = [{"type": "tool_result", "id": "c", "name": "t", "output": value}]
        (result,) = decode_message({"role": "assistant", "content": content}, "python").get_content_blocks(
            ToolResultBlock
        )
        return result.output

    assert output("x") == (TextBlock("x"),)
    assert output([{"text": "x"}, {"type": "text", "text": "y", "id": "t"}]) == (TextBlock("x"), TextBlock("y", id="t"))
    assert output([]) == ()


def test_a_call_with_no_state_is_pending() -> None:
    content = [{"type": "tool_call", "id": CALL.id, "name": "t", "input": "{}", "suggested_rules": None}]
    (call,) = decode_message({"role": "assistant", "content": content}, "python").get_content_blocks(ToolUseBlock)
    assert (call.state, call.suggested_rules) == ("pending", ())


def test_unfinished_is_none() -> None:
    assert decode_message({**MESSAGE, "finished_reason": None}).generate_reason is None


def test_a_custom_event_carries_a_number_inside_and_outside() -> None:
    event = next(event for event in EVENTS if event.type == "AGENT_RESULT").model_copy(update={"seq": 8})
    written = json.loads(encode(event, "python"))
    assert written["metadata"] == {"seq": 8}
    assert decode(written) == event


def test_a_delta_that_says_nothing_of_its_dialect_is_read_by_either() -> None:
    fields = {"type": "TEXT_BLOCK_DELTA", **BLOCK, "delta": "x", "id": "e"}
    for dialect in (None, "native", "python"):
        event = decode(fields, dialect)  # type: ignore[arg-type]
        assert isinstance(event, TextBlockDeltaEvent)
        assert (event.reply_id, event.block_id, event.delta) == ("r", "b1", "x")
