"""The writer of a whole stream: it remembers what a dialect repeats from event to event."""

from __future__ import annotations

from typing import Any

from ..base import BaseEvent, ReplyEvent
from ..types import AgentEndEvent, ToolResultStartEvent
from .detection import Dialect
from .dialects import encode, foreign

__all__ = ["EventWriter"]

_TELLS = {"session_id": "reply_id", "name": "reply_id", "tool_call_name": "tool_call_id"}
"""What an event may tell of the later ones, and the id of what it belongs to."""


class EventWriter:
    """Writes the events of a stream, in order, as what a client of the dialect expects to receive.

    Beyond `encode` it fills in what the event itself does not know: the tool's name on every tool event of the Java
    dialect, the session and the agent's name where the Python dialect has them. And it writes what their streams have
    and ours have not: in Java, REQUEST_STOP directly before the AGENT_RESULT of a permission pause; in Python,
    TOOL_RESULT_START directly before REQUIRE_EXTERNAL_EXECUTION, in place of the one that comes with the result.

    Args:
        dialect: Whose JSON to write.

    Raises:
        ConfigurationError: there is no such dialect.
    """

    def __init__(self, dialect: Dialect = "native") -> None:
        self._tables = foreign(dialect)
        self._facts: dict[str, dict[tuple[str, str], Any]] = {}
        self._early: set[tuple[str, str]] = set()

    def write(self, event: BaseEvent) -> list[str]:
        """Return the JSON objects that this event is, each on one line.

        Raises:
            LocalProtocolError: the event holds something that JSON cannot.
        """
        if self._tables is None:
            return [encode(event)]
        if isinstance(event, ToolResultStartEvent) and _key(event) in self._early:
            self._early.remove(_key(event))
            return [self._tables.encode_as_custom(event)]
        before = [early for early in self._tables.before(event) if _key(early) not in self._early]
        self._early.update(_key(early) for early in before if isinstance(early, ToolResultStartEvent))
        return [self._tables.encode(item, self._facts_of(item)) for item in (*before, event)]

    def _facts_of(self, event: BaseEvent) -> dict[tuple[str, str], Any]:
        if not isinstance(event, ReplyEvent):
            return {}
        facts = self._facts.setdefault(event.reply_id, {})
        for name, owner in _TELLS.items():
            value = getattr(event, name, None)
            if value is not None and hasattr(event, owner):
                facts[name, getattr(event, owner)] = value
        if isinstance(event, AgentEndEvent):
            del self._facts[event.reply_id]
        return facts


def _key(event: BaseEvent) -> tuple[str, str]:
    return getattr(event, "reply_id", ""), getattr(event, "tool_call_id", "")
