"""DashScope: a conversation as the list of messages that the API accepts.

A turn of a reply becomes one `assistant` message with all its calls, then one `tool` message for each of them. Hints,
and media that a `tool` or `assistant` message cannot carry, are sent as `user` messages after the turn. The content of
a message is a text for models of text, and a list of parts for all others; what a tool says is a text for both.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from ...message import ContentBlock, Msg, MsgRole, TextBlock, ThinkingBlock, ToolUseBlock
from ..media import MediaBlock, MediaForm
from ..turns import CallNames, Spoken, Turn, arguments_text, run_together, split_turns
from .media import MEDIA, NO_MEDIA

__all__ = ["encode_messages"]


def encode_messages(
    messages: Iterable[Msg], *, multimodal: bool = False, replay_reasoning: bool = False
) -> list[dict[str, Any]]:
    """Return the conversation as messages, what the system says first.

    Args:
        messages: the conversation; assistant messages are whole replies.
        multimodal: whether the model is one that takes more than text.
        replay_reasoning: whether turns carry their thinking as `reasoning_content`.

    Raises:
        UnsupportedContentError: a user or a hint says something that the model cannot be sent.
    """
    writer = _Writer(multimodal, replay_reasoning)
    system: list[str] = []
    encoded: list[dict[str, Any]] = []
    for item in split_turns(messages, CallNames()):
        if isinstance(item, Turn):
            encoded.extend(writer.turn(item))
        elif item.role is MsgRole.SYSTEM:
            system += [block.text for block in item.content if isinstance(block, TextBlock)]
        else:
            encoded.extend(writer.spoken(item))
    if encoded and encoded[-1]["role"] == "assistant":
        encoded[-1]["partial"] = True  # the last word is not the assistant's, unless it is to go on with it
    return [*writer.texts(MsgRole.SYSTEM, "\n\n".join(system)), *encoded]


class _Writer:
    """Writes messages for one kind of model."""

    def __init__(self, multimodal: bool, replay_reasoning: bool) -> None:
        self._multimodal = multimodal
        self._media: MediaForm = MEDIA if multimodal else NO_MEDIA
        self._replay_reasoning = replay_reasoning

    def texts(self, role: MsgRole, *texts: str) -> Iterator[dict[str, Any]]:
        """Yield a message of texts, unless they say nothing."""
        if any(texts):
            yield self._message(role, [{"text": text} for text in texts])

    def spoken(self, spoken: Spoken) -> Iterator[dict[str, Any]]:
        parts = [
            {"text": block.text} if isinstance(block, TextBlock) else self._media.part(block)
            for block in spoken.content
            if isinstance(block, TextBlock | MediaBlock)
        ]
        if parts:
            yield self._message(spoken.role, parts)

    def turn(self, turn: Turn) -> Iterator[dict[str, Any]]:
        text = run_together(block.text if isinstance(block, TextBlock) else None for block in turn.said)
        calls = turn.calls
        if text or calls:
            said = self._message(MsgRole.ASSISTANT, [{"text": text}])
            thinking = run_together(block.thinking if isinstance(block, ThinkingBlock) else None for block in turn.said)
            if self._replay_reasoning and thinking:
                said["reasoning_content"] = thinking
            if calls:
                said["tool_calls"] = [_call(call) for call in calls]
            yield said
        attached = list(self._attachment("Output of the assistant:", turn.said))
        for result in turn.results:
            yield {"role": "tool", "tool_call_id": result.id, "content": self._media.text(result.output)}
            attached += self._attachment(f"Output of the tool call {result.id} ({result.name}):", result.output)
        yield from attached
        for hint in turn.hints:
            yield from self.spoken(hint)

    def _message(self, role: MsgRole, parts: list[dict[str, Any]]) -> dict[str, Any]:
        content = parts if self._multimodal else "\n".join(part["text"] for part in parts)
        return {"role": role.value, "content": content}

    def _attachment(self, title: str, blocks: Iterable[ContentBlock]) -> Iterator[dict[str, Any]]:
        if parts := self._media.parts(blocks):
            yield self._message(MsgRole.USER, [{"text": title}, *parts])


def _call(call: ToolUseBlock) -> dict[str, Any]:
    return {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": arguments_text(call)}}
