"""A value for each running event loop."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import suppress
from typing import Generic, TypeVar

__all__ = ["LoopLocal"]

T = TypeVar("T")


class LoopLocal(Generic[T]):
    """One value per event loop, made when it is first asked for and closed when its loop shuts down.

    For objects that are bound to a loop, such as an HTTP client, when their owner is used from several loops.
    """

    def __init__(self, factory: Callable[[], T], close: Callable[[T], Awaitable[None]]) -> None:
        """Make values by `factory` and close them by `close`, both on the loop that the value is for.

        A loop closes its values when it shuts down its async generators, as `asyncio.run` does at its end.
        """
        self._factory = factory
        self._close = close
        self._kept: dict[asyncio.AbstractEventLoop, tuple[T, AsyncGenerator[None, None]]] = {}
        self._lock = threading.Lock()

    def get(self) -> T:
        """Return the value of the running loop.

        Raises:
            RuntimeError: no loop runs in this thread.
        """
        loop = asyncio.get_running_loop()
        if kept := self._kept.get(loop):
            return kept[0]
        value = self._factory()
        keeper = self._keep(value)
        with suppress(StopIteration):  # it runs to its yield without waiting, and the loop has noted it
            keeper.__anext__().send(None)
        with self._lock:
            for careless in [other for other in self._kept if other.is_closed()]:  # closed without a shutdown
                del self._kept[careless]
            self._kept[loop] = (value, keeper)
        return value

    async def aclose(self) -> None:
        """Close the value of the running loop, if it has one; the next `get` makes another."""
        if kept := self._kept.get(asyncio.get_running_loop()):
            await kept[1].aclose()

    async def _keep(self, value: T) -> AsyncGenerator[None, None]:
        try:
            yield
        finally:
            with self._lock:
                del self._kept[asyncio.get_running_loop()]
            await self._close(value)
