"""A conversation as the turns that providers accept, before any wire form.

One of our assistant messages is a whole reply: thinking, text, calls, results and hints of all iterations, in the order
in which they happened. Every protocol wants, for each iteration, what the model said with all its calls, then the
results of these calls, and nothing in between. So:

* Text, thinking and calls join the open turn. What comes after a result or a hint begins the next turn.
* Each call gets its result, wherever in the conversation that follows it stands before the next turn; a call without
  one gets a result that says so. A result without a call is left out.
* Hints follow the results; the user said them, as far as a provider can tell.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TypeAlias

from ..message import (
    ContentBlock,
    HintBlock,
    Msg,
    MsgRole,
    TextBlock,
    ThinkingBlock,
    ToolResultBlock,
    ToolResultState,
    ToolUseBlock,
    parse_arguments,
)

__all__ = [
    "NO_RESULT",
    "CallNames",
    "Rename",
    "Spoken",
    "Turn",
    "arguments_text",
    "has_failed",
    "run_together",
    "split_turns",
]

NO_RESULT = "No result was recorded for this call."
"""What the model is told of a call that has no result."""


@dataclass(frozen=True, slots=True)
class Spoken:
    """What the user says, or the system."""

    role: MsgRole
    """USER or SYSTEM."""
    name: str
    """Who speaks; the role, when it has no name."""
    content: tuple[ContentBlock, ...]
    """Text and media; no text is empty."""


@dataclass(frozen=True, slots=True)
class Turn:
    """One iteration of a reply: what the model said, what its calls gave, and what it was told then."""

    name: str
    """The agent; the role, when it has no name."""
    said: tuple[ContentBlock, ...]
    """Thinking, text, media and calls, in order; nothing that is empty."""
    results: tuple[ToolResultBlock, ...]
    """The result of every call, in the order of the calls."""
    hints: tuple[Spoken, ...]
    """The hints after the results."""

    @property
    def calls(self) -> list[ToolUseBlock]:
        """The calls, in order; the result of each has the same place among `results`."""
        return [block for block in self.said if isinstance(block, ToolUseBlock)]


Rename: TypeAlias = Callable[[ToolUseBlock], ToolUseBlock]
"""Gives a call the id and the name that it has in the request."""


def split_turns(messages: Iterable[Msg], rename: Rename = lambda call: call) -> Iterator[Spoken | Turn]:
    """Yield a conversation as what was said and the turns of the replies, in order.

    Args:
        messages: the conversation; assistant messages are whole replies.
        rename: gives each call, in order, another id or name; its result has them too.
    """
    turn: _OpenTurn | None = None
    for message in messages:
        if message.role is MsgRole.ASSISTANT:
            for block in message.content:
                if isinstance(block, ToolResultBlock):
                    if turn is not None:
                        turn.answer(block)
                elif isinstance(block, HintBlock):
                    turn = turn or _OpenTurn(message.name)
                    turn.hints.append(_spoken(block))
                elif not _is_empty(block):
                    if turn is not None and turn.is_over:
                        yield turn.close(rename)
                        turn = None
                    turn = turn or _OpenTurn(message.name)
                    turn.said.append(block)
            continue
        for block in message.content:
            if isinstance(block, ToolResultBlock) and turn is not None:
                turn.answer(block)
        role = message.role if message.role is MsgRole.SYSTEM else MsgRole.USER
        content = tuple(b for b in message.content if not (isinstance(b, ToolResultBlock) or _is_empty(b)))
        if content:
            if turn is not None and role is MsgRole.USER:
                yield turn.close(rename)
                turn = None
            yield Spoken(role, message.name, content)
    if turn is not None:
        yield turn.close(rename)


@dataclass(slots=True)
class _OpenTurn:
    name: str
    said: list[ContentBlock] = field(default_factory=list)
    results: dict[str, ToolResultBlock] = field(default_factory=dict)
    hints: list[Spoken] = field(default_factory=list)

    @property
    def is_over(self) -> bool:
        return bool(self.results or self.hints)

    def answer(self, result: ToolResultBlock) -> None:
        """Take the result of a call, if the call was made in this turn; the first result counts."""
        if any(isinstance(block, ToolUseBlock) and block.id == result.id for block in self.said):
            self.results.setdefault(result.id, result)

    def close(self, rename: Rename) -> Turn:
        said: list[ContentBlock] = []
        results: list[ToolResultBlock] = []
        for block in self.said:
            if isinstance(block, ToolUseBlock):
                result = self.results.get(block.id) or ToolResultBlock(
                    id=block.id, name=block.name, output=(TextBlock(NO_RESULT),), state=ToolResultState.ERROR
                )
                block = rename(block)
                results.append(result.model_copy(update={"id": block.id, "name": block.name}))
            said.append(block)
        return Turn(self.name, tuple(said), tuple(results), tuple(self.hints))


def _spoken(hint: HintBlock) -> Spoken:
    content = (TextBlock(hint.hint),) if isinstance(hint.hint, str) else hint.hint
    return Spoken(MsgRole.USER, MsgRole.USER, tuple(block for block in content if not _is_empty(block)))


def _is_empty(block: ContentBlock) -> bool:
    if isinstance(block, ThinkingBlock):
        return not (block.thinking or block.signature or block.redacted_data or block.metadata)
    return isinstance(block, TextBlock) and not block.text


class CallNames:
    """Names the calls of a conversation so that a strict protocol takes them, and leaves alone what it takes anyhow.

    A history may come from anywhere: from a server that numbers the calls of each reply anew, or from a model that made
    up the name of a tool. Strict protocols refuse such a history for ever: an id is short, of letters, digits, `_` and
    `-`, and that of one call; a name likewise, but for many calls.
    """

    def __init__(self) -> None:
        self._uses: dict[str, int] = {}

    def __call__(self, call: ToolUseBlock) -> ToolUseBlock:
        """Return the call with the id and the name to send; calls are named in the order of the conversation."""
        id, name = self._unused(_word(call.id) or "call"), _word(call.name) or "unknown"
        return call if (id, name) == (call.id, call.name) else call.model_copy(update={"id": id, "name": name})

    def _unused(self, id: str) -> str:
        candidate = id
        while candidate in self._uses:
            self._uses[id] += 1
            suffix = f"-{self._uses[id]}"
            candidate = id[: _LONGEST_WORD - len(suffix)] + suffix
        self._uses[candidate] = 1
        return candidate


_LONGEST_WORD = 64
_NO_WORD = re.compile(r"[^A-Za-z0-9_-]")


def _word(text: str) -> str:
    return _NO_WORD.sub("_", text)[:_LONGEST_WORD]


def run_together(texts: Iterable[str | None]) -> str:
    r"""Return the texts of a turn as one, for a protocol that has one for all of them; None is anything but a text.

    Texts side by side were apart, and a `\n` keeps them so. Where something else came between, the text went on.
    """
    joined: list[str] = []
    before: str | None = None
    for text in texts:
        if text is not None:
            joined += ("\n", text) if before is not None else (text,)
        before = text
    return "".join(joined)


def has_failed(result: ToolResultBlock) -> bool:
    """Whether a result tells why there is none: the call failed, was denied or was interrupted."""
    return result.state not in (ToolResultState.SUCCESS, ToolResultState.RUNNING)


def arguments_text(call: ToolUseBlock) -> str:
    """Return the arguments of a call as an object of strict JSON, as the model wrote them if that is one.

    Servers refuse a history that holds anything else, and would do so for ever.
    """
    with suppress(ValueError):
        if parse_arguments(call.raw_input):
            return call.raw_input
    with suppress(ValueError, RecursionError):
        text = json.dumps(call.input, ensure_ascii=False)
        parse_arguments(text)
        return text
    return "{}"
