"""OpenAI Chat Completions, the reading half: from the events of a stream to model chunks.

Only choice 0 is read. Servers that speak this protocol disagree about everything else: the words for why a model
stopped, the names of fields, and above all what identifies a tool call.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ...event import FinishReason
from ..decoding import FrameDecoder, count_at
from ..failures import Failure, Mask, read_failure
from ..tool_calls import ToolCallJoiner, raw_calls
from ..types import FinishPiece, ModelChunk, Piece, TextPiece, ThinkingPiece, UsagePiece

__all__ = ["ChatDecoder"]

_FINISH_REASONS = {
    "stop": FinishReason.STOP,
    "stop_sequence": FinishReason.STOP,
    "end_turn": FinishReason.STOP,
    "eos": FinishReason.STOP,
    "length": FinishReason.LENGTH,
    "max_tokens": FinishReason.LENGTH,
    "model_length": FinishReason.LENGTH,
    "tool_calls": FinishReason.TOOL_CALLS,
    "tool_use": FinishReason.TOOL_CALLS,
    "function_call": FinishReason.TOOL_CALLS,
    "content_filter": FinishReason.CONTENT_FILTER,
    "refusal": FinishReason.REFUSAL,
    "error": FinishReason.ERROR,
    "insufficient_system_resource": FinishReason.ERROR,
}
"""Finish reasons of the servers that speak this protocol; one that is not here is unknown."""


class ChatDecoder(FrameDecoder):
    """Decodes one stream."""

    api = "an OpenAI-compatible API"

    def __init__(self, mask: Mask = str) -> None:
        super().__init__(mask)
        self._calls = ToolCallJoiner()
        self._refused = False

    def _read(self, frame: dict[str, Any], name: str = "") -> list[ModelChunk]:
        choices = frame.get("choices")
        if not choices and (failure := read_failure(frame)):
            self._fail(failure)
        pieces: list[Piece] = []
        if isinstance(choices, list):
            for choice in choices:
                if isinstance(choice, dict) and not choice.get("index") and not self.finished:
                    self._read_choice(choice, pieces)
        if (counts := frame.get("usage")) and (usage := _usage(counts)):
            pieces.append(usage)
        return [ModelChunk(*pieces)] if pieces else []

    def _read_choice(self, choice: dict[str, Any], pieces: list[Piece]) -> None:
        delta = choice.get("delta")
        if delta is None and not self._spoke:
            delta = choice.get("message")
        if isinstance(delta, dict):
            self._read_delta(delta, pieces)
            if pieces:
                self._spoke = True
        raw = choice.get("finish_reason")
        if not raw:
            return
        reason = _FINISH_REASONS.get(raw, FinishReason.UNKNOWN) if isinstance(raw, str) else FinishReason.UNKNOWN
        if reason is FinishReason.ERROR:
            self._fail(read_failure(choice) or Failure(kind=raw))
        if reason is FinishReason.STOP and self._refused:
            reason = FinishReason.REFUSAL
        self._reason = reason
        self.finished = True
        pieces.append(FinishPiece(reason, str(raw)))
        if usage := _usage(choice.get("usage")):
            pieces.append(usage)

    def _read_delta(self, delta: dict[str, Any], pieces: list[Piece]) -> None:
        if len(delta) == 1 and type(text := delta.get("content")) is str:  # nearly always; saves looking for the rest
            if text:
                pieces.append(TextPiece(text))
            return
        thinking = delta.get("reasoning_content") or delta.get("reasoning")
        if thinking and isinstance(thinking, str):
            pieces.append(ThinkingPiece(thinking))
        if content := delta.get("content"):
            if isinstance(content, str):
                pieces.append(TextPiece(content))
            else:
                pieces.extend(_content_parts(content))
        refusal = delta.get("refusal")
        if refusal and isinstance(refusal, str):
            self._refused = True
            pieces.append(TextPiece(refusal))
        calls = delta.get("tool_calls")
        if not calls and (legacy := delta.get("function_call")):
            calls = [{"function": legacy}]
        if isinstance(calls, list) and calls:
            pieces.extend(self._calls.join(raw_calls(calls)))

    def _read_document(self, document: dict[str, Any]) -> list[ModelChunk]:
        chunks = self._read(document) if document.get("choices") else []
        self.finished = self.finished or self._spoke
        return chunks

    def _has_calls(self) -> bool:
        return self._calls.has_calls

    def _settle(self) -> None:
        self._calls.close()


def _content_parts(parts: Any) -> Iterator[Piece]:
    """Read content that comes as a list of typed parts, as Mistral's thinking models send it."""
    for part in parts if isinstance(parts, list) else ():
        if not isinstance(part, dict):
            continue
        if thinking := _joined(part.get("thinking")):
            yield ThinkingPiece(thinking)
        if text := _joined(part.get("text")):
            yield TextPiece(text)


def _joined(text: Any) -> str:
    if isinstance(text, list):
        return "".join(_joined(part.get("text")) for part in text if isinstance(part, dict))
    return text if isinstance(text, str) else ""


def _usage(usage: Any) -> UsagePiece | None:
    cached = count_at(usage, "prompt_tokens_details", "cached_tokens")
    piece = UsagePiece(
        count_at(usage, "prompt_tokens"),
        count_at(usage, "completion_tokens"),
        count_at(usage, "prompt_cache_hit_tokens") if cached is None else cached,
        count_at(usage, "completion_tokens_details", "reasoning_tokens"),
    )
    return None if piece == UsagePiece() else piece
