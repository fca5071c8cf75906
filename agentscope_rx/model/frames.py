"""From an event of a stream to the JSON value in it."""

from __future__ import annotations

import json
from typing import Any

from pydantic_core import from_json

from ..errors import ModelStreamError
from ..stream import ServerSentEvent

__all__ = ["parse_frame"]


def parse_frame(event: ServerSentEvent) -> Any:
    """Return the JSON value that an event carries; None when the end of the stream cut it.

    Raises:
        ModelStreamError: the event is whole, but not JSON.
    """
    try:
        return from_json(event.data)
    except ValueError:
        try:
            # Slower, but it takes half a surrogate pair, which servers send that cut text at any UTF-16 unit.
            return _with_whole_characters(json.loads(event.data))
        except (ValueError, RecursionError):
            if event.terminated:
                raise ModelStreamError("an event of the model's stream is not valid JSON") from None
            return None


def _with_whole_characters(value: Any) -> Any:
    """Replace what is no character, and could be neither stored nor sent on, by U+FFFD."""
    if isinstance(value, str):
        return value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    if isinstance(value, dict):
        return {key: _with_whole_characters(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_with_whole_characters(item) for item in value]
    return value
