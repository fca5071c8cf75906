"""Binary content: what each wire protocol can carry, as a table of writers by MIME type."""

from __future__ import annotations

import mimetypes
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias
from urllib.parse import urlsplit

from ..errors import UnsupportedContentError
from ..message import (
    AudioBlock,
    Base64Source,
    ContentBlock,
    DataBlock,
    ImageBlock,
    Source,
    TextBlock,
    ToolOutputBlock,
    URLSource,
    VideoBlock,
)

__all__ = ["MediaBlock", "MediaForm", "MediaWriter", "data_url", "media_type_of", "placeholder"]

MediaBlock: TypeAlias = DataBlock | ImageBlock | AudioBlock | VideoBlock
"""The blocks that hold binary content."""

MediaWriter: TypeAlias = Callable[[Source, str, str | None], dict[str, Any] | None]
"""Writes a source, its MIME type and its file name as a part of a message; None when it cannot be carried."""

_GENERAL_TYPES: dict[type, str] = {ImageBlock: "image/*", AudioBlock: "audio/*", VideoBlock: "video/*"}


@dataclass(frozen=True, slots=True)
class MediaForm:
    """The binary content that one protocol can carry."""

    protocol: str
    """The name of the protocol, for people."""
    takes: str
    """What it can carry, for people."""
    writers: Mapping[str, MediaWriter]
    """By MIME type, or by the part of it before the slash."""

    def part(self, block: MediaBlock) -> dict[str, Any]:
        """Return an image, a sound or a document as a part of a message.

        Raises:
            UnsupportedContentError: the protocol has no part for such content, or none that refers to it by URL.
        """
        if (part := self._write(block)) is not None:
            return part
        by_url = "" if isinstance(block.source, Base64Source) else " by URL"
        raise UnsupportedContentError(
            f"{self.protocol} cannot carry {media_type_of(block)}{by_url}; it takes {self.takes}. Nothing was sent"
        )

    def parts(self, blocks: Iterable[ContentBlock]) -> list[dict[str, Any]]:
        """Return as parts what can be carried of the output of a model or a tool.

        Output that cannot be sent must not end the conversation that it is part of, so nothing is raised for it.
        """
        written = (self._write(block) for block in blocks if isinstance(block, MediaBlock))
        return [part for part in written if part is not None]

    def text(self, output: Iterable[ToolOutputBlock]) -> str:
        """Return the output of a tool as one text, with placeholders; those of `parts` say: see the next message."""
        return "\n".join(map(self._line, output))

    def _line(self, block: ToolOutputBlock) -> str:
        if isinstance(block, TextBlock):
            return block.text
        return placeholder(block, "see the next message") if self.parts([block]) else placeholder(block)

    def _write(self, block: MediaBlock) -> dict[str, Any] | None:
        media_type = media_type_of(block)
        write = self.writers.get(media_type) or self.writers.get(media_type.partition("/")[0])
        return write(block.source, media_type, getattr(block, "name", None)) if write else None


def media_type_of(block: MediaBlock) -> str:
    """Return the MIME type of a media block, guessed where it is not given."""
    source = block.source
    if source.media_type:
        return source.media_type.partition(";")[0].strip().lower()
    if general := _GENERAL_TYPES.get(type(block)):
        return general
    guessed = mimetypes.guess_type(urlsplit(source.url).path)[0] if isinstance(source, URLSource) else None
    return guessed or "image/*"  # what every protocol takes by URL


def placeholder(block: MediaBlock, why: str = "cannot be shown here") -> str:
    """Return what the model is told in place of content that a message cannot carry."""
    return f"[{media_type_of(block)}: {why}]"


def data_url(source: Base64Source, media_type: str) -> str:
    """Return content as a URL that holds it."""
    return f"data:{media_type};base64,{source.data}"
