"""Gemini: what becomes of the parts of an answer.

Every part that comes is whole, but what the model says in a row comes in many parts. Text in a row is one block and
thinking in a row is another, each call and each image is one of its own. Any part may carry a proof
(`thoughtSignature`), which the API wants back on the very same part:

* The metadata of a text block tell which stretches of it came with a proof (`text`).
* A thought with a proof is a block of its own.
* Everything that only the provider understands, such as code that it ran, is a block of metadata alone (`part`), and so
  is a proof that came with nothing.
"""

from __future__ import annotations

import json
from typing import Any

from ..characters import count_characters
from ..native import native
from ..profiles import GEMINI
from ..types import DataPiece, Piece, TextPiece, ThinkingPiece, ToolCallPiece

__all__ = ["PROOF", "PartReader"]

PROOF = "thoughtSignature"
"""The field of a part that holds the provider's proof of it."""


class _Text:
    """Text that is being said."""

    def __init__(self) -> None:
        self._stretches: list[dict[str, Any]] = []

    def say(self, text: str, own: dict[str, Any]) -> list[Piece]:
        """Return more text, `own` being what else its part says."""
        length = count_characters(text)
        if own or not self._stretches or len(self._stretches[-1]) > 1:
            self._stretches.append({"length": length, **own})
        else:
            self._stretches[-1]["length"] += length
        return [TextPiece(text)] if text else []

    def end(self, sources: dict[str, Any]) -> list[Piece]:
        """Return what completes the block, `sources` being what it cites."""
        notes: dict[str, Any] = {"sources": sources} if sources else {}
        if any(len(stretch) > 1 for stretch in self._stretches):
            notes["text"] = {"parts": self._stretches}
        return [TextPiece(complete=True, metadata=native(GEMINI.name, **notes) if notes else None)]


class _Thought:
    """Thinking that is being said."""

    def end(self, sources: dict[str, Any]) -> list[Piece]:
        """Return what completes the block, and a block for what the answer cites."""
        return [ThinkingPiece(complete=True, metadata=_thought_metadata({})), *_cited(sources)]


class PartReader:
    """Reads the parts of one answer, in order."""

    def __init__(self) -> None:
        self.has_calls = False
        """Whether there was a call with a name."""
        self._speaking: _Text | _Thought | None = None
        self._begun = 0
        self._ids: dict[str, tuple[Any, str]] = {}

    def read(self, part: dict[str, Any]) -> list[Piece]:
        """Return what one part says."""
        if isinstance(part.get("text"), str):
            return self._on_thought(part) if part.get("thought") else self._on_text(part)
        if isinstance(part.get("functionCall"), dict):
            return self._on_call(part)
        blob = part.get("inlineData")
        if isinstance(blob, dict) and blob.get("data") and not part.get("thought"):
            return self._on_data(part)
        return self._on_other(part) if _besides(part, "thought", PROOF) else self.read({**part, "text": ""})

    def end(self, sources: dict[str, Any] | None = None) -> list[Piece]:
        """Return what ends the text or the thinking that is being said.

        Args:
            sources: what the provider says that the answer rests on, when it is over.
        """
        speaking, self._speaking = self._speaking, None
        return speaking.end(sources or {}) if speaking is not None else _cited(sources or {})

    # ------------------------------------------------------------------------------------------- the kinds of parts

    def _on_text(self, part: dict[str, Any]) -> list[Piece]:
        text, own = part["text"], _besides(part, "text", "thought")
        if not (text or own):
            return []
        pieces: list[Piece] = []
        if not isinstance(self._speaking, _Text):
            if not text:
                return self._on_other(part)
            pieces += self.end()
            self._speaking = _Text()
        return pieces + self._speaking.say(text, own)

    def _on_thought(self, part: dict[str, Any]) -> list[Piece]:
        text, own = part["text"], _besides(part, "text", "thought")
        if own:
            proof = own.pop(PROOF, None)
            return [*self.end(), ThinkingPiece(text, proof, complete=True, metadata=_thought_metadata(own))]
        if not text:
            return []
        pieces: list[Piece] = []
        if not isinstance(self._speaking, _Thought):
            pieces += self.end()
            self._speaking = _Thought()
        return [*pieces, ThinkingPiece(text)]

    def _on_call(self, part: dict[str, Any]) -> list[Piece]:
        """An id that comes once more is the same call, or a server's mistake: the API refuses two calls with one id."""
        call = dict(part["functionCall"])
        name, arguments = call.pop("name", None) or None, _text_of(call.pop("args", None))
        id = call.pop("id", None) or None
        if id is not None:
            said = self._ids.get(id)
            if said == (name, arguments):
                return []
            self._ids.setdefault(id, (name, arguments))
            call = {"id": id, **call} if said is None else call
        self.has_calls = self.has_calls or name is not None
        metadata = native(GEMINI.name, part={**_besides(part, "functionCall", PROOF), "functionCall": call})
        piece = ToolCallPiece(
            self._next(), call.get("id"), name, arguments, complete=True, signature=part.get(PROOF), metadata=metadata
        )
        return [*self.end(), piece]

    def _on_data(self, part: dict[str, Any]) -> list[Piece]:
        """Each image is one of its own; sound comes in pieces."""
        blob = part["inlineData"]
        media_type = str(blob.get("mimeType") or "application/octet-stream")
        place = None if media_type.startswith("audio/") else f"part {self._next()}"
        own = {**_besides(part, "inlineData"), "inlineData": _besides(blob, "data")}
        metadata = native(GEMINI.name, part=own)
        return [*self.end(), DataPiece(media_type, blob["data"], id=place, metadata=metadata)]

    def _on_other(self, part: dict[str, Any]) -> list[Piece]:
        return [*self.end(), ThinkingPiece(metadata=native(GEMINI.name, part=part))]

    def _next(self) -> int:
        self._begun += 1
        return self._begun - 1


def _besides(fields: dict[str, Any], *said: str) -> dict[str, Any]:
    """Return the fields besides `said` that say something."""
    if len(fields) == 1 and said[0] in fields:
        return {}
    return {name: value for name, value in fields.items() if name not in said and value not in (None, "")}


def _thought_metadata(own: dict[str, Any]) -> dict[str, Any]:
    return native(GEMINI.name, part={"thought": True, **own})


def _cited(sources: dict[str, Any]) -> list[Piece]:
    return [ThinkingPiece(metadata=native(GEMINI.name, sources=sources))] if sources else []


def _text_of(arguments: Any) -> str:
    if isinstance(arguments, str):
        return arguments
    return json.dumps(arguments, ensure_ascii=False) if arguments else ""
