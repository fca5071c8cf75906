"""OpenAI Chat Completions: blocks as parts of a message's content."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ...message import Base64Source, ContentBlock, Source, TextBlock, URLSource
from ..media import MediaBlock, MediaForm, data_url

__all__ = ["MEDIA", "content_of"]

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
            parts.append(MEDIA.part(block))
        elif isinstance(block, TextBlock) and block.text:
            parts.append({"type": "text", "text": block.text})
    if all(part["type"] == "text" for part in parts):
        return "\n".join(part["text"] for part in parts)
    return parts


def _image(source: Source, media_type: str, name: str | None) -> dict[str, Any] | None:
    url = source.url if isinstance(source, URLSource) else data_url(source, media_type)
    return {"type": "image_url", "image_url": {"url": url}}


def _audio(source: Source, media_type: str, name: str | None) -> dict[str, Any] | None:
    if not isinstance(source, Base64Source) or media_type not in _AUDIO_FORMATS:
        return None
    return {"type": "input_audio", "input_audio": {"data": source.data, "format": _AUDIO_FORMATS[media_type]}}


def _document(source: Source, media_type: str, name: str | None) -> dict[str, Any] | None:
    if not isinstance(source, Base64Source):
        return None
    return {"type": "file", "file": {"filename": name or "document.pdf", "file_data": data_url(source, media_type)}}


MEDIA = MediaForm(
    "the OpenAI Chat protocol",
    "images, and in base64 WAV and MP3 sound and PDF documents",
    {"image": _image, "audio": _audio, "application/pdf": _document},
)
"""The binary content that the protocol can carry."""
