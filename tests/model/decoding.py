"""Decodes the bytes of a stream without a socket."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from typing import Any

from agentscope_rx.errors import ModelError
from agentscope_rx.model import ModelChunk
from agentscope_rx.model.call import Decoder, Framing
from agentscope_rx.stream import SSEParser


def decode_with(
    decoder: Decoder, pieces: Iterable[bytes], framing: Callable[[], Framing] = SSEParser
) -> tuple[list[ModelChunk], ModelError | None]:
    parser, chunks = framing(), list[ModelChunk]()
    try:
        for piece in pieces:
            for event in parser.feed(piece):
                chunks += decoder.feed(event)
        for event in parser.flush():
            chunks += decoder.feed(event)
        chunks += decoder.close(parser.stray)
    except ModelError as error:
        return chunks, error
    return chunks, None


def sse(*frames: Any, named: bool = False) -> bytes:
    """One event for each frame: a string as it is, anything else as JSON; `named` calls the event by its type."""
    return b"".join(
        (f"event: {frame['type']}\n" if named and "type" in frame else "").encode()
        + f"data: {frame if isinstance(frame, str) else json.dumps(frame)}\n\n".encode()
        for frame in frames
    )
