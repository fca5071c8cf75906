"""The spans of the three stages: what they begin with, and what the events of the stage add."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from ...errors import AgentScopeError
from ...event import (
    AgentEndEvent,
    AgentEvent,
    AgentStartEvent,
    MessageBuilder,
    ModelCallEndEvent,
    ModelCallResetEvent,
    ModelCallStartEvent,
    ReplyEvent,
    ToolResultEndEvent,
)
from ...event.lifecycle import STEPS, Phase
from ...message import ContentBlock, ToolResultBlock, ToolResultState
from ...model import ChatModel
from ..base import ModelCallInput, ToolCallInput
from .genai import finish_reason, input_messages, json_text, output_message, response, system_parts, tool_definitions

if TYPE_CHECKING:
    from opentelemetry.trace import Span

__all__ = ["AgentSpan", "ChatSpan", "StageSpan", "ToolSpan", "known"]

_PROVIDERS = {"gemini": "gcp.gemini", "openai-responses": "openai"}
"""The providers that the conventions call otherwise than we do."""

_FAILED = (ToolResultState.ERROR, ToolResultState.DENIED, ToolResultState.INTERRUPTED)
"""How a tool call ends that has not done its work."""


_DELTAS = frozenset(cls for cls, step in STEPS.items() if step.phase is Phase.DELTA)
"""The events that there are many of, and that say nothing but content."""


class StageSpan:
    """The span of one run of a stage."""

    def __init__(self, span: Span, capture_content: bool = False) -> None:
        self.span = span
        """The span."""
        self.ignored: frozenset[type] = frozenset() if capture_content else _DELTAS
        """The events that need not be noted."""

    def note(self, event: AgentEvent) -> None:
        """Record what an event of the stage says."""
        raise NotImplementedError

    def fail_with(self, error: Exception) -> None:
        """Record that the stage has failed; only our own errors are known to hold nothing that was said."""
        self.fail(type(error).__name__, str(error) if isinstance(error, AgentScopeError) else None)

    def fail(self, kind: str, description: str | None = None) -> None:
        """Record a failure."""
        from opentelemetry.trace import Status, StatusCode

        self.span.set_attribute("error.type", kind)
        self.span.set_status(Status(StatusCode.ERROR, description))

    def end(self) -> None:
        """End the span; a second time nothing happens."""
        if self.span.is_recording():
            self._set(self.totals())
            self.span.end()

    def totals(self) -> dict[str, Any]:
        """Return what is to be recorded at the end."""
        return {}

    def _set(self, attributes: Mapping[str, Any]) -> None:
        self.span.set_attributes(known(attributes))


class AgentSpan(StageSpan):
    """`invoke_agent`: the session, why the run ended, and the tokens of all its model calls."""

    def __init__(self, span: Span) -> None:
        super().__init__(span)
        self._tokens: dict[str, int] = {}

    @staticmethod
    def attributes(name: str, session_id: str) -> dict[str, Any]:
        """Return what the span begins with."""
        return {
            "gen_ai.operation.name": "invoke_agent",
            "gen_ai.agent.name": name,
            "gen_ai.conversation.id": session_id,
        }

    def note(self, event: AgentEvent) -> None:
        """Add up the tokens; record how the run ends."""
        if isinstance(event, ModelCallEndEvent):
            for name, count in _usage(event).items():
                if count is not None:
                    self._tokens[name] = self._tokens.get(name, 0) + count
        elif isinstance(event, AgentEndEvent):
            self._set({"gen_ai.response.finish_reasons": (event.generate_reason.value,)})

    def totals(self) -> dict[str, Any]:
        """Return the tokens."""
        return self._tokens


class ChatSpan(StageSpan):
    """`chat`: one model call."""

    def __init__(self, span: Span, capture_content: bool) -> None:
        super().__init__(span, capture_content)
        self._answer = _Fold() if capture_content else None
        self._began: float | None = time.monotonic()

    @staticmethod
    def attributes(input: ModelCallInput, capture_content: bool) -> dict[str, Any]:
        """Return what the span begins with."""
        attributes = {
            "gen_ai.operation.name": "chat",
            "gen_ai.provider.name": _provider(input.model),
            "gen_ai.request.model": input.model.model_name,
            "gen_ai.request.stream": True,
            "gen_ai.request.temperature": input.options.temperature,
            "gen_ai.request.max_tokens": input.options.max_tokens,
        }
        if capture_content:
            attributes |= {
                "gen_ai.system_instructions": json_text(system_parts(input.messages)),
                "gen_ai.input.messages": json_text(input_messages(input.messages)),
                "gen_ai.tool.definitions": json_text(tool_definitions(input.tools)),
            }
        return attributes

    def note(self, event: AgentEvent) -> None:
        """Record when the answer begins, what is withdrawn, and how the call ends."""
        if self._answer is not None:
            self._answer.apply(event)
        if isinstance(event, ModelCallStartEvent):
            return
        if self._began is not None and isinstance(event, ReplyEvent):
            self._set({"gen_ai.response.time_to_first_chunk": time.monotonic() - self._began})
            self._began = None
        if isinstance(event, ModelCallEndEvent):
            self._set({**_usage(event), "gen_ai.response.finish_reasons": (finish_reason(event.finish_reason),)})
            if self._answer is not None:
                said = output_message(self._answer.content(), event.finish_reason)
                self._set({"gen_ai.output.messages": json_text([said])})
        elif isinstance(event, ModelCallResetEvent):
            self.span.add_event("model_call_reset", {"attempt": event.attempt, "reason": event.reason})


class ToolSpan(StageSpan):
    """`execute_tool`: one tool call."""

    def __init__(self, span: Span, capture_content: bool) -> None:
        super().__init__(span, capture_content)
        self._result = _Fold() if capture_content else None

    @staticmethod
    def attributes(input: ToolCallInput, capture_content: bool) -> dict[str, Any]:
        """Return what the span begins with."""
        call, tool = input.tool_call, input.tool
        return {
            "gen_ai.operation.name": "execute_tool",
            "gen_ai.tool.name": call.name,
            "gen_ai.tool.call.id": call.id,
            "gen_ai.tool.type": "function",
            "gen_ai.tool.description": None if tool is None else tool.description,
            "gen_ai.tool.call.arguments": json_text(call.input) if capture_content else None,
        }

    def note(self, event: AgentEvent) -> None:
        """Record how the call ends."""
        if self._result is not None:
            self._result.apply(event)
        if not isinstance(event, ToolResultEndEvent):
            return
        if event.state in _FAILED:
            self.fail(f"tool_{event.state.value}")
        if self._result is not None:
            results = [block for block in self._result.content() if isinstance(block, ToolResultBlock)]
            self._set({"gen_ai.tool.call.result": json_text(response(results[-1].output))})


class _Fold:
    """What a stage has said, as blocks; kept only when content is recorded."""

    def __init__(self) -> None:
        self._builder: MessageBuilder | None = None

    def apply(self, event: AgentEvent) -> None:
        if not isinstance(event, ReplyEvent):
            return
        if self._builder is None:
            self._builder = MessageBuilder()
            self._builder.apply(AgentStartEvent(reply_id=event.reply_id, session_id="", name="", seq=0))
        self._builder.apply(event)

    def content(self) -> tuple[ContentBlock, ...]:
        return () if self._builder is None else self._builder.message().content


def known(attributes: Mapping[str, Any]) -> dict[str, Any]:
    """Return the attributes that say something."""
    return {key: value for key, value in attributes.items() if value not in (None, "")}


def _usage(event: ModelCallEndEvent) -> dict[str, int | None]:
    return {
        "gen_ai.usage.input_tokens": event.input_tokens,
        "gen_ai.usage.output_tokens": event.output_tokens,
        "gen_ai.usage.cache_read.input_tokens": event.cached_input_tokens,
        "gen_ai.usage.reasoning.output_tokens": event.reasoning_tokens,
    }


def _provider(model: ChatModel) -> str:
    name = getattr(model, "provider", None)
    return _PROVIDERS.get(name, name) if isinstance(name, str) else type(model).__name__
