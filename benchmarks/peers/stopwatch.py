"""Times a stream, the same way for every package. Needs nothing but the standard library."""

from __future__ import annotations

import asyncio
import json
import sys
import time
from collections.abc import Awaitable, Callable
from importlib.metadata import version

__all__ = ["time_stream"]


def time_stream(package: str, prepare: Callable[[int, str], Callable[[], Awaitable[int]]]) -> None:
    """Consume two replies of as many deltas as the command line says, and print what each took.

    The first one finds a new process, as a script does; the second one finds everything built and cached.

    Args:
        package: The distribution that is measured.
        prepare: Takes the number of deltas and the mode and makes the agent, which is not timed; what it returns
            iterates over the events of one reply and counts them.
    """
    deltas, mode = int(sys.argv[1]), "".join(sys.argv[2:3])

    async def main() -> None:
        result = {"version": version(package)}
        consume = prepare(deltas, mode)
        for reply in ("first", "second"):
            wall, cpu = time.perf_counter(), time.process_time()
            events = await consume()
            cpu, wall = time.process_time() - cpu, time.perf_counter() - wall
            assert events >= deltas, f"{events} events of {deltas} deltas"
            result |= {"events": events, f"{reply}_cpu": cpu, f"{reply}_wall": wall}
        print(json.dumps(result))

    asyncio.run(main())
