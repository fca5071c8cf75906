"""Running one tool call as a stream of chunks."""

from __future__ import annotations

import asyncio
import contextvars
import copy
import logging
from collections.abc import AsyncGenerator, Awaitable
from contextlib import suppress
from typing import Any

from ..context import RuntimeContext
from ..errors import ToolError
from ..message import ToolResultState, ToolUseBlock, parse_arguments
from .base import Tool
from .channel import READY, Channel, ToolCancelled
from .check import ChunkCheck
from .chunk import ToolChunk, ToolEnd, ToolStart, ToolSuspended, ToolText
from .emitter import ToolEmitter
from .perform import perform
from .sendable import whole_text
from .suspend import ToolSuspend

__all__ = ["PATIENCE", "refusal", "run_tool"]

_log = logging.getLogger(__name__)

PATIENCE = 0.02
"""Seconds that a silent call has to suspend itself, once its function runs, before it counts as begun."""

_CLEANUP = 3.0
"""Seconds that a cancelled call has to clean up before it is left behind."""

_WORST_LAST = (
    ToolResultState.RUNNING,
    ToolResultState.SUCCESS,
    ToolResultState.DENIED,
    ToolResultState.INTERRUPTED,
    ToolResultState.ERROR,
)


def refusal(call: ToolUseBlock, tool: Tool, context: RuntimeContext) -> str | None:
    """Return what the model is told of a call that its tool does not take, None when it does; nothing runs.

    It does not when the arguments do not fit, or the context lacks what the tool needs.
    """
    try:
        tool.bind(_arguments(call), context, ToolEmitter(lambda chunk: READY))
    except Exception as error:
        return whole_text(_described(error))
    return None


async def run_tool(
    call: ToolUseBlock,
    tool: Tool | None,
    context: RuntimeContext,
    *,
    variables: contextvars.Context | None = None,
    buffer: int = 64,
) -> AsyncGenerator[ToolChunk, None]:
    """Run one tool call.

    Nothing runs before the first chunk is asked for. An unknown tool, arguments that do not fit, anything that the tool
    raises and output that no event can be made of become text for the model, and the state ERROR; a tool that cancels
    itself, the state INTERRUPTED. Only KeyboardInterrupt goes through.

    Closing or cancelling the generator cancels the call: a coroutine is cancelled and has 3 s to clean up, a thread is
    told by `ToolCancelled` when it next emits or yields, and is not waited for. Nothing of it is emitted afterwards. A
    coroutine that goes on in spite of that is left behind, with a warning in the log; so it is when the waiting is
    cancelled.

    Args:
        call: The call. Its `input` is copied, so the tool cannot change the conversation.
        tool: The tool, None when there is none of this name.
        context: Where the tool's injected parameters come from.
        variables: The contextvars that the tool runs with; a copy of the caller's when None.
        buffer: How many chunks the tool may be ahead of the consumer.

    Yields:
        `ToolStart`, what the tool says, in order, and exactly one `ToolEnd`; or `ToolSuspended` alone. A call begins
        with its first output, or when it has run in silence for 20 ms; of a tool that declares `suspends`, only with
        its first output.
    """
    if tool is None:
        yield ToolStart()
        yield ToolText(f"ToolNotFoundError: The tool named {call.name!r} doesn't exist.")
        yield ToolEnd(ToolResultState.ERROR)
        return
    channel: Channel[ToolChunk] = Channel(buffer)
    # A task of its own tells a CancelledError that the tool raises from one that is meant for us.
    running = asyncio.Event()
    outcome = _outcome(call, tool, context, channel, running)
    task = asyncio.create_task(outcome, name=f"tool {tool.name}", context=variables)
    task.add_done_callback(lambda _: channel.close())
    task.add_done_callback(lambda _: running.set())
    end = ToolEnd(ToolResultState.SUCCESS)
    last = ""
    try:
        await running.wait()  # that a thread takes its time to start is no silence
        begun = not await _speaks_or_ends(channel, None if tool.suspends else PATIENCE)
        if not begun and task.done() and isinstance(suspend := task.result(), ToolSuspend):
            yield ToolSuspended(suspend.reason)
            return
        yield ToolStart()
        while await channel.ready():
            chunk = channel.take()
            if isinstance(chunk, ToolEnd):
                end = _joined(end, chunk)
                continue
            yield chunk
            if isinstance(chunk, ToolText) and not chunk.progress:
                last = chunk.text
        error = task.result()
    finally:
        channel.close()
        task.cancel()
        await _end_of(task, tool)
    if error is not None:
        state, text = _told(error)
        yield ToolText(text if not last or last.endswith("\n") else f"\n{text}")
        end = _joined(end, ToolEnd(state))
    yield end


async def _speaks_or_ends(channel: Channel[ToolChunk], patience: float | None) -> bool:
    """Wait until a call says something or ends; False when it has done neither in time."""
    with suppress(TimeoutError):
        async with asyncio.timeout(patience):
            await channel.ready()
            return True
    return False


async def _end_of(task: asyncio.Task[Any], tool: Tool) -> None:
    """Wait for the end of a cancelled call, which may be deaf to that, but not for long."""
    try:
        _, running = await asyncio.wait((task,), timeout=_CLEANUP)
    except asyncio.CancelledError:
        task.cancel()
        raise
    if running:
        _log.warning("the tool %r was cancelled, still runs after %g s and is left behind", tool.name, _CLEANUP)


async def _outcome(
    call: ToolUseBlock, tool: Tool, context: RuntimeContext, channel: Channel[ToolChunk], running: asyncio.Event
) -> BaseException | None:
    check = ChunkCheck()

    def put(chunk: ToolChunk) -> Awaitable[None]:
        return channel.put(check(chunk))

    try:
        body = tool.bind(_arguments(call), context, ToolEmitter(put))
        await perform(body, put, f"tool {tool.name}", running.set)
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        _log.debug("tool %r raised", tool.name, exc_info=error)
        return error
    return None


def _arguments(call: ToolUseBlock) -> dict[str, Any]:
    if call.input or not call.raw_input:
        return copy.deepcopy(call.input)
    try:
        return parse_arguments(call.raw_input)
    except ValueError as error:
        raise ToolError(str(error)) from None


def _told(error: BaseException) -> tuple[ToolResultState, str]:
    if isinstance(error, ToolSuspend):
        return ToolResultState.ERROR, (
            "ToolSuspend: the call had begun; a tool that works or speaks before it suspends declares suspends=True "
            "and says nothing until then."
        )
    if isinstance(error, asyncio.CancelledError | ToolCancelled):
        return ToolResultState.INTERRUPTED, "The tool was interrupted before it finished."
    return ToolResultState.ERROR, whole_text(_described(error))


def _described(error: BaseException) -> str:
    if isinstance(error, BaseExceptionGroup):
        return "\n".join(_described(member) for member in error.exceptions)
    name = type(error).__name__
    try:
        text = str(error)
    except Exception:
        return name
    return f"{name}: {text}" if text else name


def _joined(end: ToolEnd, more: ToolEnd) -> ToolEnd:
    state = max(end.state, more.state, key=_WORST_LAST.index)
    return ToolEnd(state, {**(end.metadata or {}), **(more.metadata or {})} or None)
