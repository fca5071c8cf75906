"""Decodes the bytes of a DashScope stream without a socket, and writes its events."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

from agentscope_rx.errors import ModelError
from agentscope_rx.model import ModelChunk
from agentscope_rx.model.dashscope import DashScopeDecoder

from ..decoding import decode_with
from ..outcome import Outcome


def decode_chunks(pieces: Iterable[bytes], *, cumulative: bool = False) -> tuple[list[ModelChunk], ModelError | None]:
    return decode_with(DashScopeDecoder(cumulative=cumulative), pieces)


def decode(*pieces: bytes, cumulative: bool = False) -> Outcome:
    return Outcome.of(*decode_chunks(pieces, cumulative=cumulative))


def events(*frames: Any) -> bytes:
    """One event for each frame, as the reference shows them: numbered, with the status in a comment."""
    return b"".join(
        f"id:{number}\nevent:result\n:HTTP_STATUS/200\ndata:{_written(frame)}\n\n".encode()
        for number, frame in enumerate(frames, 1)
    )


def failing(status: int = 400, **error: Any) -> bytes:
    """The event of an error."""
    return f"id:1\nevent:error\n:HTTP_STATUS/{status}\ndata:{_written(error)}\n\n".encode()


def _written(frame: Any) -> str:
    return frame if isinstance(frame, str) else json.dumps(frame, ensure_ascii=False)


def say(content: Any = "", finish: Any = "null", usage: Any = None, **message: Any) -> dict[str, Any]:
    """One frame: what is new, or all there is so far."""
    choice = {"message": {"role": "assistant", "content": content, **message}, "finish_reason": finish}
    return {"output": {"choices": [choice]}, **({} if usage is None else {"usage": usage}), "request_id": "r-1"}


def call(
    arguments: Any = "", id: str | None = None, name: str | None = None, index: int | None = 0, **more: Any
) -> dict[str, Any]:
    """A piece of a call."""
    encoded = {"type": "function", "function": {"name": name, "arguments": arguments}, **more}
    return {**encoded, **({} if id is None else {"id": id}), **({} if index is None else {"index": index})}
