"""Encoding and decoding: the table of dialects, and the functions that look into it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Protocol

from ...errors import ConfigurationError
from ...message import Msg
from ..base import BaseEvent
from ..types import AgentEvent
from . import java, native, python
from .detection import Dialect, dialect_of_event, dialect_of_message
from .history import merge_history, split_history
from .tables import TableDialect
from .text import Json, to_object

__all__ = [
    "FOREIGN",
    "decode",
    "decode_history",
    "decode_message",
    "encode",
    "encode_history",
    "encode_message",
    "foreign",
]


class _Codec(Protocol):
    """What every dialect does."""

    def encode(self, event: BaseEvent) -> str: ...
    def decode(self, data: Json) -> BaseEvent: ...
    def encode_message(self, message: Msg) -> str: ...
    def decode_message(self, data: Json) -> Msg: ...


def encode(event: BaseEvent, dialect: Dialect = "native") -> str:
    """Write one event as one JSON object, without line breaks.

    The native form is snake_case, leaves None out and loses nothing that JSON has a form for; floats that are not
    finite are written as null. An `UnknownEvent` is written as it came. The other dialects are what a client of
    AgentScope Java or AgentScope Python expects; an event that they have no type for is written as their CUSTOM,
    named `agentscope_rx.<TYPE>`, with the native object as its value, and a number as `metadata.seq`.

    Raises:
        LocalProtocolError: the event holds something that JSON cannot.
        ConfigurationError: there is no such dialect.
    """
    return _codec(dialect).encode(event)


def decode(data: Json, dialect: Dialect | None = None) -> AgentEvent:
    """Read one event, from JSON or from its parsed object; the inverse of `encode`.

    Keys that the class does not have are ignored, and an unknown type is kept as an `UnknownEvent`. Of another
    dialect every name that a type, a block or a key ever had is read. It knows one event at a time: whoever reads a
    stream of another implementation uses an `EventReader`, which also brings it under the laws.

    Args:
        data: The event.
        dialect: Whose JSON it is; None finds out.

    Raises:
        RemoteProtocolError: it is not a JSON object with a `type`, or a known event has a field that is missing or
            wrong; the message names the type and the field, and holds no content.
        ConfigurationError: there is no such dialect.
    """
    fields = to_object(data, "an event")
    event: AgentEvent = _codec(dialect or dialect_of_event(fields)).decode(fields)  # type: ignore[assignment]
    return event


def encode_message(message: Msg, dialect: Dialect = "native") -> str:
    """Write one message as one JSON object, without line breaks.

    Raises:
        LocalProtocolError: the message holds something that JSON cannot.
        ConfigurationError: there is no such dialect.
    """
    return _codec(dialect).encode_message(message)


def decode_message(data: Json, dialect: Dialect | None = None) -> Msg:
    """Read one message, from JSON or from its parsed object; the result is of the class of its role.

    Args:
        data: The message.
        dialect: Whose JSON it is; None finds out.

    Raises:
        RemoteProtocolError: it is not a message; the message names the field, and holds no content.
        ConfigurationError: there is no such dialect.
    """
    fields = to_object(data, "a message")
    return _codec(dialect or dialect_of_message(fields)).decode_message(fields)


def encode_history(messages: Iterable[Msg], dialect: Dialect = "native") -> list[dict[str, Any]]:
    """Write a history as JSON objects, one for each message that the dialect's histories have.

    AgentScope Java keeps a reply as one ASSISTANT message for each model call and one TOOL message for each tool
    result; the pieces of a reply carry its id as `metadata.agentscope_rx_reply_id`.

    Raises:
        LocalProtocolError: a message holds something that JSON cannot.
        ConfigurationError: there is no such dialect.
    """
    codec = _codec(dialect)
    messages = split_history(messages) if _splits(codec) else messages
    return [dict(to_object(codec.encode_message(message), "a message")) for message in messages]


def decode_history(history: Iterable[Json], dialect: Dialect | None = None) -> list[Msg]:
    """Read a history; the inverse of `encode_history`.

    Of a Java history the pieces of one reply become one message again: those that carry the same reply id, and where
    there is none, every ASSISTANT message with the ASSISTANT and TOOL messages that follow it.

    Args:
        history: The messages.
        dialect: Whose JSON it is; None finds out, from the first message.

    Raises:
        RemoteProtocolError: one of them is not a message.
        ConfigurationError: there is no such dialect.
    """
    objects = [to_object(message, "a message") for message in history]
    if not objects:
        return []
    codec = _codec(dialect or dialect_of_message(objects[0]))
    messages = [codec.decode_message(fields) for fields in objects]
    return merge_history(messages) if _splits(codec) else messages


def foreign(dialect: Dialect) -> TableDialect | None:
    """Return the tables of a dialect, None for the native one.

    Raises:
        ConfigurationError: there is no such dialect.
    """
    codec = _codec(dialect)
    return codec if isinstance(codec, TableDialect) else None


FOREIGN = {
    "java": TableDialect(
        "java",
        events=java.EVENTS,
        message=java.MESSAGE,
        parts=java.PARTS,
        time=java.event_time,
        before=java.before,
        splits_replies=True,
        restore=decode,
    ),
    "python": TableDialect(
        "python",
        events=python.EVENTS,
        message=python.MESSAGE,
        parts=python.PARTS,
        time=python.local_time,
        before=python.before,
        restore=decode,
    ),
}
"""The dialects of other implementations."""

_CODECS: dict[str, _Codec] = {"native": native, **FOREIGN}


def _codec(dialect: str) -> _Codec:
    try:
        return _CODECS[dialect]
    except KeyError:
        raise ConfigurationError(f"there is no dialect {dialect!r}; known: {', '.join(sorted(_CODECS))}") from None


def _splits(codec: _Codec) -> bool:
    return isinstance(codec, TableDialect) and codec.splits_replies
