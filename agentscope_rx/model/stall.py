"""The stall watchdog: a stream that is open but says nothing.

The clock runs from the last content on and stands only while a chunk is consumed. So bytes that carry no content
(keep-alives, usage) do not feed it, however many come, and neither a slow consumer nor a person who is asked something
is taken for a silent server.

There is one timer per stream. It is not moved when content comes; when it fires it looks how much of the limit is
left and sleeps for that long again.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import AsyncGenerator
from typing import Any, TypeVar

from ..errors import ModelStallError

__all__ = ["DEFAULT_STALL_TIMEOUT", "StallWatchdog"]

T = TypeVar("T")

DEFAULT_STALL_TIMEOUT = 300.0
"""Seconds without content after which a model call fails. Large models think for minutes without a word."""


class StallWatchdog:
    """Ends one stream of reads when no content has come for too long. The clock starts when it is made.

    Args:
        seconds: the limit; infinity switches the watchdog off.
    """

    def __init__(self, seconds: float = DEFAULT_STALL_TIMEOUT) -> None:
        self.progressed = False
        """Whether any content has come."""
        self._limit = seconds
        self._loop = asyncio.get_running_loop()
        self._since = self._paused_at = self._loop.time()
        self._just_set = True
        self._reader: asyncio.Task[Any] | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._fired = False

    def pause(self, *, progress: bool) -> None:
        """Stop the clock: a chunk is consumed now. If it has content, the clock is set back to zero."""
        if progress:
            self.progressed = self._just_set = True
            self._since = self._paused_at = 0.0  # until `resume`, which then makes it its own time: nobody looks before
        else:
            self._paused_at = self._loop.time()

    def resume(self) -> None:
        """Let the clock go on: the chunk has been consumed."""
        self._since += self._loop.time() - self._paused_at

    def hurry(self, seconds: float) -> None:
        """Start the clock from zero with a shorter limit; one that is not shorter changes nothing."""
        if seconds < self._limit:
            self._since = self._loop.time()
            self._limit = seconds
            self._arm(seconds)

    async def watch(self, source: AsyncGenerator[T, None]) -> AsyncGenerator[T, None]:
        """Yield what `source` yields; the source is closed with this generator.

        Raises:
            ModelStallError: the limit has passed since the last progress; a read that was pending was cancelled.
        """
        try:
            while True:
                if self._just_set:  # a look at the clock saved for every chunk with content
                    self._just_set = False
                elif self._left() <= 0:
                    raise self._stalled()
                if self._timer is None:
                    self._arm(self._left())
                task = asyncio.current_task(self._loop)
                assert task is not None, "asynchronous generators are driven by tasks"
                cancelling = task.cancelling()
                self._reader = task
                try:
                    item = await anext(source)
                except StopAsyncIteration:
                    return
                except asyncio.CancelledError:
                    # As in asyncio.timeout: a cancel that came from elsewhere as well goes before ours.
                    if self._fired and task.uncancel() <= cancelling:
                        raise self._stalled() from None
                    raise
                finally:
                    self._reader = None
                yield item
        finally:
            if self._timer is not None:
                self._timer.cancel()
            await source.aclose()

    def _left(self) -> float:
        return self._limit - (self._loop.time() - self._since)

    def _arm(self, seconds: float) -> None:
        if self._timer is not None:
            self._timer.cancel()
        if seconds < math.inf:
            self._timer = self._loop.call_later(seconds, self._check)

    def _check(self) -> None:
        self._timer = None
        if self._reader is None:
            return  # the next read looks at the clock itself
        if (left := self._left()) > 0:
            self._arm(left)
        else:
            self._fired = True
            self._reader.cancel()

    def _stalled(self) -> ModelStallError:
        return ModelStallError(
            f"the model's stream stayed open but no content came for {self._limit:g} seconds; "
            "try again, or give the model a longer stall_timeout",
            seconds=self._limit,
        )
