"""A state that holds everything that a state can hold."""

from __future__ import annotations

from typing import Any

from agentscope_rx import (
    AgentState,
    AssistantMessage,
    AudioBlock,
    Base64Source,
    ChatUsage,
    DataBlock,
    GenerateReason,
    HintBlock,
    ImageBlock,
    PermissionContext,
    PermissionRule,
    SystemMessage,
    TextBlock,
    ThinkingBlock,
    ToolCallState,
    ToolResultBlock,
    ToolResultMessage,
    ToolResultState,
    ToolUseBlock,
    URLSource,
    UserMessage,
    VideoBlock,
)
from agentscope_rx.state import ContextCut, PausedReply

PIXEL = Base64Source(media_type="image/png", data="iVBORw0KGgo=")
RULE = PermissionRule(tool_name="send", rule_content="to:*", behavior="ask", source="suggested")
ODD = "e\u0301 漢字 👩\u200d👧 שלום \u2028 \x00 \ufeff \"\\ </script> '"

VALUES: dict[str, Any] = {
    "": None,
    ODD: ODD,
    "numbers": [0, -1, 2.5, 5e-324, 1.7976931348623157e308, 2**80, True, False],
    "nested": {"a": [{"b": [[], {}]}]},
}


def full_state(session_id: str = "s", user_id: str | None = None) -> AgentState:
    call = ToolUseBlock(
        id="c1",
        name="send",
        input={"to": ODD, "n": [1, None]},
        raw_input='{"to": 1',
        state=ToolCallState.ASKING,
        suggested_rules=(RULE,),
        signature="proof",
        metadata={"k": [1]},
    )
    result = ToolResultBlock(
        id="c1",
        name="send",
        output=(TextBlock(ODD), DataBlock(PIXEL, name="a.png")),
        state=ToolResultState.SUCCESS,
        metadata={"took": 0.25},
    )
    answer = AssistantMessage(
        "friday",
        ThinkingBlock("hm", id="b1", signature="proof", redacted_data="xx", metadata={"search": 1}),
        TextBlock(ODD, id="b2", metadata={"cites": ["x"]}),
        DataBlock(URLSource(url="https://example.org/a?b=c#d", media_type="image/png")),
        call,
        result,
        HintBlock(hint="be brief", source="tester"),
        HintBlock(hint=(TextBlock("see"), DataBlock(PIXEL))),
        metadata={"a": {"b": None}},
        usage=ChatUsage(input_tokens=1, output_tokens=2, total_tokens=3, time=0.125),
        generate_reason=GenerateReason.MODEL_STOP,
        structured_output={"x": [1, 2.5]},
    )
    return AgentState(
        session_id=session_id,
        user_id=user_id,
        history=(
            SystemMessage("obey"),
            UserMessage("ann", TextBlock("hi"), ImageBlock(source=PIXEL), AudioBlock(source=PIXEL)),
            UserMessage("ann", VideoBlock(source=URLSource(url="https://example.org/v"))),
            answer,
            ToolResultMessage("tool", result),
        ),
        paused=PausedReply(
            message=AssistantMessage("friday", call), iteration=2, last_seq=41, turn=("c1", "c2"), denied_by_user=True
        ),
        permission=PermissionContext(mode="bypass", ask_rules=(RULE,), working_directories=("a/b",)),
        active_groups=("browser",),
        cut=ContextCut(message_id="m1", part=2, summary="before"),
        values=dict(VALUES),
    )
