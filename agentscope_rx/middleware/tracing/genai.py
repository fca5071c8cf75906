"""Requests and answers in the form in which the GenAI semantic conventions of OpenTelemetry record them."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import Any

from ...event import FinishReason
from ...message import (
    Base64Source,
    ContentBlock,
    DataBlock,
    Msg,
    MsgRole,
    TextBlock,
    ThinkingBlock,
    ToolOutputBlock,
    ToolResultBlock,
    ToolUseBlock,
    URLSource,
)
from ...model.turns import Turn, split_turns
from ...tools import ToolSchema

__all__ = [
    "finish_reason",
    "input_messages",
    "json_text",
    "output_message",
    "response",
    "system_parts",
    "tool_definitions",
]

_FINISH_REASONS = {FinishReason.TOOL_CALLS: "tool_call", FinishReason.REFUSAL: "content_filter"}
"""What the conventions call otherwise than we do."""

_MODALITIES = ("image", "video", "audio")
"""The kinds of media that have a name of their own; the rest is a document."""


def json_text(value: Any) -> str:
    """Return the text of an attribute that holds a structure."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), default=str)


def finish_reason(reason: FinishReason) -> str:
    """Return the conventions' word for why a model call ended."""
    return _FINISH_REASONS.get(reason, reason.value)


def system_parts(messages: Iterable[Msg]) -> list[dict[str, Any]]:
    """Return the parts of the instructions of a request."""
    return [part for message in messages if message.role is MsgRole.SYSTEM for part in _parts(message.content)]


def input_messages(messages: Iterable[Msg]) -> list[dict[str, Any]]:
    """Return the conversation of a request, but for its instructions, turn by turn."""
    return [
        spoken
        for turn in split_turns(message for message in messages if message.role is not MsgRole.SYSTEM)
        for spoken in _spoken(turn)
    ]


def output_message(content: Iterable[ContentBlock], reason: FinishReason) -> dict[str, Any]:
    """Return what the model answered."""
    return {"role": "assistant", "parts": _parts(content), "finish_reason": finish_reason(reason)}


def tool_definitions(tools: Iterable[ToolSchema]) -> list[dict[str, Any]]:
    """Return the tools of a request."""
    return [
        {"type": "function", "name": tool.name, "description": tool.description, "parameters": tool.parameters}
        for tool in tools
    ]


def response(output: str | Iterable[ToolOutputBlock]) -> str | list[dict[str, Any]]:
    """Return the output of a tool call: a text, or parts when it is more than a text."""
    if isinstance(output, str):
        return output
    parts = _parts(output)
    return parts[0]["content"] if len(parts) == 1 and parts[0]["type"] == "text" else parts


def _spoken(turn: Any) -> Iterator[dict[str, Any]]:
    if not isinstance(turn, Turn):
        yield {"role": "user", "parts": _parts(turn.content)}
        return
    if turn.said:
        yield {"role": "assistant", "parts": _parts(turn.said)}
    if turn.results:
        yield {"role": "tool", "parts": _parts(turn.results)}
    for hint in turn.hints:
        yield from _spoken(hint)


def _parts(content: Iterable[ContentBlock]) -> list[dict[str, Any]]:
    return [part for block in content if (part := _part(block)) is not None]


def _part(block: ContentBlock) -> dict[str, Any] | None:
    match block:
        case TextBlock():
            return {"type": "text", "content": block.text}
        case ThinkingBlock():
            return {"type": "reasoning", "content": block.thinking} if block.thinking else None
        case ToolUseBlock():
            return {"type": "tool_call", "id": block.id, "name": block.name, "arguments": block.input}
        case ToolResultBlock():
            return {"type": "tool_call_response", "id": block.id, "response": response(block.output)}
        case DataBlock(source=URLSource() as source):
            return {"type": "uri", **_media(source.media_type), "uri": source.url}
        case DataBlock(source=Base64Source() as source):
            return {"type": "blob", **_media(source.media_type), "content": source.data}
    return None


def _media(media_type: str | None) -> dict[str, str | None]:
    kind = (media_type or "").partition("/")[0]
    return {"mime_type": media_type, "modality": kind if kind in _MODALITIES else "document"}
