"""Running a function of any kind where it belongs, and putting out what it gives as it comes."""

from __future__ import annotations

import asyncio
import contextvars
import threading
from collections.abc import AsyncIterator, Awaitable, Callable, Generator, Iterator
from contextlib import closing, suppress
from typing import Any, TypeAlias

from .callables import runs_on_loop
from .chunk import ToolChunk
from .output import chunks_of

__all__ = ["perform"]

Put: TypeAlias = Callable[[ToolChunk], Awaitable[None]]


async def perform(body: Callable[[], Any], put: Put, name: str, begin: Callable[[], object] = lambda: None) -> None:
    """Run a function to its end.

    An asynchronous function runs on the loop, any other in a thread. What an iterator yields is put piece by piece,
    then what it returns; what any other function returns is put when it has returned.

    Args:
        body: The function.
        put: Takes the chunks. It is called, and may block, in the thread; on the loop it is awaited.
        name: The name of the thread.
        begin: Called on the loop when the function begins to run.
    """
    if runs_on_loop(body):
        begin()
        rest = body()
    else:
        rest = await _in_thread(lambda: _put_here(body, put), name, begin)
    if isinstance(rest, Awaitable):
        rest = await rest
    if isinstance(rest, AsyncIterator):
        await _put_each(rest, put)
    else:
        for output in _outputs(rest):
            for chunk in chunks_of(output):
                await put(chunk)


async def _in_thread(function: Callable[[], Any], name: str, begin: Callable[[], object]) -> Any:
    """Run a function in a thread of its own, in a copy of this context.

    A thread cannot be killed. This one is a daemon and belongs to no pool, so that a function that hangs holds up
    neither other tools, nor the end of the loop, nor that of the program; what it does after a cancel is ignored.
    """
    loop = asyncio.get_running_loop()
    done: asyncio.Future[tuple[Any, BaseException | None]] = loop.create_future()
    context = contextvars.copy_context()

    def settle(outcome: tuple[Any, BaseException | None]) -> None:
        if not done.done():
            done.set_result(outcome)

    def run() -> None:
        with suppress(RuntimeError):  # the loop is closed
            loop.call_soon_threadsafe(begin)
        try:
            outcome: tuple[Any, BaseException | None] = (context.run(function), None)
        except BaseException as error:
            outcome = (None, error)
        with suppress(RuntimeError):  # the loop is closed
            loop.call_soon_threadsafe(settle, outcome)

    threading.Thread(target=run, name=name, daemon=True).start()
    result, error = await done
    if error is not None:
        raise error
    return result


def _put_here(body: Callable[[], Any], put: Put) -> Any:
    """Run a function in this thread and put what it gives; return what only the loop can go on with."""
    result = body()
    if isinstance(result, Awaitable | AsyncIterator):
        return result
    with closing(_outputs(result)) as outputs:
        for output in outputs:
            for chunk in chunks_of(output):
                put(chunk)
    return None


async def _put_each(outputs: AsyncIterator[Any], put: Put) -> None:
    try:
        async for output in outputs:
            for chunk in chunks_of(output):
                await put(chunk)
    finally:
        if (aclose := getattr(outputs, "aclose", None)) is not None:
            await aclose()


def _outputs(result: Any) -> Generator[Any, None, None]:
    streams = isinstance(result, Iterator)
    returned = (yield from result) if streams else result
    yield returned
