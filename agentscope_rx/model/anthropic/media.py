"""Anthropic Messages: images and documents as content blocks."""

from __future__ import annotations

from typing import Any

from ...message import Base64Source, Source
from ..media import MediaForm

__all__ = ["MEDIA"]

_IMAGE_TYPES = {
    "image/jpeg": "image/jpeg",
    "image/jpg": "image/jpeg",
    "image/png": "image/png",
    "image/gif": "image/gif",
    "image/webp": "image/webp",
}


def _image(source: Source, media_type: str, name: str | None) -> dict[str, Any] | None:
    if not isinstance(source, Base64Source):
        return {"type": "image", "source": {"type": "url", "url": source.url}}
    if media_type not in _IMAGE_TYPES:
        return None
    return {"type": "image", "source": {"type": "base64", "media_type": _IMAGE_TYPES[media_type], "data": source.data}}


def _document(source: Source, media_type: str, name: str | None) -> dict[str, Any] | None:
    encoded = (
        {"type": "base64", "media_type": media_type, "data": source.data}
        if isinstance(source, Base64Source)
        else {"type": "url", "url": source.url}
    )
    return {"type": "document", "source": encoded, **({"title": name} if name else {})}


MEDIA = MediaForm(
    "the Anthropic Messages protocol",
    "JPEG, PNG, GIF and WebP images and PDF documents",
    {"image": _image, "application/pdf": _document},
)
"""The binary content that the protocol can carry."""
