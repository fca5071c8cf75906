"""The Java dialect: what AgentScope Java 2 writes and reads. Events and messages as tables.

camelCase, `type` once, nulls left out of events; blocks and messages write theirs, as Jackson does. AgentScope Java
1.x blocks and every name that an event type ever had are read too.
"""

from __future__ import annotations

from datetime import datetime
from typing import Any

from ...identity import new_id
from ...message import (
    AudioBlock,
    Base64Source,
    DataBlock,
    GenerateReason,
    HintBlock,
    ImageBlock,
    Msg,
    PermissionRule,
    TextBlock,
    ThinkingBlock,
    ToolResultBlock,
    ToolUseBlock,
    URLSource,
    VideoBlock,
)
from ...message.msg import ChatUsage
from ..base import BaseEvent
from ..types import (
    AgentEndEvent,
    AgentResultEvent,
    AgentStartEvent,
    AllToolsDeniedEvent,
    ConfirmResult,
    CustomEvent,
    DataBlockDeltaEvent,
    DataBlockEndEvent,
    DataBlockStartEvent,
    ExceedMaxItersEvent,
    ExternalExecutionResultEvent,
    HintBlockEvent,
    ModelCallEndEvent,
    ModelCallStartEvent,
    RequestStopEvent,
    RequireExternalExecutionEvent,
    RequireUserConfirmEvent,
    SubagentExposedEvent,
    TextBlockDeltaEvent,
    TextBlockEndEvent,
    TextBlockStartEvent,
    ThinkingBlockDeltaEvent,
    ThinkingBlockEndEvent,
    ThinkingBlockStartEvent,
    ToolCallDeltaEvent,
    ToolCallEndEvent,
    ToolCallStartEvent,
    ToolResultDataDeltaEvent,
    ToolResultEndEvent,
    ToolResultStartEvent,
    ToolResultTextDeltaEvent,
    UserConfirmResultEvent,
)
from .forms import (
    LOWER,
    MEDIA_ALIASES,
    MEDIA_TYPE_KEYS,
    MOMENT,
    NUMBER,
    REWRITTEN,
    arguments_of,
    hint_text,
    settle_arguments,
)
from .shapes import Field, Form, Shape, many, null, one, tagged

__all__ = ["EVENTS", "MESSAGE", "PARTS", "before", "event_time", "message_time"]


def event_time(moment: datetime) -> str:
    """Write the time of an event: UTC, as `Instant.toString()`."""
    return moment.isoformat().replace("+00:00", "Z")


def message_time(moment: datetime) -> str:
    """Write the time of a message: local, to the millisecond, without a zone."""
    local = moment.astimezone()
    return f"{local:%Y-%m-%d %H:%M:%S}.{local.microsecond // 1000:03d}"


def _camel(name: str) -> str:
    first, *rest = name.split("_")
    return first + "".join(word.capitalize() for word in rest)


def _fields(*fields: str | Field) -> tuple[Field, ...]:
    """A bare name is an attribute that is its own camelCase self on the wire."""
    return tuple(Field(field, _camel(field)) if isinstance(field, str) else field for field in fields)


# ------------------------------------------------------------------------------------------------ forms


def _without_nulls(metadata: Any, at: str = "") -> Any:
    # AgentScope Java cannot read a map that has a null in it.
    if not isinstance(metadata, dict):
        return metadata
    return {key: value for key, value in metadata.items() if value is not None} or None


def _stop_reason(reason: GenerateReason, at: str) -> GenerateReason:
    # AgentScope Java cannot read an event with a reason that it does not know.
    return GenerateReason.MIDDLEWARE_STOP_REQUESTED if reason is GenerateReason.ERROR else reason


def _read_reason(reason: Any) -> Any:
    known = isinstance(reason, str) and reason in GenerateReason.__members__
    return reason if known else GenerateReason.MODEL_STOP


_METADATA = Form(_without_nulls, _without_nulls)
_TIMESTAMP = Form(lambda moment, at: message_time(moment), MOMENT.read)
_UPPER = Form(lambda role, at: role.upper(), LOWER.read)
_REASON = Form(lambda reason, at: reason, _read_reason)
_STOP_REASON = Field(
    "generate_reason",
    "generateReason",
    Form(_stop_reason, _read_reason),
    loss="ERROR is written as MIDDLEWARE_STOP_REQUESTED",
)


# ------------------------------------------------------------------------------------------------ blocks

_SIGNATURE = Field("signature", "metadata.thoughtSignature")
_NO_NULLS = "nulls in it are left out; empty is None"

_SOURCES = (
    Shape(Base64Source, "base64", (Field("media_type", "media_type", also=MEDIA_TYPE_KEYS), Field("data", "data"))),
    Shape(URLSource, "url", (Field("url", "url"), Field("media_type", "mime_type", also=MEDIA_TYPE_KEYS))),
)
_SOURCE = Field("source", "source", tagged(*_SOURCES))

_TEXT = Shape(TextBlock, "text", (Field("text", "text", default=str), Field("id", "", loss="left out of messages")))
_DATA = Shape(DataBlock, "data", (_SOURCE, Field("id", "id"), Field("name", "name")))
_LEGACY = tuple(
    Shape(cls, "data", (_SOURCE,), loss="written as a DataBlock") for cls in (ImageBlock, AudioBlock, VideoBlock)
)
_OUTPUT = tagged(_TEXT, _DATA, aliases=MEDIA_ALIASES)


def _read_output(value: Any) -> Any:
    return [{"type": "text", "text": value}] if isinstance(value, str) else many(_OUTPUT).read(value)


_THINKING = Shape(
    ThinkingBlock,
    "thinking",
    (
        Field("thinking", "thinking", default=str),
        Field("metadata", "metadata", _METADATA, missing=null, loss=_NO_NULLS),
        _SIGNATURE,
        Field("redacted_data", "metadata.redactedData"),
        Field("id", "", loss="left out of messages"),
    ),
)
_HINT_TEXT = Field("hint", "hint", Form(hint_text, lambda hint: hint), loss="only the text of its blocks")
_HINT = Shape(
    HintBlock,
    "hint",
    _fields(
        "id",
        _HINT_TEXT,
        Field("source", "source", missing=null),
    ),
)
_TOOL_USE = Shape(
    ToolUseBlock,
    "tool_use",
    _fields(
        Field("id", "id", default=str),
        Field("name", "name", default=str),
        "input",
        Field("raw_input", "content", get=arguments_of, missing=null, loss=REWRITTEN),
        Field("metadata", "metadata", _METADATA, missing=dict, loss=_NO_NULLS),
        _SIGNATURE,
        "state",
    ),
    settle=settle_arguments,
)
_TOOL_RESULT = Shape(
    ToolResultBlock,
    "tool_result",
    _fields(
        Field("id", "id", default=str),
        Field("name", "name", default=str),
        Field("output", "output", Form(many(_OUTPUT).write, _read_output)),
        Field("metadata", "metadata", _METADATA, missing=dict, loss=_NO_NULLS),
        "state",
    ),
)
_BLOCKS = (_TEXT, _THINKING, _DATA, *_LEGACY, _TOOL_USE, _TOOL_RESULT, _HINT)


# ------------------------------------------------------------------------------------------------ messages

_USAGE = Shape(
    ChatUsage,
    None,
    _fields(
        "input_tokens",
        "output_tokens",
        Field("cached_input_tokens", "cachedTokens"),
        "time",
        "total_tokens",
    ),
)


def _settle_message(fields: dict[str, Any]) -> None:
    if fields.get("role") == "assistant":
        fields.setdefault("generate_reason", GenerateReason.MODEL_STOP)


MESSAGE = Shape(
    Msg,
    None,
    _fields(
        "id",
        "name",
        Field("role", "role", _UPPER),
        Field("content", "content", many(tagged(*_BLOCKS, aliases={**MEDIA_ALIASES, "tool_call": "tool_use"}))),
        Field("metadata", "metadata", _METADATA, missing=dict, loss=_NO_NULLS),
        Field("timestamp", "timestamp", _TIMESTAMP, loss="to the millisecond, in local time"),
        Field("usage", "usage", one(_USAGE), missing=null, also=("metadata._chat_usage",)),
        Field(
            "generate_reason",
            "metadata.agentscope_generate_reason",
            _REASON,
            loss="None is read as MODEL_STOP in an assistant's message",
        ),
        Field("structured_output", "metadata._structured_output"),
    ),
    settle=_settle_message,
)
"""A message."""


# ------------------------------------------------------------------------------------------------ events

_RULE = Shape(
    PermissionRule,
    None,
    (
        Field("tool_name", "tool_name"),
        Field("rule_content", "rule_content", missing=null),
        Field("behavior", "behavior", LOWER),
        Field("source", "source", missing=null),
    ),
)
_CONFIRM = Shape(
    ConfirmResult,
    None,
    _fields(
        "confirmed",
        Field("tool_call", "toolCall", one(_TOOL_USE), also=("tool_call",)),
        Field("rules", "rules", many(one(_RULE))),
    ),
)

_ENVELOPE = _fields(
    "id",
    Field("created_at", "createdAt", MOMENT),
    "source",
    Field("metadata", "metadata", _METADATA, loss=_NO_NULLS),
    Field("seq", "metadata.seq", NUMBER),
)
_REPLY = Field("reply_id", "replyId", default=str)
_CALL = Field("tool_call_id", "toolCallId", default=str)
_CALL_NAME = Field("tool_call_name", "toolCallName", default=str)
_CALL_NAME_AGAIN = Field("tool_call_name", "toolCallName", told_by="tool_call_id")
_CALLS = many(one(_TOOL_USE))


def _unsaid(name: str, default: Any = str) -> Field:
    """An attribute of ours that the wire does not have; a reader makes up for it."""
    return Field(name, "", default=default)


def _octet_stream() -> str:
    return "application/octet-stream"


def _total(event: ModelCallEndEvent, at: str) -> int | None:
    if event.input_tokens is None or event.output_tokens is None:
        return None
    return event.input_tokens + event.output_tokens


def _data_block(event: ToolResultDataDeltaEvent, at: str) -> dict[str, Any]:
    source = (
        Base64Source(media_type=event.media_type, data=event.data)
        if event.data is not None
        else URLSource(url=event.url or "", media_type=event.media_type)
    )
    return _DATA.write(DataBlock(source, id=event.block_id), at)


def _settle_result(fields: dict[str, Any]) -> None:
    result = fields.get("result")
    if isinstance(result, dict) and isinstance(result.get("id"), str):
        fields["reply_id"] = result["id"]


def _settle_data_delta(fields: dict[str, Any]) -> None:
    block = fields.pop("data", None)
    if isinstance(block, dict) and isinstance(block.get("source"), dict):
        source = block["source"]
        fields["block_id"] = block.get("id", new_id())
        fields["media_type"] = source.get("media_type", _octet_stream())
        fields.update({key: source[key] for key in ("data", "url") if key in source})


def _event(cls: type[BaseEvent], *fields: str | Field, **how: Any) -> Shape:
    return Shape(cls, str(cls.model_fields["type"].default), (*_ENVELOPE, *_fields(*fields)), **how)


EVENTS = (
    _event(AgentStartEvent, "session_id", _REPLY, Field("name", "name", default=str), "role"),
    _event(
        AgentResultEvent,
        Field("result", "result", one(MESSAGE)),
        Field("reply_id", "", default=str, loss="read as the id of the message"),
        settle=_settle_result,
    ),
    _event(AgentEndEvent, _REPLY),
    _event(ExceedMaxItersEvent, _REPLY, "max_iters", "current_iter"),
    _event(RequestStopEvent, "reason", _STOP_REASON),
    _event(ModelCallStartEvent, _REPLY, _unsaid("model_call_id"), _unsaid("model_name")),
    _event(
        ModelCallEndEvent,
        _REPLY,
        _unsaid("model_call_id"),
        Field("input_tokens", "usage.inputTokens"),
        Field("output_tokens", "usage.outputTokens"),
        Field("cached_input_tokens", "usage.cachedTokens"),
        Field("", "usage.totalTokens", get=_total),
    ),
    _event(TextBlockStartEvent, _REPLY, "block_id"),
    _event(TextBlockDeltaEvent, _REPLY, "block_id", "delta"),
    _event(TextBlockEndEvent, _REPLY, "block_id"),
    _event(ThinkingBlockStartEvent, _REPLY, "block_id"),
    _event(ThinkingBlockDeltaEvent, _REPLY, "block_id", "delta"),
    _event(ThinkingBlockEndEvent, _REPLY, "block_id"),
    _event(DataBlockStartEvent, _REPLY, "block_id", _unsaid("media_type", _octet_stream)),
    _event(
        DataBlockDeltaEvent,
        _REPLY,
        "block_id",
        Field("data", "delta", also=("data",)),
        _unsaid("media_type", _octet_stream),
        Field("url", "", loss="such an event is written as CUSTOM"),
        only=lambda event: event.data is not None,
    ),
    _event(DataBlockEndEvent, _REPLY, "block_id"),
    _event(HintBlockEvent, _REPLY, "block_id", "hint_source", _HINT_TEXT),
    _event(ToolCallStartEvent, _REPLY, _CALL, _CALL_NAME),
    _event(ToolCallDeltaEvent, _REPLY, _CALL, _CALL_NAME_AGAIN, "delta"),
    _event(ToolCallEndEvent, _REPLY, _CALL, _CALL_NAME_AGAIN),
    _event(ToolResultStartEvent, _REPLY, _CALL, _CALL_NAME),
    _event(ToolResultTextDeltaEvent, _REPLY, _CALL, _CALL_NAME_AGAIN, "delta"),
    _event(
        ToolResultDataDeltaEvent,
        _REPLY,
        _CALL,
        _CALL_NAME_AGAIN,
        Field(
            "data",
            "data",
            Form(lambda block, at: block, _OUTPUT.read),
            get=_data_block,
            carries=("block_id", "media_type", "url"),
        ),
        settle=_settle_data_delta,
    ),
    _event(ToolResultEndEvent, _REPLY, _CALL, _CALL_NAME_AGAIN, "state"),
    _event(RequireUserConfirmEvent, _REPLY, Field("tool_calls", "toolCalls", _CALLS)),
    _event(RequireExternalExecutionEvent, _REPLY, Field("tool_calls", "toolCalls", _CALLS)),
    _event(UserConfirmResultEvent, _REPLY, Field("confirm_results", "confirmResults", many(one(_CONFIRM)))),
    _event(
        ExternalExecutionResultEvent,
        _REPLY,
        Field("tool_results", "toolResults", many(one(_TOOL_RESULT)), also=("executionResults",)),
    ),
    _event(AllToolsDeniedEvent, Field("denied_tool_calls", "deniedToolCalls", _CALLS), _unsaid("reply_id")),
    _event(SubagentExposedEvent, "subagent_id", "agent_id", "session_id", "label"),
    _event(CustomEvent, "name", "value"),
)
"""Every event that AgentScope Java has."""

PARTS = (*_SOURCES, *_BLOCKS, _USAGE, _RULE, _CONFIRM)
"""Everything inside messages and events."""


def before(event: BaseEvent) -> tuple[BaseEvent, ...]:
    """Return what a Java stream has directly before this event, and ours has not: the stop at a permission pause."""
    if not isinstance(event, AgentResultEvent) or event.result.generate_reason is not GenerateReason.PERMISSION_ASKING:
        return ()
    stop = RequestStopEvent(
        id=f"{event.id}-stop",
        created_at=event.created_at,
        source=event.source,
        reason="permission asking",
        generate_reason=GenerateReason.PERMISSION_ASKING,
    )
    return (stop,)
