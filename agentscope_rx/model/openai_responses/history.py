"""OpenAI Responses: a conversation as the instructions and the list of input items that the protocol accepts.

A turn of a reply becomes the items that it came as: reasoning, messages, calls and the provider's own work, with their
ids, in order; then the outputs of the calls. What the API would refuse for ever is left out:

* reasoning that the provider can neither read nor has stored, and reasoning that nothing followed;
* the ids of what followed reasoning that was left out: the provider would look for it;
* work that waits for an output that nobody gives, such as a click in a browser.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from ...message import Base64Source, ContentBlock, DataBlock, Msg, MsgRole, TextBlock, ThinkingBlock, ToolUseBlock
from ..media import MediaBlock, placeholder
from ..native import native_part
from ..profiles import OPENAI
from ..turns import CallNames, Spoken, Turn, arguments_text, split_turns
from .items import TEXT_OF_PART
from .media import MEDIA

__all__ = ["encode_conversation"]


def encode_conversation(messages: Iterable[Msg], *, stored: bool = False) -> tuple[str, list[dict[str, Any]]]:
    """Return the instructions, "" when there are none, and the input items.

    Args:
        messages: the conversation; assistant messages are whole replies.
        stored: whether the provider stores what it says, and so finds its reasoning by id.

    Raises:
        UnsupportedContentError: a user or a hint says something that the protocol cannot carry.
    """
    turns = list(split_turns(messages, CallNames()))
    pairs = _Pairs(turns)
    instructions: list[str] = []
    items: list[dict[str, Any]] = []
    for turn in turns:
        if isinstance(turn, Turn):
            items += _recognisable(_said(turn, pairs), stored)
            items += _answers(turn)
        elif turn.role is MsgRole.SYSTEM:
            instructions += [block.text for block in turn.content if isinstance(block, TextBlock)]
        else:
            items += _spoken(turn)
    return "\n\n".join(instructions), items


# ------------------------------------------------------------------------------------------------ what the model said


@dataclass(slots=True)
class _Said:
    """An item of a turn."""

    item: dict[str, Any]
    """The item, as it will be sent."""
    is_own: bool
    """Whether the provider knows it by its id."""

    @property
    def is_reasoning(self) -> bool:
        return bool(self.item["type"] == "reasoning")

    def goes_on(self, own: dict[str, Any]) -> bool:
        """Whether a block is one more part of this item."""
        id = own.get("id")
        return id is not None and (self.item["type"], self.item.get("id")) == (own.get("type"), id)


def _said(turn: Turn, pairs: _Pairs) -> list[_Said]:
    said: list[_Said] = []
    for block in turn.said:
        own = native_part(block, OPENAI.name, "item")
        if isinstance(block, TextBlock):
            _add_text(said, block, own)
        elif isinstance(block, ToolUseBlock):
            call = {"call_id": block.id, "name": block.name, "arguments": arguments_text(block)}
            said.append(_Said({**own, "type": "function_call", **call}, bool(own.get("id"))))
        elif isinstance(block, DataBlock) and own and isinstance(block.source, Base64Source):
            said.append(_Said({**own, "result": block.source.data}, True))
        elif isinstance(block, ThinkingBlock) and own.get("type") == "reasoning":
            _add_reasoning(said, block, own)
        elif isinstance(block, ThinkingBlock) and own and pairs.is_whole(own):
            said.append(_Said(own, True))
    return said


def _add_text(said: list[_Said], block: TextBlock, own: dict[str, Any]) -> None:
    if not own.get("id"):
        said.append(_Said({"type": "message", "role": "assistant", "content": block.text}, False))
        return
    part = {"type": "output_text", **native_part(block, OPENAI.name, "part")}
    part[TEXT_OF_PART.get(part["type"], "text")] = block.text
    if part["type"] == "output_text":
        part.setdefault("annotations", [])
    if not (said and said[-1].goes_on(own)):
        said.append(_Said({"status": "completed", "role": "assistant", "content": []}, True))
    item = said[-1].item
    item.update(own)
    item["content"].append(part)


def _add_reasoning(said: list[_Said], block: ThinkingBlock, own: dict[str, Any]) -> None:
    if not (said and said[-1].goes_on(own)):
        said.append(_Said({"summary": []}, True))
    item = said[-1].item
    item.update(own)
    if part := native_part(block, OPENAI.name, "part"):
        place = item["summary"] if part.get("type") == "summary_text" else item.setdefault("content", [])
        place.append({**part, "text": block.thinking})
    if block.redacted_data:
        item["encrypted_content"] = block.redacted_data


def _recognisable(said: Sequence[_Said], stored: bool) -> Iterator[dict[str, Any]]:
    """Yield the items of a turn without reasoning that is lost, and what that led to without an id, if it can be."""
    lost: set[int] = set()
    followed = False
    for place in reversed(range(len(said))):
        entry = said[place]
        if entry.is_reasoning and not (followed and _is_readable(entry.item, stored)):
            lost.add(place)
        followed = entry.is_own and place not in lost
    severed = False
    for place, entry in enumerate(said):
        if entry.is_reasoning:
            severed = place in lost
        if not (severed and entry.is_own):
            yield entry.item
        elif entry.item["type"] == "message" or "call_id" in entry.item:
            yield {name: value for name, value in entry.item.items() if name != "id"}


def _is_readable(reasoning: dict[str, Any], stored: bool) -> bool:
    return stored or bool(reasoning.get("encrypted_content") or reasoning.get("content"))


class _Pairs:
    """The provider's own work that somebody else must give the output of, and the outputs, paired by call id."""

    def __init__(self, turns: Sequence[Spoken | Turn]) -> None:
        own = [
            native_part(block, OPENAI.name, "item") for turn in turns if isinstance(turn, Turn) for block in turn.said
        ]
        self._given = {item.get("call_id") for item in own if _is_output(item)}
        self._asked = {item.get("call_id") for item in own if not _is_output(item)}

    def is_whole(self, item: dict[str, Any]) -> bool:
        """Whether an item has its counterpart, or needs none."""
        call = item.get("call_id")
        return call is None or call in (self._asked if _is_output(item) else self._given)


def _is_output(item: dict[str, Any]) -> bool:
    return str(item.get("type")).endswith("_output")


# ------------------------------------------------------------------------------------------------ what it was told


def _answers(turn: Turn) -> Iterator[dict[str, Any]]:
    for result in turn.results:
        yield {"type": "function_call_output", "call_id": result.id, "output": _content(result.output, MEDIA.parts)}
    made = [block for block in turn.said if not native_part(block, OPENAI.name, "item")]
    if parts := MEDIA.parts(made):
        yield _message([{"type": "input_text", "text": "Output of the assistant:"}, *parts])
    for hint in turn.hints:
        yield from _spoken(hint)


def _spoken(spoken: Spoken) -> Iterator[dict[str, Any]]:
    if content := _content(spoken.content, lambda blocks: [MEDIA.part(block) for block in blocks]):
        yield _message(content)


def _message(content: Any) -> dict[str, Any]:
    return {"type": "message", "role": "user", "content": content}


def _content(
    blocks: Iterable[ContentBlock], carry: Callable[[list[MediaBlock]], list[dict[str, Any]]]
) -> str | list[dict[str, Any]]:
    """Return text and media; text alone is one string, the form that every server takes."""
    parts: list[dict[str, Any]] = []
    for block in blocks:
        if isinstance(block, TextBlock):
            parts.append({"type": "input_text", "text": block.text})
        elif isinstance(block, MediaBlock):
            parts += carry([block]) or [{"type": "input_text", "text": placeholder(block)}]
    if all(part["type"] == "input_text" for part in parts):
        return "\n".join(part["text"] for part in parts)
    return parts
