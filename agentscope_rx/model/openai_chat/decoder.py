"""OpenAI Chat Completions, the reading half: from the events of a stream to model chunks.

How a stream ends:

| what came | outcome |
|---|---|
| a finish reason, with or without `[DONE]` | normal |
| `[DONE]` without a finish reason, after content | normal, the reason is unknown |
| neither | ModelTruncatedError |
| an error object anywhere, or a finish reason that means one | ModelStreamError with the provider's kind |
| no event at all, a web page, an error as plain JSON | ModelStreamError |
| a whole completion as plain JSON, from a server that does not stream | normal: the completion in one chunk |
| the finish reason `tool_calls`, and no call | ModelStreamError |

Only choice 0 is read. A field that is missing, or that is not understood, is passed over.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NoReturn

from ...errors import ModelStreamError, ModelTruncatedError
from ...event import FinishReason
from ..failures import Failure, Mask, read_failure
from ..frames import parse_frame
from ..sse import ServerSentEvent
from ..tool_calls import RawCall, ToolCallJoiner
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


class ChatDecoder:
    """Decodes one stream.

    Args:
        mask: makes the provider's messages fit to be shown.
    """

    def __init__(self, mask: Mask = str) -> None:
        self.finished = False
        """Whether the model has said why it stopped; from there on only usage is read."""
        self.done = False
        """Whether `[DONE]` has come; from there on nothing is read."""
        self._mask = mask
        self._calls = ToolCallJoiner()
        self._reason: FinishReason | None = None
        self._started = False
        self._spoke = False
        self._refused = False

    def feed(self, event: ServerSentEvent) -> list[ModelChunk]:
        """Return what one event says: one chunk, or none.

        Raises:
            ModelStreamError: it says that something went wrong, or it is not JSON.
        """
        data = event.data
        if self.done or not data or data.isspace() or event.event == "ping":
            return []
        self._started = True
        if data.strip() == "[DONE]":
            self.finished = self.done = True
            return []
        if event.event == "error":
            self._fail(_failure_of_error_event(event))
        frame = parse_frame(event)
        return self._read(frame) if isinstance(frame, dict) else []

    def close(self, stray: str = "") -> list[ModelChunk]:
        """Say that the body has ended, and return what is left.

        Args:
            stray: the text of the body that was part of no event.

        Raises:
            ModelTruncatedError: the stream ended before the model said that it was done.
            ModelStreamError: it was no event stream, or ended in a way that makes no sense.
        """
        chunks = [] if self.finished else self._read_document(stray)
        self._calls.close()
        if not self.finished:
            if not self._started:
                raise ModelStreamError(
                    f"the server answered with {_kind_of_text(stray)}, not with an event stream; {_CHECK}"
                )
            raise ModelTruncatedError(
                "the model's answer broke off: the stream ended without a finish reason; what came before stands"
            )
        if self._reason is None:
            if not self._spoke:
                raise ModelStreamError(f"the stream ended with [DONE] before the model said anything; {_CHECK}")
            chunks.append(ModelChunk(FinishPiece(FinishReason.UNKNOWN)))
        elif self._reason is FinishReason.TOOL_CALLS and not self._calls.has_calls:
            raise ModelStreamError("the model stopped to call tools, but the stream holds no tool call")
        return chunks

    def _read(self, frame: dict[str, Any]) -> list[ModelChunk]:
        choices = frame.get("choices")
        if (not choices or "error" in frame) and (failure := read_failure(frame)):
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
            pieces.extend(self._calls.join(_raw_calls(calls)))

    def _read_document(self, text: str) -> list[ModelChunk]:
        """Read JSON that is part of no event: an error, or the answer of a server that does not stream."""
        for part in (text, *text.split("\n")):
            if not part.lstrip().startswith(("{", "[")):
                continue
            document = parse_frame(ServerSentEvent(part, terminated=False))  # None if it is no JSON
            if failure := read_failure(document):
                self._fail(failure)
            if isinstance(document, dict) and not self._started and document.get("choices"):
                chunks = self._read(document)
                self.finished = self.finished or self._spoke
                return chunks
        return []

    def _fail(self, failure: Failure) -> NoReturn:
        described = failure.describe(self._mask)
        raise ModelStreamError(
            "the model's stream carried an error" + (f": {described}" if described else ""),
            kind=failure.kind,
            code=failure.code,
        )


_CHECK = "check that the base URL is that of an OpenAI-compatible API and that the model exists"


def _failure_of_error_event(event: ServerSentEvent) -> Failure:
    try:
        body = parse_frame(event)
    except ModelStreamError:
        body = None
    return read_failure(body) or Failure(event.data, kind="error")


def _kind_of_text(text: str) -> str:
    text = text.lstrip()
    if not text:
        return "an empty body"
    return "a web page" if text.startswith("<") else "other text"


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


def _raw_calls(calls: list[Any]) -> Iterator[RawCall]:
    for call in calls:
        if not isinstance(call, dict):
            continue
        function = call.get("function")
        if not isinstance(function, dict):
            function = {}
        index, call_id, name = call.get("index"), call.get("id"), function.get("name")
        yield RawCall(
            index if isinstance(index, int) else None,
            str(call_id) if call_id else None,
            name if isinstance(name, str) else None,
            function.get("arguments"),
        )


def _usage(usage: Any) -> UsagePiece | None:
    prompt, cached = _count(usage, "prompt_tokens"), _count(usage, "prompt_tokens_details", "cached_tokens")
    written, reasoning = (
        _count(usage, "completion_tokens"),
        _count(usage, "completion_tokens_details", "reasoning_tokens"),
    )
    if cached is None:
        cached = _count(usage, "prompt_cache_hit_tokens")
    piece = UsagePiece(prompt, written, cached, reasoning)
    return None if piece == UsagePiece() else piece


def _count(value: Any, *path: str) -> int | None:
    for name in path:
        value = value.get(name) if isinstance(value, dict) else None
    return value if isinstance(value, int) else None
