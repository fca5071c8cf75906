"""One process that saves a session again and again, until it is killed."""

from __future__ import annotations

import asyncio
from itertools import count
from multiprocessing.connection import Connection
from pathlib import Path

from .stores import Opener, state

LENGTHS = (10, 300_000)
"""Characters, of the states in turn; each says how long it is."""


def write(opener: Opener, folder: Path, saved: Connection) -> None:
    """Go on with the session `s`, and tell every version when it is saved."""
    asyncio.run(_write(opener, folder, saved))


async def _write(opener: Opener, folder: Path, saved: Connection) -> None:
    store = opener(folder)
    stored = await store.load("s")
    for version in count(stored.version if stored else 0):
        length = LENGTHS[version % len(LENGTHS)]
        saved.send(await store.save(state("x" * length, n=length), version))
