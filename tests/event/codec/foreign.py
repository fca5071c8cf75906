"""Streams as the other implementations write them, and what a reader makes of them.

java(("TEXT_BLOCK_DELTA", "M1", "text", "Hi"), ...)      one tuple an event: type, then its fields in table order,
                                                         then a dict of any others
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from datetime import datetime, timedelta
from typing import Any

from agentscope_rx.event import (
    AgentEndEvent,
    AgentEvent,
    AgentResultEvent,
    AgentStartEvent,
    EventReader,
    MessageBuilder,
    ReplyEvent,
)
from agentscope_rx.event.lifecycle import STEPS
from agentscope_rx.message import (
    AssistantMessage,
    HintBlock,
    TextBlock,
    ThinkingBlock,
    ToolResultBlock,
    ToolUseBlock,
)
from agentscope_rx.testing import assert_valid_stream

__all__ = ["content", "fold", "java", "outline", "python", "read"]

_EPOCH = datetime(2026, 5, 6, 12)

_JAVA: dict[str, tuple[str, ...]] = {
    "AGENT_START": ("replyId",),
    "AGENT_END": ("replyId",),
    "AGENT_RESULT": ("result",),
    "EXCEED_MAX_ITERS": ("replyId", "maxIters", "currentIter"),
    "MODEL_CALL_START": ("replyId",),
    "MODEL_CALL_END": ("replyId", "usage"),
    "TEXT_BLOCK_START": ("replyId", "blockId"),
    "TEXT_BLOCK_DELTA": ("replyId", "blockId", "delta"),
    "TEXT_BLOCK_END": ("replyId", "blockId"),
    "THINKING_BLOCK_START": ("replyId", "blockId"),
    "THINKING_BLOCK_DELTA": ("replyId", "blockId", "delta"),
    "THINKING_BLOCK_END": ("replyId", "blockId"),
    "DATA_BLOCK_START": ("replyId", "blockId"),
    "DATA_BLOCK_DELTA": ("replyId", "blockId", "delta"),
    "DATA_BLOCK_END": ("replyId", "blockId"),
    "HINT_BLOCK": ("replyId", "blockId", "hintSource", "hint"),
    "TOOL_CALL_START": ("replyId", "toolCallId", "toolCallName"),
    "TOOL_CALL_DELTA": ("replyId", "toolCallId", "toolCallName", "delta"),
    "TOOL_CALL_END": ("replyId", "toolCallId", "toolCallName"),
    "TOOL_RESULT_START": ("replyId", "toolCallId", "toolCallName"),
    "TOOL_RESULT_TEXT_DELTA": ("replyId", "toolCallId", "toolCallName", "delta"),
    "TOOL_RESULT_DATA_DELTA": ("replyId", "toolCallId", "toolCallName", "data"),
    "TOOL_RESULT_END": ("replyId", "toolCallId", "toolCallName", "state"),
    "REQUIRE_USER_CONFIRM": ("replyId", "toolCalls"),
    "REQUIRE_EXTERNAL_EXECUTION": ("replyId", "toolCalls"),
    "USER_CONFIRM_RESULT": ("replyId", "confirmResults"),
    "EXTERNAL_EXECUTION_RESULT": ("replyId", "toolResults"),
    "REQUEST_STOP": ("reason", "generateReason"),
    "SUBAGENT_EXPOSED": ("subagentId", "agentId", "sessionId", "label"),
    "CUSTOM": ("name", "value"),
}

_PYTHON: dict[str, tuple[str, ...]] = {
    "REPLY_START": ("reply_id",),
    "REPLY_END": ("reply_id", "finished_reason"),
    "EXCEED_MAX_ITERS": ("reply_id", "name"),
    "MODEL_CALL_START": ("reply_id", "model_name"),
    "MODEL_CALL_END": ("reply_id", "input_tokens", "output_tokens"),
    "TEXT_BLOCK_START": ("reply_id", "block_id"),
    "TEXT_BLOCK_DELTA": ("reply_id", "block_id", "delta"),
    "TEXT_BLOCK_END": ("reply_id", "block_id"),
    "THINKING_BLOCK_START": ("reply_id", "block_id"),
    "THINKING_BLOCK_DELTA": ("reply_id", "block_id", "delta"),
    "THINKING_BLOCK_END": ("reply_id", "block_id"),
    "DATA_BLOCK_START": ("reply_id", "block_id", "media_type"),
    "DATA_BLOCK_DELTA": ("reply_id", "block_id", "media_type", "data"),
    "DATA_BLOCK_END": ("reply_id", "block_id"),
    "HINT_BLOCK": ("reply_id", "block_id", "source", "hint"),
    "TOOL_CALL_START": ("reply_id", "tool_call_id", "tool_call_name"),
    "TOOL_CALL_DELTA": ("reply_id", "tool_call_id", "delta"),
    "TOOL_CALL_END": ("reply_id", "tool_call_id"),
    "TOOL_RESULT_START": ("reply_id", "tool_call_id", "tool_call_name"),
    "TOOL_RESULT_TEXT_DELTA": ("reply_id", "tool_call_id", "delta"),
    "TOOL_RESULT_DATA_DELTA": ("reply_id", "tool_call_id", "block_id", "media_type", "data", "url"),
    "TOOL_RESULT_END": ("reply_id", "tool_call_id", "state"),
    "REQUIRE_USER_CONFIRM": ("reply_id", "tool_calls"),
    "REQUIRE_EXTERNAL_EXECUTION": ("reply_id", "tool_calls"),
    "USER_CONFIRM_RESULT": ("reply_id", "confirm_results"),
    "EXTERNAL_EXECUTION_RESULT": ("reply_id", "execution_results"),
    "USER_INTERRUPT": ("reply_id",),
    "CUSTOM": ("name", "value"),
}

_MADE: list[int] = []


def java(*rows: Sequence[Any]) -> list[dict[str, Any]]:
    """Make the events of an AgentScope Java stream."""
    return [_java(row) for row in rows]


def python(*rows: Sequence[Any]) -> list[dict[str, Any]]:
    """Make the events of an AgentScope Python stream."""
    return [_python(row) for row in rows]


def _java(row: Sequence[Any]) -> dict[str, Any]:
    type, fields = _fields(row, _JAVA)
    if type == "AGENT_START":
        fields = {"name": "Friday", "role": "assistant", **fields}
    moment = (_EPOCH + _tick()).isoformat() + "Z"
    written = {"type": type, "id": f"j{len(_MADE)}", "createdAt": moment, **fields}
    return {key: value for key, value in written.items() if value is not None}


def _python(row: Sequence[Any]) -> dict[str, Any]:
    type, fields = _fields(row, _PYTHON)
    if type in ("REPLY_START", "REPLY_END"):
        fields = {"session_id": "s", **fields}
    if type == "REPLY_START":
        fields = {"name": "Friday", "role": "assistant", **fields}
    if type == "MODEL_CALL_END":
        usage = {"input_tokens": 0, "output_tokens": 0, "cache_input_tokens": 0, "cache_creation_input_tokens": 0}
        fields = {**usage, "finished_reason": "completed", **fields}
    return {
        "type": type,
        "id": f"p{len(_MADE)}",
        "created_at": (_EPOCH + _tick()).isoformat(),
        "metadata": {},
        **fields,
    }


def _tick() -> timedelta:
    _MADE.append(len(_MADE))
    return timedelta(milliseconds=len(_MADE))


def _fields(row: Sequence[Any], table: dict[str, tuple[str, ...]]) -> tuple[str, dict[str, Any]]:
    type, *values = row
    others = values.pop() if values and isinstance(values[-1], dict) and len(values) > len(table[type]) else {}
    if values and isinstance(values[-1], dict) and table[type][len(values) - 1] not in _OBJECTS:
        others = values.pop()
    return type, {**dict(zip(table[type], values, strict=False)), **others}


_OBJECTS = {"result", "usage", "data", "value"}


def read(dialect: Any, *streams: Iterable[dict[str, Any]], reader: EventReader | None = None) -> list[AgentEvent]:
    """Read a stream to its end, as text, and assert that what comes out is lawful."""
    reader = reader or EventReader(dialect)
    told = [told for stream in streams for fields in stream for told in reader.read(json.dumps(fields))]
    told += reader.close()
    assert_valid_stream(told)
    _assert_one_truth(told)
    return told


def _assert_one_truth(events: Sequence[Any]) -> None:
    """L1 and L3: one id for each reply of a source, and every run folds to the whole message on its own."""
    ids = {event.reply_id for event in events if isinstance(event, ReplyEvent)}
    for reply_id in ids:
        own = [event for event in events if isinstance(event, ReplyEvent) and event.reply_id == reply_id]
        assert isinstance(own[0], AgentStartEvent)
        assert isinstance(own[-1], AgentEndEvent)
        whole, run = MessageBuilder(source=own[0].source), MessageBuilder(source=own[0].source)
        for event in own:
            if isinstance(event, AgentStartEvent):
                run = MessageBuilder(source=event.source)
            whole.apply(event)
            run.apply(event)
            if isinstance(event, AgentEndEvent):
                assert run.message() == whole.message()
            if isinstance(event, AgentResultEvent):
                assert event.result.content == whole.message().content


def fold(events: Iterable[Any], source: str | None = None) -> AssistantMessage:
    """Return the message of the first reply of `source`."""
    builder = MessageBuilder(source=source)
    for event in events:
        builder.apply(event)
    return builder.message()


_SAYS: tuple[str, ...] = ("delta", "state", "generate_reason", "finish_reason", "name")


def outline(events: Iterable[Any]) -> list[str]:
    """Return one word for each event: its type, which part it moves, and what it says."""
    return [_word(event) for event in events]


def _word(event: Any) -> str:
    step = STEPS.get(type(event))
    key = "" if step is None or step.part == "reply" else f" {getattr(event, step.key)}"
    said = next((f"={getattr(event, name)}" for name in _SAYS if name in type(event).model_fields), "")
    if type(event) is AgentStartEvent:
        said = " resumed" if event.resumed else ""
    return f"{event.type.removesuffix('_BLOCK')}{key}{said if 'MODEL' not in event.type else ''}"


_CONTENT: dict[type, Callable[[Any], Any]] = {
    TextBlock: lambda block: block.text,
    ThinkingBlock: lambda block: ("thinking", block.thinking),
    ToolUseBlock: lambda block: ("call", block.id, block.name, block.raw_input, str(block.state)),
    ToolResultBlock: lambda block: (
        *("result", block.id, str(block.state)),
        *(output.text if isinstance(output, TextBlock) else output.source for output in block.output),
    ),
    HintBlock: lambda block: ("hint", block.hint, block.source),
}


def content(message: AssistantMessage) -> list[Any]:
    """Return what a message says, block by block."""
    return [_CONTENT.get(type(block), lambda block: block)(block) for block in message.content]
