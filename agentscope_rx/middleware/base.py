"""Middleware: what an application puts around the stages of its agents."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar, Protocol, TypeAlias, TypeVar

from reactivex import Observable

from ..context import RuntimeContext
from ..event import AgentEvent
from ..message import Msg, ToolUseBlock
from ..model import ChatModel, ModelOptions
from ..tools import Tool, ToolSchema

__all__ = [
    "ActingInput",
    "AgentCallInput",
    "AgentLike",
    "Middleware",
    "ModelCallInput",
    "Next",
    "ReasoningInput",
    "ToolCallInput",
]

I = TypeVar("I")  # noqa: E741 - the input of a stage

Next: TypeAlias = Callable[[I], Observable[AgentEvent]]
"""The stage within: give it an input, the same or another, and it gives the events."""


class AgentLike(Protocol):
    """What a middleware can see of the agent it is around."""

    @property
    def name(self) -> str:
        """Who speaks."""
        ...


@dataclass(frozen=True, slots=True)
class AgentCallInput:
    """The input of a whole run."""

    messages: tuple[Msg, ...]
    """What the agent was given: new messages, none when it goes on with what was left."""


@dataclass(frozen=True, slots=True)
class ReasoningInput:
    """The input of one round of reasoning."""

    messages: tuple[Msg, ...]
    """The conversation, the system message first; assistant messages are whole replies."""
    tools: tuple[ToolSchema, ...]
    """The tools that the model is told of."""
    options: ModelOptions
    """How the model should answer."""
    iteration: int
    """The round, from 1."""


@dataclass(frozen=True, slots=True)
class ModelCallInput:
    """The input of one model call."""

    messages: tuple[Msg, ...]
    """The conversation, the system message first; assistant messages are whole replies."""
    tools: tuple[ToolSchema, ...]
    """The tools that the model is told of."""
    options: ModelOptions
    """How the model should answer."""
    iteration: int
    """The round, from 1."""
    model: ChatModel
    """The model that answers."""


@dataclass(frozen=True, slots=True)
class ActingInput:
    """The input of one round of acting."""

    tool_calls: tuple[ToolUseBlock, ...]
    """The calls of the turn that have no result yet, in call order."""


@dataclass(frozen=True, slots=True)
class ToolCallInput:
    """The input of one tool call."""

    tool_call: ToolUseBlock
    """The call."""
    tool: Tool | None
    """The tool, None when there is none of this name."""


class Middleware:
    """Something around the stages of an agent; override the hooks that it needs.

    A hook gets the agent, the context of the call, the input of the stage and `next`, the stage within. It returns
    the events of the stage: `next(input)` as it is, with operators after it, with another input, or without it. What
    it adds is published once, what it drops is neither seen nor stored, and a hook that is not overridden costs
    nothing.

    `on_reasoning`, `on_model_call`, `on_acting` and `on_tool_call` may be asynchronous: the stage ends when their
    output completes. `on_agent` must pass an event on, or drop it, before its `on_next` returns.
    """

    order: ClassVar[int] = 1
    """Higher is further out; equals keep the order in which they were given."""

    def on_agent(
        self, agent: AgentLike, context: RuntimeContext, input: AgentCallInput, next: Next[AgentCallInput]
    ) -> Observable[AgentEvent]:
        """Around AGENT_START to AGENT_END of one run."""
        return next(input)

    def on_reasoning(
        self, agent: AgentLike, context: RuntimeContext, input: ReasoningInput, next: Next[ReasoningInput]
    ) -> Observable[AgentEvent]:
        """Around the model calls of one round."""
        return next(input)

    def on_model_call(
        self, agent: AgentLike, context: RuntimeContext, input: ModelCallInput, next: Next[ModelCallInput]
    ) -> Observable[AgentEvent]:
        """Around one model call."""
        return next(input)

    def on_acting(
        self, agent: AgentLike, context: RuntimeContext, input: ActingInput, next: Next[ActingInput]
    ) -> Observable[AgentEvent]:
        """Around the tool calls of one turn."""
        return next(input)

    def on_tool_call(
        self, agent: AgentLike, context: RuntimeContext, input: ToolCallInput, next: Next[ToolCallInput]
    ) -> Observable[AgentEvent]:
        """Around one tool call."""
        return next(input)

    def on_system_prompt(self, agent: AgentLike, context: RuntimeContext, prompt: str) -> str:
        """Change the system prompt; asked once for each reply, outermost first."""
        return prompt
