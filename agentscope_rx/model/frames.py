"""From the events of a stream to the JSON values in them."""

from __future__ import annotations

import json
from typing import Any

from pydantic_core import from_json

from ..errors import ModelStreamError
from ..stream import ServerSentEvent

__all__ = ["FrameParser"]


class FrameParser:
    """Parses the frames of one stream."""

    def __init__(self) -> None:
        self.torn = False
        """Whether strings so far may hold half a surrogate pair: the server cuts text at any UTF-16 unit."""

    def parse(self, event: ServerSentEvent) -> Any:
        """Return the JSON value that an event carries; None when the end of the stream cut it.

        Raises:
            ModelStreamError: the event is whole, but not JSON.
        """
        try:
            return from_json(event.data)
        except ValueError:
            try:
                value = json.loads(event.data)  # slower, but it takes half a surrogate pair
            except (ValueError, RecursionError):
                if event.terminated:
                    raise ModelStreamError("an event of the model's stream is not valid JSON", malformed=True) from None
                return None
        self.torn = True
        return value
