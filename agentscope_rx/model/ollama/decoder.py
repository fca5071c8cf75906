"""Ollama, the reading half: from the lines of a stream to model chunks.

Each line is an answer of its own, with what is new; the last one says that it is `done`, why, and what was counted.
Calls come whole, their arguments as an object. Most servers give them no id, and an index that is 0 for all of them.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from ...event import FinishReason
from ..decoding import FrameDecoder, count_at
from ..failures import Mask
from ..native import native
from ..profiles import OLLAMA_NATIVE
from ..tool_calls import ToolCallJoiner, raw_calls
from ..types import FinishPiece, ModelChunk, Piece, TextPiece, ThinkingPiece, ToolCallPiece, UsagePiece

__all__ = ["OllamaDecoder"]

_DONE_REASONS: dict[str | None, FinishReason] = {"stop": FinishReason.STOP, "length": FinishReason.LENGTH}
"""A reason that is not here is unknown, and so is none, as old servers give: `load` and `unload` answer a request
without messages, and "" says that the connection to the model was lost."""


class OllamaDecoder(FrameDecoder):
    """Decodes one stream."""

    api = "an Ollama server"

    def __init__(self, mask: Mask = str) -> None:
        super().__init__(mask)
        self._calls = ToolCallJoiner()

    def _read(self, frame: dict[str, Any], name: str = "") -> list[ModelChunk]:
        pieces: list[Piece] = []
        if isinstance(message := frame.get("message"), dict):
            pieces.extend(self._read_message(message))
            self._spoke = self._spoke or bool(pieces)
        if frame.get("done") is True:
            raw = frame.get("done_reason")
            self._reason = (
                _DONE_REASONS.get(raw, FinishReason.UNKNOWN) if isinstance(raw, str) else FinishReason.UNKNOWN
            )
            self.finished = self.done = True
            pieces.append(FinishPiece(self._reason, raw if isinstance(raw, str) else None))
            if usage := _usage(frame):
                pieces.append(usage)
        return [ModelChunk(*pieces)] if pieces else []

    def _read_message(self, message: dict[str, Any]) -> Iterator[Piece]:
        thinking, content, calls = (message.get(name) for name in ("thinking", "content", "tool_calls"))
        if thinking and isinstance(thinking, str):
            yield ThinkingPiece(thinking)
        if content and isinstance(content, str):
            yield TextPiece(content)
        for call in calls if isinstance(calls, list) else ():
            if isinstance(call, dict):
                yield from self._read_call(call)

    def _read_call(self, call: dict[str, Any]) -> Iterator[ToolCallPiece]:
        [raw] = raw_calls([call])
        for piece in self._calls.join([replace(raw, index=None)]):
            yield replace(piece, complete=isinstance(raw.arguments, dict), metadata=_own(call))

    def _read_document(self, document: dict[str, Any]) -> list[ModelChunk]:
        return []  # a whole answer is one line

    def _has_calls(self) -> bool:
        return self._calls.has_calls

    def _settle(self) -> None:
        self._calls.close()


def _own(call: dict[str, Any]) -> dict[str, Any] | None:
    """Keep what the server says of a call besides the name and the arguments, to say it again."""
    own = {name: value for name, value in call.items() if name != "function"}
    if isinstance(function := call.get("function"), dict):
        rest = {name: value for name, value in function.items() if name not in ("name", "arguments")}
        own |= {"function": rest} if rest else {}
    return native(OLLAMA_NATIVE.name, call=own) if own else None


def _usage(frame: dict[str, Any]) -> UsagePiece | None:
    piece = UsagePiece(count_at(frame, "prompt_eval_count"), count_at(frame, "eval_count"))
    return None if piece == UsagePiece() else piece
