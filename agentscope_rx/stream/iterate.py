"""From an Observable to an async iterator, with back-pressure."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncGenerator, Awaitable, Mapping
from dataclasses import dataclass
from types import AsyncGeneratorType, TracebackType
from typing import Any, Generic, Self, TypeVar, cast

from reactivex import Observable
from reactivex.disposable import SingleAssignmentDisposable

from ..errors import BufferOverflowError, ConfigurationError
from .attach import attach
from .gate import Gate
from .loops import wake
from .scheduler import LoopScheduler

__all__ = ["StreamIterator", "StreamStatistics"]

T = TypeVar("T")

_SLACK = 1024
"""How many items over its limit a buffer takes from a source that does not pause."""


@dataclass(frozen=True, slots=True)
class StreamStatistics:
    """How full the buffer of an iterator is."""

    buffered: int
    """Items that wait for the consumer."""
    limit: int
    """Items at which the source is asked to pause."""
    peak: int
    """The most items that have ever waited."""
    gate_closed: bool
    """Whether the source is asked to pause right now."""


class StreamIterator(Generic[T]):
    """An async iterator over the items of one subscription.

    It subscribes when the first item is asked for. When `buffer` items wait, it closes the gate of its subscription,
    and opens it again when half of them have been taken. A source that does not honour the gate may run 1,024 items
    ahead of that; then the iterator disposes it, gives out what it has and raises `BufferOverflowError`.

    The source is disposed when the iterator is closed, abandoned, or cancelled while it waits. `aclose`, and leaving
    `async with`, return when the cleanup of the source has finished.
    """

    __slots__ = ("_inbox", "_items")

    def __init__(self, source: Observable[T], buffer: int = 64, context: Mapping[str, Any] | None = None) -> None:
        """Iterate over `source`, whose sources see `context` in their scheduler.

        Raises:
            ConfigurationError: `buffer` is less than 1.
        """
        if buffer < 1:
            raise ConfigurationError(f"the buffer of an iterator holds at least 1 item, got {buffer}")
        self._inbox = _Inbox[T](buffer)
        # The generator does not refer to this object: an abandoned iterator is collected at once, and asyncio then
        # closes the generator.
        self._items = cast(AsyncGeneratorType[T, None], self._inbox.items(source, context))

    def __aiter__(self) -> Self:
        return self

    def __anext__(self) -> Awaitable[T]:
        return self._items.__anext__()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        """Dispose the source and wait for its cleanup; the iterator ends, also for a task that waits in it."""
        if self._items.ag_running:
            await self._inbox.close()
        else:
            await self._items.aclose()

    def statistics(self) -> StreamStatistics:
        """Return how full the buffer is."""
        return self._inbox.statistics()


class _Inbox(Generic[T]):
    """What has been emitted and not been taken yet. The source may push from any one thread."""

    __slots__ = (
        "_ended",
        "_error",
        "_gate",
        "_high",
        "_items",
        "_limit",
        "_peak",
        "_scheduler",
        "_subscription",
        "_waiter",
    )

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._items: deque[T] = deque()
        self._gate = Gate()
        self._peak = 0
        self._high = 0  # the length beyond which `_push` has more to do: a new peak, or the limit is reached
        self._ended = False
        self._error: Exception | None = None
        self._waiter: asyncio.Future[None] | None = None
        self._subscription = SingleAssignmentDisposable()
        self._scheduler: LoopScheduler | None = None

    async def items(self, source: Observable[T], context: Mapping[str, Any] | None) -> AsyncGenerator[T, None]:
        loop = asyncio.get_running_loop()
        self._scheduler = LoopScheduler(loop, self._gate, context)
        self._scheduler.take = self._take
        items, gate, low = self._items, self._gate, self._limit // 2
        try:
            attach(self._subscription, source, self._push, self._end, self._end, self._scheduler)
            while True:
                ended = self._ended  # read before the items, so that none can slip in between
                while items:
                    item = items.popleft()
                    if gate.closed and len(items) <= low:
                        gate.open()
                    yield item
                if ended:
                    break
                self._waiter = loop.create_future()
                if not items and not self._ended:
                    await self._waiter
            if self._error is not None:
                raise self._error
        finally:
            await self.close()

    async def close(self) -> None:
        self._subscription.dispose()
        self._items.clear()
        self._end()
        if self._scheduler is not None:
            await self._scheduler.joined()

    def statistics(self) -> StreamStatistics:
        return StreamStatistics(len(self._items), self._limit, self._peak, self._gate.closed)

    def _push(self, item: T) -> None:
        items = self._items
        items.append(item)
        if len(items) > self._high:
            self._rise(len(items))
        if self._waiter is not None:
            self._wake()

    def _rise(self, length: int) -> None:
        if length > self._limit + _SLACK:
            self._items.pop()
            self._subscription.dispose()
            self._end(
                BufferOverflowError(
                    f"more than {self._limit} + {_SLACK} items wait for the consumer, and the source does not pause: "
                    "take items faster, give iterate() a larger buffer, or sample the source"
                )
            )
            return
        self._peak = max(self._peak, length)
        self._high = min(length, self._limit - 1)
        if length >= self._limit:
            self._gate.close()
            if len(self._items) <= self._limit // 2:  # the consumer, in another thread, has taken them meanwhile
                self._gate.open()

    def _take(self, error: Exception) -> bool:
        """Hear of an operator on the way that failed when it was told of the end, and so did not tell of it."""
        if self._ended:
            return False
        self._end(error)
        return True

    def _end(self, error: Exception | None = None) -> None:
        if not self._ended:
            self._error = error
            self._ended = True
            self._wake()

    def _wake(self) -> None:
        waiter, self._waiter = self._waiter, None
        if waiter is not None:
            wake(waiter)
