"""Test doubles and helpers for applications: a scripted model, recorded streams, and assertions.

from agentscope_rx.testing import ScriptedModel, text, tool_call
"""

from .assertions import assert_valid_stream
from .recording import record, replay
from .scripted import (
    ScriptedModel,
    TurnItem,
    chunk,
    data,
    delay,
    error,
    finish,
    reset,
    text,
    thinking,
    tool_call,
    truncate,
    usage,
)

__all__ = [
    "ScriptedModel",
    "TurnItem",
    "assert_valid_stream",
    "chunk",
    "data",
    "delay",
    "error",
    "finish",
    "record",
    "replay",
    "reset",
    "text",
    "thinking",
    "tool_call",
    "truncate",
    "usage",
]
