"""The transports of the MCP SDK, and what they do not tell by themselves: that a server has gone, its last words."""

from __future__ import annotations

import asyncio
import logging
import os
import threading
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any, Self, TypeAlias

import anyio
import httpx2
from mcp import StdioServerParameters, stdio_client
from mcp.client.streamable_http import streamable_http_client

from ..stream import wake
from .server import McpHttpServer, McpServer, McpStdioServer

__all__ = ["Signs", "open_transport"]

_log = logging.getLogger(__name__)

Streams: TypeAlias = tuple[Any, Any]
"""What the SDK reads from, and what it writes to."""

_HTTP_TIMEOUT = httpx2.Timeout(connect=10.0, read=None, write=60.0, pool=None)
"""Reads have no limit of their own: the timeouts of the server rule them."""

_GOODBYE_SECONDS = 2.0
"""How long a server may take to be told that the session is over, or a program to close its standard error."""

_THIS_MACHINE = ("all://localhost", "all://127.0.0.1", "all://[::1]")
"""No proxy of the environment reaches what runs here."""


@dataclass(slots=True)
class Signs:
    """What can be seen of a server beside its messages."""

    on_end: Callable[[], None]
    """Called when a program has closed its standard output."""
    status: str = ""
    """The last refusal of an HTTP server, such as `HTTP 401`."""
    last_words: str = field(default="", repr=False)
    """The last line of a program's standard error; it is for the log, since it may hold anything."""


def open_transport(server: McpServer, signs: Signs) -> AbstractAsyncContextManager[Streams]:
    """Return the way to a server: entered it is open, and left it is closed, the program ended."""
    return _TRANSPORTS[type(server)](server, signs)


@asynccontextmanager
async def _stdio(server: McpStdioServer, signs: Signs) -> AsyncIterator[Streams]:
    parameters = StdioServerParameters(
        command=server.command, args=list(server.args), env=dict(server.env), cwd=server.cwd
    )
    heard = asyncio.get_running_loop().create_future()
    read_end, write_end = os.pipe()
    listen = threading.Thread(target=_listen, args=(read_end, server, signs, heard), daemon=True)
    listen.start()
    try:
        with os.fdopen(write_end, "w") as errors:
            async with stdio_client(parameters, errors) as (read, write):
                errors.close()  # the program has it now, and its end is the end of the last words
                yield _Watched(read, signs.on_end), write
    finally:
        with anyio.CancelScope(shield=True):
            await asyncio.wait((heard,), timeout=_GOODBYE_SECONDS)


def _listen(read_end: int, server: McpStdioServer, signs: Signs, heard: asyncio.Future[None]) -> None:
    with os.fdopen(read_end, encoding="utf-8", errors="replace") as lines:
        for line in lines:
            if said := line.strip():
                signs.last_words = server.hide(said)
                _log.debug("%s: %s", server.name, signs.last_words)
    wake(heard)


@asynccontextmanager
async def _http(server: McpHttpServer, signs: Signs) -> AsyncIterator[Streams]:
    async def hurry(request: httpx2.Request) -> None:
        if request.method == "DELETE":  # by which the SDK says goodbye, before it lets go of a server that may hang
            request.extensions["timeout"] = httpx2.Timeout(_GOODBYE_SECONDS).as_dict()

    async def note(response: httpx2.Response) -> None:
        if response.is_error:
            signs.status = f"HTTP {response.status_code}"

    async with (
        httpx2.AsyncClient(
            headers=dict(server.headers),
            auth=server.auth,
            timeout=_HTTP_TIMEOUT,
            mounts=dict.fromkeys(_THIS_MACHINE),
            event_hooks={"request": [hurry], "response": [note]},
        ) as client,
        streamable_http_client(server.url, http_client=client) as streams,
    ):
        yield streams


_TRANSPORTS: dict[type[McpServer], Callable[[Any, Signs], AbstractAsyncContextManager[Streams]]] = {
    McpStdioServer: _stdio,
    McpHttpServer: _http,
}


class _Watched:
    """A stream that the SDK reads from, and that says when it has ended."""

    def __init__(self, stream: Any, on_end: Callable[[], None]) -> None:
        self._stream = stream
        self._on_end = on_end

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Any:
        try:
            return await self._stream.__anext__()
        except StopAsyncIteration:
            self._on_end()
            raise

    async def __aenter__(self) -> Self:
        await self._stream.__aenter__()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> bool | None:
        return bool(await self._stream.__aexit__(kind, error, traceback))
