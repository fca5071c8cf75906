"""Gemini, the reading half: from the chunks of a stream to model chunks.

Each chunk is an answer of its own, with the parts that are new and the counts so far. None says that it is the last:
that is the one with a finish reason and the counts. A prompt that is blocked gets no answer, but the reason for it.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from ...event import FinishReason
from ..decoding import FrameDecoder
from ..failures import Mask
from ..types import FinishPiece, ModelChunk, Piece, UsagePiece
from .parts import PartReader

__all__ = ["GeminiDecoder"]

_FINISH_REASONS = {
    "STOP": FinishReason.STOP,
    "MAX_TOKENS": FinishReason.LENGTH,
    "CONTINUATION": FinishReason.LENGTH,
    "FUNCTION_CALL": FinishReason.TOOL_CALLS,  # the word of servers that stand in for the API, which says STOP
    **dict.fromkeys(
        (
            "SAFETY",
            "RECITATION",
            "LANGUAGE",
            "BLOCKLIST",
            "PROHIBITED_CONTENT",
            "SPII",
            "IMAGE_SAFETY",
            "IMAGE_PROHIBITED_CONTENT",
            "IMAGE_RECITATION",
            "ESCALATION",
            "MODEL_ARMOR",
        ),
        FinishReason.CONTENT_FILTER,
    ),
    **dict.fromkeys(
        (
            "MALFORMED_FUNCTION_CALL",
            "MALFORMED_RESPONSE",
            "UNEXPECTED_TOOL_CALL",
            "TOO_MANY_TOOL_CALLS",
            "MISSING_THOUGHT_SIGNATURE",
            "PUP_LIMITED_DISABLED",
        ),
        FinishReason.ERROR,
    ),
}
"""A finish reason that is not here, such as OTHER or NO_IMAGE, is unknown."""

_NO_REASON = "FINISH_REASON_UNSPECIFIED"

_SOURCES = ("citationMetadata", "groundingMetadata", "urlContextMetadata")
"""Where an answer says what it rests on."""

_COUNTS = (
    "promptTokenCount",
    "toolUsePromptTokenCount",
    "candidatesTokenCount",
    "thoughtsTokenCount",
    "cachedContentTokenCount",
)


class GeminiDecoder(FrameDecoder):
    """Decodes one stream."""

    api = "an API of the Gemini protocol"

    def __init__(self, mask: Mask = str) -> None:
        super().__init__(mask)
        self._parts = PartReader()
        self._sources: dict[str, list[Any]] = {}
        self._counts: dict[str, int] = {}

    def _read(self, frame: dict[str, Any], name: str) -> list[ModelChunk]:
        pieces = [*self._answer(frame), *self._count(frame.get("usageMetadata"))]
        self.done = self.finished and "usageMetadata" in frame
        return [ModelChunk(*pieces)] if pieces else []

    def _read_document(self, document: dict[str, Any]) -> list[ModelChunk]:
        return self._read(document, "")

    def _has_calls(self) -> bool:
        return self._parts.has_calls

    def _answer(self, frame: dict[str, Any]) -> list[Piece]:
        if self.finished:
            return []
        candidate = _first_candidate(frame)
        if candidate is None:
            feedback = frame.get("promptFeedback")
            blocked = feedback.get("blockReason") if isinstance(feedback, dict) else None
            return self._finish(FinishReason.CONTENT_FILTER, str(blocked)) if blocked else []
        content, pieces = candidate.get("content"), list[Piece]()
        parts = content.get("parts") if isinstance(content, dict) else None
        for part in parts if isinstance(parts, list) else ():
            if isinstance(part, dict):
                pieces += self._parts.read(part)
        self._spoke = self._spoke or bool(pieces)
        for name in _SOURCES:
            if more := candidate.get(name):
                self._sources.setdefault(name, []).append(more)
        raw = candidate.get("finishReason")
        return pieces + self._finish(self._reason_of(str(raw)), str(raw)) if raw and raw != _NO_REASON else pieces

    def _finish(self, reason: FinishReason, raw: str) -> list[Piece]:
        self._reason = reason
        self.finished = True
        sources = {name: _joined(said) for name, said in self._sources.items()}
        return [*self._parts.end(sources), FinishPiece(reason, raw)]

    def _reason_of(self, raw: str) -> FinishReason:
        reason = _FINISH_REASONS.get(raw, FinishReason.UNKNOWN)
        return FinishReason.TOOL_CALLS if reason is FinishReason.STOP and self._parts.has_calls else reason

    def _count(self, usage: Any) -> list[Piece]:
        """Counts are totals so far, and come with every chunk; one that is left out stands as it was."""
        if not isinstance(usage, dict):
            return []
        told = {name: usage[name] for name in _COUNTS if isinstance(usage.get(name), int)}
        if told.items() <= self._counts.items():
            return []
        self._counts.update(told)
        prompt, tool_prompt, answer, thoughts, cached = map(self._counts.get, _COUNTS)
        return [UsagePiece(_sum(prompt, tool_prompt), _sum(answer, thoughts), cached, thoughts)]


def _first_candidate(frame: dict[str, Any]) -> dict[str, Any] | None:
    """Return the first of the answers, of which only a request that asks for them gets several."""
    candidates = frame.get("candidates")
    for candidate in candidates if isinstance(candidates, list) else ():
        if isinstance(candidate, dict) and not candidate.get("index"):
            return candidate
    return None


def _sum(*counts: int | None) -> int | None:
    known = [count for count in counts if count is not None]
    return sum(known) if known else None


def _joined(said: list[Any]) -> Any:
    """Join what several chunks say of the same: fields to fields, to a list what is not in it; else the last counts."""
    if all(isinstance(one, dict) for one in said):
        fields: dict[str, list[Any]] = {}
        for one in said:
            for name, value in one.items():
                fields.setdefault(name, []).append(value)
        return {name: _joined(values) for name, values in fields.items()}
    if all(isinstance(one, list) for one in said):
        return list(_each_once(said))
    return said[-1]


def _each_once(lists: list[list[Any]]) -> Iterator[Any]:
    """Yield the items of lists, but those that an earlier list has; within one, others count on their places."""
    known: set[str] = set()
    for items in lists:
        texts = [json.dumps(item, sort_keys=True) for item in items]
        yield from (item for item, text in zip(items, texts, strict=True) if text not in known)
        known.update(texts)
