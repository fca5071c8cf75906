"""A scripted HTTP server on the loopback interface: each request is answered by a coroutine of the test."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass, field
from http.client import responses
from typing import Any, TypeAlias


@dataclass
class Exchange:
    """One request, and the connection to answer it on."""

    path: str
    headers: dict[str, str]
    body: Any
    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter

    async def start(self, status: int = 200, content_type: str = "text/event-stream", **headers: str) -> None:
        """Send the head of a chunked response."""
        lines = [f"HTTP/1.1 {status} {responses.get(status, 'Unassigned')}", f"Content-Type: {content_type}"]
        lines += [
            "Transfer-Encoding: chunked",
            *(f"{name.replace('_', '-')}: {value}" for name, value in headers.items()),
        ]
        await self.send_raw("\r\n".join([*lines, "", ""]).encode())

    async def send(self, data: bytes) -> None:
        """Send one chunk of the body."""
        if data:
            await self.send_raw(b"%x\r\n%s\r\n" % (len(data), data))

    async def end(self) -> None:
        """End the body."""
        await self.send_raw(b"0\r\n\r\n")

    async def send_raw(self, data: bytes) -> None:
        self.writer.write(data)
        await self.writer.drain()

    async def respond(
        self, data: bytes, status: int = 200, content_type: str = "text/event-stream", **headers: str
    ) -> None:
        """Send a whole response."""
        await self.start(status, content_type, **headers)
        await self.send(data)
        await self.end()

    async def cut(self) -> None:
        """Close the connection as it is, in the middle of the response."""
        self.writer.close()
        with contextlib.suppress(OSError):
            await self.writer.wait_closed()

    def reset(self) -> None:
        """Break the connection."""
        self.writer.transport.abort()

    async def client_gone(self) -> None:
        """Wait until the client has closed the connection; a hang fails the test."""
        async with asyncio.timeout(5):
            with contextlib.suppress(OSError):
                while await self.reader.read(1024):
                    pass


Answer: TypeAlias = Callable[[Exchange], Awaitable[None]]


@dataclass
class Server:
    """What the server has seen."""

    url: str = ""
    exchanges: list[Exchange] = field(default_factory=list)
    connections: int = 0
    asked: asyncio.Event = field(default_factory=asyncio.Event)
    """Set when the first request has come."""


@contextlib.asynccontextmanager
async def serving(*answers: Answer) -> AsyncIterator[Server]:
    """Serve: request number n gets answer number n, and the last answer is repeated."""
    state = Server()
    tasks: set[asyncio.Task[None]] = set()

    async def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        tasks.add(task)
        state.connections += 1
        try:
            while exchange := await _read_request(reader, writer):
                state.exchanges.append(exchange)
                state.asked.set()
                await answers[min(len(state.exchanges), len(answers)) - 1](exchange)
        except OSError:
            pass
        finally:
            tasks.discard(task)
            writer.close()

    server = await asyncio.start_server(connected, "127.0.0.1", 0)
    state.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1"
    try:
        yield state
    finally:
        server.close()
        for task in list(tasks):
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await server.wait_closed()


async def _read_request(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> Exchange | None:
    try:
        head = (await reader.readuntil(b"\r\n\r\n")).decode().split("\r\n")
        headers = {name.lower(): value for name, _, value in (line.partition(": ") for line in head[1:] if line)}
        body = await reader.readexactly(int(headers.get("content-length", 0)))
    except (asyncio.IncompleteReadError, OSError):
        return None
    return Exchange(head[0].split()[1], headers, json.loads(body or b"null"), reader, writer)
