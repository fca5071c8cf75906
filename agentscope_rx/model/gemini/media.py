"""Gemini: images, sound, video and documents as parts of a content or of the result of a function."""

from __future__ import annotations

from typing import Any

from ...message import Base64Source, Source
from ..media import MediaForm

__all__ = ["MEDIA", "RESULT_MEDIA"]

_MEDIA_TYPES = {"image/jpg": "image/jpeg", "audio/x-wav": "audio/wav"}
"""What the API calls by another name."""

_IMAGES = ("image/png", "image/jpeg", "image/jpg", "image/webp", "image/heic", "image/heif")
_SHOWN_BY_FUNCTIONS = ("image/png", "image/jpeg", "image/jpg", "image/webp", "application/pdf", "text/plain")


def _part(source: Source, media_type: str, name: str | None) -> dict[str, Any] | None:
    media_type = _MEDIA_TYPES.get(media_type, media_type)
    if isinstance(source, Base64Source):
        return _inline(source, media_type, name)
    known = {} if media_type.endswith("/*") else {"mimeType": media_type}
    return {"fileData": {**known, "fileUri": source.url}}


def _general_part(source: Source, media_type: str, name: str | None) -> dict[str, Any] | None:
    """What kind of image it is that a URL leads to may be unknown."""
    return _part(source, media_type, name) if media_type.endswith("/*") else None


def _inline(source: Source, media_type: str, name: str | None) -> dict[str, Any] | None:
    if not isinstance(source, Base64Source):
        return None
    return {"inlineData": {"mimeType": _MEDIA_TYPES.get(media_type, media_type), "data": source.data}}


MEDIA = MediaForm(
    "the Gemini protocol",
    "PNG, JPEG, WebP, HEIC and HEIF images, sound, video, PDF documents and text files",
    {
        **dict.fromkeys(_IMAGES, _part),
        "image": _general_part,
        **dict.fromkeys(("audio", "video", "text", "application/pdf"), _part),
    },
)
"""The binary content that a content can carry."""

RESULT_MEDIA = MediaForm(
    "the result of a function in the Gemini protocol",
    "PNG, JPEG and WebP images, PDF documents and plain text files",
    dict.fromkeys(_SHOWN_BY_FUNCTIONS, _inline),
)
"""The binary content that the result of a function can carry itself."""
