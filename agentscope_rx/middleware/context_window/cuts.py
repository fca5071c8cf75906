"""Where a conversation may be cut: between turns, so that a call and its result, and an answer and its question, stay
together."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ...message import ContentBlock, HintBlock, Msg, MsgRole, ToolResultBlock

__all__ = ["Piece", "cuts", "kept", "pieces"]


@dataclass(frozen=True, slots=True)
class Piece:
    """What stays together: a message, or one iteration of a reply with the results of its calls."""

    message: Msg
    """The message, or the part of it."""
    number: int
    """Its place in the message, from 0."""

    @property
    def key(self) -> tuple[str, int]:
        """What it is found by again when the conversation has grown."""
        return self.message.id, self.number

    @property
    def is_question(self) -> bool:
        """Whether an exchange begins here."""
        return self.message.role is MsgRole.USER and not _only_results(self.message)


def pieces(messages: Sequence[Msg]) -> list[Piece]:
    """Return a conversation piece by piece; it has no system messages any more."""
    return [
        Piece(_part(message, content), number)
        for message in messages
        for number, content in enumerate(_iterations(message))
    ]


def cuts(conversation: Sequence[Piece]) -> list[int]:
    """Return where the kept part may begin, as indices of pieces, the least that is left out first.

    It begins with a question; or within the last exchange, whose question is then kept before it.
    """
    questions = [index for index, piece in enumerate(conversation) if piece.is_question]
    last = questions[-1] if questions else -1
    inside = [
        index
        for index in range(last + 2, len(conversation))
        if conversation[index].message.role is MsgRole.ASSISTANT  # what follows an answer of the last exchange
    ]
    return [index for index in questions if index > 0] + inside


def kept(conversation: Sequence[Piece], begin: int) -> list[Msg]:
    """Return the messages from a cut on, after the question that they answer; the parts of a message are joined."""
    rest = list(conversation[begin:])
    if not rest[0].is_question:
        question = next((piece for piece in reversed(conversation[:begin]) if piece.is_question), None)
        rest = rest if question is None else [question, *rest]
    return list(_joined(rest))


def _iterations(message: Msg) -> Iterator[tuple[ContentBlock, ...]]:
    """Yield the content of a message: whole, but that of a reply iteration by iteration."""
    if message.role is not MsgRole.ASSISTANT:
        yield message.content
        return
    open_part: list[ContentBlock] = []
    settled = False
    for block in message.content:
        follows = isinstance(block, ToolResultBlock | HintBlock)
        if settled and not follows:
            yield tuple(open_part)
            open_part, settled = [], False
        open_part.append(block)
        settled = settled or isinstance(block, ToolResultBlock)
    yield tuple(open_part)


def _part(message: Msg, content: tuple[ContentBlock, ...]) -> Msg:
    return message if len(content) == len(message.content) else message.with_content(*content)


def _joined(parts: Sequence[Piece]) -> Iterator[Msg]:
    begin = 0
    for end in range(1, len(parts) + 1):
        if end < len(parts) and _goes_on(parts[end - 1], parts[end]):
            continue
        together = parts[begin:end]
        begin = end
        if len(together) == 1:
            yield together[0].message
        else:
            yield together[0].message.with_content(*(block for piece in together for block in piece.message.content))


def _goes_on(piece: Piece, next: Piece) -> bool:
    """Whether the next piece is of the same message."""
    return piece.message.id == next.message.id and next.number > piece.number


def _only_results(message: Msg) -> bool:
    return bool(message.content) and all(isinstance(block, ToolResultBlock) for block in message.content)
