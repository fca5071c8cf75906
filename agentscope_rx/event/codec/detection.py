"""Whose JSON it is: told by what only one dialect writes."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any, Literal, TypeAlias

from .forms import ALIASES

__all__ = ["Dialect", "dialect_of_event", "dialect_of_message"]

Dialect: TypeAlias = Literal["native", "java", "python"]
"""Whose JSON it is: this package's own, or that of AgentScope Java or AgentScope Python."""

_JAVA_KEYS = frozenset({"createdAt", "replyId", "sessionId", "toolCallId", "subagentId", "generateReason"})
_PYTHON_KEYS = frozenset({"execution_results", "finished_reason", "cache_input_tokens"})
_PYTHON_MESSAGE_KEYS = frozenset({"created_at", "finished_at", "finished_reason"})


def dialect_of_event(fields: Mapping[str, Any]) -> Dialect:
    """Tell an event's dialect.

    Java writes camelCase; Python writes times without a zone, metadata that is empty, and names of its own. An event
    that says nothing of the kind is native.
    """
    created_at = fields.get("created_at")
    if created_at is None and not _JAVA_KEYS.isdisjoint(fields):
        return "java"
    kind = fields.get("type")
    renamed = isinstance(kind, str) and kind in ALIASES
    if renamed or fields.get("metadata") == {} or not _PYTHON_KEYS.isdisjoint(fields):
        return "python"
    return "python" if isinstance(created_at, str) and _is_naive(created_at) else "native"


def dialect_of_message(fields: Mapping[str, Any]) -> Dialect:
    """Tell a message's dialect: Java writes roles in capitals, Python the time as `created_at`."""
    role = fields.get("role")
    if isinstance(role, str) and role.isupper():
        return "java"
    return "native" if _PYTHON_MESSAGE_KEYS.isdisjoint(fields) else "python"


def _is_naive(moment: str) -> bool:
    try:
        return datetime.fromisoformat(moment).tzinfo is None
    except ValueError:
        return False
