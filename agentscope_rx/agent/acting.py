"""The acting stage: the tool calls of one turn as events.

Every call gets a verdict, from the answers that were given or from the permission engine. What can run runs, in
batches; then what waits for a person and what is run elsewhere is announced.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Generator, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

import reactivex as rx
from reactivex import Observable, operators as ops

from ..context import RuntimeContext
from ..event import (
    METADATA_PROGRESS,
    AgentEvent,
    RequestStopEvent,
    RequireExternalExecutionEvent,
    RequireUserConfirmEvent,
    ToolResultDataDeltaEvent,
    ToolResultEndEvent,
    ToolResultStartEvent,
    ToolResultTextDeltaEvent,
)
from ..message import (
    Base64Source,
    PermissionBehavior,
    TextBlock,
    ToolCallState,
    ToolResultBlock,
    ToolResultState,
    ToolUseBlock,
)
from ..middleware import Next, ToolCallInput
from ..operators import Operator
from ..permission import PermissionEngine
from ..stream import FifoLock, concat_stages, from_async_iterable, unwinding
from ..tools import Tool, ToolData, ToolEnd, Toolkit, ToolStart, ToolStop, ToolSuspended, ToolText, run_tool
from ..tools.run import PATIENCE, refusal
from .answers import Answers
from .closing import result_events

__all__ = ["Turn"]

_PROGRESS = {METADATA_PROGRESS: True}

_HELD = 2 * PATIENCE
"""Seconds after which a call that has not begun is held back by a middleware."""


class _Place(Enum):
    """Where a call of the turn goes."""

    SETTLED = "its result is known: it came from outside, or the call is denied"
    RUN = "it runs"
    ASK = "a person must confirm it"
    OUTSIDE = "it is run elsewhere"
    HELD = "it waits for an earlier call of the turn"


_PARKED = (_Place.ASK, _Place.OUTSIDE, _Place.HELD)


@dataclass(slots=True)
class Turn:
    """What it takes to bring the tool calls of one turn to an end."""

    reply_id: str
    """The reply."""
    toolkit: Toolkit
    """The tools."""
    engine: PermissionEngine
    """Who decides of the calls that nobody has answered."""
    context: RuntimeContext
    """Where the tools' injected parameters come from."""
    answers: Answers
    """What was decided outside."""
    around_tool_call: Callable[[Next[ToolCallInput]], Next[ToolCallInput]]
    """Puts the middlewares around one call."""
    gate: FifoLock
    """The gate that the reply is inside of, and that its tools must not wait for."""
    denied: set[str] = field(default_factory=set)
    """The calls that were denied, by a person or by the engine; known as soon as they are placed."""
    _suspended: dict[str, str] = field(default_factory=dict)

    def events(self, calls: Sequence[ToolUseBlock]) -> Observable[AgentEvent]:
        """Bring the calls to an end, as far as that can be done now.

        Emits TOOL_RESULT_START, deltas and END of every call that is answered, denied or run; then one
        REQUIRE_USER_CONFIRM for those that a person must confirm, and one REQUIRE_EXTERNAL_EXECUTION for those that
        are run elsewhere. Contiguous concurrency-safe calls run in parallel, their STARTs in call order. A call that
        is not safe starts when every earlier call has a result, and is not asked about before that.
        """
        return concat_stages(lambda: self._stages(calls))

    def _stages(self, calls: Sequence[ToolUseBlock]) -> Generator[Any, Any, None]:
        results: dict[str, Observable[AgentEvent]] = {}
        placed: dict[_Place, list[ToolUseBlock]] = {place: [] for place in _Place}
        for call in calls:
            behind = any(placed[place] for place in _PARKED)
            place, placed_call = self._place(call, behind, results)
            placed[place].append(placed_call)
        parked = {call.id for place in _PARKED for call in placed[place]}
        for batch in self.toolkit.batches([call for call in calls if call.id not in parked]):
            lineup = _Lineup([call.id for call in batch if call.id not in results and not self._may_be_late(call)])
            stages = [results.get(call.id) or self._run(call, lineup) for call in batch]
            yield stages[0] if len(stages) == 1 else rx.merge(*stages)
        if asking := placed[_Place.ASK]:
            yield RequireUserConfirmEvent(reply_id=self.reply_id, tool_calls=tuple(asking), seq=0)
        outside = {call.id for call in placed[_Place.OUTSIDE]} | self._suspended.keys()
        if announced := tuple(self._announced(call) for call in calls if call.id in outside):
            yield RequireExternalExecutionEvent(reply_id=self.reply_id, tool_calls=announced, seq=0)

    def _place(
        self, call: ToolUseBlock, behind: bool, results: dict[str, Observable[AgentEvent]]
    ) -> tuple[_Place, ToolUseBlock]:
        """Decide where a call goes; `behind`: whether an earlier one will not have its result in this round."""
        tool = self.toolkit.get(call.name)
        if (result := self.answers.results.get(call.id)) is not None:
            results[call.id] = _stage(lambda: _outside_events(self.reply_id, result))
            return _Place.SETTLED, call
        if (denial := self.answers.denied.get(call.id)) is not None:
            results[call.id] = self._denied(call, denial)
            return _Place.SETTLED, call
        if call.state is ToolCallState.SUBMITTED:
            return _Place.OUTSIDE, call
        if behind and tool is not None and not tool.concurrency_safe:
            return (_Place.ASK if call.state is ToolCallState.ASKING else _Place.HELD), call
        if tool is None:
            return _Place.RUN, call
        if call.state is not ToolCallState.ALLOWED:
            decision = self.engine.evaluate(tool, call.input)
            if decision.behavior is PermissionBehavior.DENY:
                results[call.id] = self._denied(call, decision.message)
                return _Place.SETTLED, call
            if decision.behavior is PermissionBehavior.ASK:
                asking = {"state": ToolCallState.ASKING, "suggested_rules": decision.suggested_rules}
                return self._unless_refused(_Place.ASK, call.model_copy(update=asking), tool, results)
        if tool.external:
            return self._unless_refused(_Place.OUTSIDE, call, tool, results)
        return _Place.RUN, call

    def _unless_refused(
        self, place: _Place, call: ToolUseBlock, tool: Tool, results: dict[str, Observable[AgentEvent]]
    ) -> tuple[_Place, ToolUseBlock]:
        """Nobody is asked about a call, or given one, that its tool does not take."""
        if (why := refusal(call, tool, self.context)) is None:
            return place, call
        results[call.id] = _stage(lambda: result_events(self.reply_id, call, why, ToolResultState.ERROR))
        return _Place.SETTLED, call

    def _denied(self, call: ToolUseBlock, why: str) -> Observable[AgentEvent]:
        self.denied.add(call.id)
        return _stage(lambda: result_events(self.reply_id, call, why, ToolResultState.DENIED))

    def _announced(self, call: ToolUseBlock) -> ToolUseBlock:
        reason = self._suspended.get(call.id)
        metadata = call.metadata if not reason else {**(call.metadata or {}), "reason": reason}
        return call.model_copy(update={"state": ToolCallState.SUBMITTED, "metadata": metadata})

    def _may_be_late(self, call: ToolUseBlock) -> bool:
        tool = self.toolkit.get(call.name)
        return tool is not None and tool.suspends

    def _run(self, call: ToolUseBlock, lineup: _Lineup) -> Observable[AgentEvent]:
        def run(input: ToolCallInput) -> Observable[AgentEvent]:
            return from_async_iterable(lambda: self._tool_call_events(input, lineup))

        around = self.around_tool_call(run)
        stage = around(ToolCallInput(call, self.toolkit.get(call.name)))
        # A middleware may answer without going in: its call lines up no longer than until it says something.
        return stage if around is run else stage.pipe(_leaving(lineup, call.id))

    async def _tool_call_events(self, input: ToolCallInput, lineup: _Lineup) -> AsyncIterator[AgentEvent]:
        call = input.tool_call
        try:
            chunks_of_call = run_tool(call, input.tool, self.context, variables=self.gate.waited_for())
            async with unwinding(chunks_of_call) as chunks:
                async for chunk in chunks:
                    if isinstance(chunk, ToolSuspended):
                        self._suspended[call.id] = chunk.reason
                        return
                    if isinstance(chunk, ToolStart):
                        await lineup.wait(call.id)
                    yield _EVENT_OF_CHUNK[type(chunk)](self.reply_id, call, chunk)
                    if isinstance(chunk, ToolStart):
                        await lineup.step()
        finally:
            lineup.leave(call.id)


class _Lineup:
    """Lets the calls of a batch start in call order, when each has begun or handed itself over.

    Nobody waits long: a silent call counts as begun after a moment, and one that a middleware holds back longer than
    that is not waited for.
    """

    def __init__(self, ids: Sequence[str]) -> None:
        self._waiting: dict[str, asyncio.Future[None] | None] = dict.fromkeys(ids)
        self._alone = len(ids) < 2

    async def wait(self, id: str) -> None:
        """Wait until every call of the batch can start, and those before this one have."""
        if self._alone or self._waiting.get(id, self) is not None:  # it has left, or a middleware runs it twice
            return
        turn = self._waiting[id] = asyncio.get_running_loop().create_future()
        self._release()
        try:
            async with asyncio.timeout(_HELD):
                await turn
        except TimeoutError:  # it could be this very call that a held one waits for
            self._wake()
            self._waiting.clear()

    async def step(self) -> None:
        """Let the others of the batch start before this one says anything."""
        if not self._alone:
            await asyncio.sleep(0)

    def leave(self, id: str) -> None:
        """Do not wait for this call any more."""
        if id in self._waiting:
            del self._waiting[id]
            self._release()

    def _release(self) -> None:
        turns = list(self._waiting.values())
        if turns and None not in turns:
            # Soon, and not now: the last to come must be waiting too, or it would go first.
            asyncio.get_running_loop().call_soon(self._wake)

    def _wake(self) -> None:
        for turn in self._waiting.values():
            if turn is not None and not turn.done():
                turn.set_result(None)


def _leaving(lineup: _Lineup, id: str) -> Operator[AgentEvent, AgentEvent]:
    """Leave the line-up at the first sign of life."""

    def leave(*_: Any) -> None:
        lineup.leave(id)

    return ops.do_action(leave, leave, leave)


def _stage(events: Callable[[], Generator[AgentEvent, Any, None]]) -> Observable[AgentEvent]:
    return concat_stages(events)


def _outside_events(reply_id: str, result: ToolResultBlock) -> Generator[AgentEvent, Any, None]:
    """The events of a result that came from outside."""
    call: dict[str, Any] = {"reply_id": reply_id, "tool_call_id": result.id, "seq": 0}
    yield ToolResultStartEvent(**call, tool_call_name=result.name)
    for block in result.output:
        if isinstance(block, TextBlock):
            if block.text:
                yield ToolResultTextDeltaEvent(**call, delta=block.text)
        else:
            source = block.source
            content: dict[str, Any] = {"data": source.data} if isinstance(source, Base64Source) else {"url": source.url}
            media_type = source.media_type or "application/octet-stream"
            yield ToolResultDataDeltaEvent(**call, block_id=block.id, media_type=media_type, **content)
    state = ToolResultState.SUCCESS if result.state is ToolResultState.RUNNING else result.state
    yield ToolResultEndEvent(**call, state=state, metadata=result.metadata)


def _start(reply_id: str, call: ToolUseBlock, chunk: ToolStart) -> AgentEvent:
    return ToolResultStartEvent(reply_id=reply_id, tool_call_id=call.id, tool_call_name=call.name, seq=0)


def _text(reply_id: str, call: ToolUseBlock, chunk: ToolText) -> AgentEvent:
    return ToolResultTextDeltaEvent(
        reply_id=reply_id,
        tool_call_id=call.id,
        delta=chunk.text,
        metadata=_PROGRESS if chunk.progress else None,
        seq=0,
    )


def _data(reply_id: str, call: ToolUseBlock, chunk: ToolData) -> AgentEvent:
    return ToolResultDataDeltaEvent(
        reply_id=reply_id,
        tool_call_id=call.id,
        block_id=chunk.block_id,
        media_type=chunk.media_type,
        data=chunk.data,
        url=chunk.url,
        metadata=_PROGRESS if chunk.progress else None,
        seq=0,
    )


def _stop(reply_id: str, call: ToolUseBlock, chunk: ToolStop) -> AgentEvent:
    return RequestStopEvent(reason=chunk.reason, generate_reason=chunk.generate_reason, seq=0)


def _end(reply_id: str, call: ToolUseBlock, chunk: ToolEnd) -> AgentEvent:
    return ToolResultEndEvent(
        reply_id=reply_id, tool_call_id=call.id, state=chunk.state, metadata=chunk.metadata, seq=0
    )


_EVENT_OF_CHUNK: dict[type, Callable[[str, ToolUseBlock, Any], AgentEvent]] = {
    ToolStart: _start,
    ToolText: _text,
    ToolData: _data,
    ToolStop: _stop,
    ToolEnd: _end,
}
