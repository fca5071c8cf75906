"""The codec: events and messages as JSON, and back.

    encode(event) -> str                    one JSON object on one line
    decode(str | bytes | mapping) -> event  the class is looked up by `type`, in one table
    encode_message / decode_message         the same for messages
    encode_history / decode_history         the same for conversations
    EventReader                             reads a stream, and brings a foreign one under the laws
    EventWriter                             writes a stream, with what a dialect repeats from event to event
    losses(dialect)                         what a dialect cannot carry

A dialect is a table of shapes (`java.py`, `python.py`); `shapes.py` walks it, either way.
"""

from .detection import Dialect
from .dialects import decode, decode_history, decode_message, encode, encode_history, encode_message
from .losses import Loss, losses
from .reader import EventReader
from .writer import EventWriter

__all__ = [
    "Dialect",
    "EventReader",
    "EventWriter",
    "Loss",
    "decode",
    "decode_history",
    "decode_message",
    "encode",
    "encode_history",
    "encode_message",
    "losses",
]
