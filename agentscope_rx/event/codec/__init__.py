"""The codec: events and messages as JSON, and back.

    encode(event) -> str                    one JSON object on one line
    decode(str | bytes | mapping) -> event  the class is looked up by `type`, in one table
    encode_message / decode_message         the same for messages

Each dialect is one module with the same four functions; `DIALECTS` is the table of them.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import ModuleType
from typing import Any, Literal, TypeAlias

from ...errors import ConfigurationError
from ...message import Msg
from ..base import BaseEvent
from ..types import AgentEvent
from . import native

__all__ = ["Dialect", "decode", "decode_message", "encode", "encode_message"]

Dialect: TypeAlias = Literal["native"]
"""Whose JSON it is."""

DIALECTS: dict[str, ModuleType] = {"native": native}
"""Each dialect's module."""


def encode(event: BaseEvent, dialect: Dialect = "native") -> str:
    """Write one event as one JSON object, without line breaks.

    The native form is snake_case, leaves None out and loses nothing that JSON has a form for; floats that are not
    finite are written as null. An `UnknownEvent` is written as it came.

    Raises:
        LocalProtocolError: the event holds something that JSON cannot.
        ConfigurationError: there is no such dialect.
    """
    return str(_module(dialect).encode(event))


def decode(data: str | bytes | bytearray | Mapping[str, Any], dialect: Dialect | None = None) -> AgentEvent:
    """Read one event, from JSON or from its parsed object; the inverse of `encode`.

    Keys that the class does not have are ignored, and an unknown type is kept as an `UnknownEvent`.

    Raises:
        RemoteProtocolError: it is not a JSON object with a `type`, or a known event has a field that is missing or
            wrong; the message names the type and the field, and holds no content.
        ConfigurationError: there is no such dialect.
    """
    event: AgentEvent = _module(dialect or "native").decode(data)
    return event


def encode_message(message: Msg, dialect: Dialect = "native") -> str:
    """Write one message as one JSON object, without line breaks.

    Raises:
        LocalProtocolError: the message holds something that JSON cannot.
        ConfigurationError: there is no such dialect.
    """
    return str(_module(dialect).encode_message(message))


def decode_message(data: str | bytes | bytearray | Mapping[str, Any], dialect: Dialect | None = None) -> Msg:
    """Read one message, from JSON or from its parsed object; the result is of the class of its role.

    Raises:
        RemoteProtocolError: it is not a message; the message names the field, and holds no content.
        ConfigurationError: there is no such dialect.
    """
    message: Msg = _module(dialect or "native").decode_message(data)
    return message


def _module(dialect: str) -> ModuleType:
    try:
        return DIALECTS[dialect]
    except KeyError:
        raise ConfigurationError(f"there is no dialect {dialect!r}; known: {', '.join(sorted(DIALECTS))}") from None
