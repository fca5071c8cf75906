"""Histories with a message for each model call and each tool result, and with one message for each reply."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import groupby
from typing import Any

from ...message import AssistantMessage, ChatUsage, Msg, MsgRole, ToolResultBlock, ToolResultMessage

__all__ = ["REPLY_ID_KEY", "merge_history", "split_history"]

REPLY_ID_KEY = "agentscope_rx_reply_id"
"""Metadata key: the id of the reply that a message is a piece of."""


def split_history(messages: Iterable[Msg]) -> Iterator[Msg]:
    """Yield the messages, every reply as one assistant message for each model call and one for each tool result."""
    for message in messages:
        if isinstance(message, AssistantMessage):
            yield from _split(message)
        else:
            yield message


def merge_history(messages: Iterable[Msg]) -> list[Msg]:
    """Return the messages, the pieces of one reply as one assistant message again."""
    merged: list[Msg] = []
    pieces: list[Msg] = []
    for message in [*messages, None]:
        if pieces and (message is None or not _continues(message, pieces[0])):
            merged.append(_merge(pieces))
            pieces = []
        if message is None:
            continue
        if pieces or isinstance(message, AssistantMessage) or _reply_id(message) is not None:
            pieces.append(message)
        else:
            merged.append(message)
    return merged


# ------------------------------------------------------------------------------------------------ apart

_ENDING = ("usage", "generate_reason", "structured_output")


def _split(reply: AssistantMessage) -> Iterator[Msg]:
    groups = _groups(reply)
    ending = {name: getattr(reply, name) for name in _ENDING}
    last = max((place for place, (cls, _) in enumerate(groups) if cls is AssistantMessage), default=len(groups) - 1)
    for place, (cls, content) in enumerate(groups):
        metadata = dict(reply.metadata or {}) if place == 0 else {}
        yield cls(
            id=reply.id if place == 0 else f"{reply.id}~{place + 1}",
            name=reply.name,
            content=content,
            metadata={**metadata, REPLY_ID_KEY: reply.id},
            timestamp=reply.timestamp,
            **(ending if place == last else {}),
        )


def _groups(reply: AssistantMessage) -> list[tuple[type[AssistantMessage | ToolResultMessage], tuple[Any, ...]]]:
    groups: list[tuple[type[AssistantMessage | ToolResultMessage], tuple[Any, ...]]] = []
    for is_result, blocks in groupby(reply.content, lambda block: isinstance(block, ToolResultBlock)):
        if is_result:
            groups += [(ToolResultMessage, (block,)) for block in blocks]
        else:
            groups.append((AssistantMessage, tuple(blocks)))
    return groups or [(AssistantMessage, ())]


# ------------------------------------------------------------------------------------------------ together


def _reply_id(message: Msg) -> str | None:
    reply_id = (message.metadata or {}).get(REPLY_ID_KEY)
    return reply_id if isinstance(reply_id, str) else None


def _continues(message: Msg, first: Msg) -> bool:
    return message.role in (MsgRole.ASSISTANT, MsgRole.TOOL) and _reply_id(message) == _reply_id(first)


def _merge(pieces: list[Msg]) -> AssistantMessage:
    first = pieces[0]
    metadata = {key: value for key, value in (first.metadata or {}).items() if key != REPLY_ID_KEY}
    outputs = [piece.structured_output for piece in pieces if piece.structured_output is not None]
    said = [piece for piece in pieces if isinstance(piece, AssistantMessage)] or pieces
    return AssistantMessage(
        id=_reply_id(first) or first.id,
        name=first.name,
        content=tuple(block for piece in pieces for block in piece.content),
        metadata=metadata or None,
        timestamp=first.timestamp,
        usage=_sum([piece.usage for piece in pieces if piece.usage is not None]),
        generate_reason=said[-1].generate_reason,
        structured_output=outputs[-1] if outputs else None,
    )


def _sum(usages: list[ChatUsage]) -> ChatUsage | None:
    if not usages:
        return None
    known = {name: [getattr(usage, name) for usage in usages] for name in ChatUsage.model_fields}
    return ChatUsage(**{name: _total(values) for name, values in known.items()})


def _total(values: list[Any]) -> Any:
    known = [value for value in values if value is not None]
    return sum(known) if known else None
