"""Calls of tools that run shell commands.

The text of a command does not tell everything that it might do: what must not happen at all belongs in a sandbox. It
does tell much, and what it tells is not waved through unseen.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Any

from ..tools import Tool
from .access import Access
from .command_pattern import covers, touches
from .paths import protection_of
from .programs import danger_of, is_read_only
from .shell import ShellCommand, SimpleCommand, parse_command

__all__ = ["CommandAccess"]

MOST_SUGGESTIONS = 5
"""Nobody reads more rules before accepting them."""

_JOINTS = re.compile(r"[=@:,]")
"""What a path may stand behind within a word, as in `--file=x`, `@x` and `host:x`."""


class CommandAccess(Access):
    """A call that runs a shell command; its rules are command patterns.

    A command of several programs is judged program by program: a rule that denies or asks applies to any of them, and
    allow rules, one or more, must cover each that is not read-only.
    """

    def __init__(self, tool: Tool, arguments: Mapping[str, Any]) -> None:
        super().__init__(tool)
        given = arguments.get(tool.command or "")
        self._text = given if isinstance(given, str) else ""
        self._command = parse_command(self._text)
        if self._text != (given or ""):
            self._command = ShellCommand((), "something that is no text")
        self._changing = [part for part in self._command.parts if not is_read_only(part.words)]

    @property
    def read_only(self) -> bool:
        """Whether the tool, or each program that the command runs, changes nothing."""
        return self._tool.read_only or (bool(self._command.parts) and not self._command.unclear and not self._changing)

    def touched_by(self, pattern: str) -> bool:
        """Return whether the pattern fits any program, or the command as a whole."""
        whole = SimpleCommand(self._text, ())
        return any(touches(pattern, part) for part in (whole, *self._command.parts))

    def covered_by(self, patterns: Collection[str]) -> bool:
        """Return whether everything that the command runs fits one of the patterns, or is read-only."""
        return (
            not self._command.unclear
            and bool(self._changing)
            and all(any(covers(pattern, part) for pattern in patterns) for part in self._changing)
        )

    def danger(self) -> str | None:
        """Return what hides what would run, or what is dangerous about a program or a path that it is given."""
        if self._command.unclear:
            return f"the command has {self._command.unclear}, which hides what it would do"
        return next(filter(None, self._dangers()), None)

    def _dangers(self) -> Iterator[str | None]:
        for part in self._command.parts:
            yield danger_of(part.words)
            for path in dict.fromkeys(_paths(part.words)):
                yield protection_of(path, read_only=part not in self._changing)

    def suggestions(self) -> tuple[str | None, ...]:
        """Suggest each program with its first argument; nothing where that would be too many rules to read."""
        prefixes = dict.fromkeys(f"{shlex.join(part.words[:2])}:*" for part in self._changing)
        return tuple(prefixes) if len(prefixes) <= MOST_SUGGESTIONS else ()


def _paths(words: Iterable[str]) -> Iterator[str]:
    """Yield whatever may be a path among the words of a command."""
    for word in words:
        yield word
        yield from _JOINTS.split(word)
        if word.startswith("-"):  # as in `-ofile`
            yield word[2:]
