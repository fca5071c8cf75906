"""Decodes the bytes of a Messages stream without a socket, and writes its events."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from agentscope_rx.errors import ModelError
from agentscope_rx.model import ModelChunk
from agentscope_rx.model.anthropic import MessagesDecoder

from .. import decoding
from ..outcome import Outcome


def decode_chunks(pieces: Iterable[bytes]) -> tuple[list[ModelChunk], ModelError | None]:
    return decoding.decode_with(MessagesDecoder(), pieces)


def decode(*pieces: bytes) -> Outcome:
    return Outcome.of(*decode_chunks(pieces))


def sse(*frames: Any) -> bytes:
    return decoding.sse(*frames, named=True)


def start(**usage: Any) -> dict[str, Any]:
    return {"type": "message_start", "message": {"type": "message", "content": [], "usage": usage}}


def begin(index: int | None, kind: str, **fields: Any) -> dict[str, Any]:
    return {"type": "content_block_start", "index": index, "content_block": {"type": kind, **fields}}


def more(index: int | None, kind: str, **fields: Any) -> dict[str, Any]:
    return {"type": "content_block_delta", "index": index, "delta": {"type": kind, **fields}}


def stop(index: int | None) -> dict[str, Any]:
    return {"type": "content_block_stop", "index": index}


def text(text: str, index: int | None = 0) -> dict[str, Any]:
    return more(index, "text_delta", text=text)


def think(text: str, index: int | None = 0) -> dict[str, Any]:
    return more(index, "thinking_delta", thinking=text)


def json_piece(piece: str, index: int | None = 0) -> dict[str, Any]:
    return more(index, "input_json_delta", partial_json=piece)


def finish(reason: str | None = "end_turn", **usage: Any) -> dict[str, Any]:
    return {"type": "message_delta", "delta": {"stop_reason": reason}, "usage": usage}


BEGIN_TEXT = begin(0, "text", text="")
END = {"type": "message_stop"}


def call(
    index: int | None, id: str | None, *pieces: str, name: str | None = "f", **fields: Any
) -> list[dict[str, Any]]:
    """The events of one whole tool call."""
    head = begin(index, "tool_use", id=id, name=name, **{"input": {}, **fields})
    return [head, *(json_piece(piece, index) for piece in pieces), stop(index)]
