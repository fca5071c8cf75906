"""OpenAI Chat Completions: a conversation as the list of messages that the protocol accepts.

One of our assistant messages is a whole reply: thinking, text, calls, results and hints of all iterations, in the order
in which they happened. The protocol wants, for each iteration, one `assistant` message with all its calls, then one
`tool` message for each of them, in the order of the calls, and nothing in between. So:

* Text, thinking and calls join the open turn. What comes after a result or a hint begins the next turn.
* Each call gets its result, wherever in the conversation that follows it stands before the next turn; a call without
  one gets a `tool` message that says so. A result without a call is left out.
* Hints, and media that a `tool` or `assistant` message cannot carry, are sent as `user` messages after the turn.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from ...errors import UnsupportedContentError
from ...message import ContentBlock, HintBlock, Msg, MsgRole, TextBlock, ThinkingBlock, ToolResultBlock, ToolUseBlock
from .media import MediaBlock, content_of, media_part, media_type_of

__all__ = ["encode_messages"]

_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")
_NO_RESULT = "No result was recorded for this call."


def encode_messages(messages: Iterable[Msg], *, replay_reasoning: bool = False) -> list[dict[str, Any]]:
    """Return the conversation as chat messages, those of the system first.

    Args:
        messages: the conversation; assistant messages are whole replies.
        replay_reasoning: whether turns with tool calls carry their thinking as `reasoning_content`.

    Raises:
        UnsupportedContentError: a user or a hint says something that the protocol cannot carry.
    """
    writer = _Writer(replay_reasoning)
    for message in messages:
        writer.write(message)
    writer.end_turn()
    return writer.system + writer.messages


@dataclass(slots=True)
class _Turn:
    """One iteration of a reply: what the model said, and what its calls gave."""

    name: dict[str, str]
    thinking: list[str] = field(default_factory=list)
    text: list[str] = field(default_factory=list)
    calls: list[ToolUseBlock] = field(default_factory=list)
    media: list[dict[str, Any]] = field(default_factory=list)
    results: dict[str, ToolResultBlock] = field(default_factory=dict)
    hints: list[HintBlock] = field(default_factory=list)

    @property
    def is_over(self) -> bool:
        return bool(self.results or self.hints)


class _Writer:
    def __init__(self, replay_reasoning: bool) -> None:
        self.system: list[dict[str, Any]] = []
        self.messages: list[dict[str, Any]] = []
        self._replay_reasoning = replay_reasoning
        self._turn: _Turn | None = None

    def write(self, message: Msg) -> None:
        name = _name(message)
        if message.role is MsgRole.SYSTEM:
            self.system.extend(_message("system", message.content, name))
        elif message.role is MsgRole.ASSISTANT:
            for block in message.content:
                self._write_reply_block(block, name)
        else:
            for block in message.content:
                if isinstance(block, ToolResultBlock):
                    self._add_result(block)
            if said := _message("user", message.content, name):
                self.end_turn()
                self.messages.extend(said)

    def end_turn(self) -> None:
        """Write what the open turn holds."""
        turn, self._turn = self._turn, None
        if turn is None:
            return
        text = "\n".join(turn.text)
        if text or turn.calls:
            said: dict[str, Any] = {"role": "assistant", **turn.name, "content": text or None}
            if turn.calls:
                said["tool_calls"] = [_call(call) for call in turn.calls]
                if self._replay_reasoning:
                    said["reasoning_content"] = "\n".join(turn.thinking)
            self.messages.append(said)
        attached = _attachment("Output of the assistant:", turn.media)
        for call in turn.calls:
            result = turn.results.get(call.id)
            output, parts = (_NO_RESULT, []) if result is None else _output(result)
            self.messages.append({"role": "tool", "tool_call_id": call.id, "content": output})
            attached += _attachment(f"Output of the tool call {call.id} ({call.name}):", parts)
        self.messages.extend(attached)
        for hint in turn.hints:
            self.messages.extend(_message("user", _hint(hint), {}))

    def _write_reply_block(self, block: ContentBlock, name: dict[str, str]) -> None:
        match block:
            case ToolResultBlock():
                self._add_result(block)
            case HintBlock():
                if self._turn is None:
                    self._turn = _Turn(name)
                self._turn.hints.append(block)
            case ThinkingBlock(thinking=thinking):
                self._speaking(name).thinking.append(thinking)
            case TextBlock(text=text):
                if text:
                    self._speaking(name).text.append(text)
            case ToolUseBlock():
                self._speaking(name).calls.append(block)
            case _:
                self._speaking(name).media.extend(_carried(block))

    def _speaking(self, name: dict[str, str]) -> _Turn:
        if self._turn is None or self._turn.is_over:
            self.end_turn()
            self._turn = _Turn(name)
        return self._turn

    def _add_result(self, result: ToolResultBlock) -> None:
        if self._turn is not None and any(call.id == result.id for call in self._turn.calls):
            self._turn.results.setdefault(result.id, result)


def _message(role: str, blocks: Iterable[ContentBlock], name: dict[str, str]) -> list[dict[str, Any]]:
    content = content_of(blocks)
    return [{"role": role, **name, "content": content}] if content else []


def _name(message: Msg) -> dict[str, str]:
    """The speaker's name says something only when it is not that of the role, and may hold few characters."""
    return {"name": message.name} if message.name != message.role and _NAME.fullmatch(message.name) else {}


def _hint(block: HintBlock) -> Sequence[ContentBlock]:
    return (TextBlock(block.hint),) if isinstance(block.hint, str) else block.hint


def _call(call: ToolUseBlock) -> dict[str, Any]:
    return {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": _arguments(call)}}


def _arguments(call: ToolUseBlock) -> str:
    """What the model wrote if that is an object of strict JSON: some servers refuse a history with anything else."""
    try:
        if isinstance(json.loads(call.raw_input, parse_constant=_refuse), dict):
            return call.raw_input
    except (ValueError, RecursionError):
        pass
    try:
        return json.dumps(call.input, ensure_ascii=False, allow_nan=False)
    except ValueError:
        return "{}"


def _refuse(constant: str) -> None:
    raise ValueError(f"{constant} is no JSON")


def _output(result: ToolResultBlock) -> tuple[str, list[dict[str, Any]]]:
    """Return what the tool message says, and the parts that only a user message can carry."""
    lines: list[str] = []
    parts: list[dict[str, Any]] = []
    for block in result.output:
        if isinstance(block, TextBlock):
            lines.append(block.text)
        else:
            carried = _carried(block)
            lines.append(f"[{media_type_of(block)}: {'see the next message' if carried else 'cannot be shown here'}]")
            parts.extend(carried)
    return "\n".join(lines), parts


def _carried(block: MediaBlock) -> list[dict[str, Any]]:
    """Output that cannot be sent must not end the conversation that it is part of, so nothing is raised for it."""
    try:
        return [media_part(block)]
    except UnsupportedContentError:
        return []


def _attachment(title: str, parts: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [{"role": "user", "content": [{"type": "text", "text": title}, *parts]}] if parts else []
