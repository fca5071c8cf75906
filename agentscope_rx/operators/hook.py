"""`hook`: operators around the stages of an agent."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

from reactivex import Observable

from ..event import AgentEvent
from .operator import Operator
from .phases import (
    ActingPhases,
    AgentPhases,
    ModelCallPhases,
    PhaseKind,
    ReasoningPhases,
    ToolCallPhases,
    in_phases,
)

__all__ = ["Hook", "hook"]

_EventOperator: TypeAlias = Operator[AgentEvent, AgentEvent]


@dataclass(frozen=True, slots=True, kw_only=True)
class Hook:
    """Operators for the stages of an agent, and itself an operator; made by `hook`."""

    on_agent: _EventOperator | None = None
    """Around AGENT_START to AGENT_END of one run."""
    on_reasoning: _EventOperator | None = None
    """Around the model calls of one iteration."""
    on_acting: _EventOperator | None = None
    """Around the tool calls of one turn."""
    on_tool_call: _EventOperator | None = None
    """Around the result of one tool call."""
    on_model_call: _EventOperator | None = None
    """Around one model call."""

    def __call__(self, source: Observable[AgentEvent]) -> Observable[AgentEvent]:
        """Apply every operator to its stage, the inner ones within the outer ones."""
        model_call = _around(self.on_model_call, ModelCallPhases)
        tool_call = _around(self.on_tool_call, ToolCallPhases)
        reasoning = _around(self.on_reasoning, ReasoningPhases, model_call)
        acting = _around(self.on_acting, ActingPhases, tool_call)
        return _around(self.on_agent, AgentPhases, reasoning, acting)(source)


def _around(operator: _EventOperator | None, kind: Callable[[], PhaseKind], *inner: _EventOperator) -> _EventOperator:
    """Apply `inner` to the stream, and around it `operator` to the phases of a kind."""

    def within(source: Observable[AgentEvent]) -> Observable[AgentEvent]:
        for each in inner:
            source = each(source)
        return source

    return within if operator is None else in_phases(kind, lambda source: operator(within(source)))


def hook(
    *,
    on_agent: _EventOperator | None = None,
    on_reasoning: _EventOperator | None = None,
    on_acting: _EventOperator | None = None,
    on_tool_call: _EventOperator | None = None,
    on_model_call: _EventOperator | None = None,
) -> Hook:
    """Plug operators into the stages of an agent.

    In a `.pipe(...)` each operator is applied to the part of the stream that belongs to its stage, in place; it can
    change what comes after it in the pipe, not what the agent does.

    | hook | its part of the stream |
    |---|---|
    | `on_agent` | AGENT_START to AGENT_END of one run |
    | `on_reasoning` | the first MODEL_CALL_START to the last MODEL_CALL_END of one iteration |
    | `on_model_call` | MODEL_CALL_START to MODEL_CALL_END of one model call |
    | `on_acting` | the first TOOL_RESULT_*, REQUIRE_* or ALL_TOOLS_DENIED after it, until the next event that is none \
of them, nor CUSTOM, REQUEST_STOP, SUBAGENT_EXPOSED or a child's |
    | `on_tool_call` | TOOL_RESULT_START to TOOL_RESULT_END of one call |

    Emits the events outside of its parts unchanged, and in the place of each part what its operator makes of it. What
    comes after a part waits until its operator has completed; order is kept, and nothing is lost. Completes and fails
    with its source; an error of an operator ends the stream.

    Tool calls that run in parallel are parts side by side, of which none waits for another: each keeps its own order.
    Where an operator of `on_tool_call` takes time, one call may be overtaken by another, and a fold behind it, such as
    `to_message`, takes what comes late for a repeat. Give such a hook to the agent, which numbers the events behind it.
    """
    return Hook(
        on_agent=on_agent,
        on_reasoning=on_reasoning,
        on_acting=on_acting,
        on_tool_call=on_tool_call,
        on_model_call=on_model_call,
    )
