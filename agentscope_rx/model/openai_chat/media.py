"""OpenAI Chat Completions: blocks as parts of a message's content."""

from __future__ import annotations

import mimetypes
from collections.abc import Callable, Iterable
from typing import Any, TypeAlias
from urllib.parse import urlsplit

from ...errors import UnsupportedContentError
from ...message import (
    AudioBlock,
    Base64Source,
    ContentBlock,
    DataBlock,
    ImageBlock,
    Source,
    TextBlock,
    URLSource,
    VideoBlock,
)

__all__ = ["MediaBlock", "content_of", "media_part", "media_type_of"]

MediaBlock: TypeAlias = DataBlock | ImageBlock | AudioBlock | VideoBlock
"""The blocks that hold binary content."""

_GENERAL_TYPES: dict[type, str] = {ImageBlock: "image/*", AudioBlock: "audio/*", VideoBlock: "video/*"}
_AUDIO_FORMATS = {
    "audio/wav": "wav",
    "audio/wave": "wav",
    "audio/x-wav": "wav",
    "audio/vnd.wave": "wav",
    "audio/mpeg": "mp3",
    "audio/mp3": "mp3",
}


def content_of(blocks: Iterable[ContentBlock]) -> str | list[dict[str, Any]]:
    r"""Return text and media as the content of a message; other blocks and empty text are left out.

    Text alone is one string, joined with `\n`: the form that every server takes.

    Raises:
        UnsupportedContentError: the protocol has no part for one of the blocks.
    """
    parts: list[dict[str, Any]] = []
    for block in blocks:
        if isinstance(block, MediaBlock):
            parts.append(media_part(block))
        elif isinstance(block, TextBlock) and block.text:
            parts.append({"type": "text", "text": block.text})
    if all(part["type"] == "text" for part in parts):
        return "\n".join(part["text"] for part in parts)
    return parts


def media_part(block: MediaBlock) -> dict[str, Any]:
    """Return an image, a sound or a document as a content part.

    Raises:
        UnsupportedContentError: the protocol has no part for such content, or none that refers to it by URL.
    """
    media_type = media_type_of(block)
    write = _WRITERS.get(media_type) or _WRITERS.get(media_type.partition("/")[0])
    part = write(block.source, media_type, getattr(block, "name", None)) if write else None
    if part is None:
        by_url = "" if isinstance(block.source, Base64Source) else " by URL"
        raise UnsupportedContentError(
            f"the OpenAI Chat protocol cannot carry {media_type}{by_url}; it takes images, and in base64 WAV and MP3 "
            "sound and PDF documents. Nothing was sent"
        )
    return part


def media_type_of(block: MediaBlock) -> str:
    """Return the MIME type of a media block, guessed where it is not given."""
    source = block.source
    if source.media_type:
        return source.media_type.partition(";")[0].strip().lower()
    if general := _GENERAL_TYPES.get(type(block)):
        return general
    guessed = mimetypes.guess_type(urlsplit(source.url).path)[0] if isinstance(source, URLSource) else None
    return guessed or "image/*"  # all that this protocol takes by URL


def _image(source: Source, media_type: str, name: str | None) -> dict[str, Any] | None:
    url = source.url if isinstance(source, URLSource) else _data_url(source, media_type)
    return {"type": "image_url", "image_url": {"url": url}}


def _audio(source: Source, media_type: str, name: str | None) -> dict[str, Any] | None:
    if not isinstance(source, Base64Source) or media_type not in _AUDIO_FORMATS:
        return None
    return {"type": "input_audio", "input_audio": {"data": source.data, "format": _AUDIO_FORMATS[media_type]}}


def _document(source: Source, media_type: str, name: str | None) -> dict[str, Any] | None:
    if not isinstance(source, Base64Source):
        return None
    return {"type": "file", "file": {"filename": name or "document.pdf", "file_data": _data_url(source, media_type)}}


def _data_url(source: Base64Source, media_type: str) -> str:
    return f"data:{media_type};base64,{source.data}"


_WRITERS: dict[str, Callable[[Source, str, str | None], dict[str, Any] | None]] = {
    "image": _image,
    "audio": _audio,
    "application/pdf": _document,
}
"""By MIME type, or by the part of it before the slash."""
