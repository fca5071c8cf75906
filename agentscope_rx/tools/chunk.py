"""What a running tool says."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeAlias

from ..message import GenerateReason, ToolResultState

__all__ = ["ToolChunk", "ToolData", "ToolEnd", "ToolStart", "ToolStop", "ToolSuspended", "ToolText"]


@dataclass(slots=True)
class ToolStart:
    """The call has begun: before its first output, or when it has been silent for a moment."""


@dataclass(slots=True)
class ToolSuspended:
    """The call is to be run elsewhere, and said so before anything else; always alone."""

    reason: str
    """Why, for people."""


@dataclass(slots=True)
class ToolText:
    """A piece of text output."""

    text: str
    """The new text."""
    progress: bool = False
    """Whether this is progress for people, which is no part of the result."""


@dataclass(slots=True)
class ToolData:
    """A piece of binary output: exactly one of `data` and `url`."""

    block_id: str
    """Pieces with one id are one block."""
    media_type: str
    """MIME type."""
    data: str | None = None
    """The new bytes in base64, padded on their own."""
    url: str | None = None
    """Where the content is."""
    progress: bool = False
    """Whether this is progress for people, which is no part of the result."""


@dataclass(slots=True)
class ToolStop:
    """The tool asks that the reply stop after this batch."""

    reason: str
    """Why, for people."""
    generate_reason: GenerateReason = GenerateReason.MIDDLEWARE_STOP_REQUESTED
    """The reason that the reply then ends with."""


@dataclass(slots=True)
class ToolEnd:
    """How the call ended; always the last chunk."""

    state: ToolResultState
    """The final state."""
    metadata: dict[str, Any] | None = None
    """What the tool said about its result: JSON, what has none as its `str()`."""


ToolChunk: TypeAlias = ToolStart | ToolSuspended | ToolText | ToolData | ToolStop | ToolEnd
"""Anything that a running tool says."""
