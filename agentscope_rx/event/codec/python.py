"""The Python dialect: what AgentScope Python 2 writes and reads. Events and messages as tables.

snake_case, REPLY_START and REPLY_END, nulls written, times local and without a zone. The blocks of AgentScope 1 and
every name that an event type ever had are read too.
"""

from __future__ import annotations

from datetime import datetime
from typing import Any

from ...identity import new_id
from ...message import (
    PAUSES,
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
from ..base import BaseEvent, FinishReason
from ..types import (
    AgentEndEvent,
    AgentErrorInfo,
    AgentStartEvent,
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
    RequireExternalExecutionEvent,
    RequireUserConfirmEvent,
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
    UserInterruptEvent,
)
from .forms import (
    EMPTY_IS_NONE,
    LOWER,
    MEDIA_ALIASES,
    MEDIA_TYPE_KEYS,
    METADATA,
    MOMENT,
    NUMBER,
    REWRITTEN,
    arguments_of,
    media_type_of,
    settle_arguments,
)
from .shapes import Field, Form, Shape, many, null, one, tagged

__all__ = ["EVENTS", "MESSAGE", "PARTS", "before", "local_time"]


def local_time(moment: datetime) -> str:
    """Write a time: local, without a zone."""
    return moment.astimezone().replace(tzinfo=None).isoformat()


def _fields(*fields: str | Field) -> tuple[Field, ...]:
    """A bare name is an attribute that is called the same on the wire."""
    return tuple(Field(field, field) if isinstance(field, str) else field for field in fields)


# ------------------------------------------------------------------------------------------------ forms

_EMPTY = "empty is None"
_LOCAL = "in local time: where clocks are put back, an hour a year is two"

_FINISHED = {
    GenerateReason.INTERRUPTED: "interrupted",
    GenerateReason.MAX_ITERATIONS: "exceed_max_iters",
    GenerateReason.ERROR: "error",
}
_REASONS = {"completed": GenerateReason.MODEL_STOP, **{word: reason for reason, word in _FINISHED.items()}}


def _finished(reason: GenerateReason, at: str = "") -> str | None:
    return None if reason in PAUSES else _FINISHED.get(reason, "completed")


_REASON = Form(_finished, lambda word: _REASONS.get(word, word) if isinstance(word, str) else word)
_REASON_LOSS = "the reasons of Java that end a reply are one, completed"

_MODEL_FINISHED = {"completed": FinishReason.STOP, "interrupted": FinishReason.INTERRUPTED}
_FINISH_REASON = Form(
    lambda reason, at: "interrupted" if reason is FinishReason.INTERRUPTED else "completed",
    lambda word: _MODEL_FINISHED.get(word, word) if isinstance(word, str) else word,
)

_ERROR_TYPES = frozenset(
    {"authentication", "permission", "rate_limit", "invalid_request", "upstream"}
    | {"connection", "internal", "setup", "unknown"}
)
_ERROR_TYPE = {
    "ModelHTTPError": "upstream",
    "ModelStreamError": "upstream",
    "ModelTruncatedError": "connection",
    "ModelStallError": "connection",
    "UnsupportedContentError": "invalid_request",
    "ConfigurationError": "setup",
    "MissingExtraError": "setup",
}


def _error_type(name: str, at: str) -> str:
    return name if name in _ERROR_TYPES else _ERROR_TYPE.get(name, "internal")


_ROLE = Form(lambda role, at: "assistant" if role == "tool" else role, LOWER.read)


# ------------------------------------------------------------------------------------------------ blocks

_BORN = (
    Field("", "created_at", get=lambda block, at: at),
    Field("", "finished_at", get=lambda block, at: None, missing=null),
)

_SOURCES = (
    Shape(Base64Source, "base64", (Field("data", "data"), Field("media_type", "media_type", also=MEDIA_TYPE_KEYS))),
    Shape(
        URLSource,
        "url",
        (
            Field("url", "url"),
            Field(
                "media_type",
                "media_type",
                get=media_type_of,
                also=MEDIA_TYPE_KEYS,
                loss="None is guessed by the ending",
            ),
        ),
    ),
)
_SOURCE = Field("source", "source", tagged(*_SOURCES))

_TEXT = Shape(TextBlock, "text", _fields("text", "id", *_BORN))
_DATA = Shape(DataBlock, "data", _fields("id", _SOURCE, Field("name", "name", missing=null), *_BORN))
_LEGACY = tuple(
    Shape(cls, "data", (_SOURCE, *_BORN), loss="written as a DataBlock") for cls in (ImageBlock, AudioBlock, VideoBlock)
)
_OUTPUT = tagged(_TEXT, _DATA, aliases=MEDIA_ALIASES, telltales={"text": "text", "source": "data"})
_OUTPUTS = many(_OUTPUT)

_HINT_FORM = Form(
    lambda hint, at: hint if isinstance(hint, str) else _OUTPUTS.write(hint, at),
    lambda hint: hint if isinstance(hint, str) else _OUTPUTS.read(hint),
)


def _read_output(value: Any) -> Any:
    return [{"type": "text", "text": value}] if isinstance(value, str) else _OUTPUTS.read(value)


_THINKING = Shape(
    ThinkingBlock,
    "thinking",
    _fields(
        "thinking",
        "id",
        "signature",
        Field("redacted_data", "redacted_thinking_data"),
        Field("metadata", "metadata", METADATA, loss=_EMPTY),
        *_BORN,
    ),
)
_HINT = Shape(
    HintBlock,
    "hint",
    _fields(
        Field("hint", "hint", _HINT_FORM),
        "id",
        Field("source", "source", missing=null),
        Field("", "created_at", get=lambda block, at: at),
        Field("", "finished_at", get=lambda block, at: at),
    ),
)
_RULE = Shape(
    PermissionRule,
    None,
    _fields(
        "tool_name",
        Field("rule_content", "rule_content", missing=null),
        Field("behavior", "behavior", LOWER),
        Field("source", "source", EMPTY_IS_NONE, missing=str, loss=_EMPTY),
    ),
)
_TOOL_CALL = Shape(
    ToolUseBlock,
    "tool_call",
    _fields(
        "id",
        "name",
        Field("raw_input", "input", get=arguments_of, missing=str, loss=REWRITTEN),
        Field("input", "", loss="read from `raw_input`"),
        "state",
        Field("suggested_rules", "suggested_rules", many(one(_RULE)), missing=list),
        *_BORN,
    ),
    settle=settle_arguments,
)
_TOOL_RESULT = Shape(
    ToolResultBlock,
    "tool_result",
    _fields(
        "id",
        "name",
        Field("output", "output", Form(_OUTPUTS.write, _read_output)),
        "state",
        Field("metadata", "metadata", METADATA, missing=dict, loss=_EMPTY),
        *_BORN,
    ),
)
_BLOCKS = (_TEXT, _THINKING, _DATA, *_LEGACY, _TOOL_CALL, _TOOL_RESULT, _HINT)
_BLOCK = tagged(
    *_BLOCKS,
    aliases={**MEDIA_ALIASES, "tool_use": "tool_call"},
    telltales={
        "text": "text",
        "thinking": "thinking",
        "hint": "hint",
        "output": "tool_result",
        "input": "tool_call",
        "source": "data",
    },
)


# ------------------------------------------------------------------------------------------------ messages

_NO_CACHE_CREATION = Field("", "cache_creation_input_tokens", get=lambda usage, at: 0)


def _settle_usage(fields: dict[str, Any]) -> None:
    """Both zero is how AgentScope Python says that it does not know."""
    if fields.get("input_tokens") == fields.get("output_tokens") == 0:
        for name in ("input_tokens", "output_tokens", "cached_input_tokens"):
            fields.pop(name, None)


def _settle_message_usage(fields: dict[str, Any]) -> None:
    _settle_usage(fields)
    counts = fields.get("input_tokens"), fields.get("output_tokens")
    if isinstance(counts[0], int) and isinstance(counts[1], int):
        fields["total_tokens"] = counts[0] + counts[1]


_TOKENS = _fields(
    Field("input_tokens", "input_tokens", missing=int, loss="None is read as 0 when the other is known"),
    Field("output_tokens", "output_tokens", missing=int, loss="None is read as 0 when the other is known"),
    Field("cached_input_tokens", "cache_input_tokens", missing=int, loss="None is read as 0"),
    _NO_CACHE_CREATION,
)
_USAGE = Shape(
    ChatUsage,
    None,
    (*_TOKENS, Field("total_tokens", "", loss="read as the sum")),
    settle=_settle_message_usage,
)


def _finished_at(message: Msg, at: str) -> str | None:
    return at if message.role in ("user", "system") else None


MESSAGE = Shape(
    Msg,
    None,
    _fields(
        "name",
        Field("content", "content", many(_BLOCK)),
        Field("role", "role", _ROLE, loss="tool is written as assistant"),
        "id",
        Field("metadata", "metadata", METADATA, missing=dict, loss=_EMPTY),
        Field("timestamp", "created_at", MOMENT, loss=_LOCAL),
        Field("usage", "usage", one(_USAGE), missing=null),
        Field("", "finished_at", get=_finished_at, missing=null),
        Field("generate_reason", "finished_reason", _REASON, missing=null, loss=f"{_REASON_LOSS}; pauses are null"),
        Field("structured_output", "structured_output", missing=null),
        Field("", "error", get=lambda message, at: None, missing=null),
    ),
)
"""A message."""


# ------------------------------------------------------------------------------------------------ events

_ENVELOPE = _fields(
    "id",
    Field("created_at", "created_at", MOMENT, loss=_LOCAL),
    Field("metadata", "metadata", METADATA, missing=dict, loss=_EMPTY),
    Field("source", "metadata.source"),
    Field("seq", "metadata.seq", NUMBER),
)
_ERROR = Shape(
    AgentErrorInfo,
    None,
    _fields(Field("type", "type", Form(_error_type, lambda word: word), loss="one of nine kinds"), "message"),
)
_CONFIRM = Shape(
    ConfirmResult,
    None,
    _fields(
        "confirmed",
        Field("tool_call", "tool_call", one(_TOOL_CALL)),
        Field("rules", "rules", many(one(_RULE))),
    ),
)
_SESSION = Field("session_id", "session_id", EMPTY_IS_NONE, missing=str, loss=_EMPTY)
_SESSION_AGAIN = Field("session_id", "session_id", missing=str, told_by="reply_id")
_NAME_AGAIN = Field("name", "name", missing=str, told_by="reply_id")
_CALLS = Field("tool_calls", "tool_calls", many(one(_TOOL_CALL)))


def _final_text(event: TextBlockEndEvent, at: str) -> Any:
    return (event.metadata or {}).get(_FINAL_TEXT_KEY)


def _settle_final_text(fields: dict[str, Any]) -> None:
    text = fields.pop(_FINAL_TEXT_KEY, None)
    if text is not None:
        fields["metadata"] = {**(fields.get("metadata") or {}), _FINAL_TEXT_KEY: text}


# Of a voice reply that was cut short, what was heard; the deltas were more, and no event takes them back.
_FINAL_TEXT_KEY = "final_text"
_FINAL_TEXT = Field(_FINAL_TEXT_KEY, "text", get=_final_text)


def _unsaid(name: str, default: Any) -> Field:
    """An attribute of ours that the wire does not have; a reader makes up for it."""
    return Field(name, "", default=default)


def _event(cls: type[BaseEvent], *fields: str | Field, type: str | None = None, **how: Any) -> Shape:
    name = type or str(cls.model_fields["type"].default)
    return Shape(cls, name, (*_ENVELOPE, *_fields(*fields)), **how)


EVENTS = (
    _event(AgentStartEvent, _SESSION, "reply_id", "name", "role", type="REPLY_START"),
    _event(
        AgentEndEvent,
        _SESSION_AGAIN,
        "reply_id",
        Field("generate_reason", "finished_reason", _REASON, loss=f"{_REASON_LOSS}; a pause is written as CUSTOM"),
        Field("error", "error", one(_ERROR), missing=null),
        type="REPLY_END",
        only=lambda event: event.generate_reason not in PAUSES,
    ),
    _event(ModelCallStartEvent, "reply_id", "model_name", _unsaid("model_call_id", str)),
    _event(
        ModelCallEndEvent,
        "reply_id",
        _unsaid("model_call_id", str),
        *_TOKENS,
        Field("finish_reason", "finished_reason", _FINISH_REASON, loss="interrupted or completed, read as stop"),
        settle=_settle_usage,
    ),
    _event(TextBlockStartEvent, "reply_id", "block_id"),
    _event(TextBlockDeltaEvent, "reply_id", "block_id", "delta"),
    _event(TextBlockEndEvent, "reply_id", "block_id", _FINAL_TEXT, settle=_settle_final_text),
    _event(ThinkingBlockStartEvent, "reply_id", "block_id"),
    _event(ThinkingBlockDeltaEvent, "reply_id", "block_id", "delta"),
    _event(ThinkingBlockEndEvent, "reply_id", "block_id"),
    _event(DataBlockStartEvent, "reply_id", "block_id", "media_type"),
    _event(DataBlockDeltaEvent, "reply_id", "block_id", "media_type", Field("data", "data", also=("delta",)), "url"),
    _event(DataBlockEndEvent, "reply_id", "block_id"),
    _event(
        HintBlockEvent,
        "reply_id",
        "block_id",
        Field("hint_source", "source", missing=null),
        Field("hint", "hint", _HINT_FORM),
    ),
    _event(ToolCallStartEvent, "reply_id", "tool_call_id", "tool_call_name"),
    _event(ToolCallDeltaEvent, "reply_id", "tool_call_id", "delta"),
    _event(ToolCallEndEvent, "reply_id", "tool_call_id"),
    _event(ToolResultStartEvent, "reply_id", "tool_call_id", "tool_call_name"),
    _event(ToolResultTextDeltaEvent, "reply_id", "tool_call_id", "delta"),
    _event(
        ToolResultDataDeltaEvent,
        "reply_id",
        "tool_call_id",
        Field("block_id", "block_id", default=new_id),
        "media_type",
        Field("data", "data", missing=null),
        Field("url", "url", missing=null),
    ),
    _event(ToolResultEndEvent, "reply_id", "tool_call_id", "state"),
    _event(ExceedMaxItersEvent, "reply_id", _NAME_AGAIN, _unsaid("max_iters", int), _unsaid("current_iter", int)),
    _event(RequireUserConfirmEvent, "reply_id", _CALLS),
    _event(RequireExternalExecutionEvent, "reply_id", _CALLS),
    _event(UserConfirmResultEvent, "reply_id", Field("confirm_results", "confirm_results", many(one(_CONFIRM)))),
    _event(
        ExternalExecutionResultEvent,
        "reply_id",
        Field("tool_results", "execution_results", many(one(_TOOL_RESULT)), also=("tool_results",)),
    ),
    _event(UserInterruptEvent, "reply_id"),
    _event(CustomEvent, "name", "value"),
)
"""Every event that AgentScope Python has."""

PARTS = (*_SOURCES, *_BLOCKS, _USAGE, _RULE, _CONFIRM, _ERROR)
"""Everything inside messages and events."""


def before(event: BaseEvent) -> tuple[BaseEvent, ...]:
    """Return what a Python stream has directly before this event, and ours has not: the results of external calls.

    AgentScope Python starts them before it pauses, and its clients take an answer for a result that is missing if
    they have not seen that.
    """
    if not isinstance(event, RequireExternalExecutionEvent):
        return ()
    return tuple(
        ToolResultStartEvent(
            id=f"{event.id}-{call.id}",
            created_at=event.created_at,
            source=event.source,
            reply_id=event.reply_id,
            tool_call_id=call.id,
            tool_call_name=call.name,
        )
        for call in event.tool_calls
    )
