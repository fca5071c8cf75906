"""OpenAI Responses: images and documents as parts of a message or of the output of a call."""

from __future__ import annotations

from typing import Any

from ...message import Source, URLSource
from ..media import MediaForm, data_url

__all__ = ["MEDIA"]


def _image(source: Source, media_type: str, name: str | None) -> dict[str, Any]:
    url = source.url if isinstance(source, URLSource) else data_url(source, media_type)
    return {"type": "input_image", "image_url": url, "detail": "auto"}


def _document(source: Source, media_type: str, name: str | None) -> dict[str, Any]:
    if isinstance(source, URLSource):
        return {"type": "input_file", "file_url": source.url}
    return {"type": "input_file", "filename": name or "document.pdf", "file_data": data_url(source, media_type)}


MEDIA = MediaForm(
    "the OpenAI Responses protocol",
    "images and PDF documents",
    {"image": _image, "application/pdf": _document},
)
"""The binary content that the protocol can carry."""
