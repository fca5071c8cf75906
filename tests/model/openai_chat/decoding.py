"""Decodes the bytes of a chat stream without a socket."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from agentscope_rx.errors import ModelError
from agentscope_rx.model import ModelChunk
from agentscope_rx.model.openai_chat import ChatDecoder

from ..decoding import decode_with, sse
from ..outcome import Outcome

__all__ = ["DONE", "STOP", "call", "decode", "decode_chunks", "delta", "sse"]


def decode_chunks(pieces: Iterable[bytes]) -> tuple[list[ModelChunk], ModelError | None]:
    return decode_with(ChatDecoder(), pieces)


def decode(*pieces: bytes) -> Outcome:
    return Outcome.of(*decode_chunks(pieces))


def delta(finish: str | None = None, *, index: int | None = 0, **fields: Any) -> dict[str, Any]:
    """A frame with one choice."""
    return {"id": "x", "choices": [{"index": index, "delta": fields, "finish_reason": finish}]}


def call(
    arguments: Any = "", *, index: int | None = 0, id: str | None = None, name: str | None = None
) -> dict[str, Any]:
    return {"index": index, "id": id, "type": "function", "function": {"name": name, "arguments": arguments}}


DONE = "[DONE]"
STOP = delta("stop")
