"""Events (floor 1): what happens in a reply, what may follow what, and the message it all becomes."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from .base import (
    METADATA_PARENT_SESSION_ID,
    METADATA_PROGRESS,
    METADATA_TASK_ID,
    AgentEventType,
    BaseEvent,
    FinishReason,
    ReplyEvent,
    is_progress,
)
from .fold import MessageBuilder, MessageSnapshot, ModelCallRecord
from .lifecycle import Lifecycle, Part, PartKey
from .types import (
    AgentEndEvent,
    AgentErrorInfo,
    AgentEvent,
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
    ModelCallResetEvent,
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
    UnknownEvent,
    UserConfirmResultEvent,
    UserInterruptEvent,
)

if TYPE_CHECKING:
    from .codec import (
        Dialect,
        EventReader,
        EventWriter,
        decode,
        decode_history,
        decode_message,
        encode,
        encode_history,
        encode_message,
    )

__all__ = [
    "METADATA_PARENT_SESSION_ID",
    "METADATA_PROGRESS",
    "METADATA_TASK_ID",
    "AgentEndEvent",
    "AgentErrorInfo",
    "AgentEvent",
    "AgentEventType",
    "AgentResultEvent",
    "AgentStartEvent",
    "AllToolsDeniedEvent",
    "BaseEvent",
    "ConfirmResult",
    "CustomEvent",
    "DataBlockDeltaEvent",
    "DataBlockEndEvent",
    "DataBlockStartEvent",
    "Dialect",
    "EventReader",
    "EventWriter",
    "ExceedMaxItersEvent",
    "ExternalExecutionResultEvent",
    "FinishReason",
    "HintBlockEvent",
    "Lifecycle",
    "MessageBuilder",
    "MessageSnapshot",
    "ModelCallEndEvent",
    "ModelCallRecord",
    "ModelCallResetEvent",
    "ModelCallStartEvent",
    "Part",
    "PartKey",
    "ReplyEvent",
    "RequestStopEvent",
    "RequireExternalExecutionEvent",
    "RequireUserConfirmEvent",
    "SubagentExposedEvent",
    "TextBlockDeltaEvent",
    "TextBlockEndEvent",
    "TextBlockStartEvent",
    "ThinkingBlockDeltaEvent",
    "ThinkingBlockEndEvent",
    "ThinkingBlockStartEvent",
    "ToolCallDeltaEvent",
    "ToolCallEndEvent",
    "ToolCallStartEvent",
    "ToolResultDataDeltaEvent",
    "ToolResultEndEvent",
    "ToolResultStartEvent",
    "ToolResultTextDeltaEvent",
    "UnknownEvent",
    "UserConfirmResultEvent",
    "UserInterruptEvent",
    "decode",
    "decode_history",
    "decode_message",
    "encode",
    "encode_history",
    "encode_message",
    "is_progress",
]


def __getattr__(name: str) -> Any:
    # The codec is loaded when it is first asked for: its tables are large, and many programs need none of them.
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = globals()[name] = getattr(import_module(".codec", __name__), name)
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
