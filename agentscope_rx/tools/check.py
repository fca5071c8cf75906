"""Checking what a tool says, before anything else sees it."""

from __future__ import annotations

import base64
import threading
from collections.abc import Callable
from enum import StrEnum
from typing import Any, TypeVar

from ..errors import ToolError
from ..identity import new_id
from ..message import GenerateReason, ToolResultState
from .chunk import ToolChunk, ToolData, ToolEnd, ToolStop, ToolText
from .sendable import jsonable, whole, whole_text

__all__ = ["ChunkCheck"]

E = TypeVar("E", bound=StrEnum)


class ChunkCheck:
    """Lets the chunks of one call through that events can be made of; called with a chunk, in any thread.

    It returns a chunk of its own, so that the tool may go on using the one it gave. Half surrogate pairs become U+FFFD,
    the line breaks of MIME are taken out of base64, metadata becomes JSON (what has none its `str()`, NaN and the
    infinities None). Pieces with one block id are all bytes; a link whose id another link has gets an id of its own.

    Raises:
        ToolError: a tool may not say this chunk, or one of its fields is not what it must be.
        ValueError: the metadata refers to itself, or is nested more than about 250 levels deep.
    """

    def __init__(self) -> None:
        self._is_link: dict[tuple[bool, str], bool] = {}
        self._lock = threading.Lock()

    def __call__(self, chunk: ToolChunk) -> ToolChunk:
        """Return the chunk as it may be sent."""
        for kind, checked in _CHECKS.items():
            if isinstance(chunk, kind):
                return checked(self, chunk)
        raise ToolError(f"a tool cannot give {_kind(chunk)}; expected ToolText, ToolData, ToolStop or ToolEnd")

    def _text(self, chunk: ToolText) -> ToolText:
        return ToolText(_string(chunk, "text"), bool(chunk.progress))

    def _data(self, chunk: ToolData) -> ToolData:
        if (chunk.data is None) == (chunk.url is None):
            raise ToolError(f"the tool gave a ToolData with {_given(chunk)}; expected exactly one of data and url")
        id, media_type, progress = _string(chunk, "block_id"), _string(chunk, "media_type"), bool(chunk.progress)
        if chunk.url is None:
            data = _base64(_string(chunk, "data"))
            return ToolData(self._id(id, progress, link=False), media_type, data=data, progress=progress)
        url = _string(chunk, "url")
        return ToolData(self._id(id, progress, link=True), media_type, url=url, progress=progress)

    def _id(self, id: str, progress: bool, *, link: bool) -> str:
        """Return the id for a piece of data; progress and result are blocks apart."""
        with self._lock:
            known = self._is_link.get((progress, id))
            self._is_link.setdefault((progress, id), link)
        if known is not None and known is not link:
            raise ToolError("the tool gave bytes and a link with one block id; expected an id for each")
        return new_id() if known and link else id

    def _stop(self, chunk: ToolStop) -> ToolStop:
        return ToolStop(_string(chunk, "reason"), _member(chunk, "generate_reason", GenerateReason))

    def _end(self, chunk: ToolEnd) -> ToolEnd:
        metadata = whole(jsonable(chunk.metadata, not_finite="null"))
        if not isinstance(metadata, dict | None):
            raise ToolError(f"the tool gave a ToolEnd with {_kind(chunk.metadata)} as its metadata; expected a dict")
        return ToolEnd(_member(chunk, "state", ToolResultState), metadata)


_CHECKS: dict[type, Callable[[ChunkCheck, Any], ToolChunk]] = {
    ToolText: ChunkCheck._text,
    ToolData: ChunkCheck._data,
    ToolStop: ChunkCheck._stop,
    ToolEnd: ChunkCheck._end,
}


def _string(chunk: ToolChunk, field: str) -> str:
    value = getattr(chunk, field)
    if not isinstance(value, str):
        raise ToolError(f"the tool gave a {type(chunk).__name__} with {_kind(value)} as its {field}; expected a string")
    return whole_text(value)


def _member(chunk: ToolChunk, field: str, members: type[E]) -> E:
    value = getattr(chunk, field)
    try:
        return members(value)
    except ValueError:
        raise ToolError(
            f"the tool gave a {type(chunk).__name__} with the {field} {value!r}; expected one of {', '.join(members)}"
        ) from None


def _base64(data: str) -> str:
    data = "".join(data.split())
    try:
        base64.b64decode(data, validate=True)
    except ValueError as error:
        raise ToolError(
            f"the tool gave {len(data)} characters of data that are not base64 ({error}); "
            f"expected standard base64, each piece padded on its own"
        ) from None
    return data


def _given(chunk: ToolData) -> str:
    return "neither" if chunk.data is None else "both"


def _kind(value: object) -> str:
    return f"a value of type {type(value).__name__}"
