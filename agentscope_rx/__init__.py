"""A reactive runtime for LLM agents.

An agent's reply is a stream of small typed events. Here that stream is an RxPY Observable, middleware is an operator,
and the message is a fold of the events.

Everything public is in this namespace, and loaded on first use. Two things are reached by their own path: operators,
as `from agentscope_rx.operators import to_message`, and test doubles, as `from agentscope_rx.testing import ...`.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .agent import (
        AgentInput as AgentInput,
    )
    from .agent import (
        ReActAgent as ReActAgent,
    )
    from .context import (
        RuntimeContext as RuntimeContext,
    )
    from .errors import (
        AgentScopeError as AgentScopeError,
    )
    from .errors import (
        BufferOverflowError as BufferOverflowError,
    )
    from .errors import (
        ConfigurationError as ConfigurationError,
    )
    from .errors import (
        CursorError as CursorError,
    )
    from .errors import (
        LocalProtocolError as LocalProtocolError,
    )
    from .errors import (
        MiddlewareError as MiddlewareError,
    )
    from .errors import (
        MissingExtraError as MissingExtraError,
    )
    from .errors import (
        MissingStartError as MissingStartError,
    )
    from .errors import (
        ModelError as ModelError,
    )
    from .errors import (
        ModelHTTPError as ModelHTTPError,
    )
    from .errors import (
        ModelStallError as ModelStallError,
    )
    from .errors import (
        ModelStreamError as ModelStreamError,
    )
    from .errors import (
        ModelTruncatedError as ModelTruncatedError,
    )
    from .errors import (
        PendingToolCallsError as PendingToolCallsError,
    )
    from .errors import (
        ProtocolError as ProtocolError,
    )
    from .errors import (
        RemoteProtocolError as RemoteProtocolError,
    )
    from .errors import (
        ResumeError as ResumeError,
    )
    from .errors import (
        SessionBusyError as SessionBusyError,
    )
    from .errors import (
        StaleAnswerError as StaleAnswerError,
    )
    from .errors import (
        StateConflictError as StateConflictError,
    )
    from .errors import (
        StoreError as StoreError,
    )
    from .errors import (
        StreamCancelled as StreamCancelled,
    )
    from .errors import (
        ToolError as ToolError,
    )
    from .errors import (
        UnknownToolCallError as UnknownToolCallError,
    )
    from .errors import (
        UnsupportedContentError as UnsupportedContentError,
    )
    from .event import (
        METADATA_PARENT_SESSION_ID as METADATA_PARENT_SESSION_ID,
    )
    from .event import (
        METADATA_TASK_ID as METADATA_TASK_ID,
    )
    from .event import (
        AgentEndEvent as AgentEndEvent,
    )
    from .event import (
        AgentErrorInfo as AgentErrorInfo,
    )
    from .event import (
        AgentEvent as AgentEvent,
    )
    from .event import (
        AgentEventType as AgentEventType,
    )
    from .event import (
        AgentResultEvent as AgentResultEvent,
    )
    from .event import (
        AgentStartEvent as AgentStartEvent,
    )
    from .event import (
        AllToolsDeniedEvent as AllToolsDeniedEvent,
    )
    from .event import (
        BaseEvent as BaseEvent,
    )
    from .event import (
        ConfirmResult as ConfirmResult,
    )
    from .event import (
        CustomEvent as CustomEvent,
    )
    from .event import (
        DataBlockDeltaEvent as DataBlockDeltaEvent,
    )
    from .event import (
        DataBlockEndEvent as DataBlockEndEvent,
    )
    from .event import (
        DataBlockStartEvent as DataBlockStartEvent,
    )
    from .event import (
        Dialect as Dialect,
    )
    from .event import (
        EventReader as EventReader,
    )
    from .event import (
        EventWriter as EventWriter,
    )
    from .event import (
        ExceedMaxItersEvent as ExceedMaxItersEvent,
    )
    from .event import (
        ExternalExecutionResultEvent as ExternalExecutionResultEvent,
    )
    from .event import (
        FinishReason as FinishReason,
    )
    from .event import (
        HintBlockEvent as HintBlockEvent,
    )
    from .event import (
        MessageBuilder as MessageBuilder,
    )
    from .event import (
        MessageSnapshot as MessageSnapshot,
    )
    from .event import (
        ModelCallEndEvent as ModelCallEndEvent,
    )
    from .event import (
        ModelCallResetEvent as ModelCallResetEvent,
    )
    from .event import (
        ModelCallStartEvent as ModelCallStartEvent,
    )
    from .event import (
        RequestStopEvent as RequestStopEvent,
    )
    from .event import (
        RequireExternalExecutionEvent as RequireExternalExecutionEvent,
    )
    from .event import (
        RequireUserConfirmEvent as RequireUserConfirmEvent,
    )
    from .event import (
        SubagentExposedEvent as SubagentExposedEvent,
    )
    from .event import (
        TextBlockDeltaEvent as TextBlockDeltaEvent,
    )
    from .event import (
        TextBlockEndEvent as TextBlockEndEvent,
    )
    from .event import (
        TextBlockStartEvent as TextBlockStartEvent,
    )
    from .event import (
        ThinkingBlockDeltaEvent as ThinkingBlockDeltaEvent,
    )
    from .event import (
        ThinkingBlockEndEvent as ThinkingBlockEndEvent,
    )
    from .event import (
        ThinkingBlockStartEvent as ThinkingBlockStartEvent,
    )
    from .event import (
        ToolCallDeltaEvent as ToolCallDeltaEvent,
    )
    from .event import (
        ToolCallEndEvent as ToolCallEndEvent,
    )
    from .event import (
        ToolCallStartEvent as ToolCallStartEvent,
    )
    from .event import (
        ToolResultDataDeltaEvent as ToolResultDataDeltaEvent,
    )
    from .event import (
        ToolResultEndEvent as ToolResultEndEvent,
    )
    from .event import (
        ToolResultStartEvent as ToolResultStartEvent,
    )
    from .event import (
        ToolResultTextDeltaEvent as ToolResultTextDeltaEvent,
    )
    from .event import (
        UnknownEvent as UnknownEvent,
    )
    from .event import (
        UserConfirmResultEvent as UserConfirmResultEvent,
    )
    from .event import (
        UserInterruptEvent as UserInterruptEvent,
    )
    from .event import (
        decode as decode,
    )
    from .event import (
        decode_history as decode_history,
    )
    from .event import (
        decode_message as decode_message,
    )
    from .event import (
        encode as encode,
    )
    from .event import (
        encode_history as encode_history,
    )
    from .event import (
        encode_message as encode_message,
    )
    from .identity import (
        new_id as new_id,
    )
    from .identity import (
        set_clock as set_clock,
    )
    from .identity import (
        set_id_factory as set_id_factory,
    )
    from .message import (
        AssistantMessage as AssistantMessage,
    )
    from .message import (
        AudioBlock as AudioBlock,
    )
    from .message import (
        Base64Source as Base64Source,
    )
    from .message import (
        ChatUsage as ChatUsage,
    )
    from .message import (
        ContentBlock as ContentBlock,
    )
    from .message import (
        DataBlock as DataBlock,
    )
    from .message import (
        GenerateReason as GenerateReason,
    )
    from .message import (
        HintBlock as HintBlock,
    )
    from .message import (
        ImageBlock as ImageBlock,
    )
    from .message import (
        Msg as Msg,
    )
    from .message import (
        MsgRole as MsgRole,
    )
    from .message import (
        PermissionBehavior as PermissionBehavior,
    )
    from .message import (
        PermissionRule as PermissionRule,
    )
    from .message import (
        Source as Source,
    )
    from .message import (
        SystemMessage as SystemMessage,
    )
    from .message import (
        TextBlock as TextBlock,
    )
    from .message import (
        ThinkingBlock as ThinkingBlock,
    )
    from .message import (
        ToolCallState as ToolCallState,
    )
    from .message import (
        ToolOutputBlock as ToolOutputBlock,
    )
    from .message import (
        ToolResultBlock as ToolResultBlock,
    )
    from .message import (
        ToolResultMessage as ToolResultMessage,
    )
    from .message import (
        ToolResultState as ToolResultState,
    )
    from .message import (
        ToolUseBlock as ToolUseBlock,
    )
    from .message import (
        URLSource as URLSource,
    )
    from .message import (
        UserMessage as UserMessage,
    )
    from .message import (
        VideoBlock as VideoBlock,
    )
    from .model import (
        AnthropicModel as AnthropicModel,
    )
    from .model import (
        ChatModel as ChatModel,
    )
    from .model import (
        LocalModel as LocalModel,
    )
    from .model import (
        ModelChunk as ModelChunk,
    )
    from .model import (
        ModelOptions as ModelOptions,
    )
    from .model import (
        ModelRequest as ModelRequest,
    )
    from .model import (
        OpenAIChatModel as OpenAIChatModel,
    )
    from .model import (
        OpenAIResponsesModel as OpenAIResponsesModel,
    )
    from .model import (
        RetryPolicy as RetryPolicy,
    )
    from .model import (
        resolve_model as resolve_model,
    )
    from .permission import (
        PermissionContext as PermissionContext,
    )
    from .permission import (
        PermissionDecision as PermissionDecision,
    )
    from .permission import (
        PermissionEngine as PermissionEngine,
    )
    from .permission import (
        PermissionMode as PermissionMode,
    )
    from .stream import (
        Gate as Gate,
    )
    from .stream import (
        LoopScheduler as LoopScheduler,
    )
    from .stream import (
        Stream as Stream,
    )
    from .stream import (
        StreamIterator as StreamIterator,
    )
    from .stream import (
        StreamStatistics as StreamStatistics,
    )
    from .stream import (
        concat_stages as concat_stages,
    )
    from .stream import (
        from_async_iterable as from_async_iterable,
    )
    from .stream import (
        through as through,
    )
    from .tools import (
        FunctionTool as FunctionTool,
    )
    from .tools import (
        Tool as Tool,
    )
    from .tools import (
        ToolEmitter as ToolEmitter,
    )
    from .tools import (
        Toolkit as Toolkit,
    )
    from .tools import (
        ToolSchema as ToolSchema,
    )
    from .tools import (
        ToolVerdict as ToolVerdict,
    )
    from .tools import (
        tool as tool,
    )

__all__ = [
    "METADATA_PARENT_SESSION_ID",
    "METADATA_TASK_ID",
    "AgentEndEvent",
    "AgentErrorInfo",
    "AgentEvent",
    "AgentEventType",
    "AgentInput",
    "AgentResultEvent",
    "AgentScopeError",
    "AgentStartEvent",
    "AllToolsDeniedEvent",
    "AnthropicModel",
    "AssistantMessage",
    "AudioBlock",
    "Base64Source",
    "BaseEvent",
    "BufferOverflowError",
    "ChatModel",
    "ChatUsage",
    "ConfigurationError",
    "ConfirmResult",
    "ContentBlock",
    "CursorError",
    "CustomEvent",
    "DataBlock",
    "DataBlockDeltaEvent",
    "DataBlockEndEvent",
    "DataBlockStartEvent",
    "Dialect",
    "EventReader",
    "EventWriter",
    "ExceedMaxItersEvent",
    "ExternalExecutionResultEvent",
    "FinishReason",
    "FunctionTool",
    "Gate",
    "GenerateReason",
    "HintBlock",
    "HintBlockEvent",
    "ImageBlock",
    "LocalModel",
    "LocalProtocolError",
    "LoopScheduler",
    "MessageBuilder",
    "MessageSnapshot",
    "MiddlewareError",
    "MissingExtraError",
    "MissingStartError",
    "ModelCallEndEvent",
    "ModelCallResetEvent",
    "ModelCallStartEvent",
    "ModelChunk",
    "ModelError",
    "ModelHTTPError",
    "ModelOptions",
    "ModelRequest",
    "ModelStallError",
    "ModelStreamError",
    "ModelTruncatedError",
    "Msg",
    "MsgRole",
    "OpenAIChatModel",
    "OpenAIResponsesModel",
    "PendingToolCallsError",
    "PermissionBehavior",
    "PermissionContext",
    "PermissionDecision",
    "PermissionEngine",
    "PermissionMode",
    "PermissionRule",
    "ProtocolError",
    "ReActAgent",
    "RemoteProtocolError",
    "RequestStopEvent",
    "RequireExternalExecutionEvent",
    "RequireUserConfirmEvent",
    "ResumeError",
    "RetryPolicy",
    "RuntimeContext",
    "SessionBusyError",
    "Source",
    "StaleAnswerError",
    "StateConflictError",
    "StoreError",
    "Stream",
    "StreamCancelled",
    "StreamIterator",
    "StreamStatistics",
    "SubagentExposedEvent",
    "SystemMessage",
    "TextBlock",
    "TextBlockDeltaEvent",
    "TextBlockEndEvent",
    "TextBlockStartEvent",
    "ThinkingBlock",
    "ThinkingBlockDeltaEvent",
    "ThinkingBlockEndEvent",
    "ThinkingBlockStartEvent",
    "Tool",
    "ToolCallDeltaEvent",
    "ToolCallEndEvent",
    "ToolCallStartEvent",
    "ToolCallState",
    "ToolEmitter",
    "ToolError",
    "ToolOutputBlock",
    "ToolResultBlock",
    "ToolResultDataDeltaEvent",
    "ToolResultEndEvent",
    "ToolResultMessage",
    "ToolResultStartEvent",
    "ToolResultState",
    "ToolResultTextDeltaEvent",
    "ToolSchema",
    "ToolUseBlock",
    "ToolVerdict",
    "Toolkit",
    "URLSource",
    "UnknownEvent",
    "UnknownToolCallError",
    "UnsupportedContentError",
    "UserConfirmResultEvent",
    "UserInterruptEvent",
    "UserMessage",
    "VideoBlock",
    "concat_stages",
    "decode",
    "decode_history",
    "decode_message",
    "encode",
    "encode_history",
    "encode_message",
    "from_async_iterable",
    "new_id",
    "resolve_model",
    "set_clock",
    "set_id_factory",
    "through",
    "tool",
]

_HOMES = ("errors", "identity", "message", "event", "stream", "context", "tools", "model", "permission", "agent")
"""Where the names live, lowest floor first."""


def __getattr__(name: str) -> Any:
    if name in __all__:
        for home in _HOMES:
            module = import_module(f".{home}", __name__)
            if name in module.__all__:
                value = globals()[name] = getattr(module, name)
                return value
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
