"""A raw server of server-sent events on the loopback interface, which writes down what its clients do to it."""

from __future__ import annotations

import asyncio
import json
import threading
from contextlib import suppress
from dataclasses import dataclass, field
from urllib.parse import parse_qsl, urlsplit


@dataclass
class Connection:
    """What became of one connection."""

    sent: int = 0
    closed_by_client: threading.Event = field(default_factory=threading.Event)
    finished: bool = False


class SSEServer:
    """Serves `GET /?n=&mode=&at=` in a thread of its own.

    It sends `n` events `{"i": 0}`, `{"i": 1}` ...; `mode` says what happens instead of event number `at`:
    `hang` (silence until the client leaves), `cut` (the connection is reset), `bad` (an event that is no JSON);
    with `500` the request is refused.
    """

    def __init__(self) -> None:
        self.connections: list[Connection] = []
        self.url = ""
        self._stopped: asyncio.Event
        self._loop: asyncio.AbstractEventLoop
        self._ready = threading.Event()
        self._thread = threading.Thread(target=lambda: asyncio.run(self._serve()))
        self._thread.start()
        self._ready.wait()

    def close(self) -> None:
        self._loop.call_soon_threadsafe(self._stopped.set)
        self._thread.join()

    async def _serve(self) -> None:
        self._loop, self._stopped = asyncio.get_running_loop(), asyncio.Event()
        server = await asyncio.start_server(self._answer, "127.0.0.1", 0)
        self.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/"
        self._ready.set()
        async with server:
            await self._stopped.wait()

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        connection = Connection()
        self.connections.append(connection)
        try:
            head = await reader.readuntil(b"\r\n\r\n")
            query = dict(parse_qsl(urlsplit(head.split(b" ")[1].decode()).query))
            watcher = asyncio.create_task(self._watch(reader, connection))
            try:
                await self._send(writer, watcher, connection, query)
            finally:
                watcher.cancel()
        except (ConnectionError, asyncio.IncompleteReadError):
            connection.closed_by_client.set()
        finally:
            writer.close()

    async def _watch(self, reader: asyncio.StreamReader, connection: Connection) -> None:
        with suppress(ConnectionError):
            await reader.read()
        connection.closed_by_client.set()

    async def _send(
        self,
        writer: asyncio.StreamWriter,
        watcher: asyncio.Task[None],
        connection: Connection,
        query: dict[str, str],
    ) -> None:
        mode, at = query.get("mode"), int(query.get("at", 3))
        if mode == "500":
            writer.write(b"HTTP/1.1 500 Internal Server Error\r\nContent-Length: 4\r\nConnection: close\r\n\r\noops")
            await writer.drain()
            return
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n")
        writer.write(b"Transfer-Encoding: chunked\r\nConnection: close\r\n\r\n")
        for i in range(int(query["n"])):
            if i == at and mode == "hang":
                await watcher
                return
            if i == at and mode == "cut":
                writer.transport.abort()
                return
            data = b"{not json" if i == at and mode == "bad" else json.dumps({"i": i}).encode()
            chunk = b"data: " + data + b"\n\n"
            writer.write(b"%x\r\n%s\r\n" % (len(chunk), chunk))
            connection.sent += 1
            await writer.drain()
            if connection.closed_by_client.is_set():
                return
        writer.write(b"0\r\n\r\n")
        await writer.drain()
        connection.finished = True
