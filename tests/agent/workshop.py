"""Tools that do what their arguments say, so that a script says everything that happens. Times are virtual."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from typing import Any

from agentscope_rx import (
    DataBlock,
    ExternalTool,
    PermissionContext,
    PermissionRule,
    Tool,
    ToolEmitter,
    ToolError,
    ToolResultState,
    ToolUseBlock,
    tool,
)
from agentscope_rx.message import Base64Source

__all__ = ["LONG", "PERMISSION", "SOON", "TOOLS", "Workshop", "outcomes"]

SOON, LONG = 0.001, 1_000.0
"""Seconds: sooner than a silent call counts as begun, and as good as for ever."""


class Workshop:
    """Where the tools of one agent work, and who is at work; handed to them by the context."""

    def __init__(self) -> None:
        self.at_work: list[str] = []
        """The calls that have begun and not ended."""
        self.given = 0
        """How many pieces `count` and `repeat` have given."""

    @contextmanager
    def working(self, name: str) -> Iterator[None]:
        self.at_work.append(name)
        try:
            yield
        finally:
            self.at_work.remove(name)


def add(a: int, b: int, shop: Workshop) -> int:
    """Add, in a thread."""
    with shop.working("add"):
        return a + b


def count(n: int, shop: Workshop) -> Iterator[str]:
    """Count, in a thread."""
    with shop.working("count"):
        for number in range(n):
            shop.given += 1
            yield f"{number} "


async def wait(seconds: float, shop: Workshop) -> str:
    """Be silent, then answer."""
    with shop.working("wait"):
        await asyncio.sleep(seconds)
    return "waited"


async def speak(pieces: list[str], pause: float, shop: Workshop) -> AsyncIterator[str]:
    """Answer piece by piece."""
    with shop.working("speak"):
        for piece in pieces:
            yield piece
            await asyncio.sleep(pause)


async def repeat(times: int, shop: Workshop) -> AsyncIterator[str]:
    """Answer piece by piece, as fast as it is asked to."""
    with shop.working("repeat"):
        for _ in range(times):
            shop.given += 1
            yield "z"


async def show(shop: Workshop) -> AsyncIterator[Any]:
    """Answer with text and a picture."""
    with shop.working("show"):
        yield "here: "
        yield DataBlock(Base64Source(media_type="image/png", data="aGk="))


async def tell(emitter: ToolEmitter, shop: Workshop) -> str:
    """Show progress."""
    with shop.working("tell"):
        await emitter.emit("half")
        await asyncio.sleep(SOON)
        await emitter.emit("nearly")
    return "told"


async def tidy(seconds: float, shop: Workshop) -> str:
    """Take its time to clean up."""
    with shop.working("tidy"):
        try:
            await asyncio.sleep(LONG)
        finally:
            await asyncio.sleep(seconds)
    return "tidy"


@tool(concurrency_safe=False)
async def alone(seconds: float, shop: Workshop) -> str:
    """Run when nobody else does."""
    assert not shop.at_work
    with shop.working("alone"):
        await asyncio.sleep(seconds)
    return "alone"


async def enough(emitter: ToolEmitter, shop: Workshop) -> str:
    """Ask the reply to stop."""
    with shop.working("enough"):
        await emitter.request_stop("enough")
    return "enough"


async def fail(said: str, shop: Workshop) -> AsyncIterator[str]:
    """Fail, perhaps after some words."""
    with shop.working("fail"):
        if said:
            yield said
        raise ToolError("it cannot be done")


def fall(shop: Workshop) -> str:
    """Fail in a thread."""
    with shop.working("fall"):
        raise ZeroDivisionError


async def quit(shop: Workshop) -> str:
    """Cancel itself."""
    with shop.working("quit"):
        raise asyncio.CancelledError


def forbidden() -> str:
    """Never run."""
    raise AssertionError("a forbidden tool ran")


async def ask(seconds: float, shop: Workshop) -> str:
    """Run when a person has agreed."""
    with shop.working("ask"):
        await asyncio.sleep(seconds)
    return "done"


_FUNCTIONS = (add, count, wait, speak, repeat, show, tell, tidy, enough, fail, fall, quit, forbidden, ask)
_SEARCH = {"type": "object", "properties": {"q": {"type": "string"}}}
TOOLS: tuple[Tool, ...] = (*map(tool, _FUNCTIONS), alone, ExternalTool("outside", "Run elsewhere.", _SEARCH))
"""All of them; `nobody` is none."""

PERMISSION = PermissionContext(
    mode="bypass",
    deny_rules=(PermissionRule(tool_name="forbidden", behavior="deny"),),
    ask_rules=(PermissionRule(tool_name="ask", behavior="ask"),),
)
"""What the tools may do."""

_OUTCOMES: dict[str, tuple[ToolResultState, ...]] = {
    "fail": (ToolResultState.ERROR,),
    "fall": (ToolResultState.ERROR,),
    "nobody": (ToolResultState.ERROR,),
    "quit": (ToolResultState.INTERRUPTED,),
    "forbidden": (ToolResultState.DENIED,),
    "ask": (ToolResultState.SUCCESS, ToolResultState.DENIED),
}


def outcomes(call: ToolUseBlock) -> tuple[ToolResultState, ...]:
    """How a call may end that was run, or answered."""
    if call.name == "add" and not all(isinstance(call.input.get(key), int) for key in ("a", "b")):
        return (ToolResultState.ERROR,)
    return _OUTCOMES.get(call.name, (ToolResultState.SUCCESS,))
