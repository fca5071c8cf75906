"""One event on one line: for people who watch the protocol, and for grep."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from itertools import accumulate
from typing import Any
from unicodedata import east_asian_width

from pydantic import BaseModel

from ..event import AgentEventType, BaseEvent

__all__ = ["event_line"]

_TYPE_WIDTH = max(map(len, AgentEventType))
_SHORT_ID = 8
"""How much of an id is shown where space is short: its end, where the ids of one process differ."""

_IDS = ("reply_id", "model_call_id", "block_id", "tool_call_id")
"""The fields that tell what an event belongs to; they come first."""
_LAST = ("source", "metadata")
_APART = {"type", "seq", "id", "created_at", *_LAST}


def event_line(event: BaseEvent, width: int | None = None) -> str:
    """Return `seq TYPE key=value key=value …`: the ids first and bare, all other values as Python writes them.

    So there is never a line break or another control character in the line. The id and time of the event, and what
    is None, are left out.

    Args:
        event: Any event.
        width: The columns of the terminal: ids are shortened to their end, and the line is cut to fit. None leaves
            everything whole.

    Example:
        `   3 TEXT_BLOCK_DELTA           reply_id=0000002a block_id=0000002c delta='17 plus'`
    """
    number = "" if event.seq is None else event.seq
    pairs = " ".join(f"{name}={_shown(name, value, width)}" for name, value in _fields(event))
    line = f"{number:>4} {_bare(event.type):<{_TYPE_WIDTH}} {pairs}".rstrip()
    return line if width is None else _cut(line, width)


def _fields(event: BaseEvent) -> Iterator[tuple[str, Any]]:
    own = [name for name in type(event).model_fields if name not in _APART]
    for name in sorted(own, key=lambda name: name not in _IDS) + list(_LAST):
        if (value := getattr(event, name)) is not None:
            yield name, value


def _shown(name: str, value: Any, width: int | None) -> str:
    if name in _IDS:
        return _bare(value if width is None else value[-_SHORT_ID:])
    return repr(_plain(value))


def _bare(text: str) -> str:
    return str(text) if text and text.isprintable() and " " not in text else repr(text)


def _plain(value: Any) -> Any:
    """The value as its JSON would hold it."""
    if isinstance(value, BaseModel):
        return value.model_dump(mode="json", exclude_none=True)
    if isinstance(value, tuple):
        return [_plain(item) for item in value]
    return str(value) if isinstance(value, str) else value


def _cut(line: str, width: int) -> str:
    columns = list(accumulate(2 if east_asian_width(character) in "WF" else 1 for character in line[: width + 1]))
    if not columns or columns[-1] <= width:
        return line
    return f"{line[: bisect_right(columns, width - 1)]}…"
