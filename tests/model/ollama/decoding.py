"""Decodes the bytes of an Ollama stream without a socket, and writes its lines."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

from agentscope_rx.errors import ModelError
from agentscope_rx.model import ModelChunk
from agentscope_rx.model.ollama import LineParser, OllamaDecoder

from ..decoding import decode_with
from ..outcome import Outcome


def decode_chunks(pieces: Iterable[bytes]) -> tuple[list[ModelChunk], ModelError | None]:
    return decode_with(OllamaDecoder(), pieces, LineParser)


def decode(*pieces: bytes) -> Outcome:
    return Outcome.of(*decode_chunks(pieces))


def lines(*frames: Any) -> bytes:
    """One line for each frame: a string as it is, anything else as JSON."""
    return b"".join(
        (frame if isinstance(frame, str) else json.dumps(frame, ensure_ascii=False)).encode() + b"\n"
        for frame in frames
    )


def say(content: str | None = "", **message: Any) -> dict[str, Any]:
    """One line of a stream, with what is new."""
    return {"model": "m", "message": {"role": "assistant", "content": content, **message}, "done": False}


def call(name: str | None = "f", arguments: Any = None, id: str | None = None, **function: Any) -> dict[str, Any]:
    """One whole call."""
    encoded = {"name": name, "arguments": {} if arguments is None else arguments, **function}
    return {**({} if id is None else {"id": id}), "function": encoded}


def done(reason: str | None = "stop", **more: Any) -> dict[str, Any]:
    """The last line."""
    return {**say(), "done": True, **({} if reason is None else {"done_reason": reason}), **more}
