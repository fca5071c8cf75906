"""Anthropic Messages: a conversation as the system prompt and the list of messages that the protocol accepts.

Messages alternate between `user` and `assistant`, and each is a list of content blocks. A turn of a reply becomes one
`assistant` message with its thinking, text, calls and the provider's own work, in order and as they came; the results
of the calls begin the `user` message after it. What the API would refuse for ever is left out:

* thinking without a proof, or with another provider's, and thinking at the end of a message;
* text of nothing but white space, and white space at the very end;
* work of the provider that was cut off: a search without what it found, unless the provider may still go on with it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from ...message import ContentBlock, Msg, MsgRole, TextBlock, ThinkingBlock, ToolResultBlock, ToolUseBlock
from ..media import MediaBlock, placeholder
from ..native import is_foreign, native_part
from ..profiles import ANTHROPIC
from ..turns import CallNames, Spoken, Turn, has_failed, split_turns
from .media import MEDIA

__all__ = ["encode_messages"]

_THINKING = ("thinking", "redacted_thinking")
_NOTHING_SAID = "The call gave no reason."


def encode_messages(messages: Iterable[Msg]) -> tuple[str, list[dict[str, Any]]]:
    """Return the system prompt, "" when there is none, and the messages.

    Raises:
        UnsupportedContentError: a user or a hint says something that the protocol cannot carry.
    """
    items = list(split_turns(messages, CallNames()))
    work = _Work(items)
    system: list[str] = []
    writer = _Writer()
    for item in items:
        if isinstance(item, Turn):
            writer.say("assistant", _without_last_thoughts(_said(item, work)))
            writer.say("user", _answers(item))
        elif item.role is MsgRole.SYSTEM:
            system += [block.text for block in item.content if isinstance(block, TextBlock)]
        else:
            writer.say("user", _spoken(item))
    return "\n\n".join(system), writer.close()


class _Writer:
    """Puts blocks into messages that alternate."""

    def __init__(self) -> None:
        self._messages: list[dict[str, Any]] = []

    def say(self, role: str, blocks: Iterable[dict[str, Any]]) -> None:
        content = list(blocks)
        if not content:
            return
        if self._messages and self._messages[-1]["role"] == role:
            self._messages[-1]["content"] += content
        else:
            self._messages.append({"role": role, "content": content})

    def close(self) -> list[dict[str, Any]]:
        """Return the messages; a reply that the model is to go on with must not end in white space."""
        if self._messages and self._messages[-1]["role"] == "assistant":
            last = self._messages[-1]["content"][-1]
            if last["type"] == "text":
                last["text"] = last["text"].rstrip()
        return self._messages


class _Work:
    """What the provider did itself in a conversation: blocks of calls and blocks of results, paired by id."""

    def __init__(self, items: Sequence[Spoken | Turn]) -> None:
        blocks = [
            native_part(block, ANTHROPIC.name, "block")
            for turn in items
            if isinstance(turn, Turn)
            for block in turn.said
        ]
        self._made = {block.get("id") for block in blocks}
        self._answered = {block.get("tool_use_id") for block in blocks}
        last = items[-1] if items else None
        self._unfinished = last if isinstance(last, Turn) and not (last.hints or MEDIA.parts(last.said)) else None

    def is_whole(self, block: dict[str, Any], turn: Turn) -> bool:
        """Whether a block of a turn has its counterpart, or needs none, or may still get one."""
        if (call := block.get("tool_use_id")) is not None:
            return call in self._made
        return (
            not str(block.get("type")).endswith("tool_use")
            or block.get("id") in self._answered
            or turn is self._unfinished
        )


def _said(turn: Turn, work: _Work) -> Iterator[dict[str, Any]]:
    for block in turn.said:
        if isinstance(block, TextBlock):
            yield from _text(block)
        elif isinstance(block, ToolUseBlock):
            own = native_part(block, ANTHROPIC.name, "block")
            yield {"type": "tool_use", "id": block.id, "name": block.name, "input": block.input, **own}
        elif isinstance(block, ThinkingBlock) and not is_foreign(block, ANTHROPIC.name):
            own = native_part(block, ANTHROPIC.name, "block")
            if block.redacted_data:
                yield {"type": "redacted_thinking", "data": block.redacted_data}
            elif block.signature:
                yield {"type": "thinking", "thinking": block.thinking, "signature": block.signature}
            elif own and work.is_whole(own, turn):
                yield own


def _without_last_thoughts(blocks: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    said = list(blocks)
    while said and said[-1]["type"] in _THINKING:
        said.pop()
    return said


def _text(block: TextBlock) -> Iterator[dict[str, Any]]:
    if not block.text.isspace():
        yield {"type": "text", "text": block.text, **native_part(block, ANTHROPIC.name, "block")}


def _answers(turn: Turn) -> Iterator[dict[str, Any]]:
    for result in turn.results:
        yield _result(result)
    if carried := MEDIA.parts(turn.said):
        yield from ({"type": "text", "text": "Output of the assistant:"}, *carried)
    for hint in turn.hints:
        yield from _spoken(hint)


def _spoken(spoken: Spoken) -> Iterator[dict[str, Any]]:
    for block in spoken.content:
        if isinstance(block, MediaBlock):
            yield MEDIA.part(block)
        elif isinstance(block, TextBlock):
            yield from _text(block)


def _result(result: ToolResultBlock) -> dict[str, Any]:
    """What failed is told in text, and not without a word: the API takes nothing else."""
    encoded: dict[str, Any] = {"type": "tool_result", "tool_use_id": result.id}
    failed = has_failed(result)
    if content := [part for block in result.output for part in _output(block, textual=failed)]:
        encoded["content"] = content
    elif failed:
        encoded["content"] = [{"type": "text", "text": _NOTHING_SAID}]
    return {**encoded, "is_error": True} if failed else encoded


def _output(block: ContentBlock, *, textual: bool) -> Iterator[dict[str, Any]]:
    if isinstance(block, TextBlock):
        yield from _text(block)
    elif isinstance(block, MediaBlock):
        yield from ([] if textual else MEDIA.parts([block])) or [{"type": "text", "text": placeholder(block)}]
