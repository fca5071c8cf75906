"""Anthropic Messages, the reading half: from the events of a stream to model chunks.

A message is a sequence of content blocks, each begun, continued and stopped by events of its own. `blocks` says what
becomes of them; here it is decided which block an event is about, and when a block ends: text and thinking, at the
latest, where another block begins, because some servers begin one before they have stopped the last.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...event import FinishReason
from ..decoding import FrameDecoder, Parts, count_at
from ..failures import Mask
from ..types import FinishPiece, ModelChunk, Piece, UsagePiece
from .blocks import Block, CallBlock, implied_block, new_block

__all__ = ["MessagesDecoder"]

_FINISH_REASONS = {
    "end_turn": FinishReason.STOP,
    "stop_sequence": FinishReason.STOP,
    "max_tokens": FinishReason.LENGTH,
    "model_context_window_exceeded": FinishReason.LENGTH,
    "tool_use": FinishReason.TOOL_CALLS,
    "pause_turn": FinishReason.PAUSE,
    "refusal": FinishReason.REFUSAL,
}
"""A stop reason that is not here is unknown."""

_PROMPT_COUNTS = ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens")


class MessagesDecoder(FrameDecoder):
    """Decodes one stream."""

    api = "an API of the Anthropic Messages protocol"

    def __init__(self, mask: Mask = str) -> None:
        super().__init__(mask)
        self._blocks: Parts[Block] = Parts()
        self._open: dict[int, Block] = {}
        self._begun = 0
        self._speaking: Block | None = None
        self._called = False
        self._counts: dict[str, int] = {}

    def _read(self, frame: dict[str, Any], name: str) -> list[ModelChunk]:
        read = _READERS.get(frame.get("type") or name)
        pieces = read(self, frame) if read is not None else []
        return [ModelChunk(*pieces)] if pieces else []

    def _read_document(self, document: dict[str, Any]) -> list[ModelChunk]:
        pieces = self._read_message(document) if document.get("type") == "message" else []
        self.finished = self.finished or self._spoke
        return [ModelChunk(*pieces)] if pieces else []

    def _has_calls(self) -> bool:
        return self._called

    # ------------------------------------------------------------------------------------------- the events

    def _on_message_start(self, frame: dict[str, Any]) -> list[Piece]:
        message = frame.get("message")
        return self._read_message(message) if isinstance(message, dict) else []

    def _on_block_start(self, frame: dict[str, Any]) -> list[Piece]:
        fields = frame.get("content_block")
        return self._begin(fields, frame.get("index")) if isinstance(fields, dict) and not self.finished else []

    def _on_block_delta(self, frame: dict[str, Any]) -> list[Piece]:
        delta, pieces = frame.get("delta"), list[Piece]()
        if not isinstance(delta, dict) or self.finished:
            return pieces
        block = self._blocks.find(frame.get("index"))
        if block is None:
            if (fields := implied_block(delta)) is None:
                return pieces
            pieces += self._begin(fields, frame.get("index"))
            block = self._blocks.find()
            assert block is not None, "a block has just begun"
        more = block.more(delta)
        if more:
            self._spoke = True
            pieces += self._turn_to(block)
        return pieces + more

    def _on_block_stop(self, frame: dict[str, Any]) -> list[Piece]:
        block = self._blocks.find(frame.get("index"))
        return [] if block is None else self._end(block)

    def _on_message_delta(self, frame: dict[str, Any]) -> list[Piece]:
        delta = frame.get("delta")
        return self._finish(delta if isinstance(delta, dict) else {}) + self._usage(frame.get("usage"))

    def _on_message_stop(self, frame: dict[str, Any]) -> list[Piece]:
        self.finished = self.done = True
        return self._end_all()

    # ------------------------------------------------------------------------------------------- the moves

    def _read_message(self, message: dict[str, Any]) -> list[Piece]:
        """Read a message as far as it is said: its beginning, or all of it."""
        pieces: list[Piece] = []
        content = message.get("content")
        for fields in content if isinstance(content, list) else ():
            if isinstance(fields, dict):
                pieces += self._begin(fields, None)
                pieces += self._end_all()
        return pieces + self._finish(message) + self._usage(message.get("usage"))

    def _begin(self, fields: dict[str, Any], index: Any) -> list[Piece]:
        block = self._blocks.begin(new_block(fields, self._begun), index if isinstance(index, int) else None)
        self._begun += 1
        self._called = self._called or (isinstance(block, CallBlock) and block.has_name)
        pieces = self._turn_to(block) + block.begin()
        self._spoke = self._spoke or bool(pieces)
        return pieces

    def _turn_to(self, block: Block) -> list[Piece]:
        """Go on with a block; text or thinking that was being said ends."""
        before, self._speaking = self._speaking, block
        self._open[block.number] = block
        return self._end(before) if before is not None and before is not block and before.gives_way else []

    def _end(self, block: Block) -> list[Piece]:
        if self._open.pop(block.number, None) is None:
            return []
        ending = block.end()
        self._spoke = self._spoke or bool(ending)
        return ending

    def _end_all(self) -> list[Piece]:
        return [piece for block in list(self._open.values()) for piece in self._end(block)]

    def _finish(self, fields: dict[str, Any]) -> list[Piece]:
        raw = fields.get("stop_reason")
        if not raw or self.finished:
            return []
        pieces = self._end_all()
        self._reason = _FINISH_REASONS.get(str(raw), FinishReason.UNKNOWN)
        self.finished = True
        return [*pieces, FinishPiece(self._reason, str(raw))]

    def _usage(self, usage: Any) -> list[Piece]:
        """Counts are totals so far; one that is left out stands as it was."""
        counts = {name: count_at(usage, name) for name in (*_PROMPT_COUNTS, "output_tokens")}
        counts["thinking_tokens"] = count_at(usage, "output_tokens_details", "thinking_tokens")
        told = {name: count for name, count in counts.items() if count is not None}
        if not told:
            return []
        self._counts.update(told)
        known = self._counts
        prompt = sum(known.get(name, 0) for name in _PROMPT_COUNTS) if "input_tokens" in known else None
        return [
            UsagePiece(
                prompt, known.get("output_tokens"), known.get("cache_read_input_tokens"), known.get("thinking_tokens")
            )
        ]


_READERS: dict[str, Callable[[MessagesDecoder, dict[str, Any]], list[Piece]]] = {
    "message_start": MessagesDecoder._on_message_start,
    "content_block_start": MessagesDecoder._on_block_start,
    "content_block_delta": MessagesDecoder._on_block_delta,
    "content_block_stop": MessagesDecoder._on_block_stop,
    "message_delta": MessagesDecoder._on_message_delta,
    "message_stop": MessagesDecoder._on_message_stop,
}
