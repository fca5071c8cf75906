"""How many tokens a request has, about."""

from __future__ import annotations

import json
from collections.abc import Iterable

from ...message import ContentBlock, HintBlock, Msg, TextBlock, ThinkingBlock, ToolResultBlock, ToolUseBlock
from ...tools import ToolSchema

__all__ = ["estimate_tokens"]

_ASCII_PER_TOKEN = 4
"""Characters of English, code and JSON in a token; of any other writing it is about one."""
_MESSAGE = 4
"""What frames a message or a block."""
_MEDIA = 1500
"""A picture of about a million pixels, or a page or two of a document."""


def estimate_tokens(messages: Iterable[Msg], tools: Iterable[ToolSchema] = ()) -> int:
    """Return about how many tokens a request has, without the tokenizer of any model; O(size of the request).

    Real counts differ by a fifth or so, more for code and rare scripts; media count as 1,500 each.
    """
    content = sum(_MESSAGE + _content(message.content) for message in messages)
    return content + sum(_MESSAGE + _text(tool.description) + _text(json.dumps(tool.parameters)) for tool in tools)


def _content(blocks: Iterable[ContentBlock]) -> int:
    return sum(_MESSAGE + _block(block) for block in blocks)


def _block(block: ContentBlock) -> int:
    match block:
        case TextBlock():
            return _text(block.text)
        case ThinkingBlock():
            return _text(block.thinking) + _text(block.signature or "")
        case ToolUseBlock():
            return _text(block.name) + _text(block.raw_input or json.dumps(block.input, ensure_ascii=False))
        case ToolResultBlock():
            return _content(block.output)
        case HintBlock():
            return _text(block.hint) if isinstance(block.hint, str) else _content(block.hint)
    return _MEDIA


def _text(text: str) -> int:
    if text.isascii():
        return -(-len(text) // _ASCII_PER_TOKEN)
    ascii_characters = len(text.encode("ascii", "ignore"))
    return len(text) - ascii_characters + -(-ascii_characters // _ASCII_PER_TOKEN)
