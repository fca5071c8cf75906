"""Shell commands, taken apart without running anything.

Only what can be told from the text alone is told: simple commands, joined by `;`, `&`, `|`, `&&` and `||`. Where the
shell would replace, read or write something (expansions, substitutions, redirections, control structures, several
lines), the command is unclear, and says why.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

__all__ = ["ShellCommand", "SimpleCommand", "parse_command"]

LONGEST = 16_384
"""Characters; nobody reads a longer command before saying yes to it."""

_TOKEN = re.compile(
    r"""
      (?P<blank>     [ \t]+)
    | (?P<harmless>  (?: & | (?<![^ \t;&|])(?<!\\.)\d | (?<!\d)) > (?: &\d | >? [ \t]* /dev/null) (?=[ \t;&|]|$))
    | (?P<operator>  && | \|\| | \|& | [;&|])
    | '(?P<single>   [^']*) '
    | "(?P<double>   (?:[^"\\$`] | \\.)*+) "
    | \\(?P<escaped> [^\n])
    | (?P<plain>     [^\s'"\\$`;&|<>(){}\#\0] [^\s'"\\$`;&|<>(){}\0]*)
    """,
    re.VERBOSE | re.DOTALL,
)

_DOUBLE_ESCAPE = re.compile(r"\\([$`\"\\\n])")

_UNCLEAR = {
    "$": "an expansion",
    "`": "a command substitution",
    "(": "a subshell",
    ")": "a subshell",
    "{": "a brace",
    "}": "a brace",
    "<": "a redirection",
    ">": "a redirection",
    "#": "a comment",
    "'": "a quote that is never closed",
    '"': "a quote that is never closed or holds an expansion",
    "\\": "a line that goes on",
    "\n": "several lines",
    "\r": "several lines",
}

_KEYWORDS = frozenset({
    "!", "[[", "case", "coproc", "do", "done", "elif", "else", "esac", "fi", "for", "function", "if", "in",
    "select", "then", "until", "while",
})  # fmt: skip

_FRAGMENT = re.compile(r"[;&|<>(){}`$\n\r]+")
_QUOTING = re.compile(r"['\"\\]")


@dataclass(frozen=True, slots=True)
class SimpleCommand:
    """One program and its arguments."""

    text: str
    """As it is written, without redirections."""
    words: tuple[str, ...]
    """As the program gets them, wildcards not replaced."""


@dataclass(frozen=True, slots=True)
class ShellCommand:
    """What a shell would run."""

    parts: tuple[SimpleCommand, ...]
    """The simple commands, in order; of an unclear command only what looks like some."""
    unclear: str | None = None
    """What there is that hides what would run; None when the parts are all of it."""


def parse_command(text: str) -> ShellCommand:
    """Take a POSIX shell command apart; never fails."""
    if len(text) > LONGEST:
        return ShellCommand((), f"more than {LONGEST} characters")
    text = text.strip(" \t\n")
    reader = _Reader()
    position = 0
    while position < len(text):
        token = _TOKEN.match(text, position)
        problem = _UNCLEAR.get(text[position], "an unusual character") if token is None else reader.take(token)
        if token is None or problem:
            return ShellCommand(tuple(_fragments(text)), problem)
        position = token.end()
    problem = reader.end_command(at_end=True)
    return ShellCommand(tuple(_fragments(text)) if problem else tuple(reader.parts), problem)


class _Reader:
    """Collects tokens into simple commands; each step returns what makes the command unclear."""

    def __init__(self) -> None:
        self.parts: list[SimpleCommand] = []
        self._text: list[str] = []
        self._words: list[str] = []
        self._word: list[str] = []

    def take(self, token: re.Match[str]) -> str | None:
        kind = str(token.lastgroup)
        if kind == "operator":
            return self.end_command()
        if kind != "harmless":
            self._text.append(token[0])
        if kind in ("blank", "harmless"):
            self._end_word()
        else:
            self._word.append(_DOUBLE_ESCAPE.sub(_unescape, token[kind]) if kind == "double" else token[kind])
        return None

    def end_command(self, *, at_end: bool = False) -> str | None:
        self._end_word()
        if not self._words:
            return None if at_end else "an operator without a command"
        if self._words[0] in _KEYWORDS:
            return "a control structure"
        self.parts.append(SimpleCommand("".join(self._text).strip(), tuple(self._words)))
        self._text, self._words = [], []
        return None

    def _end_word(self) -> None:
        if self._word:
            self._words.append("".join(self._word))
            self._word = []


def _unescape(escape: re.Match[str]) -> str:
    return "" if escape[1] == "\n" else escape[1]


def _fragments(text: str) -> Iterator[SimpleCommand]:
    """Split an unclear command wherever a command might begin."""
    for fragment in _FRAGMENT.split(text):
        if words := _QUOTING.sub("", fragment).split():
            yield SimpleCommand(fragment.strip(), tuple(words))
