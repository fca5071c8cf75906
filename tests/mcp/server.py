"""MCP servers to test with, written with the official SDK: `python server.py NAME` speaks on standard input and output.

| name | what it is |
|---|---|
| everything | results of every kind, progress, hints, calls that can be cancelled, a list of tools that changes |
| hundred | a hundred tools, seven on a page |
| silent | takes the connection, and never says a word |
| doomed | lets itself be connected, and ends at the first call |
| bare | has no tools at all |
"""

from __future__ import annotations

import base64
import os
import sys
from collections.abc import Callable
from typing import Any

import anyio
from mcp import MCPError, types
from mcp.server import MCPServer, Server
from mcp.server.mcpserver import Context
from mcp.server.mcpserver.exceptions import ToolError
from mcp.types import ToolAnnotations

PIXEL = base64.b64encode(b"\x89PNG\r\n\x1a\n not really").decode()
SOUND = base64.b64encode(b"RIFF not really").decode()


def everything() -> MCPServer:
    server = MCPServer("everything")
    heard: list[str] = []

    @server.tool(annotations=ToolAnnotations(read_only_hint=True))
    def add(a: int, b: int) -> int:
        """Add two numbers."""
        return a + b

    @server.tool()
    def whoami() -> str:
        """Say which process this is."""
        return str(os.getpid())

    @server.tool(structured_output=False)
    def greet(name: str) -> list[Any]:
        """Greet somebody, in two lines."""
        return [types.TextContent(text=f"Hello {name}"), types.TextContent(text="Welcome")]

    @server.tool(structured_output=False)
    def album() -> list[Any]:
        """Show a picture and play a sound."""
        return [
            types.TextContent(text="Here:"),
            types.ImageContent(data=PIXEL, mime_type="image/png"),
            types.AudioContent(data=SOUND, mime_type="audio/wav"),
        ]

    @server.tool(structured_output=False)
    def files() -> list[Any]:
        """Hand out files."""
        text = types.TextResourceContents(uri="file:///notes.txt", text="Buy milk.", mime_type="text/plain")
        data = types.BlobResourceContents(uri="file:///pixel.png", blob=PIXEL, mime_type="image/png")
        return [
            types.EmbeddedResource(resource=text),
            types.EmbeddedResource(resource=data),
            types.ResourceLink(name="manual", uri="file:///manual.pdf", description="How it works."),
        ]

    @server.tool(annotations=ToolAnnotations(destructive_hint=True))
    def erase(path: str) -> str:
        """Erase a file."""
        return f"erased {path}"

    @server.tool()
    def fail() -> str:
        """Fail, and say what should not be said."""
        raise ToolError(f"no entry with the key {os.environ.get('TOKEN')}")

    @server.tool()
    def refuse() -> str:
        """Refuse the call, and say what should not be said."""
        raise MCPError(types.INVALID_PARAMS, f"the key {os.environ.get('TOKEN')} is not welcome")

    @server.tool()
    async def climb(steps: int, context: Context) -> str:
        """Climb some steps, and say so at each."""
        for step in range(steps):
            await context.report_progress(step + 1, steps, f"step {step + 1}")
        return "on top"

    @server.tool()
    async def wait(context: Context) -> str:
        """Wait until the call is cancelled."""
        await context.report_progress(0)
        try:
            await anyio.sleep_forever()
        finally:
            heard.append("cancelled")
        return "never"

    @server.tool(annotations=ToolAnnotations(read_only_hint=True))
    def cancelled() -> str:
        """Say how many calls were cancelled."""
        return str(len(heard))

    @server.tool()
    async def change(add: str, remove: str, context: Context) -> str:
        """Change the list of tools."""
        server.remove_tool(remove)
        server.add_tool(lambda: "fresh", name=add, description="A new tool.")
        await context.notify_tools_changed()
        await context.session.send_tool_list_changed()
        return "changed"

    @server.tool()
    def old() -> str:
        """Be there until the list changes."""
        return "old"

    @server.tool(name="so.many.dots")
    def odd() -> str:
        """Have a name that models do not take."""
        return "odd"

    return server


def hundred() -> Server[Any]:
    tools = [types.Tool(name=f"tool_{number}", input_schema={"type": "object"}) for number in range(100)]

    async def list_tools(context: Any, params: types.PaginatedRequestParams | None) -> types.ListToolsResult:
        start = int((params and params.cursor) or 0)
        more = start + 7 < len(tools)
        return types.ListToolsResult(tools=tools[start : start + 7], next_cursor=str(start + 7) if more else None)

    async def call_tool(context: Any, params: types.CallToolRequestParams) -> types.CallToolResult:
        return types.CallToolResult(content=[types.TextContent(text=f"this is {params.name}")])

    return Server("hundred", on_list_tools=list_tools, on_call_tool=call_tool)


def doomed() -> MCPServer:
    server = MCPServer("doomed")

    @server.tool()
    def crash() -> str:
        """End the server."""
        print("out of luck", file=sys.stderr, flush=True)
        os._exit(3)

    return server


def bare() -> Server[Any]:
    return Server("bare")


SERVERS: dict[str, Callable[[], Any]] = {
    "everything": everything,
    "hundred": hundred,
    "doomed": doomed,
    "bare": bare,
}


async def serve(server: Server[Any]) -> None:
    from mcp.server.stdio import stdio_server

    async with stdio_server() as (read, write):
        await server.run(read, write, server.create_initialization_options())


if __name__ == "__main__":
    name = sys.argv[1]
    if name == "silent":
        sys.stdin.read()  # until the client hangs up
    elif isinstance(server := SERVERS[name](), MCPServer):
        server.run()
    else:
        anyio.run(serve, server)
