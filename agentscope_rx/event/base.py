"""What every event has: its type, its id, its time, its number and where it comes from."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Any

from pydantic import AfterValidator, Field

from ..identity import UtcDatetime, new_id, now
from ..message.frozen import FrozenModel

__all__ = [
    "METADATA_PARENT_SESSION_ID",
    "METADATA_PROGRESS",
    "METADATA_TASK_ID",
    "AgentEventType",
    "BaseEvent",
    "FinishReason",
    "ReplyEvent",
    "is_progress",
]

METADATA_TASK_ID = "taskId"
"""Metadata key: the task that a remote child agent works on."""
METADATA_PARENT_SESSION_ID = "parentSessionId"
"""Metadata key: the session of the agent that started a child agent."""
METADATA_PROGRESS = "progress"
"""Metadata key of a tool's output: True says that it is progress for people, and no part of the result."""


class AgentEventType(StrEnum):
    """The type of an event: the union of what AgentScope Java and AgentScope Python have."""

    AGENT_START = "AGENT_START"
    AGENT_RESULT = "AGENT_RESULT"
    AGENT_END = "AGENT_END"
    MODEL_CALL_START = "MODEL_CALL_START"
    MODEL_CALL_END = "MODEL_CALL_END"
    MODEL_CALL_RESET = "MODEL_CALL_RESET"
    TEXT_BLOCK_START = "TEXT_BLOCK_START"
    TEXT_BLOCK_DELTA = "TEXT_BLOCK_DELTA"
    TEXT_BLOCK_END = "TEXT_BLOCK_END"
    THINKING_BLOCK_START = "THINKING_BLOCK_START"
    THINKING_BLOCK_DELTA = "THINKING_BLOCK_DELTA"
    THINKING_BLOCK_END = "THINKING_BLOCK_END"
    DATA_BLOCK_START = "DATA_BLOCK_START"
    DATA_BLOCK_DELTA = "DATA_BLOCK_DELTA"
    DATA_BLOCK_END = "DATA_BLOCK_END"
    TOOL_CALL_START = "TOOL_CALL_START"
    TOOL_CALL_DELTA = "TOOL_CALL_DELTA"
    TOOL_CALL_END = "TOOL_CALL_END"
    TOOL_RESULT_START = "TOOL_RESULT_START"
    TOOL_RESULT_TEXT_DELTA = "TOOL_RESULT_TEXT_DELTA"
    TOOL_RESULT_DATA_DELTA = "TOOL_RESULT_DATA_DELTA"
    TOOL_RESULT_END = "TOOL_RESULT_END"
    HINT_BLOCK = "HINT_BLOCK"
    EXCEED_MAX_ITERS = "EXCEED_MAX_ITERS"
    REQUIRE_USER_CONFIRM = "REQUIRE_USER_CONFIRM"
    REQUIRE_EXTERNAL_EXECUTION = "REQUIRE_EXTERNAL_EXECUTION"
    USER_CONFIRM_RESULT = "USER_CONFIRM_RESULT"
    EXTERNAL_EXECUTION_RESULT = "EXTERNAL_EXECUTION_RESULT"
    USER_INTERRUPT = "USER_INTERRUPT"
    REQUEST_STOP = "REQUEST_STOP"
    ALL_TOOLS_DENIED = "ALL_TOOLS_DENIED"
    SUBAGENT_EXPOSED = "SUBAGENT_EXPOSED"
    CUSTOM = "CUSTOM"


class FinishReason(StrEnum):
    """Why a model call ended.

    After `pause` the answer is not over: tools that the provider runs itself have taken long, and the model goes on
    when it is called with what it has said so far.
    """

    STOP = "stop"
    LENGTH = "length"
    TOOL_CALLS = "tool_calls"
    PAUSE = "pause"
    CONTENT_FILTER = "content_filter"
    REFUSAL = "refusal"
    ERROR = "error"
    INTERRUPTED = "interrupted"
    UNKNOWN = "unknown"


class BaseEvent(FrozenModel):
    """What every event has. Two events are equal when all their fields are; the hash is that of the id."""

    type: str
    """What happened: an `AgentEventType`, or another string in an `UnknownEvent`."""
    id: str = Field(default_factory=new_id)
    """The id of the event."""
    created_at: UtcDatetime = Field(default_factory=now)
    """When it happened, in UTC."""
    source: str | None = None
    """The path of the child agent it comes from, such as `main/researcher`; None at the top."""
    metadata: Annotated[dict[str, Any] | None, AfterValidator(lambda metadata: metadata or None)] = None
    """Anything else, by key; None when empty."""
    seq: int | None = None
    """The number of the event in its reply, from 1; None before it is published."""

    def __hash__(self) -> int:
        return hash(self.id)


class ReplyEvent(BaseEvent):
    """An event of one reply."""

    reply_id: str
    """The reply it belongs to: the id of the message that the reply becomes."""


def is_progress(event: BaseEvent) -> bool:
    """Tell whether output of a tool is progress for people, which is no part of the result."""
    return event.metadata is not None and event.metadata.get(METADATA_PROGRESS) is True
