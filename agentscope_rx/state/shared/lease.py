"""A session for one process at a time, for as long as that one lives."""

from __future__ import annotations

import asyncio
import logging
import random
import secrets
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from ...errors import StoreError
from ..keys import RowKey
from .finished import finished
from .server import Lease, StateServer

__all__ = ["holding"]

_log = logging.getLogger(__name__)

_SHORTEST_PAUSE, _LONGEST_PAUSE, _GROWTH = 0.02, 0.5, 1.5
"""Seconds between two looks whether a lease is free, and by what they grow."""

_RENEWALS = 3
"""How often a lease is renewed in the time that it lasts: two renewals may fail."""


@asynccontextmanager
async def holding(server: StateServer, key: RowKey, seconds: float) -> AsyncIterator[Lease]:
    """Wait for the lease of a session, hold it inside, and give it back.

    It lasts `seconds` by the server's clock and is renewed meanwhile: when this process dies, or is cut off from the
    server, somebody else gets it after that time.

    Raises:
        StoreError: on entering, when the server fails.
    """
    lease = Lease(secrets.token_hex(16), seconds)
    await _take(server, key, lease)
    renewing = asyncio.create_task(_renew(server, key, lease))
    try:
        yield lease
    finally:
        renewing.cancel()
        await asyncio.wait((renewing,))
        await _give_back(server, key, lease)


async def _take(server: StateServer, key: RowKey, lease: Lease) -> None:
    pause = _SHORTEST_PAUSE
    while True:
        try:
            if await finished(server.hold(key, lease)):
                return
        except BaseException:  # the server may have given it all the same
            await _give_back(server, key, lease)
            raise
        await asyncio.sleep(pause * random.uniform(0.5, 1))  # not in step with others that wait
        pause = min(pause * _GROWTH, _LONGEST_PAUSE)


async def _renew(server: StateServer, key: RowKey, lease: Lease) -> None:
    while True:
        await asyncio.sleep(lease.seconds / _RENEWALS)
        try:
            if not await finished(server.hold(key, lease)):
                _log.warning("the lease of %s was not renewed in time, and somebody else has it now", key.session_id)
                return
        except StoreError as error:
            _log.warning("the lease of %s was not renewed: %s", key.session_id, error)


async def _give_back(server: StateServer, key: RowKey, lease: Lease) -> None:
    try:
        await finished(server.release(key, lease))
    except StoreError as error:
        _log.warning("the lease of %s was not given back, and ends by itself: %s", key.session_id, error)
