"""A dialect made of tables: events and messages of another implementation, written and read by their shapes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from datetime import datetime
from typing import Any

from pydantic_core import to_json

from ...message import Msg
from ..base import BaseEvent
from ..types import CustomEvent, UnknownEvent
from . import native
from .detection import dialect_of_event
from .forms import ALIASES
from .shapes import NO_FACTS, Facts, Shape
from .text import Json, event_type, to_object, to_text, validate

__all__ = ["CUSTOM_PREFIX", "TableDialect"]

CUSTOM_PREFIX = "agentscope_rx."
"""Heads the name of a CUSTOM event that carries an event the dialect has no type for, in native JSON."""


class TableDialect:
    """The wire form of another implementation.

    Args:
        name: What the dialect is called.
        events: A shape for every event that the other side has.
        message: The shape of a message.
        parts: The shapes of everything inside them.
        time: Writes the time of an event or a message.
        before: Returns what the other side's streams have directly before an event, and ours have not.
        splits_replies: Whether its histories hold a message for each model call and each tool result.
        restore: Reads an event in the dialect that it is in.
    """

    def __init__(
        self,
        name: str,
        *,
        events: Iterable[Shape],
        message: Shape,
        parts: Iterable[Shape],
        time: Callable[[datetime], str],
        before: Callable[[BaseEvent], Iterable[BaseEvent]],
        splits_replies: bool = False,
        restore: Callable[[Json], Any],
    ) -> None:
        self.name = name
        """What the dialect is called."""
        self.splits_replies = splits_replies
        """Whether its histories hold a message for each model call and each tool result."""
        self.before = before
        """Returns what the other side's streams have directly before an event, and ours have not."""
        self.events: dict[type[Any], Shape] = {shape.cls: shape for shape in events}
        """The shape of each class of event."""
        self.parts = (*parts, message)
        """The shapes of messages and of everything inside them and events."""
        self._message = message
        self._time = time
        self._restore = restore
        self._custom = self.events[CustomEvent]
        own = {str(shape.cls.model_fields["type"].default): shape for shape in self.events.values()}
        self._by_type = {
            **{alias: own[type] for alias, type in ALIASES.items() if type in own},
            **own,
            **{str(shape.type): shape for shape in self.events.values()},
        }

    def encode(self, event: BaseEvent, facts: Facts = NO_FACTS) -> str:
        """Write one event; `facts` is what the stream has said before."""
        return to_text(lambda: _dump(self._object(event, facts)), f"an event of type {event.type!r}")

    def encode_as_custom(self, event: BaseEvent) -> str:
        """Write one event as CUSTOM, which a client of the other side passes over, and this package restores."""
        return self.encode(_wrapped(event))

    def decode(self, data: Json) -> BaseEvent:
        """Read one event."""
        fields = to_object(data, "an event")
        name = event_type(fields)
        shape = self._by_type.get(name)
        if shape is None:
            envelope = self._custom.read({**fields, "type": "CUSTOM", "name": "", "value": {}})
            return validate(UnknownEvent, {**envelope, "type": name, "raw": dict(fields)}, name, self._custom.keys)
        if shape is self._custom and isinstance(fields.get("value"), Mapping):
            label = fields.get("name")
            if isinstance(label, str) and label.startswith(CUSTOM_PREFIX):
                event: BaseEvent = self._restore(fields["value"])
                return event
        return validate(shape.cls, shape.read(fields), name, shape.keys)  # type: ignore[return-value]

    def encode_message(self, message: Msg) -> str:
        """Write one message."""
        at = self._time(message.timestamp)
        return to_text(lambda: _dump(self._message.write(message, at)), "a message")

    def decode_message(self, data: Json) -> Msg:
        """Read one message."""
        fields = self._message.read(to_object(data, "a message"))
        return validate(Msg, fields, "a message", self._message.keys)

    def _object(self, event: BaseEvent, facts: Facts) -> dict[str, Any]:
        if isinstance(event, UnknownEvent) and dialect_of_event(event.raw) == self.name:
            return event.raw if event.seq is None else _numbered(event.raw, event.seq)
        shape = self.events.get(type(event))
        if shape is None or (shape.only is not None and not shape.only(event)):
            shape, event = self._custom, _wrapped(event)
        return shape.write(event, self._time(event.created_at), facts)


def _wrapped(event: BaseEvent) -> CustomEvent:
    return CustomEvent(
        id=event.id,
        created_at=event.created_at,
        source=event.source,
        seq=event.seq,
        name=f"{CUSTOM_PREFIX}{event.type}",
        value=dict(to_object(native.encode(event), "an event")),
    )


def _numbered(raw: dict[str, Any], seq: int) -> dict[str, Any]:
    metadata = raw.get("metadata")
    return {**raw, "metadata": {**(metadata if isinstance(metadata, dict) else {}), "seq": seq}}


def _dump(fields: dict[str, Any]) -> bytes:
    return to_json(fields, inf_nan_mode="null")
