"""How a reply that was cut short is brought to a lawful end: everything open is closed, every call has a result."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Iterator
from dataclasses import dataclass

from ..event import (
    AgentEndEvent,
    AgentEvent,
    AgentStartEvent,
    DataBlockEndEvent,
    FinishReason,
    MessageBuilder,
    ModelCallEndEvent,
    Part,
    TextBlockEndEvent,
    ThinkingBlockEndEvent,
    ToolCallEndEvent,
    ToolResultEndEvent,
    ToolResultStartEvent,
    ToolResultTextDeltaEvent,
)
from ..message import AssistantMessage, GenerateReason, Msg, ToolResultBlock, ToolResultState, ToolUseBlock

__all__ = [
    "FAILED",
    "INTERRUPTED",
    "Closing",
    "closing_events",
    "interrupted_message",
    "result_events",
    "unanswered_calls",
]


@dataclass(frozen=True, slots=True)
class Closing:
    """What a cut-short reply says of itself."""

    generate_reason: GenerateReason
    """Why the reply ended."""
    finish_reason: FinishReason
    """Why its model call did."""
    result_state: ToolResultState
    """How its tool calls ended."""
    result_text: str
    """What the model is told of them."""


FAILED = Closing(
    GenerateReason.ERROR,
    FinishReason.ERROR,
    ToolResultState.ERROR,
    "The tool call has no result, because the reply failed.",
)
INTERRUPTED = Closing(
    GenerateReason.INTERRUPTED,
    FinishReason.INTERRUPTED,
    ToolResultState.INTERRUPTED,
    "The tool call was interrupted.",
)

_END_OF_BLOCK: dict[Part, Callable[[str, str], AgentEvent]] = {
    Part.TEXT: lambda reply_id, id: TextBlockEndEvent(reply_id=reply_id, block_id=id, seq=0),
    Part.THINKING: lambda reply_id, id: ThinkingBlockEndEvent(reply_id=reply_id, block_id=id, seq=0),
    Part.DATA: lambda reply_id, id: DataBlockEndEvent(reply_id=reply_id, block_id=id, seq=0),
    Part.TOOL_CALL: lambda reply_id, id: ToolCallEndEvent(reply_id=reply_id, tool_call_id=id, seq=0),
}


def closing_events(builder: MessageBuilder, closing: Closing) -> Iterator[AgentEvent]:
    """Yield what closes a reply, judged by what was published of it.

    The order is that of law L2: ENDs of blocks and calls in order of their start, MODEL_CALL_END, then for every
    call without a result TOOL_RESULT_START (unless published), TEXT_DELTA and END.
    """
    reply_id = builder.reply_id
    if reply_id is None:
        return
    opened = builder.open
    for key in opened:
        if key.part in _END_OF_BLOCK:
            yield _END_OF_BLOCK[key.part](reply_id, key.id)
    for key in opened:
        if key.part is Part.MODEL_CALL:
            yield ModelCallEndEvent(reply_id=reply_id, model_call_id=key.id, finish_reason=closing.finish_reason, seq=0)
    started = {key.id for key in opened if key.part is Part.TOOL_RESULT}
    for call in unanswered_calls(builder.message(), started):
        yield from result_events(reply_id, call, closing.result_text, closing.result_state, started=call.id in started)


def unanswered_calls(message: Msg, running: Iterable[str] = ()) -> list[ToolUseBlock]:
    """Return the tool calls of a message that have no result, or one that is among `running`, in call order."""
    answered = {block.id for block in message.content if isinstance(block, ToolResultBlock)} - set(running)
    return [block for block in message.content if isinstance(block, ToolUseBlock) and block.id not in answered]


def interrupted_message(message: AssistantMessage) -> AssistantMessage:
    """Return the message of a reply that will not go on, with an interrupted result for every call without one."""
    start = AgentStartEvent(reply_id=message.id, name=message.name, resumed=True, message=message)
    builder = MessageBuilder()
    builder.apply(start)
    for event in closing_events(builder, INTERRUPTED):
        builder.apply(event)
    builder.apply(AgentEndEvent(reply_id=message.id, generate_reason=INTERRUPTED.generate_reason))
    return builder.message()


def result_events(
    reply_id: str, call: ToolUseBlock, text: str, state: ToolResultState, *, started: bool = False
) -> Generator[AgentEvent, None, None]:
    """Yield the events of a result that is one text; without START when it was published already."""
    if not started:
        yield ToolResultStartEvent(reply_id=reply_id, tool_call_id=call.id, tool_call_name=call.name, seq=0)
    yield ToolResultTextDeltaEvent(reply_id=reply_id, tool_call_id=call.id, delta=text, seq=0)
    yield ToolResultEndEvent(reply_id=reply_id, tool_call_id=call.id, state=state, seq=0)
