"""Leaving an async iterator in the middle."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterable, AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, TypeVar

__all__ = ["unwind", "unwinding"]

T = TypeVar("T")


@asynccontextmanager
async def unwinding(iterable: AsyncIterable[T]) -> AsyncIterator[AsyncIterator[T]]:
    """Iterate over `iterable` inside, and leave it properly however the body ends; see `unwind`."""
    iterator = aiter(iterable)
    try:
        yield iterator
    finally:
        await unwind(iterator)


async def unwind(iterator: Any) -> None:
    """Leave an iterator that may be parked at a `yield`.

    An async generator is left by a cancellation and not by `aclose()`: its GeneratorExit becomes a BaseExceptionGroup
    in an asyncio or anyio task group that is open around the `yield`.
    """
    if athrow := getattr(iterator, "athrow", None):
        task = asyncio.current_task()
        cancels = task.cancelling() if task else 0
        try:
            await athrow(asyncio.CancelledError("the stream was disposed"))
        except StopAsyncIteration:
            return
        except asyncio.CancelledError:
            if task and task.cancelling() > cancels:  # not the one thrown in: someone cancels the cleanup itself
                raise
            return
    if aclose := getattr(iterator, "aclose", None):
        await aclose()
