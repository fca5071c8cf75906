"""Events in short: what a test of an operator feeds it."""

from __future__ import annotations

import base64
from collections.abc import Iterable, Sequence
from typing import Any

from agentscope_rx.event import (
    AgentEndEvent,
    AgentErrorInfo,
    AgentEvent,
    AgentStartEvent,
    DataBlockDeltaEvent,
    DataBlockEndEvent,
    DataBlockStartEvent,
    HintBlockEvent,
    ModelCallEndEvent,
    ModelCallStartEvent,
    RequireUserConfirmEvent,
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
)
from agentscope_rx.message import GenerateReason, ToolResultState

R = "reply-1"
"""The reply of every event that names no other."""


def start(reply_id: str = R, **fields: Any) -> AgentStartEvent:
    return AgentStartEvent(**{"reply_id": reply_id, "name": "assistant", **fields})


def end(reply_id: str = R, reason: GenerateReason = GenerateReason.MODEL_STOP, **fields: Any) -> AgentEndEvent:
    return AgentEndEvent(reply_id=reply_id, generate_reason=reason, **fields)


def failed_end(reply_id: str = R) -> AgentEndEvent:
    return end(reply_id, GenerateReason.ERROR, error=AgentErrorInfo(type="ModelStreamError", message="it broke"))


def model_start(id: str = "m1", reply_id: str = R, **fields: Any) -> ModelCallStartEvent:
    return ModelCallStartEvent(reply_id=reply_id, model_call_id=id, model_name="m", **fields)


def model_end(id: str = "m1", reply_id: str = R, **fields: Any) -> ModelCallEndEvent:
    return ModelCallEndEvent(reply_id=reply_id, model_call_id=id, **fields)


def text(id: str, *pieces: str, reply_id: str = R, **fields: Any) -> list[AgentEvent]:
    key = {"reply_id": reply_id, "block_id": id, **fields}
    deltas = [TextBlockDeltaEvent(**key, delta=piece) for piece in pieces]
    return [TextBlockStartEvent(**key), *deltas, TextBlockEndEvent(**key)]


def thinking(id: str, *pieces: str, reply_id: str = R, **fields: Any) -> list[AgentEvent]:
    key = {"reply_id": reply_id, "block_id": id, **fields}
    deltas = [ThinkingBlockDeltaEvent(**key, delta=piece) for piece in pieces]
    return [ThinkingBlockStartEvent(**key), *deltas, ThinkingBlockEndEvent(**key)]


def data(id: str, *pieces: bytes, reply_id: str = R) -> list[AgentEvent]:
    key = {"reply_id": reply_id, "block_id": id}
    deltas = [DataBlockDeltaEvent(**key, media_type="image/png", data=_base64(piece)) for piece in pieces]
    return [DataBlockStartEvent(**key, media_type="image/png"), *deltas, DataBlockEndEvent(**key)]


def call(id: str, *pieces: str, name: str = "search", reply_id: str = R) -> list[AgentEvent]:
    key = {"reply_id": reply_id, "tool_call_id": id}
    deltas = [ToolCallDeltaEvent(**key, delta=piece) for piece in pieces]
    return [ToolCallStartEvent(**key, tool_call_name=name), *deltas, ToolCallEndEvent(**key)]


def result(id: str, *pieces: str | bytes, progress: Sequence[str] = (), reply_id: str = R) -> list[AgentEvent]:
    """A tool result: text as str, binary pieces of one block as bytes, progress before both."""
    key = {"reply_id": reply_id, "tool_call_id": id}
    deltas: list[AgentEvent] = [
        ToolResultTextDeltaEvent(**key, delta=piece, metadata={"progress": True}) for piece in progress
    ]
    for piece in pieces:
        if isinstance(piece, str):
            deltas.append(ToolResultTextDeltaEvent(**key, delta=piece))
        else:
            deltas.append(ToolResultDataDeltaEvent(**key, block_id="d", media_type="image/png", data=_base64(piece)))
    finished = ToolResultEndEvent(**key, state=ToolResultState.SUCCESS)
    return [ToolResultStartEvent(**key, tool_call_name="search"), *deltas, finished]


def hint(id: str, said: str = "be brief", reply_id: str = R) -> HintBlockEvent:
    return HintBlockEvent(reply_id=reply_id, block_id=id, hint=said)


def asking(*calls: Any, reply_id: str = R) -> RequireUserConfirmEvent:
    return RequireUserConfirmEvent(reply_id=reply_id, tool_calls=calls)


def answered(*answers: Any, reply_id: str = R) -> UserConfirmResultEvent:
    return UserConfirmResultEvent(reply_id=reply_id, confirm_results=answers)


def interleaved(*streams: Sequence[AgentEvent]) -> list[AgentEvent]:
    """One event of each in turn, until all are through."""
    longest = max(map(len, streams))
    return [stream[turn] for turn in range(longest) for stream in streams if turn < len(stream)]


def numbered(events: Iterable[AgentEvent], first: int = 1) -> list[AgentEvent]:
    """The events with the numbers that publication gives."""
    return [event.model_copy(update={"seq": seq}) for seq, event in enumerate(events, first)]


def answer(said: str = "Hello", reply_id: str = R) -> list[AgentEvent]:
    """A whole reply of one text block in two pieces, numbered: eight events with AGENT_START and AGENT_END."""
    return numbered(
        [
            start(reply_id),
            model_start(reply_id=reply_id),
            *text("t1", said[:2], said[2:], reply_id=reply_id),
            model_end(reply_id=reply_id),
            end(reply_id),
        ]
    )


def _base64(content: bytes) -> str:
    return base64.b64encode(content).decode()
