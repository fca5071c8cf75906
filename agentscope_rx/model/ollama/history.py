"""Ollama: a conversation as the list of messages that the server accepts.

A turn of a reply becomes one `assistant` message with its thinking and its calls, then one `tool` message for each of
them, which names the tool and, if the server gave one, the id of the call. Images stand beside the text of a message.
Hints, and images that a tool or the assistant made, are sent as `user` messages after the turn.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from ...message import (
    ContentBlock,
    Msg,
    MsgRole,
    TextBlock,
    ThinkingBlock,
    ToolUseBlock,
    parse_arguments,
)
from ..media import MediaBlock
from ..native import native_part
from ..profiles import OLLAMA_NATIVE
from ..turns import Spoken, Turn, arguments_text, run_together, split_turns
from .media import MEDIA

__all__ = ["encode_messages"]


def encode_messages(messages: Iterable[Msg]) -> list[dict[str, Any]]:
    """Return the conversation as messages, those of the system first.

    Args:
        messages: the conversation; assistant messages are whole replies.

    Raises:
        UnsupportedContentError: a user or a hint says something that the protocol cannot carry.
    """
    system: list[dict[str, Any]] = []
    others: list[dict[str, Any]] = []
    for item in split_turns(messages):
        if isinstance(item, Turn):
            others.extend(_turn(item))
        else:
            (system if item.role is MsgRole.SYSTEM else others).extend(_spoken(item))
    return system + others


def _spoken(spoken: Spoken) -> Iterator[dict[str, Any]]:
    text = "\n".join(block.text for block in spoken.content if isinstance(block, TextBlock))
    parts = [MEDIA.part(block) for block in spoken.content if isinstance(block, MediaBlock)]
    if text or parts:
        yield _message(spoken.role.value, text, parts)


def _message(role: str, text: str, parts: list[dict[str, Any]]) -> dict[str, Any]:
    return {"role": role, "content": text, **({"images": [part["image"] for part in parts]} if parts else {})}


def _turn(turn: Turn) -> Iterator[dict[str, Any]]:
    text = run_together(block.text if isinstance(block, TextBlock) else None for block in turn.said)
    thinking = run_together(block.thinking if isinstance(block, ThinkingBlock) else None for block in turn.said)
    calls = turn.calls
    if text or calls:
        yield {
            "role": "assistant",
            "content": text,
            **({"thinking": thinking} if thinking else {}),
            **({"tool_calls": [_call(call) for call in calls]} if calls else {}),
        }
    attached = list(_attachment("Output of the assistant:", turn.said))
    for call, result in zip(calls, turn.results, strict=True):
        id = native_part(call, OLLAMA_NATIVE.name, "call").get("id")
        yield {
            "role": "tool",
            "content": MEDIA.text(result.output),
            "tool_name": result.name,
            **({"tool_call_id": id} if id else {}),
        }
        attached += _attachment(f"Output of the tool {result.name}:", result.output)
    yield from attached
    for hint in turn.hints:
        yield from _spoken(hint)


def _call(call: ToolUseBlock) -> dict[str, Any]:
    own = native_part(call, OLLAMA_NATIVE.name, "call")
    arguments = parse_arguments(arguments_text(call))
    return {**own, "function": {**own.get("function", {}), "name": call.name, "arguments": arguments}}


def _attachment(title: str, blocks: Iterable[ContentBlock]) -> Iterator[dict[str, Any]]:
    if parts := MEDIA.parts(blocks):
        yield _message(MsgRole.USER.value, title, parts)
