"""Async sources for the tests of the seam: they write down how far they were pulled, and when they were left."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

from agentscope_rx.stream import Stream, from_async_iterable

__all__ = ["Source", "pumped"]


class Source:
    """The first `n` numbers, then perhaps silence."""

    def __init__(self, n: int = 3, *, idle: bool = False, log: list[str] | None = None) -> None:
        self.n = n
        self.idle = idle
        self.log = [] if log is None else log
        self.pulled = 0
        self.left = 0

    def stream(self) -> Stream[int]:
        return from_async_iterable(self._items)

    async def _items(self) -> AsyncIterator[int]:
        try:
            for number in range(self.n):
                self.pulled += 1
                yield number
            if self.idle:
                await asyncio.Event().wait()
        finally:
            await asyncio.sleep(0.002)
            self.left += 1
            self.log.append("source cleaned")


def pumped(*items: Any, note: str, log: list[Any] | None = None, idle: bool = False) -> Stream[Any]:
    """A stream of items with a turn of the loop before each; leaves a note in the log when it has been cleaned up."""

    async def source() -> AsyncIterator[Any]:
        try:
            for item in items:
                await asyncio.sleep(0)
                yield item
            if idle:
                await asyncio.Event().wait()
        finally:
            await asyncio.sleep(0.001)
            if log is not None:
                log.append(note)

    return from_async_iterable(source)
