"""Ways to cut bytes: whole, byte by byte, at every place, at random places."""

from __future__ import annotations

import random
from collections.abc import Iterator


def whole(data: bytes) -> list[bytes]:
    return [data]


def byte_by_byte(data: bytes) -> list[bytes]:
    return [data[i : i + 1] for i in range(len(data))]


def at_random(data: bytes, seed: int, mean: int = 40) -> list[bytes]:
    """Pieces of random sizes, some of them empty."""
    choose = random.Random(seed)
    pieces, position = [], 0
    while position < len(data):
        size = choose.randrange(2 * mean)
        pieces.append(data[position : position + size])
        position += size
    return pieces


def every_cut(data: bytes) -> Iterator[list[bytes]]:
    """Two pieces, cut at each place in turn."""
    return ([data[:i], data[i:]] for i in range(len(data) + 1))


def every_way(data: bytes) -> Iterator[list[bytes]]:
    """All of the above."""
    yield whole(data)
    yield byte_by_byte(data)
    yield from every_cut(data)
    for seed in range(5):
        yield at_random(data, seed)
