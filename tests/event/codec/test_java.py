"""The Java dialect, field by field: what AgentScope Java 2 writes and expects to receive."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

import pytest

from agentscope_rx.errors import RemoteProtocolError
from agentscope_rx.event import (
    AgentEndEvent,
    AgentStartEvent,
    CustomEvent,
    DataBlockDeltaEvent,
    ExceedMaxItersEvent,
    HintBlockEvent,
    ModelCallEndEvent,
    RequestStopEvent,
    TextBlockDeltaEvent,
    ToolResultDataDeltaEvent,
    ToolResultEndEvent,
    UnknownEvent,
    UserConfirmResultEvent,
    decode,
    decode_message,
    encode,
    encode_message,
)
from agentscope_rx.event.codec import losses
from agentscope_rx.message import (
    AssistantMessage,
    AudioBlock,
    Base64Source,
    ChatUsage,
    DataBlock,
    GenerateReason,
    HintBlock,
    ImageBlock,
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

from .differences import differences
from .samples import CALL, EVENTS, NOON, REPLY

LOST = {(loss.cls, loss.field) for loss in losses("java")}

TOOL_USE = {
    "type": "tool_use",
    "id": "c1",
    "name": "search",
    "input": {"q": "x"},
    "content": '{"q": "x"}',
    "metadata": {"k": 1, "thoughtSignature": "c2ln"},
    "state": "asking",
}
DATA = {
    "type": "data",
    "source": {"type": "base64", "media_type": "image/png", "data": "YWJj"},
    "id": "d1",
}
LINK = {
    "type": "data",
    "source": {"type": "url", "url": "https://example.org/a.pdf", "mime_type": "application/pdf"},
    "id": "d2",
}
TOOL_RESULT = {
    "type": "tool_result",
    "id": "c1",
    "name": "search",
    "output": [{"type": "text", "text": "found"}, LINK],
    "metadata": {"rows": 3},
    "state": "success",
}
RULE = {"tool_name": "search", "rule_content": "git:*", "behavior": "allow", "source": "suggested"}
MESSAGE = {
    "id": "r",
    "name": "Friday",
    "role": "ASSISTANT",
    "content": [
        {"type": "thinking", "thinking": "hm", "metadata": {"thoughtSignature": "c2ln", "redactedData": "gAAA"}},
        {"type": "text", "text": "Hi"},
        {**DATA, "name": "a.png"},
        TOOL_USE,
        TOOL_RESULT,
        {"type": "hint", "id": "h1", "hint": "be short", "source": "inbox"},
    ],
    "metadata": {
        "k": "v",
        "agentscope_generate_reason": "MODEL_STOP",
        "_structured_output": {"answer": 42},
    },
    "timestamp": NOON.astimezone().strftime("%Y-%m-%d %H:%M:%S.250"),
    "usage": {"inputTokens": 7, "outputTokens": 5, "cachedTokens": 2, "time": 1.5, "totalTokens": 12},
}

REPLY_ID = {"replyId": "r"}
BLOCK = {**REPLY_ID, "blockId": "b1"}
TOOL = {**REPLY_ID, "toolCallId": "c1"}
META = {**TOOL, "metadata": {"k": "v"}}

WIRE: dict[str, dict[str, Any]] = {
    "AGENT_START": {**REPLY_ID, "sessionId": "s", "name": "Friday", "role": "assistant"},
    "AGENT_RESULT": {"result": MESSAGE},
    "AGENT_END": REPLY_ID,
    "EXCEED_MAX_ITERS": {**REPLY_ID, "maxIters": 2, "currentIter": 2},
    "REQUEST_STOP": {"reason": "enough", "generateReason": "ACTING_STOP_REQUESTED"},
    "MODEL_CALL_START": REPLY_ID,
    "MODEL_CALL_END": {
        **REPLY_ID,
        "usage": {"inputTokens": 7, "outputTokens": 5, "cachedTokens": 2, "totalTokens": 12},
    },
    "TEXT_BLOCK_START": BLOCK,
    "TEXT_BLOCK_DELTA": {**BLOCK, "delta": "Hi", "source": "main/child", "metadata": {"seq": 3}},
    "TEXT_BLOCK_END": BLOCK,
    "THINKING_BLOCK_START": BLOCK,
    "THINKING_BLOCK_DELTA": {**BLOCK, "delta": "hm"},
    "THINKING_BLOCK_END": BLOCK,
    "DATA_BLOCK_START": BLOCK,
    "DATA_BLOCK_DELTA": {**BLOCK, "delta": "YWJj"},
    "DATA_BLOCK_END": BLOCK,
    "HINT_BLOCK": {**BLOCK, "hint": "be short", "hintSource": "inbox"},
    "TOOL_CALL_START": {**TOOL, "toolCallName": "search"},
    "TOOL_CALL_DELTA": {**TOOL, "delta": '{"q": '},
    "TOOL_CALL_END": TOOL,
    "TOOL_RESULT_START": {**META, "toolCallName": "search"},
    "TOOL_RESULT_TEXT_DELTA": {**META, "delta": "found"},
    "TOOL_RESULT_DATA_DELTA": {**META, "data": DATA},
    "TOOL_RESULT_END": {**META, "state": "success"},
    "REQUIRE_USER_CONFIRM": {**REPLY_ID, "toolCalls": [TOOL_USE]},
    "REQUIRE_EXTERNAL_EXECUTION": {**REPLY_ID, "toolCalls": [TOOL_USE]},
    "USER_CONFIRM_RESULT": {
        **REPLY_ID,
        "confirmResults": [{"confirmed": True, "toolCall": TOOL_USE, "rules": [RULE]}],
    },
    "EXTERNAL_EXECUTION_RESULT": {**REPLY_ID, "toolResults": [TOOL_RESULT]},
    "ALL_TOOLS_DENIED": {"deniedToolCalls": [TOOL_USE]},
    "SUBAGENT_EXPOSED": {"subagentId": "a1", "agentId": "researcher", "sessionId": "s1", "label": "Ann"},
    "CUSTOM": {"name": "state_updated", "value": {"n": 1}},
}
"""The fields of every event that AgentScope Java has, besides type, id and createdAt."""

ENVELOPE = {"id": "e", "createdAt": "2026-05-06T12:00:00.250000Z"}


def wire(type: str, **fields: Any) -> dict[str, Any]:
    return {"type": type, **ENVELOPE, **fields}


# ------------------------------------------------------------------------------------------------ events


@pytest.mark.parametrize("event", [event for event in EVENTS if event.type in WIRE], ids=lambda event: event.type)
def test_an_event_has_the_fields_of_the_table(event: Any) -> None:
    expected = wire(event.type, **WIRE[event.type])
    assert json.loads(encode(event, "java")) == expected
    read = decode(json.dumps(expected))
    assert type(read) is type(event)
    assert differences(event, read) <= LOST


def test_the_samples_and_the_table_have_every_event() -> None:
    assert len(WIRE) == 31
    assert {event.type for event in EVENTS} == WIRE.keys() | {"MODEL_CALL_RESET", "USER_INTERRUPT"}


@pytest.mark.parametrize("type", ["MODEL_CALL_RESET", "USER_INTERRUPT"])
def test_an_event_that_java_lacks_is_custom_and_comes_back_whole(type: str) -> None:
    event = next(event for event in EVENTS if event.type == type)
    written = json.loads(encode(event, "java"))
    assert written == wire("CUSTOM", name=f"agentscope_rx.{type}", value=json.loads(encode(event)))
    assert decode(written) == event


@pytest.mark.parametrize("event", EVENTS, ids=lambda event: event.type)
def test_j4_the_type_is_written_once_and_may_be_read_twice(event: Any) -> None:
    text = encode(event, "java")
    pairs = json.loads(text, object_pairs_hook=list)
    assert [key for key, _ in pairs].count("type") == 1
    twice = f'{text[:-1]},"type":{json.dumps(dict(pairs)["type"])}}}'
    assert differences(decode(twice), decode(text)) == set()


def test_nulls_and_empty_metadata_are_left_out() -> None:
    event = TextBlockDeltaEvent(reply_id="r", block_id="b", delta="x", metadata={"none": None})
    assert json.loads(encode(event, "java")).keys() == {"type", "id", "createdAt", "replyId", "blockId", "delta"}
    assert "usage" not in json.loads(encode(ModelCallEndEvent(reply_id="r", model_call_id="m"), "java"))


def test_metadata_of_results_survives() -> None:
    for event in EVENTS:
        if event.type.startswith("TOOL_RESULT"):
            assert decode(encode(event, "java")).metadata == {"k": "v"}


def test_times_are_utc_and_may_have_nanoseconds() -> None:
    event = decode(wire("TEXT_BLOCK_START", **BLOCK) | {"createdAt": "2026-05-06T12:00:00.123456789Z"})
    assert event.created_at == datetime(2026, 5, 6, 12, 0, 0, 123_456, tzinfo=UTC)


def test_what_java_leaves_out_is_read_all_the_same() -> None:
    start = decode({"type": "AGENT_START", "createdAt": ENVELOPE["createdAt"], "name": "child", "source": "main/x"})
    assert isinstance(start, AgentStartEvent)
    assert (start.reply_id, start.session_id, start.name) == ("", None, "child")
    exceeded = decode(wire("EXCEED_MAX_ITERS", replyId="", maxIters=2, currentIter=2))
    assert isinstance(exceeded, ExceedMaxItersEvent)
    assert exceeded.reply_id == ""


def test_usage_that_is_partly_known_stays_so() -> None:
    event = decode(encode(ModelCallEndEvent(reply_id="r", model_call_id="m", output_tokens=3), "java"))
    assert isinstance(event, ModelCallEndEvent)
    assert (event.input_tokens, event.output_tokens, event.cached_input_tokens) == (None, 3, None)


def test_a_reason_that_java_does_not_know_never_reaches_it() -> None:
    event = RequestStopEvent(generate_reason=GenerateReason.ERROR)
    assert json.loads(encode(event, "java"))["generateReason"] == "MIDDLEWARE_STOP_REQUESTED"


def test_a_link_in_a_data_block_is_custom() -> None:
    event = DataBlockDeltaEvent(reply_id="r", block_id="b", media_type="image/png", url="https://example.org/a.png")
    written = json.loads(encode(event, "java"))
    assert (written["type"], written["name"]) == ("CUSTOM", "agentscope_rx.DATA_BLOCK_DELTA")
    assert decode(written) == event


def test_hints_are_text() -> None:
    event = HintBlockEvent(reply_id="r", block_id="b", hint=(TextBlock("one"), TextBlock("two")))
    assert json.loads(encode(event, "java"))["hint"] == "one\ntwo"


def test_result_data_may_be_a_legacy_block_or_a_link() -> None:
    source = {"type": "base64", "mediaType": "image/gif", "data": "YQ=="}
    event = decode(wire("TOOL_RESULT_DATA_DELTA", **TOOL, data={"type": "image", "source": source}))
    assert isinstance(event, ToolResultDataDeltaEvent)
    assert (event.media_type, event.data, event.url) == ("image/gif", "YQ==", None)
    assert event.block_id
    link = decode(wire("TOOL_RESULT_DATA_DELTA", **TOOL, data=LINK))
    assert isinstance(link, ToolResultDataDeltaEvent)
    assert (link.block_id, link.media_type, link.url) == ("d2", "application/pdf", "https://example.org/a.pdf")


def test_an_unknown_event_is_written_back_as_it_came() -> None:
    came = wire("CONTEXT_COMPACTED", replyId="r", metadata={"seq": 4})
    event = decode(came)
    assert isinstance(event, UnknownEvent)
    assert (event.seq, event.created_at) == (4, NOON)
    assert json.loads(encode(event, "java")) == came
    assert json.loads(encode(event.model_copy(update={"seq": 9}), "java")) == {**came, "metadata": {"seq": 9}}
    elsewhere = encode(event, "python")
    assert json.loads(elsewhere)["name"] == "agentscope_rx.CONTEXT_COMPACTED"
    assert decode(elsewhere).type == "CONTEXT_COMPACTED"


def test_metadata_that_only_looks_like_a_number_of_ours_is_kept() -> None:
    event = decode(wire("TEXT_BLOCK_START", **BLOCK, metadata={"seq": "first"}))
    assert (event.seq, event.metadata) == (None, {"seq": "first"})


@pytest.mark.parametrize(
    ("fields", "where"),
    [
        ({"type": "TEXT_BLOCK_DELTA", "replyId": "r", "blockId": "b"}, "delta"),
        ({"type": "TEXT_BLOCK_DELTA", "replyId": "r", "delta": "sk-SECRET"}, "blockId"),
        ({"type": "TOOL_RESULT_END", "toolCallId": "c", "replyId": "r", "state": "SUCCESS"}, "state"),
        ({"type": "REQUIRE_USER_CONFIRM", "replyId": "r", "toolCalls": "sk-SECRET"}, "toolCalls"),
        ({"type": "MODEL_CALL_END", "replyId": "r", "usage": {"inputTokens": "sk-SECRET"}}, "usage.inputTokens"),
        ({"type": "AGENT_RESULT", "createdAt": "x", "result": {"role": "ROBOT"}}, "createdAt"),
    ],
)
def test_a_bad_event_names_its_type_and_its_field_on_the_wire(fields: dict[str, Any], where: str) -> None:
    with pytest.raises(RemoteProtocolError) as caught:
        decode(fields, "java")
    assert str(caught.value).startswith(fields["type"])
    assert f"the first is {where}" in str(caught.value)
    assert "SECRET" not in str(caught.value)


# ------------------------------------------------------------------------------------------------ messages


def test_a_message_has_the_fields_of_the_table() -> None:
    assert json.loads(encode_message(REPLY, "java")) == MESSAGE
    assert list(json.loads(encode_message(REPLY, "java"))) == list(MESSAGE)
    read = decode_message(json.dumps(MESSAGE))
    assert differences(REPLY, read) <= LOST
    assert read.timestamp == NOON


def test_what_a_message_has_not_is_null_or_empty() -> None:
    message = UserMessage("user", TextBlock("hi"), timestamp=NOON)
    written = json.loads(encode_message(message, "java"))
    assert (written["role"], written["usage"], written["metadata"]) == ("USER", None, {})
    assert written["content"] == [{"type": "text", "text": "hi"}]
    blocks = AssistantMessage(
        ThinkingBlock("hm"),
        HintBlock(id="h", hint="x"),
        ToolUseBlock(id="c", name="t"),
        ToolResultBlock(id="c", name="t", metadata={"none": None}),
    )
    assert json.loads(encode_message(blocks, "java"))["content"] == [
        {"type": "thinking", "thinking": "hm", "metadata": None},
        {"type": "hint", "id": "h", "hint": "x", "source": None},
        {"type": "tool_use", "id": "c", "name": "t", "input": {}, "content": None, "metadata": {}, "state": "pending"},
        {"type": "tool_result", "id": "c", "name": "t", "output": [], "metadata": {}, "state": "running"},
    ]


def test_j34_no_null_is_written_into_metadata() -> None:
    result = ToolResultBlock(id="c", name="t", metadata={"none": None, "n": 1})
    event = ToolResultEndEvent(reply_id="r", tool_call_id="c", state=ToolResultState.SUCCESS, metadata=result.metadata)
    assert json.loads(encode(event, "java"))["metadata"] == {"n": 1}
    message = AssistantMessage(result, metadata={"none": None})
    written = json.loads(encode_message(message, "java"))
    assert written["metadata"] == {}
    assert written["content"][0]["metadata"] == {"n": 1}


def test_a_call_is_sent_with_the_arguments_that_are_meant() -> None:
    def content(**fields: Any) -> Any:
        message = AssistantMessage(ToolUseBlock(id="c", name="t", **fields))
        (block,) = json.loads(encode_message(message, "java"))["content"]
        return block["input"], block["content"]

    assert content(input={"a": 1}, raw_input='{"a":1}') == ({"a": 1}, '{"a":1}')
    assert content(input={"a": 1}) == ({"a": 1}, '{"a":1}')
    assert content(input={"a": 2}, raw_input='{"a":1}') == ({"a": 2}, '{"a":2}')
    assert content(raw_input='{"a"') == ({}, '{"a"')


@pytest.mark.parametrize(
    ("fields", "input", "raw_input"),
    [
        ({"input": {"a": 1}, "content": '{"a": 1}'}, {"a": 1}, '{"a": 1}'),
        ({"input": {"a": 2}, "content": '{"a": 1}'}, {"a": 2}, '{"a":2}'),
        ({"input": {"a": 1}, "content": None}, {"a": 1}, '{"a":1}'),
        ({"content": '{"a": 1}'}, {"a": 1}, '{"a": 1}'),
        ({"input": {}, "content": '{"a"'}, {}, '{"a"'),
        ({"input": '{"a": 1}'}, {"a": 1}, '{"a": 1}'),
        ({"input": None}, {}, ""),
    ],
)
def test_arguments_are_read_from_wherever_they_are(fields: dict[str, Any], input: Any, raw_input: str) -> None:
    for type in ("tool_use", "tool_call"):
        message = {"role": "ASSISTANT", "content": [{"type": type, "id": "c", "name": "t", **fields}]}
        (call,) = decode_message(message).get_content_blocks(ToolUseBlock)
        assert (call.input, call.raw_input) == (input, raw_input)


def test_j14_answers_are_read_from_json() -> None:
    event = decode(
        wire("USER_CONFIRM_RESULT", replyId="T1", confirmResults=[{"confirmed": False, "toolCall": TOOL_USE}])
    )
    assert isinstance(event, UserConfirmResultEvent)
    (answer,) = event.confirm_results
    assert (answer.confirmed, answer.tool_call.id, answer.tool_call.input) == (False, CALL.id, CALL.input)


def test_media_types_have_many_names() -> None:
    for key in ("media_type", "mime_type", "mimeType", "mediaType"):
        for source in ({"type": "url", "url": "x:y"}, {"type": "base64", "data": "YQ=="}):
            content = [{"type": "image", "source": {**source, key: "image/png"}, "minPixels": 3}]
            (block,) = decode_message({"role": "USER", "content": content}).content
            assert isinstance(block, DataBlock)
            assert block.source.media_type == "image/png"
    written = json.loads(encode_message(UserMessage(DataBlock(URLSource(url="x:y"), id="d")), "java"))
    assert written["content"] == [{"type": "data", "source": {"type": "url", "url": "x:y"}, "id": "d"}]


def test_roles_and_content_are_checked_as_everywhere() -> None:
    with pytest.raises(RemoteProtocolError, match="USER message may only contain"):
        decode_message({"role": "USER", "content": [{"type": "thinking", "thinking": "hm"}]}, "java")
    with pytest.raises(RemoteProtocolError, match="SYSTEM message may only contain text blocks"):
        decode_message({"role": "SYSTEM", "content": [{"type": "data", "source": DATA["source"]}]}, "java")
    with pytest.raises(RemoteProtocolError, match="its `type` is none that can stand here"):
        decode_message({"role": "ASSISTANT", "content": [{"type": "hologram"}]}, "java")
    assert isinstance(decode_message({"role": "TOOL", "content": [TOOL_RESULT, None]}, "java"), ToolResultMessage)
    assert decode_message({"role": "tool", "content": None}, "java").content == ()


@pytest.mark.parametrize("reason", [None, "NEVER_HEARD_OF", *(reason.value for reason in GenerateReason)])
def test_why_a_reply_ended(reason: str | None) -> None:
    metadata = {"other": 1, "agentscope_generate_reason": reason}
    message = decode_message({"role": "ASSISTANT", "content": [], "metadata": metadata})
    known = reason in GenerateReason.__members__
    assert message.generate_reason == (reason if known else GenerateReason.MODEL_STOP)
    assert message.metadata == {"other": 1}
    assert decode_message({"role": "USER", "content": []}).generate_reason is None


def test_usage_is_read_from_its_place_and_from_where_it_was() -> None:
    def usage(**fields: Any) -> ChatUsage | None:
        return decode_message({"role": "ASSISTANT", "content": [], **fields}).usage

    old = {"_chat_usage": {"inputTokens": 1, "outputTokens": 2}}
    assert usage(metadata=old) == ChatUsage(input_tokens=1, output_tokens=2)
    assert usage(metadata=old, usage={"inputTokens": 3, "cachedTokens": 1}) == ChatUsage(
        input_tokens=3, cached_input_tokens=1
    )
    assert usage(usage=None) is None


def test_legacy_blocks_are_written_as_data() -> None:
    source = Base64Source(media_type="x/y", data="YQ==")
    for cls in (ImageBlock, AudioBlock, VideoBlock):
        (block,) = json.loads(encode_message(UserMessage(cls(source=source)), "java"))["content"]
        assert block == {"type": "data", "source": {"type": "base64", "media_type": "x/y", "data": "YQ=="}}


def test_an_end_says_nothing_but_that_it_is_one() -> None:
    event = AgentEndEvent(reply_id="r", generate_reason=GenerateReason.PERMISSION_ASKING)
    assert json.loads(encode(event, "java")).keys() == {"type", "id", "createdAt", "replyId"}


def test_a_custom_event_of_somebody_else_is_left_alone() -> None:
    event = CustomEvent(name="agentscope.X", value={"type": "TEXT_BLOCK_DELTA"})
    assert decode(encode(event, "java")) == event
