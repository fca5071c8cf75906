"""The events of a reply: small, typed, frozen, one class for each type.

`AgentEvent` is the union of them all, so `isinstance` and an exhaustive `match` with `assert_never` both work. What
may follow what is written in `lifecycle.py`. See "Events" in "Messages and events" (消息与事件), a page of the
AgentScope Java documentation, and section 2.3 of "The event stream protocol" (事件流协议), chapter 02 on AgentScope
Python.
"""

from __future__ import annotations

from typing import Any, Literal, TypeAlias

from pydantic import Field, model_validator

from ..message import GenerateReason, Msg, PermissionRule, ToolResultBlock, ToolResultState, ToolUseBlock
from ..message.blocks import ToolOutputBlock
from ..message.frozen import FrozenModel
from .base import AgentEventType, BaseEvent, FinishReason, ReplyEvent

__all__ = [
    "AgentEndEvent",
    "AgentErrorInfo",
    "AgentEvent",
    "AgentResultEvent",
    "AgentStartEvent",
    "AllToolsDeniedEvent",
    "ConfirmResult",
    "CustomEvent",
    "DataBlockDeltaEvent",
    "DataBlockEndEvent",
    "DataBlockStartEvent",
    "ExceedMaxItersEvent",
    "ExternalExecutionResultEvent",
    "HintBlockEvent",
    "ModelCallEndEvent",
    "ModelCallResetEvent",
    "ModelCallStartEvent",
    "RequestStopEvent",
    "RequireExternalExecutionEvent",
    "RequireUserConfirmEvent",
    "SubagentExposedEvent",
    "TextBlockDeltaEvent",
    "TextBlockEndEvent",
    "TextBlockStartEvent",
    "ThinkingBlockDeltaEvent",
    "ThinkingBlockEndEvent",
    "ThinkingBlockStartEvent",
    "ToolCallDeltaEvent",
    "ToolCallEndEvent",
    "ToolCallStartEvent",
    "ToolResultDataDeltaEvent",
    "ToolResultEndEvent",
    "ToolResultStartEvent",
    "ToolResultTextDeltaEvent",
    "UnknownEvent",
    "UserConfirmResultEvent",
    "UserInterruptEvent",
]


# ------------------------------------------------------------------------------------------------ the reply


class AgentErrorInfo(FrozenModel):
    """What went wrong, fit to be shown: no key and no prompt text."""

    type: str
    """The class of the error."""
    message: str
    """What happened."""


class AgentStartEvent(ReplyEvent):
    """A reply begins, or goes on after a pause."""

    type: Literal[AgentEventType.AGENT_START] = AgentEventType.AGENT_START
    session_id: str | None = None
    """The conversation that the reply is part of."""
    name: str
    """The name of the agent."""
    role: str = "assistant"
    """The role of the agent."""
    resumed: bool = False
    """Whether the reply goes on after a pause."""
    message: Msg | None = None
    """On a resume, the reply as it stood at the pause."""


class AgentResultEvent(ReplyEvent):
    """The message that the reply has become; directly before AGENT_END."""

    type: Literal[AgentEventType.AGENT_RESULT] = AgentEventType.AGENT_RESULT
    result: Msg
    """The message."""


class AgentEndEvent(ReplyEvent):
    """The reply ends, or pauses; always the last event."""

    type: Literal[AgentEventType.AGENT_END] = AgentEventType.AGENT_END
    generate_reason: GenerateReason = GenerateReason.MODEL_STOP
    """Why it ended."""
    error: AgentErrorInfo | None = None
    """What went wrong, when something did."""
    structured_output: dict[str, Any] | None = None
    """The object that the reply was asked for, if it was."""


class ExceedMaxItersEvent(ReplyEvent):
    """The reply used up its iterations; one summary without tools follows."""

    type: Literal[AgentEventType.EXCEED_MAX_ITERS] = AgentEventType.EXCEED_MAX_ITERS
    max_iters: int
    """The limit."""
    current_iter: int
    """The iterations done."""


class RequestStopEvent(BaseEvent):
    """A middleware or a tool asks the reply to stop; the first request wins."""

    type: Literal[AgentEventType.REQUEST_STOP] = AgentEventType.REQUEST_STOP
    reason: str = ""
    """Why, for people."""
    generate_reason: GenerateReason = GenerateReason.MIDDLEWARE_STOP_REQUESTED
    """The reason that the reply then ends with."""


# ------------------------------------------------------------------------------------------------ model calls


class ModelCallStartEvent(ReplyEvent):
    """A model call begins."""

    type: Literal[AgentEventType.MODEL_CALL_START] = AgentEventType.MODEL_CALL_START
    model_call_id: str
    """The id of the call."""
    model_name: str
    """The model that answers."""
    iteration: int = 1
    """The round of reasoning and acting, from 1."""


class ModelCallEndEvent(ReplyEvent):
    """A model call ends; every block it opened has ended before."""

    type: Literal[AgentEventType.MODEL_CALL_END] = AgentEventType.MODEL_CALL_END
    model_call_id: str
    """The id of the call."""
    input_tokens: int | None = None
    """Tokens of the prompt, cached ones included; None when unknown."""
    output_tokens: int | None = None
    """Tokens written, reasoning included; None when unknown."""
    cached_input_tokens: int | None = None
    """Those of `input_tokens` that came from a cache; None when unknown."""
    reasoning_tokens: int | None = None
    """Those of `output_tokens` that were reasoning; None when unknown."""
    finish_reason: FinishReason = FinishReason.UNKNOWN
    """Why the call ended."""
    raw_finish_reason: str | None = None
    """The provider's own word for it."""


class ModelCallResetEvent(ReplyEvent):
    """What this model call has shown so far is withdrawn; a new attempt follows."""

    type: Literal[AgentEventType.MODEL_CALL_RESET] = AgentEventType.MODEL_CALL_RESET
    model_call_id: str
    """The id of the call."""
    attempt: int = 1
    """The attempt that is withdrawn, from 1."""
    reason: str = ""
    """Why, for people."""


# ------------------------------------------------------------------------------------------------ content blocks


class _BlockEvent(ReplyEvent):
    block_id: str
    """The block it belongs to; unique within the reply and the kind of block."""


class TextBlockStartEvent(_BlockEvent):
    """A text block begins."""

    type: Literal[AgentEventType.TEXT_BLOCK_START] = AgentEventType.TEXT_BLOCK_START


class TextBlockDeltaEvent(_BlockEvent):
    """More text of a text block; never empty."""

    type: Literal[AgentEventType.TEXT_BLOCK_DELTA] = AgentEventType.TEXT_BLOCK_DELTA
    delta: str
    """The new text."""


class TextBlockEndEvent(_BlockEvent):
    """A text block is complete; the event's metadata is the block's."""

    type: Literal[AgentEventType.TEXT_BLOCK_END] = AgentEventType.TEXT_BLOCK_END


class ThinkingBlockStartEvent(_BlockEvent):
    """A thinking block begins."""

    type: Literal[AgentEventType.THINKING_BLOCK_START] = AgentEventType.THINKING_BLOCK_START


class ThinkingBlockDeltaEvent(_BlockEvent):
    """More text of a thinking block; never empty."""

    type: Literal[AgentEventType.THINKING_BLOCK_DELTA] = AgentEventType.THINKING_BLOCK_DELTA
    delta: str
    """The new thinking."""


class ThinkingBlockEndEvent(_BlockEvent):
    """A thinking block is complete; the event's metadata is the block's."""

    type: Literal[AgentEventType.THINKING_BLOCK_END] = AgentEventType.THINKING_BLOCK_END
    signature: str | None = None
    """The provider's proof of the block."""
    redacted_data: str | None = None
    """Encrypted thinking."""


class DataBlockStartEvent(_BlockEvent):
    """A data block begins."""

    type: Literal[AgentEventType.DATA_BLOCK_START] = AgentEventType.DATA_BLOCK_START
    media_type: str
    """MIME type."""


class DataBlockDeltaEvent(_BlockEvent):
    """More bytes of a data block, or where its content is: exactly one of `data` and `url`."""

    type: Literal[AgentEventType.DATA_BLOCK_DELTA] = AgentEventType.DATA_BLOCK_DELTA
    media_type: str
    """MIME type."""
    data: str | None = None
    """The new bytes in base64, padded on their own."""
    url: str | None = None
    """Where the content is."""

    _one = model_validator(mode="after")(lambda self: _exactly_one(self))


class DataBlockEndEvent(_BlockEvent):
    """A data block is complete; the event's metadata is the block's."""

    type: Literal[AgentEventType.DATA_BLOCK_END] = AgentEventType.DATA_BLOCK_END


class HintBlockEvent(_BlockEvent):
    """An instruction was put into the reply, whole."""

    type: Literal[AgentEventType.HINT_BLOCK] = AgentEventType.HINT_BLOCK
    hint: str | tuple[ToolOutputBlock, ...]
    """The instruction: text, or text and data blocks."""
    hint_source: str | None = None
    """Who gave it."""


# ------------------------------------------------------------------------------------------------ tool calls


class _ToolCallEvent(ReplyEvent):
    tool_call_id: str
    """The call it belongs to; unique within the reply."""


class ToolCallStartEvent(_ToolCallEvent):
    """The model begins a tool call."""

    type: Literal[AgentEventType.TOOL_CALL_START] = AgentEventType.TOOL_CALL_START
    tool_call_name: str
    """The tool that is called."""


class ToolCallDeltaEvent(_ToolCallEvent):
    """More of a call's JSON arguments; never empty."""

    type: Literal[AgentEventType.TOOL_CALL_DELTA] = AgentEventType.TOOL_CALL_DELTA
    delta: str
    """The new part."""


class ToolCallEndEvent(_ToolCallEvent):
    """A call's arguments are complete; the event's metadata is the call's."""

    type: Literal[AgentEventType.TOOL_CALL_END] = AgentEventType.TOOL_CALL_END
    signature: str | None = None
    """The provider's proof of the call."""


class ToolResultStartEvent(_ToolCallEvent):
    """A tool call starts to run, or its answer starts to arrive."""

    type: Literal[AgentEventType.TOOL_RESULT_START] = AgentEventType.TOOL_RESULT_START
    tool_call_name: str
    """The tool that was called."""


class ToolResultTextDeltaEvent(_ToolCallEvent):
    """More text output of a tool; with `METADATA_PROGRESS` it is no part of the result."""

    type: Literal[AgentEventType.TOOL_RESULT_TEXT_DELTA] = AgentEventType.TOOL_RESULT_TEXT_DELTA
    delta: str
    """The new text."""


class ToolResultDataDeltaEvent(_ToolCallEvent):
    """More binary output of a tool: exactly one of `data` and `url`."""

    type: Literal[AgentEventType.TOOL_RESULT_DATA_DELTA] = AgentEventType.TOOL_RESULT_DATA_DELTA
    block_id: str
    """Pieces of one call with one id are one block."""
    media_type: str
    """MIME type."""
    data: str | None = None
    """The new bytes in base64, padded on their own."""
    url: str | None = None
    """Where the content is."""

    _one = model_validator(mode="after")(lambda self: _exactly_one(self))


class ToolResultEndEvent(_ToolCallEvent):
    """A tool call has ended; the event's metadata is the result's."""

    type: Literal[AgentEventType.TOOL_RESULT_END] = AgentEventType.TOOL_RESULT_END
    state: ToolResultState
    """How it ended."""


# ---------------------------------------------------------------------------------------- people and the outside


class ConfirmResult(FrozenModel):
    """What a person says to one call that waits for confirmation."""

    confirmed: bool
    """Whether the call may run."""
    tool_call: ToolUseBlock
    """The call, with its input as the person left it."""
    rules: tuple[PermissionRule, ...] = ()
    """The rules that the person accepts from now on."""
    reason: str | None = None
    """Why not, for the model to read."""


class RequireUserConfirmEvent(ReplyEvent):
    """The reply pauses: a person must confirm these calls."""

    type: Literal[AgentEventType.REQUIRE_USER_CONFIRM] = AgentEventType.REQUIRE_USER_CONFIRM
    tool_calls: tuple[ToolUseBlock, ...]
    """The calls, in state asking, with suggested rules."""


class RequireExternalExecutionEvent(ReplyEvent):
    """The reply pauses: these calls are run elsewhere."""

    type: Literal[AgentEventType.REQUIRE_EXTERNAL_EXECUTION] = AgentEventType.REQUIRE_EXTERNAL_EXECUTION
    tool_calls: tuple[ToolUseBlock, ...]
    """The calls, in state submitted."""


class UserConfirmResultEvent(ReplyEvent):
    """A person has answered; given to the agent to go on, and seen first in the stream that goes on."""

    type: Literal[AgentEventType.USER_CONFIRM_RESULT] = AgentEventType.USER_CONFIRM_RESULT
    confirm_results: tuple[ConfirmResult, ...]
    """The answers; not every call need be answered."""


class ExternalExecutionResultEvent(ReplyEvent):
    """The outside has answered; given to the agent to go on, and seen first in the stream that goes on."""

    type: Literal[AgentEventType.EXTERNAL_EXECUTION_RESULT] = AgentEventType.EXTERNAL_EXECUTION_RESULT
    tool_results: tuple[ToolResultBlock, ...]
    """The results; not every call need be answered."""


class UserInterruptEvent(ReplyEvent):
    """A person stops the reply."""

    type: Literal[AgentEventType.USER_INTERRUPT] = AgentEventType.USER_INTERRUPT
    message: str | None = None
    """What the person said."""


class AllToolsDeniedEvent(ReplyEvent):
    """Every call of a turn was denied, at least one of them by a person."""

    type: Literal[AgentEventType.ALL_TOOLS_DENIED] = AgentEventType.ALL_TOOLS_DENIED
    denied_tool_calls: tuple[ToolUseBlock, ...]
    """The calls."""


# ------------------------------------------------------------------------------------------------ everything else


class SubagentExposedEvent(BaseEvent):
    """A child agent may now be talked to by the user."""

    type: Literal[AgentEventType.SUBAGENT_EXPOSED] = AgentEventType.SUBAGENT_EXPOSED
    subagent_id: str
    """The id of the child agent."""
    agent_id: str
    """The kind of agent it is."""
    session_id: str
    """Its session."""
    label: str | None = None
    """A name to show."""


class CustomEvent(BaseEvent):
    """An application's own event; consumers ignore names they do not know."""

    type: Literal[AgentEventType.CUSTOM] = AgentEventType.CUSTOM
    name: str
    """What kind of event it is."""
    value: dict[str, Any] = Field(default_factory=dict)
    """What it says."""


class UnknownEvent(BaseEvent):
    """An event of a type that this version does not know: kept, written back unchanged, skipped by consumers."""

    raw: dict[str, Any]
    """The event as it came, but for its number, which is `seq`."""


def _exactly_one(event: Any) -> Any:
    if (event.data is None) == (event.url is None):
        raise ValueError("exactly one of data and url must be given")
    return event


AgentEvent: TypeAlias = (
    AgentStartEvent
    | AgentResultEvent
    | AgentEndEvent
    | ExceedMaxItersEvent
    | RequestStopEvent
    | ModelCallStartEvent
    | ModelCallEndEvent
    | ModelCallResetEvent
    | TextBlockStartEvent
    | TextBlockDeltaEvent
    | TextBlockEndEvent
    | ThinkingBlockStartEvent
    | ThinkingBlockDeltaEvent
    | ThinkingBlockEndEvent
    | DataBlockStartEvent
    | DataBlockDeltaEvent
    | DataBlockEndEvent
    | HintBlockEvent
    | ToolCallStartEvent
    | ToolCallDeltaEvent
    | ToolCallEndEvent
    | ToolResultStartEvent
    | ToolResultTextDeltaEvent
    | ToolResultDataDeltaEvent
    | ToolResultEndEvent
    | RequireUserConfirmEvent
    | RequireExternalExecutionEvent
    | UserConfirmResultEvent
    | ExternalExecutionResultEvent
    | UserInterruptEvent
    | AllToolsDeniedEvent
    | SubagentExposedEvent
    | CustomEvent
    | UnknownEvent
)
"""Any event."""
