r"""Whole characters from text that a server has cut anywhere.

Some servers cut their text at any UTF-16 unit, and so through characters that JSON writes as two: an emoji comes as
`\ud83c` at the end of one frame and `\udf0d` at the beginning of the next. Half of a pair is no character, and UTF-8
cannot carry it. So a half at the end of a piece is held back until the other one comes; what stays alone is U+FFFD.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Any, TypeAlias

from .types import FinishPiece, ModelChunk, Piece, TextPiece, ThinkingPiece, ToolCallPiece

__all__ = ["CharacterJoiner", "count_characters", "whole_characters"]

_Field: TypeAlias = tuple[Any, ...]
"""What pieces go on with: their type, and the key of a call."""

_TEXT_OF: dict[type[Piece], str] = {TextPiece: "text", ThinkingPiece: "text", ToolCallPiece: "arguments"}
"""Where each piece has its text; pieces that are not here have none."""

_COMPLETING = ("complete", "signature", "redacted_data", "metadata")
"""What says of a piece that no other piece goes on with it."""


def whole_characters(value: Any) -> Any:
    """Return a JSON value with its halves joined to characters, those without their other half replaced by U+FFFD."""
    if type(value) is str:
        return value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    if isinstance(value, dict):
        return {whole_characters(key): whole_characters(item) for key, item in value.items()}
    if isinstance(value, list):
        return [whole_characters(item) for item in value]
    return value


def count_characters(text: str) -> int:
    """Return how many characters text begins; one that it only ends was begun by the text before."""
    return len(text) - ("\udc00" <= text[:1] <= "\udfff")


class CharacterJoiner:
    """Joins the characters that the pieces of one stream have cut in two."""

    def __init__(self) -> None:
        self._halves: dict[_Field, Piece] = {}

    def join(self, chunks: Iterable[ModelChunk]) -> list[ModelChunk]:
        """Return the next chunks in whole characters; what says nothing but half of one is left out."""
        joined = ([*self._join(chunk.pieces)] for chunk in chunks)
        return [ModelChunk(*pieces) for pieces in joined if pieces]

    def _join(self, pieces: Iterable[Piece]) -> Iterator[Piece]:
        for piece in pieces:
            kind: Any = type(piece)
            if (name := _TEXT_OF.get(kind)) is None:
                if kind is FinishPiece:
                    yield from self._give_up(list(self._halves))
                yield _whole(piece)
                continue
            field: _Field = (kind, piece.key) if isinstance(piece, ToolCallPiece) else (kind,)
            text = getattr(self._halves.pop(field, None), name, "") + getattr(piece, name)
            # Text and thinking end where anything else is said; calls may take turns.
            yield from self._give_up([other for other in self._halves if other[0] is not ToolCallPiece])
            if "\ud800" <= text[-1:] <= "\udbff" and not any(getattr(piece, sign, None) for sign in _COMPLETING):
                nothing = kind(*field[1:])
                self._halves[field] = replace(nothing, **{name: text[-1]})
                text = text[:-1]
                if replace(piece, **{name: text}) == nothing:
                    continue
            yield _whole(replace(piece, **{name: text}))

    def _give_up(self, fields: Iterable[_Field]) -> Iterator[Piece]:
        return (_whole(self._halves.pop(field)) for field in fields)


def _whole(piece: Piece) -> Piece:
    return replace(piece, **{name: whole_characters(getattr(piece, name)) for name in piece.__slots__})
