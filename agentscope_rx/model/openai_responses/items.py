"""OpenAI Responses: the output items of one stream, and what of them must be told to the provider again.

An item is a message of one or more parts, a piece of reasoning with one or more summaries, a function call, or anything
else, such as a search that the provider made itself. Each part of a message and each summary is a block of ours; its
metadata holds the item that it is part of (`item`) and what else was said about the part (`part`), but none of the
text: what the block says is what is told again.
"""

from __future__ import annotations

from typing import Any, TypeAlias

from ..characters import count_characters
from ..native import native
from ..profiles import OPENAI
from ..types import DataPiece, Piece, TextPiece, ThinkingPiece, ToolCallPiece

__all__ = ["TEXT_OF_PART", "Item", "PartKey"]

PartKey: TypeAlias = tuple[str, Any]
"""A part of an item: its type, and its place among those of the type."""

TEXT_OF_PART = {"output_text": "text", "refusal": "refusal", "summary_text": "text", "reasoning_text": "text"}
"""The types of parts, and where each has its text."""

_SPOKEN = frozenset({"content", "summary", "encrypted_content", "arguments", "call_id", "name", "result"})
"""The fields of items that our blocks hold."""


class Item:
    """One output item on its way.

    Args:
        fields: the item as it began.
        number: its place among all items of the stream.
    """

    def __init__(self, fields: dict[str, Any], number: int) -> None:
        self.number = number
        """Its place among all items of the stream."""
        self.type = str(fields.get("type"))
        """What kind of item it is."""
        self.fields = fields
        """The item as far as it is known."""
        self.done = False
        """Whether it is whole."""
        self.parts: dict[PartKey, dict[str, Any]] = {}
        """What is known of its parts besides their text."""
        self._said: dict[Any, int] = {}

    def say(self, key: Any, text: str) -> str:
        """Take note that more of a part, or of the arguments, has been said, and return it."""
        self._said[key] = self._said.get(key, 0) + count_characters(text)
        return text

    def rest(self, key: Any, whole: Any) -> str:
        """Return what is left to say of a part, or of the arguments, given the whole of it."""
        return whole[self._said.get(key, 0) :] if isinstance(whole, str) else ""

    @property
    def has_spoken(self) -> bool:
        """Whether anything of it has been said."""
        return bool(self._said)

    def metadata(self, key: PartKey | None = None) -> dict[str, Any]:
        """Return what must be told again besides what a block says."""
        item = {name: value for name, value in self.fields.items() if name not in _SPOKEN and value is not None}
        if not self.done:
            item.pop("status", None)
        if key is None:
            return native(OPENAI.name, item=item)
        part = {name: value for name, value in self.parts.get(key, {}).items() if name != TEXT_OF_PART[key[0]]}
        return native(OPENAI.name, item=item, part={**part, "type": key[0]})

    @property
    def _encrypted(self) -> str | None:
        """What an item begins with may be half of it."""
        return self.fields.get("encrypted_content") or None if self.done else None

    # --------------------------------------------------------------------------------------- pieces that end it

    def end_of_part(self, key: PartKey) -> Piece:
        """Return what completes a block of text or thinking."""
        if self.type != "reasoning":
            return TextPiece(complete=True, metadata=self.metadata(key))
        return ThinkingPiece(redacted_data=self._encrypted, complete=True, metadata=self.metadata(key))

    def end_of_call(self) -> Piece:
        """Return what completes a function call."""
        rest = self.say("arguments", self.rest("arguments", self.fields.get("arguments")))
        return ToolCallPiece(
            self.number,
            self.fields.get("call_id") or None,
            self.fields.get("name") or None,
            rest,
            complete=True,
            metadata=self.metadata(),
        )

    def whole(self) -> list[Piece]:
        """Return an item that came whole: reasoning without a word, an image, or what only the provider understands."""
        if self.type == "reasoning":
            return [ThinkingPiece(redacted_data=self._encrypted, metadata=self.metadata())]
        image = self.fields.get("result")
        if self.type == "image_generation_call" and isinstance(image, str) and image:
            media_type = f"image/{self.fields.get('output_format') or 'png'}"
            return [DataPiece(media_type, image, id=f"item {self.number}", metadata=self.metadata())]
        return [ThinkingPiece(metadata=native(OPENAI.name, item=self.fields))]
