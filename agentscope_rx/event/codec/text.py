"""JSON text and typed errors: what every dialect does in the same way."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias, TypeVar

from pydantic import BaseModel, ValidationError
from pydantic_core import PydanticSerializationError, from_json

from ...errors import LocalProtocolError, RemoteProtocolError

__all__ = ["Json", "event_type", "to_object", "to_text", "validate"]

M = TypeVar("M", bound=BaseModel)

Json: TypeAlias = str | bytes | bytearray | Mapping[str, Any]
"""A JSON object, as text or parsed."""

_BAD_TAG = "its `type` is none that can stand here"


def to_text(dump: Callable[[], bytes], what: str) -> str:
    """Return what `dump` writes.

    Raises:
        LocalProtocolError: it holds something that JSON cannot.
    """
    try:
        return dump().decode()
    except (PydanticSerializationError, ValueError) as error:
        raise LocalProtocolError(f"{what} holds a value that JSON cannot: {type(error).__name__}") from error


def to_object(data: Json, what: str) -> Mapping[str, Any]:
    """Return the JSON object that `data` is.

    Raises:
        RemoteProtocolError: it is none.
    """
    if isinstance(data, Mapping):
        return data
    try:
        value = from_json(data)
    except ValueError as error:
        raise RemoteProtocolError(f"{what} is a JSON object: got {len(data)} characters that are not JSON") from error
    if not isinstance(value, dict):
        raise RemoteProtocolError(f"{what} is a JSON object: got a JSON {type(value).__name__}")
    return value


def event_type(fields: Mapping[str, Any]) -> str:
    """Return the type of an event.

    Raises:
        RemoteProtocolError: it has none.
    """
    name = fields.get("type")
    if not isinstance(name, str):
        keys = ", ".join(sorted(map(str, fields))[:8]) or "none"
        raise RemoteProtocolError(f"an event has a string `type`: got {type(name).__name__}, keys {keys}")
    return name


def validate(cls: type[M], fields: Mapping[str, Any], what: str, keys: Mapping[str, str] | None = None) -> M:
    """Make an instance of `cls`, of the class of its role if it is a message.

    Args:
        cls: What to make.
        fields: Its fields, by our names.
        what: What it is, for the error.
        keys: How the fields are called on the wire, for the error, where that differs.

    Raises:
        RemoteProtocolError: a field is missing or wrong; the message names it, and holds no content.
    """
    try:
        return cls.model_validate(fields)
    except ValidationError as error:
        first = error.errors(include_input=False, include_url=False)[0]
        where = [str(part) for part in first["loc"]]
        if where and keys is not None:
            where[0] = keys.get(where[0], where[0])
        # Of all of pydantic's messages this one alone repeats the input.
        problem = _BAD_TAG if first["type"] == "union_tag_invalid" else first["msg"]
        raise RemoteProtocolError(
            f"{what} has {error.error_count()} bad field(s), the first is {'.'.join(where) or 'the object'}: {problem}"
        ) from error
