"""What a call touches, as rules and checks see it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from ..tools import Tool

__all__ = ["Access", "PlainAccess"]


class Access(ABC):
    """What one call touches: nothing in particular, some paths, or the programs of a shell command.

    A rule that denies or asks applies when it *touches* the call: when any part of it, under any of its names, fits
    the pattern. Rules that allow apply when they *cover* it: when each part, as it really is, fits one of the patterns.
    """

    def __init__(self, tool: Tool) -> None:
        self._tool = tool

    @property
    def read_only(self) -> bool:
        """Whether the call changes nothing."""
        return self._tool.read_only

    @abstractmethod
    def touched_by(self, pattern: str) -> bool:
        """Return whether a rule that denies or asks is about the call."""

    @abstractmethod
    def covered_by(self, patterns: Collection[str]) -> bool:
        """Return whether rules that allow are about everything that the call touches."""

    def danger(self) -> str | None:
        """Return why a person must look at the call, whatever rules and mode say; None for no reason."""
        return None

    def edits_inside(self, directories: Sequence[str]) -> bool:
        """Return whether the call changes files, and none outside these directories."""
        return False

    @abstractmethod
    def suggestions(self) -> tuple[str | None, ...]:
        """Return patterns that together cover the call and its like; None is the pattern that fits every call."""


class PlainAccess(Access):
    """A call that declares nothing of what it touches; the tool may match rules itself."""

    def __init__(self, tool: Tool, arguments: Mapping[str, Any]) -> None:
        super().__init__(tool)
        self._arguments = arguments

    def touched_by(self, pattern: str) -> bool:
        """Return what the tool says."""
        return self._tool.match_rule(pattern, self._arguments)

    def covered_by(self, patterns: Collection[str]) -> bool:
        """Return whether the tool says yes to one of the patterns."""
        return any(self._tool.match_rule(pattern, self._arguments) for pattern in patterns)

    def suggestions(self) -> tuple[str | None, ...]:
        """Suggest every call of the tool."""
        return (None,)
