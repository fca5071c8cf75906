"""Which tool call does a piece of a stream belong to?

Providers disagree about what identifies a call: an index, an id, both, neither, one index for all calls, an id once or
on every piece, `""` for "none". `ToolCallJoiner` decides by what a piece has; the first line that fits counts:

| the piece has | it belongs to |
|---|---|
| a known id | the call with that id, unless the piece has a name and the index of another call |
| a new id | the call at its index (without an index: the open call) if that still lacks an id; else a new call |
| a known index | the call last begun at that index, unless the piece clearly begins another |
| an unknown index and a name | a new call |
| an unknown index, no name | the open call, if its arguments are not whole; else a new call |
| only a name | the open call, unless the piece clearly begins another |
| only arguments | the open call; if there is none the piece is ignored, with a warning in the log |

The open call is the one that the last piece went to. A piece clearly begins another call when it has a name, and so has
the call already, and the names differ, or both stand in one frame, or the call's arguments are whole and the piece
brings other ones. A piece that says the whole arguments of its call once more (some providers send them again at the
end) adds nothing. What comes before the name of a call is held back until the name is known.
"""

from __future__ import annotations

import json
import logging
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from ..message import parse_arguments
from .characters import whole_characters
from .types import ToolCallPiece

__all__ = ["RawCall", "ToolCallJoiner", "raw_calls"]

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class RawCall:
    """A piece of a tool call as a frame has it; anything may be missing, None or ""."""

    index: int | None = None
    """The number of the call in its message."""
    id: str | None = None
    """The id of the call."""
    name: str | None = None
    """The name of the tool."""
    arguments: Any = None
    """A part of the JSON text of the arguments, or the whole arguments as an object."""


def raw_calls(calls: Iterable[Any]) -> Iterator[RawCall]:
    """Read the calls of a frame that has them as OpenAI Chat does: the name and the arguments within a `function`."""
    for call in calls:
        if not isinstance(call, dict):
            continue
        function = call.get("function")
        if not isinstance(function, dict):
            function = {}
        index, call_id, name = call.get("index"), call.get("id"), function.get("name")
        yield RawCall(
            index if isinstance(index, int) else None,
            str(call_id) if call_id else None,
            name if isinstance(name, str) else None,
            function.get("arguments"),
        )


class ToolCallJoiner:
    """Joins the pieces of one stream to calls. The keys of the calls are 0, 1, 2 … in the order in which they begin."""

    def __init__(self) -> None:
        self._calls: list[_Call] = []
        self._by_id: dict[str, _Call] = {}
        self._by_index: dict[int, _Call] = {}
        self._open: _Call | None = None
        self._named_now: set[int] = set()

    @property
    def has_calls(self) -> bool:
        """Whether there is a call with a name."""
        return any(call.name for call in self._calls)

    def join(self, frame: Iterable[RawCall]) -> list[ToolCallPiece]:
        """Return what the raw pieces of one frame say, each piece with the key of its call."""
        self._named_now.clear()
        return [piece for raw in frame if (piece := self._join(raw)) is not None]

    def close(self) -> None:
        """Say that the stream has ended; a call that never got a name is given up, with a warning in the log."""
        if nameless := sum(call.name is None for call in self._calls):
            logger.warning("%d tool call(s) of the stream never got a name and were ignored", nameless)

    def _join(self, raw: RawCall) -> ToolCallPiece | None:
        raw = RawCall(raw.index, raw.id or None, raw.name or None, raw.arguments)
        call = self._call_of(raw)
        if call is None:
            if raw.id is None and raw.name is None and raw.index is None:
                if raw.arguments:
                    logger.warning("a piece of tool arguments belongs to no tool call and was ignored")
                return None
            call = _Call(key=len(self._calls), index=raw.index)
            self._calls.append(call)
            if raw.index is not None:
                self._by_index[raw.index] = call
        self._open = call
        if raw.id is not None and call.id is None:
            call.id = raw.id
            self._by_id[raw.id] = call
        if raw.name is not None:
            call.name = call.name or raw.name
            self._named_now.add(call.key)
        return call.take(_text(raw.arguments))

    def _call_of(self, raw: RawCall) -> _Call | None:
        here = self._by_index.get(raw.index) if raw.index is not None else None
        if raw.id is not None:
            if here is not None and here.id == raw.id:
                return here
            known = self._by_id.get(raw.id)
            if known is not None and (raw.name is None or self._may_repeat(raw, known)):
                return known
            waiting = self._open if raw.index is None else here
            return waiting if waiting and waiting.id is None and not self._begins_another(raw, waiting) else None
        if here is None and raw.index is not None:
            return self._open if raw.name is None and self._open and not self._open.is_whole() else None
        call = here or self._open
        return call if call and not self._begins_another(raw, call) else None

    def _may_repeat(self, raw: RawCall, call: _Call) -> bool:
        return (raw.index is None or call.index is None) and call.key not in self._named_now

    def _begins_another(self, raw: RawCall, call: _Call) -> bool:
        if raw.name is None or call.name is None:
            return False
        if raw.name != call.name or call.key in self._named_now:
            return True
        if isinstance(raw.arguments, dict):
            return call.is_whole()
        arguments = _text(raw.arguments)
        return bool(arguments.strip()) and call.is_whole() and not call.has_said(arguments)


@dataclass(slots=True)
class _Call:
    key: int
    index: int | None
    id: str | None = None
    name: str | None = None
    _said: list[str] = field(default_factory=list)
    _told_id: bool = False
    _told_name: bool = False
    _nesting: _Nesting = field(default_factory=lambda: _Nesting())
    _followed: int = 0

    def take(self, arguments: str) -> ToolCallPiece | None:
        """Add arguments and return what may now be told: nothing before the name is known, then all of it."""
        if arguments.startswith("{") and self.is_whole() and self.has_said(arguments):
            arguments = ""
        elif arguments:
            self._said.append(arguments)
        if self.name is None:
            return None
        name = None if self._told_name else self.name
        if name is not None:
            arguments = "".join(self._said)
            self._told_name = True
        call_id = None if self._told_id else self.id
        if call_id is not None:
            self._told_id = True
        if name is None and call_id is None and not arguments:
            return None
        return ToolCallPiece(self.key, call_id, name, arguments)

    def is_whole(self) -> bool:
        """Whether the arguments so far are one whole JSON object; each character is looked at once at most."""
        for arguments in self._said[self._followed :]:
            self._nesting.follow(arguments)
        self._followed = len(self._said)
        return self._nesting.is_whole

    def has_said(self, arguments: str) -> bool:
        """Whether `arguments` are the same as the whole ones so far."""
        said = whole_characters("".join(self._said))
        if said == arguments:
            return True
        try:
            return parse_arguments(said) == parse_arguments(arguments)
        except ValueError:
            return False


_MARKS = re.compile(r'\\.?|["{}\[\]]', re.DOTALL)


class _Nesting:
    """Follows the brackets of JSON text as it comes, to tell without parsing when its value is whole."""

    __slots__ = ("_closed", "_depth", "_escaped", "_in_string", "_spoiled")

    def __init__(self) -> None:
        self._depth = 0
        self._in_string = self._escaped = self._closed = self._spoiled = False

    @property
    def is_whole(self) -> bool:
        return self._closed and not self._spoiled

    def follow(self, text: str) -> None:
        start = 1 if self._escaped else 0
        self._escaped = False
        for match in _MARKS.finditer(text, start):
            mark = match.group()
            if mark == "\\":
                self._escaped = True  # at the end of the piece: what it escapes begins the next one
            elif mark == '"':
                self._in_string = not self._in_string
            elif self._in_string or len(mark) == 2:
                continue
            elif mark in "{[":
                self._spoiled = self._spoiled or self._closed
                self._depth += 1
            else:
                self._depth -= 1
                self._closed = self._closed or self._depth == 0


def _text(arguments: Any) -> str:
    if isinstance(arguments, str):
        return arguments
    return "" if arguments is None else json.dumps(arguments, ensure_ascii=False)
