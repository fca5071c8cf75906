"""One server: the task that owns the session with it, what it offers, and its calls."""

from __future__ import annotations

import asyncio
import contextvars
import logging
import math
from collections.abc import Iterator, Sequence
from typing import Any

import anyio
from mcp import Client, MCPError
from mcp.client.subscriptions import SubscriptionLost
from mcp.types import CONNECTION_CLOSED, METHOD_NOT_FOUND, Tool as ToolDescription, ToolListChangedNotification

from ..errors import ToolError
from ..tools import FoundTools, MissingTools, ToolChunk
from .content import chunks_of_result
from .names import tool_names
from .server import McpServer
from .tool import McpTool, Report, absence
from .transport import Signs, open_transport
from .worker import Worker

__all__ = ["CLOSED", "Connection", "find_tools"]

_log = logging.getLogger(__name__)

_SESSION_LOST = "Session terminated"
"""What the SDK makes of the answer of an HTTP server that does not know the session any more."""

CLOSED = "its connection was closed"
"""Why the tools of a server are missing that was let go of."""

_LEAVE_SECONDS = 2.0
"""How long a server may take to be told that the session is over."""

_LISTEN_AGAIN_SECONDS = 5.0
"""How long to wait before the changes of a server are listened to again, when it has hung up."""

_LONGEST_REASON = 200
"""Characters."""


class Connection:
    """A server, connected or not. But for `call`, everything happens on the loop of the worker.

    The session is entered, used to list the tools, and left by one task, the owner. It lives until the connection is
    closed or breaks; then `wake` makes another one.
    """

    def __init__(self, server: McpServer, worker: Worker) -> None:
        self.server = server
        """Whose connection it is."""
        self.tools: dict[str, McpTool] = {}
        """The tools of the server as it has listed them last, by name."""
        self.trouble: str | None = "it is not connected yet"
        """Why its tools cannot be called; None when they can."""
        self.settled = asyncio.Event()
        """Whether nothing is under way: it is connected and its list is up to date, or it has failed."""
        self.overdue = False
        """Whether it was waited for in vain, so that nobody waits for it again until it has settled."""
        self._worker = worker
        self._client: Client | None = None
        self._owner: asyncio.Task[None] | None = None
        self._scope: anyio.CancelScope
        self._failed = False
        self._ended = False
        self._closing = False
        self._news = asyncio.Event()

    def wake(self, first: bool) -> None:
        """Connect, unless that is done or under way; after a failure only for the first time in a reply."""
        if self._owner is None and (first or not self._failed):
            self.trouble = "it has not answered yet"
            self.settled.clear()
            self._scope = anyio.CancelScope()
            self._allow(self.server.connect_timeout)
            # In a context of its own: it outlives the reply that happens to need it first, and the span of that.
            self._owner = asyncio.create_task(self._own(), context=contextvars.Context())

    async def ready(self, first: bool) -> None:
        """Wait until it has settled; connect if it is not, and once more if it has broken off meanwhile."""
        self.wake(first)
        await self.settled.wait()
        if self.trouble is not None and not self._failed:
            self.wake(first)
            await self.settled.wait()

    async def close(self) -> None:
        """Leave the session, or give up entering it; returns when that is done."""
        if self._owner is not None:
            self._closing = True
            self._news.set()
            self._allow(0 if self._client is None else _LEAVE_SECONDS)
            await asyncio.wait((self._owner,))

    async def call(self, tool: str, arguments: dict[str, Any], report: Report) -> Iterator[ToolChunk]:
        """Call a tool and return what its result says; called on any loop. Cancelled, it cancels the call there.

        Args:
            tool: What the server calls it.
            arguments: Its arguments.
            report: Takes the progress, on the thread of the worker.

        Raises:
            ToolError: there is no result; the message is for the model.
        """
        return await self._worker.run(lambda: self._call(tool, arguments, report))

    # ------------------------------------------------------------------------------------------------ the session

    async def _own(self) -> None:
        signs = Signs(self._end)
        self._client, self._failed, self._ended = None, True, False
        try:
            # Whoever cancels the task itself, and not the scope, breaks off the goodbye of the SDK too.
            with self._scope:
                await self._serve(signs)
            self._lost(
                CLOSED if self._closing else f"it did not answer within {self.server.connect_timeout:g} s", signs
            )
        except Exception as error:
            self._lost(self._reason(error, signs), signs)
        finally:
            self._client = self._owner = None
            self._settle()

    async def _serve(self, signs: Signs) -> None:
        async with (
            Client(open_transport(self.server, signs), message_handler=self._hear, cache=None) as client,
            anyio.create_task_group() as tasks,
        ):
            await self._list(client)
            self._client, self.trouble, self._failed = client, None, False
            tasks.start_soon(self._follow, client)
            while not self._closing:
                self._allow(math.inf)
                if not self._news.is_set():
                    self._settle()
                await self._news.wait()
                if self._ended:
                    raise MCPError(CONNECTION_CLOSED, "Connection closed")
                if not self._closing:
                    self._allow(self.server.connect_timeout)
                    await self._list(client)
            tasks.cancel_scope.cancel()

    def _allow(self, seconds: float) -> None:
        """Let the owner work for so long; then it is cancelled, but not what the SDK must do to leave."""
        self._scope.deadline = anyio.current_time() + seconds

    async def _list(self, client: Client) -> None:
        self._news.clear()
        described: list[ToolDescription] = []
        cursor: str | None = None
        try:
            while True:
                page = await client.list_tools(cursor=cursor)
                described += page.tools
                if (cursor := page.next_cursor) is None:
                    break
        except MCPError as error:
            if error.code != METHOD_NOT_FOUND:
                raise
        by_name = {tool.name: tool for tool in described}
        self.tools = {
            name: McpTool(name, by_name[remote], self.call, trusted=self.server.trusted)
            for name, remote in tool_names(self.server.name, by_name).items()
        }

    # ------------------------------------------------------------------------------------------------ what it tells

    async def _hear(self, message: object) -> None:
        if isinstance(message, ToolListChangedNotification):
            self._change()

    async def _follow(self, client: Client) -> None:
        """Listen to the changes of a server that tells them only to those who listen, as newer ones do."""
        while True:
            try:
                async with client.listen(tools_list_changed=True) as changes:
                    if not changes.honored.tools_list_changed:
                        return
                    self._change()  # what changed before the server knew that we listen, nobody has told us
                    async for _ in changes:
                        self._change()
            except SubscriptionLost:
                pass
            except Exception:  # it tells nobody of changes, as older ones do not
                return
            self._change()  # the server has hung up: whether it is still there shows when its tools are listed
            await asyncio.sleep(_LISTEN_AGAIN_SECONDS)

    def _change(self) -> None:
        self.settled.clear()
        self._news.set()

    def _end(self) -> None:
        self._ended = True
        self._change()

    def _settle(self) -> None:
        self.overdue = False
        self.settled.set()

    # ------------------------------------------------------------------------------------------------ calls

    async def _call(self, tool: str, arguments: dict[str, Any], report: Report) -> Iterator[ToolChunk]:
        client, name, patience = self._client, self.server.name, self.server.call_timeout
        if client is None:
            raise ToolError(absence(name, self.trouble or CLOSED))
        loop = asyncio.get_running_loop()
        try:
            async with asyncio.timeout(patience) as silence:

                async def progressed(progress: float, total: float | None, message: str | None) -> None:
                    if not silence.expired():
                        silence.reschedule(loop.time() + patience)
                    report(progress, total, message and self.server.hide(message))

                result = await client.call_tool(tool, arguments, progress_callback=progressed)
        except TimeoutError:
            raise ToolError(
                f"The MCP server {name!r} was silent for {patience:g} s, so the call was given up."
            ) from None
        except MCPError as error:  # without a cause, here and below: it may hold a secret, and causes are logged
            if error.code == CONNECTION_CLOSED:
                self._change()
                raise ToolError(f"The connection to the MCP server {name!r} broke during the call.") from None
            if error.message == _SESSION_LOST:
                self._end()
            raise ToolError(f"The MCP server {name!r} refused the call: {self._shown(error)}") from None
        except Exception as error:
            raise ToolError(f"The MCP server {name!r} gave no valid result: {self._shown(error)}") from None
        return chunks_of_result(result, self.server.hide)

    # ------------------------------------------------------------------------------------------------ what is said

    def _lost(self, trouble: str, signs: Signs) -> None:
        self.trouble = trouble
        if not self._closing:
            words = f"; its last words: {signs.last_words}" if signs.last_words else ""
            _log.warning("the tools of the MCP server %r are missing: %s%s", self.server.name, trouble, words)

    def _reason(self, error: BaseException, signs: Signs) -> str:
        while isinstance(error, BaseExceptionGroup):
            error = error.exceptions[0]
        if isinstance(error, MCPError) and error.code == CONNECTION_CLOSED:
            return "it has ended"
        return self._shown(error) + (f" ({signs.status})" if signs.status else "")

    def _shown(self, error: BaseException) -> str:
        text = self.server.hide(str(error).partition("\n")[0])[:_LONGEST_REASON]
        return text if isinstance(error, MCPError) else f"{type(error).__name__}: {text}"


async def find_tools(connections: Sequence[Connection], first: bool, patience: float) -> FoundTools:
    """Return what the servers have, when all have settled, or after a while what there is by then."""
    for connection in connections:
        connection.wake(first)
    waited_for = [connection for connection in connections if not connection.overdue]
    try:
        async with asyncio.timeout(patience):
            await asyncio.gather(*(connection.ready(first) for connection in waited_for))
    except TimeoutError:
        for connection in waited_for:
            connection.overdue = not connection.settled.is_set()
    return FoundTools(
        tuple(tool for connection in connections if connection.trouble is None for tool in connection.tools.values()),
        tuple(
            MissingTools(f"the MCP server {connection.server.name!r}", connection.trouble)
            for connection in connections
            if connection.trouble is not None
        ),
    )
