"""Decodes the bytes of a Gemini stream without a socket, and writes its chunks."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from agentscope_rx.errors import ModelError
from agentscope_rx.model import ModelChunk
from agentscope_rx.model.gemini import GeminiDecoder

from ..decoding import decode_with
from ..outcome import Outcome


def decode_chunks(pieces: Iterable[bytes]) -> tuple[list[ModelChunk], ModelError | None]:
    return decode_with(GeminiDecoder(), pieces)


def decode(*pieces: bytes) -> Outcome:
    return Outcome.of(*decode_chunks(pieces))


def chunk(*parts: dict[str, Any], finish: str | None = None, usage: Any = None, **candidate: Any) -> dict[str, Any]:
    """One chunk of a stream, with the parts that are new."""
    content = {"content": {"parts": list(parts), "role": "model"}} if parts else {}
    reason = {"finishReason": finish} if finish else {}
    counts = {} if usage is None else {"usageMetadata": usage}
    return {"candidates": [{**content, **reason, "index": 0, **candidate}], **counts, "modelVersion": "m"}


def text(text: str, **more: Any) -> dict[str, Any]:
    return {"text": text, **more}


def think(text: str, **more: Any) -> dict[str, Any]:
    return {"text": text, "thought": True, **more}


def call(name: str = "f", id: str | None = None, proof: str | None = None, **arguments: Any) -> dict[str, Any]:
    """The part of one whole call."""
    part: dict[str, Any] = {"functionCall": {"name": name, "args": arguments, **({"id": id} if id else {})}}
    return {**part, "thoughtSignature": proof} if proof else part


STOP = chunk(finish="STOP")
