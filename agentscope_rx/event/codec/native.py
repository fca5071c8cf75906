"""The native dialect: every field as it is, None left out, nothing lost."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeVar, get_args

from pydantic import BaseModel, ValidationError
from pydantic_core import PydanticSerializationError, from_json, to_json

from ...errors import LocalProtocolError, RemoteProtocolError
from ...message import Msg
from ..base import BaseEvent
from ..types import AgentEvent, UnknownEvent

__all__ = ["EVENT_OF_TYPE", "decode", "decode_message", "encode", "encode_message"]

M = TypeVar("M", bound=BaseModel)

EVENT_OF_TYPE: dict[str, type[BaseEvent]] = {
    str(cls.model_fields["type"].default): cls for cls in get_args(AgentEvent) if cls is not UnknownEvent
}
"""The class of each type."""

_BAD_TAG = "its `type` is none that can stand here"


def encode(event: BaseEvent) -> str:
    """Write one event."""
    if isinstance(event, UnknownEvent):
        raw = event.raw if event.seq is None else {**event.raw, "seq": event.seq}
        return _write(lambda: to_json(raw), f"an event of type {event.type!r}")
    return _write(lambda: _to_json(event), event.type)


def decode(data: str | bytes | bytearray | Mapping[str, Any]) -> BaseEvent:
    """Read one event."""
    fields = _object(data, "an event")
    name = fields.get("type")
    if not isinstance(name, str):
        raise RemoteProtocolError(f"an event has a string `type`: got {type(name).__name__}, keys {_keys(fields)}")
    cls = EVENT_OF_TYPE.get(name)
    if cls is None:
        known = {key: fields[key] for key in ("id", "created_at", "source", "metadata", "seq") if key in fields}
        raw = {key: value for key, value in fields.items() if key != "seq"}
        return _read(UnknownEvent, {**known, "type": name, "raw": raw}, name)
    return _read(cls, fields, name)


def encode_message(message: Msg) -> str:
    """Write one message."""
    return _write(lambda: _to_json(message), "a message")


def decode_message(data: str | bytes | bytearray | Mapping[str, Any]) -> Msg:
    """Read one message."""
    return _read(Msg, _object(data, "a message"), "a message")


def _to_json(model: BaseModel) -> bytes:
    # Without warnings, which would quote the value of a field that a copy has changed to another type.
    return model.__pydantic_serializer__.to_json(model, exclude_none=True, warnings=False)


def _write(dump: Callable[[], bytes], what: str) -> str:
    try:
        return dump().decode()
    except (PydanticSerializationError, ValueError) as error:
        raise LocalProtocolError(f"{what} holds a value that JSON cannot: {type(error).__name__}") from error


def _object(data: str | bytes | bytearray | Mapping[str, Any], what: str) -> Mapping[str, Any]:
    if isinstance(data, Mapping):
        return data
    try:
        value = from_json(data)
    except ValueError as error:
        raise RemoteProtocolError(f"{what} is a JSON object: got {len(data)} characters that are not JSON") from error
    if not isinstance(value, dict):
        raise RemoteProtocolError(f"{what} is a JSON object: got a JSON {type(value).__name__}")
    return value


def _read(cls: type[M], fields: Mapping[str, Any], what: str) -> M:
    try:
        return cls.model_validate(fields)
    except ValidationError as error:
        first = error.errors(include_input=False, include_url=False)[0]
        where = ".".join(map(str, first["loc"])) or "the object"
        # Of all of pydantic's messages this one alone repeats the input.
        problem = _BAD_TAG if first["type"] == "union_tag_invalid" else first["msg"]
        raise RemoteProtocolError(
            f"{what} has {error.error_count()} bad field(s), the first is {where}: {problem}"
        ) from error


def _keys(fields: Mapping[str, Any]) -> str:
    return ", ".join(sorted(map(str, fields))[:8]) or "none"
