"""DashScope, the reading half: from the events of a stream to model chunks.

Each event is an answer of its own, with what is new, or, if the request asked for that, with all there is so far. Only
choice 0 is read. A `finish_reason` of `"null"`, the text, says that there is none yet; the event that has one is the
last. Errors are events of their own, or frames with a `code`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Any

from ...event import FinishReason
from ..decoding import FrameDecoder
from ..failures import Failure, Mask, read_failure
from ..tool_calls import RawCall, ToolCallJoiner, raw_calls
from ..types import FinishPiece, ModelChunk, Piece, TextPiece, ThinkingPiece, UsagePiece
from .growth import Growth

__all__ = ["DashScopeDecoder"]

_FINISH_REASONS = {
    "stop": FinishReason.STOP,
    "length": FinishReason.LENGTH,
    "tool_calls": FinishReason.TOOL_CALLS,
}
"""A finish reason that is not here is unknown."""

_NOT_YET = (None, "", "null")


class DashScopeDecoder(FrameDecoder):
    """Decodes one stream.

    Args:
        mask: makes the provider's text fit to be shown.
        cumulative: whether each event holds all there is so far.
    """

    api = "DashScope's own protocol"

    def __init__(self, mask: Mask = str, *, cumulative: bool = False) -> None:
        super().__init__(mask)
        self._calls = ToolCallJoiner()
        self._growth = Growth() if cumulative else None

    def _read(self, frame: dict[str, Any], name: str = "") -> list[ModelChunk]:
        if frame.get("code"):
            said = {name: frame.get(name) or "" for name in ("code", "message", "request_id")}
            self._fail(read_failure(said) or Failure(str(said["code"])))
        pieces: list[Piece] = []
        if isinstance(output := frame.get("output"), dict) and not self.finished:
            for choice in _choices(output):
                self._read_choice(choice, pieces)
        if usage := _usage(frame.get("usage")):
            pieces.append(usage)
            self.done = self.finished
        return [ModelChunk(*pieces)] if pieces else []

    def _read_choice(self, choice: dict[str, Any], pieces: list[Piece]) -> None:
        raw = choice.get("finish_reason")
        last = raw not in _NOT_YET
        if isinstance(message := choice.get("message"), dict):
            pieces.extend(self._read_message(message, last))
            self._spoke = self._spoke or bool(pieces)
        if last:
            self._reason = _FINISH_REASONS.get(str(raw), FinishReason.UNKNOWN)
            self.finished = True
            pieces.append(FinishPiece(self._reason, str(raw)))

    def _read_message(self, message: dict[str, Any], last: bool) -> Iterator[Piece]:
        if thinking := self._new("thinking", _text(message.get("reasoning_content")), last):
            yield ThinkingPiece(thinking)
        if text := self._new("text", _text(message.get("content")), last):
            yield TextPiece(text)
        if isinstance(calls := message.get("tool_calls"), list):
            yield from self._calls.join(self._new_arguments(raw_calls(calls), last))

    def _new(self, name: Any, text: str, last: bool) -> str:
        return text if self._growth is None else self._growth.new(name, text, last=last)

    def _new_arguments(self, calls: Iterable[RawCall], last: bool) -> Iterator[RawCall]:
        """All the calls so far are in every event of cumulative output; so their places tell them apart too."""
        for place, call in enumerate(calls):
            if self._growth is None or not isinstance(call.arguments, str):
                yield call
                continue
            index = place if call.index is None else call.index
            yield replace(call, index=index, arguments=self._new(index, call.arguments, last))

    def _read_document(self, document: dict[str, Any]) -> list[ModelChunk]:
        return self._read(document)

    def _has_calls(self) -> bool:
        return self._calls.has_calls

    def _settle(self) -> None:
        self._calls.close()


def _choices(output: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Return choice 0, also of an output that is nothing but text."""
    choices = output.get("choices")
    if isinstance(choices, list):
        yield from (choice for choice in choices if isinstance(choice, dict) and not choice.get("index"))
    elif "text" in output:
        yield {"message": {"content": output["text"]}, "finish_reason": output.get("finish_reason")}


def _text(content: Any) -> str:
    """Return the text of content, that of its parts if it has any."""
    if isinstance(content, list):
        return "".join(_text(part.get("text")) for part in content if isinstance(part, dict))
    return content if isinstance(content, str) else ""


def _usage(usage: Any) -> UsagePiece | None:
    """Models name their figures differently; the first name that is there counts."""
    if not isinstance(usage, dict):
        return None
    piece = UsagePiece(
        _count(usage, "input_tokens", "prompt_tokens"),
        _count(usage, "output_tokens", "completion_tokens"),
        _count(usage.get("prompt_tokens_details") or usage.get("input_tokens_details"), "cached_tokens"),
        _count(usage.get("output_tokens_details") or usage.get("completion_tokens_details"), "reasoning_tokens"),
    )
    return None if piece == UsagePiece() else piece


def _count(counts: Any, *names: str) -> int | None:
    if isinstance(counts, dict):
        for name in names:
            if isinstance(count := counts.get(name), int):
                return count
    return None
