"""The writer of a whole stream: it remembers what a dialect repeats from event to event."""

from __future__ import annotations

from typing import Any

from ..base import BaseEvent, ReplyEvent
from ..types import AgentEndEvent
from .detection import Dialect
from .dialects import encode, foreign

__all__ = ["EventWriter"]

_TELLS = {"session_id": "reply_id", "name": "reply_id", "tool_call_name": "tool_call_id"}
"""What an event may tell of the later ones, and the id of what it belongs to."""


class EventWriter:
    """Writes the events of a stream, in order, as what a client of the dialect expects to receive.

    Beyond `encode` it fills in what the event itself does not know: the tool's name on every tool event of the Java
    dialect, the session and the agent's name where the Python dialect has them; and it writes the REQUEST_STOP that a
    Java stream has directly before the AGENT_RESULT of a permission pause.

    Args:
        dialect: Whose JSON to write.

    Raises:
        ConfigurationError: there is no such dialect.
    """

    def __init__(self, dialect: Dialect = "native") -> None:
        self._tables = foreign(dialect)
        self._facts: dict[str, dict[tuple[str, str], Any]] = {}

    def write(self, event: BaseEvent) -> list[str]:
        """Return the JSON objects that this event is, each on one line.

        Raises:
            LocalProtocolError: the event holds something that JSON cannot.
        """
        if self._tables is None:
            return [encode(event)]
        announced = self._tables.before(event)
        written = [] if announced is None else [self._tables.encode(announced)]
        return [*written, self._tables.encode(event, self._facts_of(event))]

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
