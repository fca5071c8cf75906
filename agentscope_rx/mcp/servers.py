"""The servers of an agent, as a source of tools."""

from __future__ import annotations

import asyncio
import threading
import weakref
from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

from ..errors import ConfigurationError, MissingExtraError, ToolError
from ..tools import FoundTools, MissingTools, Tool, ToolSource
from .names import prefix
from .server import McpServer
from .tool import AbsentTool, absence
from .worker import Worker

if TYPE_CHECKING:
    from .connection import Connection

__all__ = ["McpServers"]

_CLOSED = "its connection was closed"
_NOT_YET = "it is not connected yet"


class McpServers(ToolSource):
    """Servers that give an agent tools by the Model Context Protocol: `ReActAgent(..., tools=[McpServers(...)])`.

    They are connected to when a reply first needs them, all at once, and the connections last over replies, sessions,
    event loops and threads, until they are closed or the object is gone. A tool is called `mcp__server__tool`.

    A server that fails, hangs or breaks off takes no reply down: its tools are missing, and the reply says so. It is
    tried again when a later reply begins; one that has broken off, at the next model call.

    Args:
        servers: The servers, each with a name of its own.
        patience: Seconds that a reply waits for servers that have not connected yet. One that comes later joins in at
            a later model call; one that was waited for in vain is not waited for again until it has come or failed.

    Raises:
        ConfigurationError: two servers have one name, or `patience` is negative.
        MissingExtraError: the extra `mcp` is not installed.
    """

    def __init__(self, *servers: McpServer, patience: float = 10.0) -> None:
        try:
            from . import connection  # noqa: F401 - so that its absence is told here and now
        except ImportError as error:
            raise MissingExtraError("McpServers", 'pip install "agentscope-rx[mcp]"') from error
        self._names = [server.name for server in servers]
        if twice := {name for name in self._names if self._names.count(name) > 1}:
            raise ConfigurationError(
                f"two MCP servers are named {', '.join(sorted(twice))}; give each a name of its own"
            )
        if patience < 0:
            raise ConfigurationError(f"patience is a number of seconds, 0 or more: got {patience}")
        self._servers = servers
        self._patience = patience
        self._hub: _Hub | None = None
        self._closed = False
        self._lock = threading.Lock()

    async def find(self, *, first: bool) -> FoundTools:
        """Return the tools of the servers that are there, and which are not; to connect ahead of a reply, too."""
        from .connection import find_tools

        try:
            hub = self._open()
            return await hub.worker.run(lambda: find_tools(hub.connections, first, self._patience))
        except ToolError:
            return FoundTools(missing=tuple(MissingTools(f"the MCP server {name!r}", _CLOSED) for name in self._names))

    def get(self, name: str) -> Tool | None:
        """Return the tool of a server that is there, or what stands for any tool of one that is not."""
        server = next((server for server in self._names if name.startswith(prefix(server))), None)
        if server is None:
            return None
        if self._hub is None or not self._hub.worker.alive:
            return AbsentTool(name, absence(server, _CLOSED if self._closed else _NOT_YET))
        connection = self._hub.connections[self._names.index(server)]
        if (trouble := connection.trouble) is not None:
            return AbsentTool(name, absence(server, trouble))
        return connection.tools.get(name)

    async def aclose(self) -> None:
        """Close the connections, for good: programs end, and calls fail."""
        await asyncio.to_thread(self.close)

    def close(self) -> None:
        """Do what `aclose` does, where no loop runs."""
        with self._lock:
            self._closed, hub = True, self._hub
        if hub is not None:
            hub.close()

    def _open(self) -> _Hub:
        from .connection import Connection

        with self._lock:
            if self._closed:
                raise ToolError("the connections are closed")
            if self._hub is None or not self._hub.worker.alive:  # as after a fork, to which the connections are useless
                worker = Worker("agentscope-rx-mcp")
                self._hub = _Hub(worker, tuple(Connection(server, worker) for server in self._servers))
                weakref.finalize(self, self._hub.close)
            return self._hub

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *error: object) -> None:
        await self.aclose()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"McpServers({', '.join(self._names)})"


@dataclass(frozen=True, slots=True)
class _Hub:
    """The connections of one process, and what they run on."""

    worker: Worker
    connections: tuple[Connection, ...]

    def close(self) -> None:
        self.worker.close(self._leave)

    async def _leave(self) -> None:
        await asyncio.gather(*(connection.close() for connection in self.connections))
