"""One event of every class and one block of every kind, with all that they can say."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from agentscope_rx.event import (
    AgentEndEvent,
    AgentErrorInfo,
    AgentResultEvent,
    AgentStartEvent,
    AllToolsDeniedEvent,
    ConfirmResult,
    CustomEvent,
    DataBlockDeltaEvent,
    DataBlockEndEvent,
    DataBlockStartEvent,
    ExceedMaxItersEvent,
    ExternalExecutionResultEvent,
    FinishReason,
    HintBlockEvent,
    ModelCallEndEvent,
    ModelCallResetEvent,
    ModelCallStartEvent,
    RequestStopEvent,
    RequireExternalExecutionEvent,
    RequireUserConfirmEvent,
    SubagentExposedEvent,
    TextBlockDeltaEvent,
    TextBlockEndEvent,
    TextBlockStartEvent,
    ThinkingBlockDeltaEvent,
    ThinkingBlockEndEvent,
    ThinkingBlockStartEvent,
    ToolCallDeltaEvent,
    ToolCallEndEvent,
    ToolCallStartEvent,
    ToolResultDataDeltaEvent,
    ToolResultEndEvent,
    ToolResultStartEvent,
    ToolResultTextDeltaEvent,
    UserConfirmResultEvent,
    UserInterruptEvent,
)
from agentscope_rx.message import (
    AssistantMessage,
    Base64Source,
    ChatUsage,
    DataBlock,
    GenerateReason,
    HintBlock,
    PermissionBehavior,
    PermissionRule,
    TextBlock,
    ThinkingBlock,
    ToolCallState,
    ToolResultBlock,
    ToolResultState,
    ToolUseBlock,
    URLSource,
)

NOON = datetime(2026, 5, 6, 12, 0, 0, 250_000, tzinfo=UTC)

RULE = PermissionRule(tool_name="search", rule_content="git:*", behavior=PermissionBehavior.ALLOW, source="suggested")
CALL = ToolUseBlock(
    id="c1",
    name="search",
    input={"q": "x"},
    raw_input='{"q": "x"}',
    state=ToolCallState.ASKING,
    suggested_rules=(RULE,),
    signature="c2ln",
    metadata={"k": 1},
)
IMAGE = DataBlock(Base64Source(media_type="image/png", data="YWJj"), id="d1", name="a.png")
LINK = DataBlock(URLSource(url="https://example.org/a.pdf", media_type="application/pdf"), id="d2")
RESULT = ToolResultBlock(
    id="c1",
    name="search",
    output=(TextBlock("found"), LINK),
    state=ToolResultState.SUCCESS,
    metadata={"rows": 3},
)
THINKING = ThinkingBlock("hm", id="b1", signature="c2ln", redacted_data="gAAA")
HINT = HintBlock(id="h1", hint="be short", source="inbox")
REPLY = AssistantMessage(
    id="r",
    name="Friday",
    content=(THINKING, TextBlock("Hi", id="b2"), IMAGE, CALL, RESULT, HINT),
    metadata={"k": "v"},
    timestamp=NOON,
    usage=ChatUsage(input_tokens=7, output_tokens=5, cached_input_tokens=2, total_tokens=12, time=1.5),
    generate_reason=GenerateReason.MODEL_STOP,
    structured_output={"answer": 42},
)

_ENVELOPE: dict[str, Any] = {"id": "e", "created_at": NOON}
_REPLY: dict[str, Any] = {**_ENVELOPE, "reply_id": "r"}
_BLOCK: dict[str, Any] = {**_REPLY, "block_id": "b1"}
_CALL: dict[str, Any] = {**_REPLY, "tool_call_id": "c1"}
_META: dict[str, Any] = {**_CALL, "metadata": {"k": "v"}}

EVENTS: tuple[Any, ...] = (
    AgentStartEvent(**_REPLY, session_id="s", name="Friday"),
    AgentResultEvent(**_REPLY, result=REPLY),
    AgentEndEvent(
        **_REPLY,
        generate_reason=GenerateReason.ERROR,
        error=AgentErrorInfo(type="upstream", message="it broke"),
        structured_output={"answer": 42},
    ),
    ExceedMaxItersEvent(**_REPLY, max_iters=2, current_iter=2),
    RequestStopEvent(**_ENVELOPE, reason="enough", generate_reason=GenerateReason.ACTING_STOP_REQUESTED),
    ModelCallStartEvent(**_REPLY, model_call_id="m1", model_name="qwen", iteration=2),
    ModelCallEndEvent(
        **_REPLY,
        model_call_id="m1",
        input_tokens=7,
        output_tokens=5,
        cached_input_tokens=2,
        reasoning_tokens=1,
        finish_reason=FinishReason.STOP,
    ),
    ModelCallResetEvent(**_REPLY, model_call_id="m1", attempt=1, reason="overloaded"),
    TextBlockStartEvent(**_BLOCK),
    TextBlockDeltaEvent(**_BLOCK, delta="Hi", source="main/child", seq=3),
    TextBlockEndEvent(**_BLOCK),
    ThinkingBlockStartEvent(**_BLOCK),
    ThinkingBlockDeltaEvent(**_BLOCK, delta="hm"),
    ThinkingBlockEndEvent(**_BLOCK, signature="sig"),
    DataBlockStartEvent(**_BLOCK, media_type="image/png"),
    DataBlockDeltaEvent(**_BLOCK, media_type="image/png", data="YWJj"),
    DataBlockEndEvent(**_BLOCK),
    HintBlockEvent(**_BLOCK, hint="be short", hint_source="inbox"),
    ToolCallStartEvent(**_CALL, tool_call_name="search"),
    ToolCallDeltaEvent(**_CALL, delta='{"q": '),
    ToolCallEndEvent(**_CALL, signature="sig"),
    ToolResultStartEvent(**_META, tool_call_name="search"),
    ToolResultTextDeltaEvent(**_META, delta="found"),
    ToolResultDataDeltaEvent(**_META, block_id="d1", media_type="image/png", data="YWJj"),
    ToolResultEndEvent(**_META, state=ToolResultState.SUCCESS),
    RequireUserConfirmEvent(**_REPLY, tool_calls=(CALL,)),
    RequireExternalExecutionEvent(**_REPLY, tool_calls=(CALL,)),
    UserConfirmResultEvent(
        **_REPLY, confirm_results=(ConfirmResult(confirmed=True, tool_call=CALL, rules=(RULE,), reason="fine"),)
    ),
    ExternalExecutionResultEvent(**_REPLY, tool_results=(RESULT,)),
    UserInterruptEvent(**_REPLY, message="stop"),
    AllToolsDeniedEvent(**_REPLY, denied_tool_calls=(CALL,)),
    SubagentExposedEvent(**_ENVELOPE, subagent_id="a1", agent_id="researcher", session_id="s1", label="Ann"),
    CustomEvent(**_ENVELOPE, name="state_updated", value={"n": 1}),
)
"""Every class, once."""
