"""OpenAI Chat Completions: a conversation as the list of messages that the protocol accepts.

A turn of a reply becomes one `assistant` message with all its calls, then one `tool` message for each of them. Hints,
and media that a `tool` or `assistant` message cannot carry, are sent as `user` messages after the turn.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any

from ...message import ContentBlock, Msg, MsgRole, TextBlock, ThinkingBlock, ToolUseBlock
from ..turns import Spoken, Turn, arguments_text, split_turns
from .media import MEDIA, content_of

__all__ = ["encode_messages"]

_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")


def encode_messages(
    messages: Iterable[Msg], *, names_speakers: bool = True, replay_reasoning: bool = False
) -> list[dict[str, Any]]:
    """Return the conversation as chat messages, those of the system first.

    Args:
        messages: the conversation; assistant messages are whole replies.
        names_speakers: whether messages say who speaks, where it is somebody of his own name.
        replay_reasoning: whether turns with tool calls carry their thinking as `reasoning_content`.

    Raises:
        UnsupportedContentError: a user or a hint says something that the protocol cannot carry.
    """
    system: list[dict[str, Any]] = []
    others: list[dict[str, Any]] = []
    for item in split_turns(messages):
        if isinstance(item, Turn):
            others.extend(_turn(item, replay_reasoning))
        else:
            (system if item.role is MsgRole.SYSTEM else others).extend(_message(item))
    spoken = system + others
    if not names_speakers:
        for message in spoken:
            message.pop("name", None)
    return spoken


def _message(spoken: Spoken) -> Iterator[dict[str, Any]]:
    if content := content_of(spoken.content):
        yield {"role": spoken.role.value, **_name(spoken.name, spoken.role), "content": content}


def _turn(turn: Turn, replay_reasoning: bool) -> Iterator[dict[str, Any]]:
    text = "\n".join(block.text for block in turn.said if isinstance(block, TextBlock))
    calls = turn.calls
    if text or calls:
        said: dict[str, Any] = {"role": "assistant", **_name(turn.name, MsgRole.ASSISTANT), "content": text or None}
        if calls:
            said["tool_calls"] = [_call(call) for call in calls]
            if replay_reasoning:
                said["reasoning_content"] = "\n".join(
                    block.thinking for block in turn.said if isinstance(block, ThinkingBlock)
                )
        yield said
    attached = list(_attachment("Output of the assistant:", turn.said))
    for result in turn.results:
        yield {"role": "tool", "tool_call_id": result.id, "content": MEDIA.text(result.output)}
        attached += _attachment(f"Output of the tool call {result.id} ({result.name}):", result.output)
    yield from attached
    for hint in turn.hints:
        yield from _message(hint)


def _name(name: str, role: MsgRole) -> dict[str, str]:
    """The speaker's name says something only when it is not that of the role, and may hold few characters."""
    return {"name": name} if name != role and _NAME.fullmatch(name) else {}


def _call(call: ToolUseBlock) -> dict[str, Any]:
    return {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": arguments_text(call)}}


def _attachment(title: str, blocks: Iterable[ContentBlock]) -> Iterator[dict[str, Any]]:
    if parts := MEDIA.parts(blocks):
        yield {"role": "user", "content": [{"type": "text", "text": title}, *parts]}
