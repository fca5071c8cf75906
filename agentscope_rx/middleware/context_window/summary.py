"""What a model is asked for, to sum up the part of a conversation that is left out."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Sequence

from ...message import (
    ContentBlock,
    HintBlock,
    Msg,
    SystemMessage,
    TextBlock,
    ThinkingBlock,
    ToolResultBlock,
    ToolUseBlock,
    UserMessage,
)

__all__ = ["summary_message", "summary_request"]

_TASK = (
    "Sum up the conversation below, so that it can go on with your summary in its place. Keep what the user wants, "
    "facts, names, numbers, decisions, what was done and found, and what is still to do. Write only the summary."
)
_RESULT = 2000
"""Characters that a tool result is given; of a longer one the beginning and the end."""


def summary_request(earlier: str, left_out: Iterable[Msg], fits: Callable[[Sequence[Msg]], bool]) -> tuple[Msg, ...]:
    """Return the request for a summary; of what is too long even for that, of its end and the summary before.

    Args:
        earlier: The summary of what was left out before; "" for none.
        left_out: What is left out now.
        fits: Whether a request is short enough.
    """
    lines = [line for message in left_out for line in _lines(message)]
    before = [f"Earlier summary: {earlier}"] if earlier else []
    while not fits(request := _request(before + lines)) and len(lines) > 1:
        lines = lines[len(lines) // 4 + 1 :]
    return request


def _request(lines: Iterable[str]) -> tuple[Msg, ...]:
    return SystemMessage("system", _TASK), UserMessage("\n".join(lines))


def summary_message(summary: str) -> Msg:
    """Return what the model is told in the place of what is left out."""
    return UserMessage(f"Summary of the conversation so far:\n{summary}")


def _lines(message: Msg) -> Iterator[str]:
    for block in message.content:
        if text := _text(block):
            yield f"{message.name or message.role.value}: {text}"


def _text(block: ContentBlock) -> str:
    match block:
        case TextBlock():
            return block.text
        case ThinkingBlock():
            return ""
        case ToolUseBlock():
            return f"[calls {block.name} {json.dumps(block.input, ensure_ascii=False)}]"
        case ToolResultBlock():
            return f"[result of {block.name}: {_shortened(' '.join(filter(None, map(_text, block.output))))}]"
        case HintBlock():
            return block.hint if isinstance(block.hint, str) else " ".join(filter(None, map(_text, block.hint)))
    return f"[{block.type}]"


def _shortened(text: str) -> str:
    return text if len(text) <= _RESULT else f"{text[: _RESULT // 2]} … {text[-_RESULT // 2 :]}"
