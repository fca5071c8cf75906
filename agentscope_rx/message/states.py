"""The enumerations that messages and events share."""

from __future__ import annotations

from enum import StrEnum

__all__ = ["PAUSES", "GenerateReason", "MsgRole", "PermissionBehavior", "ToolCallState", "ToolResultState"]


class MsgRole(StrEnum):
    """Who speaks in a message."""

    USER = "user"
    ASSISTANT = "assistant"
    SYSTEM = "system"
    TOOL = "tool"


class ToolCallState(StrEnum):
    """Where a tool call stands: pending → asking → allowed or submitted → finished."""

    PENDING = "pending"
    ASKING = "asking"
    ALLOWED = "allowed"
    SUBMITTED = "submitted"
    FINISHED = "finished"


class ToolResultState(StrEnum):
    """How a tool call ended; RUNNING until it has."""

    SUCCESS = "success"
    ERROR = "error"
    INTERRUPTED = "interrupted"
    DENIED = "denied"
    RUNNING = "running"


class GenerateReason(StrEnum):
    """Why a reply ended: the values of AgentScope Java's enum, and ERROR."""

    MODEL_STOP = "MODEL_STOP"
    TOOL_CALLS = "TOOL_CALLS"
    STRUCTURED_OUTPUT = "STRUCTURED_OUTPUT"
    TOOL_SUSPENDED = "TOOL_SUSPENDED"
    REASONING_STOP_REQUESTED = "REASONING_STOP_REQUESTED"
    ACTING_STOP_REQUESTED = "ACTING_STOP_REQUESTED"
    PERMISSION_ASKING = "PERMISSION_ASKING"
    MIDDLEWARE_STOP_REQUESTED = "MIDDLEWARE_STOP_REQUESTED"
    ALL_TOOLS_DENIED = "ALL_TOOLS_DENIED"
    INTERRUPTED = "INTERRUPTED"
    MAX_ITERATIONS = "MAX_ITERATIONS"
    ERROR = "ERROR"


PAUSES = frozenset(
    {
        GenerateReason.TOOL_SUSPENDED,
        GenerateReason.PERMISSION_ASKING,
        GenerateReason.REASONING_STOP_REQUESTED,
        GenerateReason.ACTING_STOP_REQUESTED,
        GenerateReason.MIDDLEWARE_STOP_REQUESTED,
    }
)
"""The reasons of a reply that may go on."""


class PermissionBehavior(StrEnum):
    """What a permission rule says about a matching call."""

    ALLOW = "allow"
    DENY = "deny"
    ASK = "ask"
    PASSTHROUGH = "passthrough"
