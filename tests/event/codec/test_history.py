"""Histories: one message for each reply, and one for each model call and tool result."""

from __future__ import annotations

import json
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given, strategies as st

from agentscope_rx.errors import RemoteProtocolError
from agentscope_rx.event import decode_history, decode_message, encode_history, encode_message
from agentscope_rx.event.codec.history import merge_history, split_history
from agentscope_rx.message import (
    AssistantMessage,
    ChatUsage,
    GenerateReason,
    SystemMessage,
    TextBlock,
    ThinkingBlock,
    ToolResultBlock,
    ToolResultMessage,
    ToolResultState,
    ToolUseBlock,
    UserMessage,
)
from tests.arbitrary import messages

from .samples import NOON


def call(id: str) -> ToolUseBlock:
    return ToolUseBlock(id=id, name="search", input={}, raw_input="{}")


def result(id: str) -> ToolResultBlock:
    return ToolResultBlock(id=id, name="search", output=(TextBlock("ok"),), state=ToolResultState.SUCCESS)


QUESTION = UserMessage("user", "hi", id="u", timestamp=NOON)
REPLY = AssistantMessage(
    "Friday",
    [
        *(ThinkingBlock("hm"), call("c1"), call("c2"), result("c2"), result("c1")),
        *(TextBlock("so"), call("c3"), result("c3"), TextBlock("done")),
    ],
    id="r",
    metadata={"k": "v"},
    timestamp=NOON,
    usage=ChatUsage(input_tokens=7, output_tokens=5, total_tokens=12),
    generate_reason=GenerateReason.MODEL_STOP,
    structured_output={"answer": 42},
)


def test_a_java_history_has_a_message_for_each_model_call_and_each_result() -> None:
    history = encode_history([QUESTION, REPLY], "java")
    assert [(message["role"], [block["type"] for block in message["content"]]) for message in history] == [
        ("USER", ["text"]),
        ("ASSISTANT", ["thinking", "tool_use", "tool_use"]),
        ("TOOL", ["tool_result"]),
        ("TOOL", ["tool_result"]),
        ("ASSISTANT", ["text", "tool_use"]),
        ("TOOL", ["tool_result"]),
        ("ASSISTANT", ["text"]),
    ]
    pieces = history[1:]
    assert [message["id"] for message in pieces] == ["r", "r~2", "r~3", "r~4", "r~5", "r~6"]
    assert {message["name"] for message in pieces} == {"Friday"}
    assert {message["metadata"]["agentscope_rx_reply_id"] for message in pieces} == {"r"}
    assert [message["usage"] for message in pieces[:-1]] == [None] * 5
    assert pieces[-1]["usage"]["totalTokens"] == 12
    assert pieces[-1]["metadata"]["agentscope_generate_reason"] == "MODEL_STOP"
    assert pieces[-1]["metadata"]["_structured_output"] == {"answer": 42}
    assert [message["metadata"].get("k") for message in pieces] == ["v", *[None] * 5]
    assert json.loads(json.dumps(history)) == history


def test_the_pieces_become_one_reply_again() -> None:
    assert decode_history(encode_history([QUESTION, REPLY, QUESTION], "java")) == [QUESTION, REPLY, QUESTION]
    assert decode_history([json.dumps(message) for message in encode_history([REPLY], "java")], "java") == [REPLY]


def test_replies_in_a_row_stay_apart() -> None:
    other = REPLY.model_copy(update={"id": "r2"})
    assert decode_history(encode_history([REPLY, other], "java")) == [REPLY, other]


def test_a_foreign_history_is_told_apart_by_who_speaks() -> None:
    def message(role: str, id: str, *content: Any, **fields: Any) -> dict[str, Any]:
        return {"id": id, "name": "Friday", "role": role, "content": list(content), "metadata": {}, **fields}

    use = {"type": "tool_use", "id": "c1", "name": "search", "input": {}, "content": "{}"}
    found = {"type": "tool_result", "id": "c1", "name": "search", "output": [{"type": "text", "text": "ok"}]}
    read = decode_history(
        [
            message("SYSTEM", "0", {"type": "text", "text": "be kind"}),
            message("USER", "1", {"type": "text", "text": "hi"}),
            message("ASSISTANT", "2", use, usage={"inputTokens": 3, "outputTokens": 1, "totalTokens": 4}),
            message("TOOL", "3", found),
            message("ASSISTANT", "4", {"type": "text", "text": "done"}, usage={"inputTokens": 5}),
            message("USER", "5", {"type": "text", "text": "more"}),
            message("ASSISTANT", "6", {"type": "text", "text": "no"}),
        ]
    )
    assert [type(message) for message in read] == [
        *(SystemMessage, UserMessage, AssistantMessage, UserMessage, AssistantMessage)
    ]
    reply = read[2]
    assert (reply.id, [type(block) for block in reply.content]) == ("2", [ToolUseBlock, ToolResultBlock, TextBlock])
    assert reply.usage == ChatUsage(input_tokens=8, output_tokens=1, total_tokens=4)
    assert reply.generate_reason is GenerateReason.MODEL_STOP
    assert reply.metadata is None


def test_a_result_that_stands_alone_stays_alone() -> None:
    alone = ToolResultMessage(result("c1"), id="t", timestamp=NOON)
    assert decode_history(encode_history([QUESTION, alone, QUESTION], "java")) == [QUESTION, alone, QUESTION]


def test_an_empty_reply_is_one_message() -> None:
    reply = AssistantMessage(id="r", timestamp=NOON, generate_reason=GenerateReason.ERROR)
    assert len(encode_history([reply], "java")) == 1
    assert decode_history(encode_history([reply], "java")) == [reply]
    assert encode_history([]) == decode_history([]) == []


def test_other_dialects_have_one_message_for_each() -> None:
    for dialect in ("native", "python"):
        history = encode_history([QUESTION, REPLY], dialect)  # type: ignore[arg-type]
        assert history == [json.loads(encode_message(message, dialect)) for message in (QUESTION, REPLY)]  # type: ignore[arg-type]
        assert decode_history(history) == [decode_message(message) for message in history]


@given(st.lists(messages().map(lambda message: message.model_copy(update={"metadata": None})), max_size=4))
def test_merging_inverts_splitting(history: list[Any]) -> None:
    unique = [message.model_copy(update={"id": f"{place}"}) for place, message in enumerate(history)]
    assert merge_history(split_history(unique)) == unique


def test_times_are_cut_to_the_millisecond() -> None:
    message = QUESTION.model_copy(update={"timestamp": NOON + timedelta(microseconds=999)})
    (read,) = decode_history(encode_history([message], "java"))
    assert read.timestamp == NOON


def test_what_is_no_message_is_a_typed_error() -> None:
    with pytest.raises(RemoteProtocolError, match="a message is a JSON object"):
        decode_history(["[]"])
