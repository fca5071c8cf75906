"""DashScope: images, sound and video as parts of a message's content, for the models that take any."""

from __future__ import annotations

from typing import Any

from ...message import Source, URLSource
from ..media import MediaForm, MediaWriter, data_url

__all__ = ["MEDIA", "NO_MEDIA"]


def _writer(kind: str) -> MediaWriter:
    def write(source: Source, media_type: str, name: str | None) -> dict[str, Any]:
        return {kind: source.url if isinstance(source, URLSource) else data_url(source, media_type)}

    return write


MEDIA = MediaForm(
    "DashScope's own protocol",
    "images, sound and video",
    {kind: _writer(kind) for kind in ("image", "audio", "video")},
)
"""The binary content that a multimodal model can be sent."""

NO_MEDIA = MediaForm(
    "DashScope's own protocol, to a model of text,",
    "nothing but text; a model that takes more, but has a name that does not say so, is made with multimodal=True",
    {},
)
"""What a model of text can be sent."""
