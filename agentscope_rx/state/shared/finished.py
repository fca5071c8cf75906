"""Questions to a server that are not cut off."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

__all__ = ["finished"]

T = TypeVar("T")

_PATIENCE = 5.0
"""Seconds that a server has to answer a caller that does not wait any more."""


async def finished(asked: Coroutine[Any, Any, T]) -> T:
    """Wait for the answer to a question; when the caller is cancelled, first for the answer and then leave.

    A question that is cut off costs a connection, and nobody knows what became of it. Besides, clients lose
    cancellations: `asyncio.wait_for` did until Python 3.12.
    """
    asking = asyncio.create_task(asked)
    try:
        return await asyncio.shield(asking)
    except asyncio.CancelledError:
        await asyncio.wait((asking,), timeout=_PATIENCE)
        if asking.cancel():
            await asyncio.wait((asking,), timeout=_PATIENCE)
        raise
