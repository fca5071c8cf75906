"""Decodes the bytes of a chat stream without a socket."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

from agentscope_rx.errors import ModelError
from agentscope_rx.model import ModelChunk, SSEParser
from agentscope_rx.model.openai_chat import ChatDecoder

from ..outcome import Outcome


def decode_chunks(pieces: Iterable[bytes]) -> tuple[list[ModelChunk], ModelError | None]:
    parser, decoder = SSEParser(), ChatDecoder()
    chunks: list[ModelChunk] = []
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


def decode(*pieces: bytes) -> Outcome:
    return Outcome.of(*decode_chunks(pieces))


def sse(*frames: Any) -> bytes:
    """One event for each frame; a string is sent as it is, anything else as JSON."""
    return b"".join(f"data: {frame if isinstance(frame, str) else json.dumps(frame)}\n\n".encode() for frame in frames)


def delta(finish: str | None = None, *, index: int | None = 0, **fields: Any) -> dict[str, Any]:
    """A frame with one choice."""
    return {"id": "x", "choices": [{"index": index, "delta": fields, "finish_reason": finish}]}


def call(
    arguments: Any = "", *, index: int | None = 0, id: str | None = None, name: str | None = None
) -> dict[str, Any]:
    return {"index": index, "id": id, "type": "function", "function": {"name": name, "arguments": arguments}}


DONE = "[DONE]"
STOP = delta("stop")
