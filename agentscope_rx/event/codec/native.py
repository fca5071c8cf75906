"""The native dialect: every field as it is, None left out, nothing lost."""

from __future__ import annotations

from typing import get_args

from pydantic import BaseModel
from pydantic_core import to_json

from ...message import Msg
from ..base import BaseEvent
from ..types import AgentEvent, UnknownEvent
from .text import Json, event_type, to_object, to_text, validate

__all__ = ["EVENT_OF_TYPE", "decode", "decode_message", "encode", "encode_message"]

EVENT_OF_TYPE: dict[str, type[BaseEvent]] = {
    str(cls.model_fields["type"].default): cls for cls in get_args(AgentEvent) if cls is not UnknownEvent
}
"""The class of each type."""

_ENVELOPE = ("id", "created_at", "source", "metadata", "seq")


def encode(event: BaseEvent) -> str:
    """Write one event."""
    if isinstance(event, UnknownEvent):
        raw = event.raw if event.seq is None else {**event.raw, "seq": event.seq}
        return to_text(lambda: to_json(raw), f"an event of type {event.type!r}")
    return to_text(lambda: _to_json(event), event.type)


def decode(data: Json) -> BaseEvent:
    """Read one event."""
    fields = to_object(data, "an event")
    name = event_type(fields)
    cls = EVENT_OF_TYPE.get(name)
    if cls is None:
        known = {key: fields[key] for key in _ENVELOPE if key in fields}
        raw = {key: value for key, value in fields.items() if key != "seq"}
        return validate(UnknownEvent, {**known, "type": name, "raw": raw}, name)
    return validate(cls, fields, name)


def encode_message(message: Msg) -> str:
    """Write one message."""
    return to_text(lambda: _to_json(message), "a message")


def decode_message(data: Json) -> Msg:
    """Read one message."""
    return validate(Msg, to_object(data, "a message"), "a message")


def _to_json(model: BaseModel) -> bytes:
    # Without warnings, which would quote the value of a field that a copy has changed to another type.
    return model.__pydantic_serializer__.to_json(model, exclude_none=True, warnings=False)
