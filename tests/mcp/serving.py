"""Starting servers, and calling their tools. Nothing here loads the SDK: that is left to what is tested."""

from __future__ import annotations

import asyncio
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from agentscope_rx import FoundTools, McpHttpServer, McpServers, McpStdioServer, RuntimeContext
from agentscope_rx.message import ToolUseBlock
from agentscope_rx.tools import ToolChunk, ToolText, run_tool

SCRIPT = Path(__file__).with_name("server.py")


def program(name: str, **settings: Any) -> McpStdioServer:
    """A server as a child process, which is called like what it is unless told otherwise."""
    called = settings.pop("called", name)
    return McpStdioServer(called, sys.executable, [str(SCRIPT), name], **settings)


def page(url: str, name: str = "everything", **settings: Any) -> McpHttpServer:
    """The server at a URL."""
    return McpHttpServer(name, url, **settings)


def until(holds: Callable[[], object]) -> None:
    """Wait until something holds, which it soon does."""
    deadline = time.monotonic() + 30
    while not holds():
        assert time.monotonic() < deadline
        time.sleep(0.01)


def found(servers: McpServers, *, first: bool = True) -> FoundTools:
    """What the servers have."""
    return asyncio.run(servers.find(first=first))


async def call(servers: McpServers, name: str, arguments: dict[str, Any] | None = None) -> list[ToolChunk]:
    """The chunks of one call of a tool."""
    block = ToolUseBlock(id="call_1", name=name, input=arguments or {})
    return [chunk async for chunk in run_tool(block, servers.get(name), RuntimeContext())]


def answer(servers: McpServers, name: str, arguments: dict[str, Any] | None = None) -> list[ToolChunk]:
    """The chunks of one call, but for its start, from outside a loop."""
    return asyncio.run(call(servers, name, arguments))[1:]


def plain(**settings: Any) -> McpStdioServer:
    """The server without the SDK, which starts at once."""
    called = settings.pop("called", "plain")
    return McpStdioServer(called, sys.executable, [str(SCRIPT.with_name("plain.py"))], **settings)


def crashing(name: str = "crashed") -> McpStdioServer:
    """A program that ends as soon as it is started."""
    return McpStdioServer(name, sys.executable, ["-c", "raise SystemExit('no configuration')"])


def mute(name: str = "hanging", **settings: Any) -> McpStdioServer:
    """A program that reads what it is sent, and never says a word."""
    return McpStdioServer(name, sys.executable, ["-c", "import sys; sys.stdin.read()"], **settings)


def text_of(chunks: list[ToolChunk]) -> str:
    """What a result says."""
    return "".join(chunk.text for chunk in chunks if isinstance(chunk, ToolText) and not chunk.progress)


def progress_of(chunks: list[ToolChunk]) -> list[str]:
    """What was shown on the way."""
    return [chunk.text for chunk in chunks if isinstance(chunk, ToolText) and chunk.progress]
