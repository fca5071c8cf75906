"""Decodes the bytes of a Responses stream without a socket, and writes its events."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from agentscope_rx.errors import ModelError
from agentscope_rx.model import ModelChunk
from agentscope_rx.model.openai_responses import ResponsesDecoder

from .. import decoding
from ..outcome import Outcome


def decode_chunks(pieces: Iterable[bytes]) -> tuple[list[ModelChunk], ModelError | None]:
    return decoding.decode_with(ResponsesDecoder(), pieces)


def decode(*pieces: bytes) -> Outcome:
    return Outcome.of(*decode_chunks(pieces))


def sse(*frames: Any) -> bytes:
    return decoding.sse(*frames, named=True)


def event(kind: str, **fields: Any) -> dict[str, Any]:
    return {"type": f"response.{kind}", **fields}


def added(type: str, id: str | None = "i", index: int | None = None, **fields: Any) -> dict[str, Any]:
    return event("output_item.added", output_index=index, item={"type": type, "id": id, **fields})


def done(type: str, id: str | None = "i", index: int | None = None, **fields: Any) -> dict[str, Any]:
    return event("output_item.done", output_index=index, item={"type": type, "id": id, **fields})


def text(delta: str, id: str | None = "i", **fields: Any) -> dict[str, Any]:
    return event("output_text.delta", item_id=id, delta=delta, **fields)


def summary(delta: str, id: str | None = "i", index: int = 0) -> dict[str, Any]:
    return event("reasoning_summary_text.delta", item_id=id, summary_index=index, delta=delta)


def arguments(delta: str, id: str | None = "i", **fields: Any) -> dict[str, Any]:
    return event("function_call_arguments.delta", item_id=id, delta=delta, **fields)


def completed(status: str = "completed", **response: Any) -> dict[str, Any]:
    return event("completed", response={"status": status, "output": [], **response})


def call(
    id: str | None, call_id: str | None, *pieces: str, name: str | None = "f", **fields: Any
) -> list[dict[str, Any]]:
    """The events of one whole function call."""
    item: dict[str, Any] = {"type": "function_call", "id": id, "call_id": call_id, "name": name}
    return [
        added(**item, arguments="", **fields),
        *(arguments(piece, id) for piece in pieces),
        event("function_call_arguments.done", item_id=id, arguments="".join(pieces)),
        done(**item, arguments="".join(pieces), **fields),
    ]


def message(id: str | None, *pieces: str, **fields: Any) -> list[dict[str, Any]]:
    """The events of one whole message of one part."""
    part = {"type": "output_text", "text": "".join(pieces), "annotations": []}
    return [
        added("message", id, content=[]),
        event("content_part.added", item_id=id, content_index=0, part={**part, "text": ""}),
        *(text(piece, id, content_index=0) for piece in pieces),
        event("output_text.done", item_id=id, content_index=0, text="".join(pieces)),
        event("content_part.done", item_id=id, content_index=0, part=part),
        done("message", id, role="assistant", status="completed", content=[part], **fields),
    ]
