"""How long the stages take."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, ClassVar

import reactivex as rx
from reactivex import Observable, abc, operators as ops

from ..context import RuntimeContext
from ..event import AgentEvent, CustomEvent
from .base import ActingInput, AgentLike, Middleware, ModelCallInput, Next, ToolCallInput

__all__ = ["Timing"]


class Timing(Middleware):
    """Says after a stage how long it took, from its subscription to its end.

    Emits CUSTOM `timing` with `{"stage": "model_call" | "acting" | "tool_call", "seconds": float}`, for tool calls with
    `tool_call_id` and `tool_name` too. A stage that fails is not timed.

    Args:
        clock: Seconds, from any origin.
    """

    order: ClassVar[int] = 100

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock

    def on_model_call(
        self, agent: AgentLike, context: RuntimeContext, input: ModelCallInput, next: Next[ModelCallInput]
    ) -> Observable[AgentEvent]:
        """Time one model call."""
        return self._timed(next(input), stage="model_call")

    def on_acting(
        self, agent: AgentLike, context: RuntimeContext, input: ActingInput, next: Next[ActingInput]
    ) -> Observable[AgentEvent]:
        """Time the tool calls of one turn."""
        return self._timed(next(input), stage="acting")

    def on_tool_call(
        self, agent: AgentLike, context: RuntimeContext, input: ToolCallInput, next: Next[ToolCallInput]
    ) -> Observable[AgentEvent]:
        """Time one tool call."""
        call = input.tool_call
        return self._timed(next(input), stage="tool_call", tool_call_id=call.id, tool_name=call.name)

    def _timed(self, events: Observable[AgentEvent], **value: Any) -> Observable[AgentEvent]:
        def begin(_: abc.SchedulerBase) -> Observable[AgentEvent]:
            began = self._clock()

            def end(_: abc.SchedulerBase) -> Observable[AgentEvent]:
                return rx.just(CustomEvent(name="timing", value={**value, "seconds": self._clock() - began}, seq=0))

            return events.pipe(ops.concat(rx.defer(end)))

        return rx.defer(begin)
