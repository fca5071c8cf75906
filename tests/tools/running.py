"""Running a tool call in a test."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable
from typing import Any

from agentscope_rx.context import RuntimeContext
from agentscope_rx.message import ToolResultState, ToolUseBlock
from agentscope_rx.stream import unwinding
from agentscope_rx.tools import FunctionTool, Tool, ToolChunk, ToolEnd, ToolStart, ToolText, run_tool


def call_of(name: str, arguments: dict[str, Any] | str | None = None) -> ToolUseBlock:
    """A call of a tool; a string is arguments as the model wrote them."""
    if isinstance(arguments, str):
        return ToolUseBlock(id="call_1", name=name, raw_input=arguments)
    return ToolUseBlock(id="call_1", name=name, input=arguments or {})


def stream(
    function: Callable[..., Any] | Tool,
    arguments: dict[str, Any] | str | None = None,
    context: RuntimeContext | None = None,
    **options: Any,
) -> Any:
    """The stream of one call of a function, from its first output on."""
    return _after_start(whole_stream(function, arguments, context, **options))


def whole_stream(
    function: Callable[..., Any] | Tool,
    arguments: dict[str, Any] | str | None = None,
    context: RuntimeContext | None = None,
    **options: Any,
) -> Any:
    """The stream of one call of a function, with the start that it begins with."""
    tool = function if isinstance(function, Tool) else FunctionTool(function, name="probe")
    return run_tool(call_of(tool.name, arguments), tool, context or RuntimeContext(), **options)


async def _after_start(chunks: Any) -> AsyncGenerator[ToolChunk, None]:
    async with unwinding(chunks):
        assert isinstance(await anext(chunks), ToolStart)
        async for chunk in chunks:
            yield chunk


async def collect(*args: Any, **options: Any) -> list[ToolChunk]:
    """All chunks of one call of a function."""
    return [chunk async for chunk in stream(*args, **options)]


def run(*args: Any, **options: Any) -> list[ToolChunk]:
    """All chunks of one call of a function, from outside a loop."""
    return asyncio.run(collect(*args, **options))


def texts(chunks: list[ToolChunk], *, progress: bool = False) -> list[str]:
    """The text pieces among some chunks."""
    return [chunk.text for chunk in chunks if isinstance(chunk, ToolText) and chunk.progress is progress]


def state(chunks: list[ToolChunk]) -> ToolResultState:
    """How the call ended; checks that it ended once, and last."""
    ends = [chunk for chunk in chunks if isinstance(chunk, ToolEnd)]
    assert len(ends) == 1
    assert chunks[-1] is ends[0]
    return ends[0].state
