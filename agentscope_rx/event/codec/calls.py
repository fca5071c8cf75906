"""The tool calls of a reply that have no result yet, and what is known of them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from ...message import GenerateReason, TextBlock, ToolResultState
from ..base import FinishReason

__all__ = ["ERROR", "INTERRUPTED", "NO_RESULT", "Cut", "OpenCalls", "Result"]


class Result(NamedTuple):
    """What a call gave, whole."""

    state: ToolResultState
    """How it ended."""
    output: tuple[Any, ...]
    """Its text and data blocks."""
    metadata: dict[str, Any] | None = None
    """What the tool said about it."""


class Cut(NamedTuple):
    """How that ends which its own stream left open."""

    finish_reason: FinishReason
    """A model call."""
    result: Result
    """A tool call."""


INTERRUPTED = Cut(
    FinishReason.INTERRUPTED,
    Result(ToolResultState.INTERRUPTED, (TextBlock("The tool call was interrupted."),)),
)
ERROR = Cut(
    FinishReason.ERROR,
    Result(ToolResultState.ERROR, (TextBlock("The tool call has no result, because the reply failed."),)),
)
NO_RESULT = Cut(
    FinishReason.UNKNOWN,
    Result(ToolResultState.ERROR, (TextBlock("The tool call has no result."),)),
)


class _Call:
    __slots__ = ("name", "parked", "result")

    def __init__(self, name: str) -> None:
        self.name = name
        self.parked: GenerateReason | None = None
        self.result: Result | None = None


class OpenCalls:
    """Calls by id, in call order, from TOOL_CALL_START to TOOL_RESULT_END."""

    def __init__(self) -> None:
        self._calls: dict[str, _Call] = {}

    def __iter__(self) -> Iterator[str]:
        return iter(tuple(self._calls))

    def __contains__(self, id: str) -> bool:
        return id in self._calls

    def begin(self, id: str, name: str) -> None:
        """A call was made."""
        self._calls[id] = _Call(name)

    def end(self, ids: Iterable[str]) -> None:
        """These calls have their results, or were withdrawn."""
        for id in ids:
            self._calls.pop(id, None)

    def park(self, id: str, reason: GenerateReason) -> None:
        """A call waits for an answer."""
        if id in self._calls:
            self._calls[id].parked = reason

    def answer(self, id: str, result: Result | None) -> None:
        """A call has its answer, which may be its result already."""
        if id in self._calls:
            self._calls[id].parked, self._calls[id].result = None, result

    def is_parked(self, id: str) -> bool:
        """Tell whether a call waits for an answer."""
        return id in self._calls and self._calls[id].parked is not None

    def name(self, id: str) -> str:
        """Return the tool that is called, "" when nobody said."""
        return self._calls[id].name if id in self._calls else ""

    def result(self, id: str) -> Result | None:
        """Return the result that an answer gave, None when none did."""
        return self._calls[id].result if id in self._calls else None

    def of(self, name: str) -> Iterator[str]:
        """Yield the calls of a tool, in the order in which they were made."""
        return (id for id, call in self._calls.items() if name and call.name == name)

    @property
    def pause(self) -> GenerateReason | None:
        """Why the reply is paused, None when no call waits for an answer."""
        reasons = {call.parked for call in self._calls.values()} - {None}
        asking = GenerateReason.PERMISSION_ASKING
        return asking if asking in reasons else next(iter(reasons), None)

    @property
    def all_parked(self) -> bool:
        """Whether there are calls, and all of them wait for an answer."""
        return bool(self._calls) and all(call.parked is not None for call in self._calls.values())
