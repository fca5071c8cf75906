"""OpenAI Responses, the reading half: from the events of a stream to model chunks.

A response is a sequence of output items, each added, continued in parts and declared done, and everything is said again
in the end: each part whole, each item whole, all items together. What has been said is not said twice; what is missing
so far is taken from there. Some servers leave out sequence numbers, indices and half of the events, and begin an item
before the last is done: text and reasoning end when something else begins.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...event import FinishReason
from ..decoding import FrameDecoder, Parts, count_at
from ..failures import Failure, Mask, read_failure
from ..types import FinishPiece, ModelChunk, Piece, TextPiece, ThinkingPiece, ToolCallPiece, UsagePiece
from .items import TEXT_OF_PART, Item, PartKey

__all__ = ["ResponsesDecoder"]

_INCOMPLETE = {
    "max_output_tokens": FinishReason.LENGTH,
    "max_tokens": FinishReason.LENGTH,
    "content_filter": FinishReason.CONTENT_FILTER,
    "incomplete": FinishReason.LENGTH,
}
"""Reasons for an incomplete response; without one it was cut off all the same."""

_DELTAS = {
    "response.output_text.delta": ("message", "output_text", "content_index"),
    "response.refusal.delta": ("message", "refusal", "content_index"),
    "response.reasoning_text.delta": ("reasoning", "reasoning_text", "content_index"),
    "response.reasoning_summary_text.delta": ("reasoning", "summary_text", "summary_index"),
}
"""The events that say text: of which type of item and part, and which field tells the parts apart."""

_LISTS = ("summary", "content")
"""Where the parts of an item stand."""


class ResponsesDecoder(FrameDecoder):
    """Decodes one stream."""

    api = "an API of the OpenAI Responses protocol"

    def __init__(self, mask: Mask = str) -> None:
        super().__init__(mask)
        self._items: Parts[Item] = Parts()
        self._begun = 0
        self._speaking: tuple[Item, PartKey] | None = None
        self._called = False
        self._refused = False

    def _read(self, frame: dict[str, Any], name: str) -> list[ModelChunk]:
        kind = frame.get("type") or name
        if kind in _DELTAS:
            pieces = self._on_text(frame, *_DELTAS[kind])
        else:
            read = _READERS.get(kind)
            pieces = read(self, frame) if read is not None else []
        return self._chunk(pieces)

    def _read_document(self, document: dict[str, Any]) -> list[ModelChunk]:
        return self._chunk(self._finish(document)) if isinstance(document.get("output"), list) else []

    def _has_calls(self) -> bool:
        return self._called

    def _chunk(self, pieces: list[Piece]) -> list[ModelChunk]:
        self._spoke = self._spoke or bool(pieces)
        return [ModelChunk(*pieces)] if pieces else []

    # ------------------------------------------------------------------------------------------- the events

    def _on_item_added(self, frame: dict[str, Any]) -> list[Piece]:
        fields = frame.get("item")
        return self._begin(fields, frame.get("output_index")) if isinstance(fields, dict) else []

    def _on_text(self, frame: dict[str, Any], item_type: str, part_type: str, place: str) -> list[Piece]:
        text = frame.get("delta")
        if not text or not isinstance(text, str):
            return []
        item, pieces = self._find(frame), list[Piece]()
        if item is None or item.type != item_type:
            pieces += self._begin({"type": item_type, "id": frame.get("item_id")}, frame.get("output_index"))
            item = self._items.find()
            assert item is not None, "an item has just begun"
        return pieces + self._say(item, (part_type, frame.get(place) or 0), text)

    def _on_arguments(self, frame: dict[str, Any]) -> list[Piece]:
        item, piece = self._find(frame), frame.get("delta")
        if item is None or item.type != "function_call" or not piece or not isinstance(piece, str):
            return []
        return [ToolCallPiece(item.number, arguments=item.say("arguments", piece))]

    def _on_part_done(self, frame: dict[str, Any]) -> list[Piece]:
        item, part = self._find(frame), frame.get("part")
        if item is not None and isinstance(part, dict):
            item.parts[str(part.get("type")), frame.get("content_index") or 0] = part
        return []

    def _on_item_done(self, frame: dict[str, Any]) -> list[Piece]:
        fields = frame.get("item")
        if not isinstance(fields, dict):
            return []
        item = self._items.named(fields.get("id"), frame.get("output_index"))
        last = self._items.find()
        if item is None and last is not None and not last.done and last.type == fields.get("type"):
            item = last
        return self._complete(item, fields)

    def _on_end(self, frame: dict[str, Any]) -> list[Piece]:
        self.done = True
        response = frame.get("response")
        status = str(frame.get("type")).removeprefix("response.")
        return self._finish({"status": status, **(response if isinstance(response, dict) else {})})

    # ------------------------------------------------------------------------------------------- the moves

    def _find(self, frame: dict[str, Any]) -> Item | None:
        return self._items.find(frame.get("item_id"), frame.get("output_index"))

    def _begin(self, fields: dict[str, Any], index: Any) -> list[Piece]:
        pieces = self._end_speaking()
        item = self._items.begin(
            Item(fields, self._begun), fields.get("id") or None, index if isinstance(index, int) else None
        )
        self._begun += 1
        if item.type == "function_call":
            name = fields.get("name") or None
            self._called = self._called or name is not None
            pieces.append(ToolCallPiece(item.number, fields.get("call_id") or None, name))
            if arguments := item.rest("arguments", fields.get("arguments")):
                pieces.append(ToolCallPiece(item.number, arguments=item.say("arguments", arguments)))
        return pieces

    def _say(self, item: Item, part: PartKey, text: str) -> list[Piece]:
        pieces: list[Piece] = []
        if self._speaking != (item, part):
            pieces += self._end_speaking()
            self._speaking = (item, part)
        self._refused = self._refused or part[0] == "refusal"
        item.say(part, text)
        return [*pieces, ThinkingPiece(text) if item.type == "reasoning" else TextPiece(text)]

    def _end_speaking(self) -> list[Piece]:
        if self._speaking is None:
            return []
        (item, part), self._speaking = self._speaking, None
        return [item.end_of_part(part)]

    def _complete(self, item: Item | None, fields: dict[str, Any]) -> list[Piece]:
        """Take an item as it is in the end, and say what has not been said of it."""
        pieces: list[Piece] = []
        if item is None:
            pieces += self._begin({**fields, "arguments": ""}, None)
            item = self._items.find()
            assert item is not None, "an item has just begun"
        if item.done:
            return pieces
        item.done = True
        item.fields = {**item.fields, **fields}
        if item.type == "function_call":
            self._called = self._called or bool(fields.get("name"))
            return [*pieces, item.end_of_call()]
        for part, known in _parts(fields):
            item.parts[part] = known
            if text := item.rest(part, known.get(TEXT_OF_PART[part[0]])):
                pieces += self._say(item, part, text)
        if self._speaking is not None and (self._speaking[0] is item or not item.has_spoken):
            pieces += self._end_speaking()
        if item.type != "message" and not item.has_spoken:
            pieces += item.whole()
        return pieces

    def _finish(self, response: dict[str, Any]) -> list[Piece]:
        """Take a response as it is in the end: all of its items, why it ended, what it cost."""
        status, details = response.get("status"), response.get("incomplete_details")
        if status == "failed" or response.get("error"):
            self._fail(read_failure(response) or Failure(kind="failed"))
        pieces: list[Piece] = []
        output = response.get("output")
        anew = self._begun == 0
        for fields in output if isinstance(output, list) else ():
            if isinstance(fields, dict):
                known = self._items.named(fields.get("id") or None)
                if known is not None or anew:
                    pieces += self._complete(known, fields)
        pieces += self._end_speaking()
        raw = str((isinstance(details, dict) and details.get("reason")) or status)
        self._reason = self._reason_of(raw)
        self.finished = True
        return [*pieces, FinishPiece(self._reason, raw), *_usage(response.get("usage"))]

    def _reason_of(self, raw: str) -> FinishReason:
        if raw != "completed":
            return _INCOMPLETE.get(raw, FinishReason.UNKNOWN)
        if self._called:
            return FinishReason.TOOL_CALLS
        return FinishReason.REFUSAL if self._refused else FinishReason.STOP


def _parts(fields: dict[str, Any]) -> list[tuple[PartKey, dict[str, Any]]]:
    """Return the parts of an item that say something, with their places."""
    found: list[tuple[PartKey, dict[str, Any]]] = []
    for name in _LISTS:
        parts = fields.get(name)
        for place, part in enumerate(parts if isinstance(parts, list) else ()):
            if isinstance(part, dict) and part.get("type") in TEXT_OF_PART:
                found.append(((part["type"], place), part))
    return found


def _usage(usage: Any) -> list[Piece]:
    piece = UsagePiece(
        count_at(usage, "input_tokens"),
        count_at(usage, "output_tokens"),
        count_at(usage, "input_tokens_details", "cached_tokens"),
        count_at(usage, "output_tokens_details", "reasoning_tokens"),
    )
    return [] if piece == UsagePiece() else [piece]


_READERS: dict[str, Callable[[ResponsesDecoder, dict[str, Any]], list[Piece]]] = {
    "response.output_item.added": ResponsesDecoder._on_item_added,
    "response.function_call_arguments.delta": ResponsesDecoder._on_arguments,
    "response.content_part.done": ResponsesDecoder._on_part_done,
    "response.output_item.done": ResponsesDecoder._on_item_done,
    "response.completed": ResponsesDecoder._on_end,
    "response.incomplete": ResponsesDecoder._on_end,
    "response.failed": ResponsesDecoder._on_end,
}
