"""The acting stage: the tool calls of one turn as events."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Generator, Sequence
from typing import Any

import reactivex as rx
from reactivex import Observable

from ..context import RuntimeContext
from ..event import (
    AgentEvent,
    RequestStopEvent,
    ToolResultDataDeltaEvent,
    ToolResultEndEvent,
    ToolResultStartEvent,
    ToolResultTextDeltaEvent,
)
from ..message import ToolUseBlock
from ..stream import concat_stages, from_async_iterable, unwinding
from ..tools import ToolData, ToolEnd, Toolkit, ToolStop, ToolText, run_tool

__all__ = ["acting"]

_PROGRESS = {"progress": True}


def acting(
    calls: Sequence[ToolUseBlock], toolkit: Toolkit, context: RuntimeContext, reply_id: str
) -> Observable[AgentEvent]:
    """Run the calls of one turn.

    Emits TOOL_RESULT_START, deltas and END of every call. Contiguous concurrency-safe calls run in parallel and
    interleave, their STARTs in call order; a call that is not safe starts when every earlier one has a result. A tool
    that fails ends its own call with an error and disturbs no other.
    """

    def stage(call: ToolUseBlock) -> Observable[AgentEvent]:
        return from_async_iterable(lambda: _tool_call_events(call, toolkit, context, reply_id))

    def batches() -> Generator[Observable[AgentEvent], Any, None]:
        for batch in toolkit.batches(calls):
            yield stage(batch[0]) if len(batch) == 1 else rx.merge(*map(stage, batch))

    return concat_stages(batches)


async def _tool_call_events(
    call: ToolUseBlock, toolkit: Toolkit, context: RuntimeContext, reply_id: str
) -> AsyncIterator[AgentEvent]:
    yield ToolResultStartEvent(reply_id=reply_id, tool_call_id=call.id, tool_call_name=call.name, seq=0)
    async with unwinding(run_tool(call, toolkit.get(call.name), context)) as chunks:
        async for chunk in chunks:
            yield _EVENT_OF_CHUNK[type(chunk)](reply_id, call.id, chunk)


def _text(reply_id: str, call_id: str, chunk: ToolText) -> AgentEvent:
    return ToolResultTextDeltaEvent(
        reply_id=reply_id,
        tool_call_id=call_id,
        delta=chunk.text,
        metadata=_PROGRESS if chunk.progress else None,
        seq=0,
    )


def _data(reply_id: str, call_id: str, chunk: ToolData) -> AgentEvent:
    return ToolResultDataDeltaEvent(
        reply_id=reply_id,
        tool_call_id=call_id,
        block_id=chunk.block_id,
        media_type=chunk.media_type,
        data=chunk.data,
        url=chunk.url,
        metadata=_PROGRESS if chunk.progress else None,
        seq=0,
    )


def _stop(reply_id: str, call_id: str, chunk: ToolStop) -> AgentEvent:
    return RequestStopEvent(reason=chunk.reason, generate_reason=chunk.generate_reason, seq=0)


def _end(reply_id: str, call_id: str, chunk: ToolEnd) -> AgentEvent:
    return ToolResultEndEvent(
        reply_id=reply_id, tool_call_id=call_id, state=chunk.state, metadata=chunk.metadata, seq=0
    )


_EVENT_OF_CHUNK: dict[type, Callable[[str, str, Any], AgentEvent]] = {
    ToolText: _text,
    ToolData: _data,
    ToolStop: _stop,
    ToolEnd: _end,
}
