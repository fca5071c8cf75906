"""Ollama: images beside the text of a message."""

from __future__ import annotations

from typing import Any

from ...message import Base64Source, Source
from ..media import MediaForm

__all__ = ["MEDIA"]

_IMAGE_TYPES = ("image/png", "image/jpeg", "image/jpg", "image/webp", "image/*")


def _image(source: Source, media_type: str, name: str | None) -> dict[str, Any] | None:
    return {"image": source.data} if isinstance(source, Base64Source) else None


MEDIA = MediaForm("the Ollama protocol", "PNG, JPEG and WebP images in base64", dict.fromkeys(_IMAGE_TYPES, _image))
"""The binary content that a message can carry."""
