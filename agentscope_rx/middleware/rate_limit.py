"""Not more model calls than are allowed."""

from __future__ import annotations

import asyncio
import heapq
import threading
import time
from collections.abc import AsyncIterator, Generator
from typing import Any, ClassVar

from reactivex import Observable

from ..context import RuntimeContext
from ..errors import ConfigurationError
from ..event import AgentEvent
from ..stream import concat_stages, from_async_iterable
from .base import AgentLike, Middleware, ModelCallInput, Next

__all__ = ["RateLimit"]


class RateLimit(Middleware):
    """Lets a model call wait until it is allowed: a token bucket, shared by everything that the object is given to.

    The bucket holds `calls` tokens and is full at first; it is refilled evenly, `calls` in `seconds`. Calls are let in
    in the order of their coming; one that is disposed while it waits leaves its place to the next that comes. Nothing
    blocks while they wait.

    Args:
        calls: How many calls may come at once, and in each span of `seconds` after that.
        seconds: The span.

    Raises:
        ConfigurationError: `calls` is less than 1, or `seconds` is not positive.
    """

    order: ClassVar[int] = -1

    def __init__(self, calls: int, seconds: float = 60.0) -> None:
        if calls < 1 or seconds <= 0:
            raise ConfigurationError(f"a rate is at least 1 call in more than 0 seconds: got {calls} in {seconds}")
        self._interval = seconds / calls
        self._burst = seconds - self._interval
        self._full_at = 0.0  # when the bucket will be full again, if nothing more is taken
        self._left: list[float] = []  # a heap of the places that were given back
        self._lock = threading.Lock()

    def on_model_call(
        self, agent: AgentLike, context: RuntimeContext, input: ModelCallInput, next: Next[ModelCallInput]
    ) -> Observable[AgentEvent]:
        """Make the call when it is allowed."""

        def stages() -> Generator[Observable[AgentEvent], Any, None]:
            yield from_async_iterable(self._allowed)
            yield next(input)

        return concat_stages(stages)

    async def _allowed(self) -> AsyncIterator[AgentEvent]:
        now = time.monotonic()
        with self._lock:
            place = self._place(now)
        if place > now:
            try:
                await asyncio.sleep(place - now)
            except asyncio.CancelledError:
                with self._lock:
                    heapq.heappush(self._left, place)
                raise
        return
        yield

    def _place(self, now: float) -> float:
        """Return when the next call may be made."""
        while self._left:
            if (place := heapq.heappop(self._left)) > now:
                return place
        full_at = max(self._full_at, now)
        self._full_at = full_at + self._interval
        return full_at - self._burst
