"""What a stream becomes in a conversation: through the agent's own assembler and fold, into the next request."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from agentscope_rx.agent.assembler import Assembler
from agentscope_rx.event import AgentEndEvent, AgentEvent, AgentStartEvent, MessageBuilder, ModelCallStartEvent
from agentscope_rx.event.codec.native import decode, encode
from agentscope_rx.message import AssistantMessage, TextBlock, ToolResultBlock, ToolResultState, ToolUseBlock
from agentscope_rx.model import ModelChunk


def reply_of(chunks: Iterable[ModelChunk], *, ended: bool = True) -> AssistantMessage:
    """Return the message that the chunks of one model call become, by way of JSON; as it stands, if not `ended`."""
    assembler, builder = Assembler("r", "m"), MessageBuilder()
    events: list[AgentEvent] = [
        AgentStartEvent(reply_id="r", name="assistant", seq=1),
        ModelCallStartEvent(reply_id="r", model_call_id="m", model_name="m", seq=2),
    ]
    events += [event for chunk in chunks for event in assembler.feed(chunk)]
    if ended:
        events += [*assembler.finish(), AgentEndEvent(reply_id="r")]
    for event in events:
        builder.apply(decode(encode(event.model_copy(update={"seq": None}))))
    return builder.message()


def answered(reply: AssistantMessage, **fields: Any) -> AssistantMessage:
    """Return the reply with a result for every call."""
    fields = {"output": (TextBlock("ok"),), "state": ToolResultState.SUCCESS, **fields}
    calls = reply.get_content_blocks(ToolUseBlock)
    return reply.with_content(*reply.content, *(ToolResultBlock(id=c.id, name=c.name, **fields) for c in calls))
