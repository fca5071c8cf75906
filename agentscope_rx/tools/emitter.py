"""How a running tool speaks beside its result."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import replace

from ..message import DataBlock, GenerateReason, TextBlock
from .channel import READY
from .chunk import ToolChunk, ToolData, ToolStop, ToolText
from .output import chunks_of

__all__ = ["ToolEmitter"]


class ToolEmitter:
    """Handed to a tool that has a parameter of this type: shows progress, and may ask the reply to stop.

    Every method may be called from the tool's own thread, from threads that it starts, and from the event loop.
    In a thread it blocks while the consumer is slow, and raises `ToolCancelled` once the call is over. On the loop it
    returns at once; `await` what it returns, and the tool waits for a slow consumer instead.
    """

    def __init__(self, put: Callable[[ToolChunk], Awaitable[None]]) -> None:
        self._put = put

    def emit(self, progress: str | TextBlock | DataBlock) -> Awaitable[None]:
        """Show progress to people; it is no part of the result and the model is not sent it.

        Raises:
            ToolCancelled: in a thread, when the call is over.
            ToolError: what is shown is nothing that events can be made of.
            BufferOverflowError: on the loop, after more than a thousand pieces too many that were not awaited.
        """
        room = READY
        for chunk in chunks_of(progress):
            if isinstance(chunk, ToolText | ToolData):
                room = self._put(replace(chunk, progress=True))
        return room

    def request_stop(
        self, reason: str, generate_reason: GenerateReason = GenerateReason.MIDDLEWARE_STOP_REQUESTED
    ) -> Awaitable[None]:
        """Ask that the reply stop when the calls of this turn have ended; their results are kept.

        Args:
            reason: Why, for people.
            generate_reason: The reason that the reply then ends with.

        Raises:
            ToolCancelled: in a thread, when the call is over.
            ToolError: `reason` is no string, or `generate_reason` no such reason.
        """
        return self._put(ToolStop(reason, generate_reason))
