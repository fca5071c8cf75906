"""Anthropic Messages: what becomes of each kind of content block.

Text, thinking and tool calls become pieces as they come. Everything else, such as a search that the provider makes
itself and what it found, is gathered until it is whole: a piece that only the provider understands, in its place.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable
from typing import Any, ClassVar

from ...message import parse_arguments
from ..characters import whole_characters
from ..native import native
from ..profiles import ANTHROPIC
from ..types import Piece, TextPiece, ThinkingPiece, ToolCallPiece

__all__ = ["Block", "CallBlock", "implied_block", "new_block"]


class Block:
    """One content block on its way.

    Args:
        fields: the block as it began.
        number: its place among all blocks of the stream.
    """

    gives_way: ClassVar[bool] = True
    """Whether the block ends where another one goes on."""

    def __init__(self, fields: dict[str, Any], number: int) -> None:
        self.number = number
        """Its place among all blocks of the stream."""
        self._fields = fields
        self._spoke = False

    def begin(self) -> list[Piece]:
        """Return what the block says as it begins."""
        return []

    def more(self, delta: dict[str, Any]) -> list[Piece]:
        """Return what a delta says."""
        raise NotImplementedError

    def end(self) -> list[Piece]:
        """Return what is left to say when the block is whole."""
        raise NotImplementedError

    def _say(self, piece: Callable[[str], Piece], text: Any) -> list[Piece]:
        if not text or not isinstance(text, str):
            return []
        self._spoke = True
        return [piece(text)]

    def _besides(self, *said: str) -> dict[str, Any] | None:
        """Return as metadata the fields besides `said` that say something, None when there are none."""
        rest = {name: value for name, value in self._fields.items() if value and name not in ("type", *said)}
        return native(ANTHROPIC.name, block=rest) if rest else None


class TextBlock(Block):
    """Text, and the sources that it cites."""

    def begin(self) -> list[Piece]:
        """Return the first text, if there is some."""
        return self._say(TextPiece, self._fields.get("text"))

    def more(self, delta: dict[str, Any]) -> list[Piece]:
        """Return more text, or keep a source."""
        if (citation := delta.get("citation")) is not None:
            citations = self._fields["citations"] = self._fields.get("citations") or []
            citations.append(citation)
        return self._say(TextPiece, delta.get("text"))

    def end(self) -> list[Piece]:
        """Return the sources."""
        return [TextPiece(complete=True, metadata=self._besides("text"))] if self._spoke else []


class ThinkingBlock(Block):
    """Thinking, in the open or encrypted."""

    def begin(self) -> list[Piece]:
        """Return the first thinking, if there is some."""
        return self._say(ThinkingPiece, self._fields.get("thinking"))

    def more(self, delta: dict[str, Any]) -> list[Piece]:
        """Return more thinking, or keep the signature."""
        if signature := delta.get("signature"):
            self._fields["signature"] = signature
        return self._say(ThinkingPiece, delta.get("thinking"))

    def end(self) -> list[Piece]:
        """Return the proof; an empty one is none."""
        signature, encrypted = self._fields.get("signature") or None, self._fields.get("data") or None
        if signature or encrypted:
            return [ThinkingPiece(signature=signature, redacted_data=encrypted, metadata=native(ANTHROPIC.name))]
        return [ThinkingPiece(complete=True)] if self._spoke else []


class CallBlock(Block):
    """A tool call for the agent. Its input comes in pieces of JSON, or whole from a server that does not cut it."""

    gives_way = False

    @property
    def has_name(self) -> bool:
        """Whether it is known which tool is called."""
        return bool(self._fields.get("name"))

    def begin(self) -> list[Piece]:
        """Return the id and the name."""
        return [ToolCallPiece(self.number, self._fields.get("id") or None, self._fields.get("name") or None)]

    def more(self, delta: dict[str, Any]) -> list[Piece]:
        """Return more of the input."""
        if not (piece := delta.get("partial_json")):
            return []
        self._spoke = True
        return [ToolCallPiece(self.number, arguments=piece)]

    def end(self) -> list[Piece]:
        """Return the input, if it did not come in pieces, and whatever else was said about the call."""
        whole = None if self._spoke else self._fields.get("input")
        arguments = json.dumps(whole, ensure_ascii=False) if whole else ""
        metadata = self._besides("id", "name", "input")
        return [ToolCallPiece(self.number, arguments=arguments, complete=True, metadata=metadata)]


class NativeBlock(Block):
    """Anything else: gathered, to be sent back as it came."""

    gives_way = False

    def __init__(self, fields: dict[str, Any], number: int) -> None:
        super().__init__(fields, number)
        self._more: dict[str, list[Any]] = {}

    def more(self, delta: dict[str, Any]) -> list[Piece]:
        """Keep what a delta adds to the fields."""
        for name, value in delta.items():
            if name != "type":
                self._more.setdefault(name, []).append(value)
        return []

    def end(self) -> list[Piece]:
        """Return the whole block; input that cannot be parsed leaves what it began with."""
        for name, values in self._more.items():
            if name != "partial_json":
                self._fields[name] = _joined(self._fields.get(name), values)
                continue
            with contextlib.suppress(ValueError, TypeError):
                self._fields["input"] = parse_arguments(whole_characters("".join(values)))
        return [ThinkingPiece(metadata=native(ANTHROPIC.name, block=self._fields))]


_KINDS: dict[Any, type[Block]] = {
    "text": TextBlock,
    "thinking": ThinkingBlock,
    "redacted_thinking": ThinkingBlock,
    "tool_use": CallBlock,
}

_IMPLIED = {"text_delta": "text", "thinking_delta": "thinking"}


def new_block(fields: dict[str, Any], number: int) -> Block:
    """Return the block that begins with these fields, the `number`th of its stream."""
    return _KINDS.get(fields.get("type"), NativeBlock)(fields, number)


def implied_block(delta: dict[str, Any]) -> dict[str, Any] | None:
    """Return how the block began that a delta goes on with, when that was never sent; None if it is unknown."""
    kind = _IMPLIED.get(str(delta.get("type")))
    return None if kind is None else {"type": kind}


def _joined(first: Any, more: list[Any]) -> Any:
    """Join strings to a string; of anything else the last word counts."""
    values = more if first is None else [first, *more]
    return "".join(values) if all(isinstance(value, str) for value in values) else values[-1]
