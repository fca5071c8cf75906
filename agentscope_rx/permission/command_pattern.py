r"""Patterns that rules about shell commands are written in.

| pattern | fits |
|---|---|
| `git commit:*` | the command `git commit`, with any arguments after it |
| `npm * --dry-run` | what it says, `*` standing for anything, also for nothing at the end; `\*` is a star, `\\` a `\` |
| `git push` | for an allow rule that command and no other; for other rules any command that contains it |

An allow rule is compared with a simple command as it is written, so that no pattern reaches over a `;` or into what a
program runs. Other rules are compared in any case, without the directory of the program, and with what `sudo`, `env`
and their like run.
"""

from __future__ import annotations

import re
import shlex
from fnmatch import fnmatchcase

from .programs import invocation, name_of
from .shell import SimpleCommand

__all__ = ["covers", "touches"]

_STAR = re.compile(r"(?<!\\)(?:\\\\)*\*")
_SPECIAL = re.compile(r"\\([\\*])|([?\[])")
_ESCAPED = re.compile(r"\\([\\*])")


def covers(pattern: str, command: SimpleCommand) -> bool:
    """Return whether an allow rule with this pattern lets a simple command run."""
    if (prefix := _prefix(pattern)) is not None:
        return command.words[: len(prefix)] == prefix
    if _STAR.search(pattern):
        return any(fnmatchcase(command.text, form) for form in _globs(pattern))
    return command.words == _words(_ESCAPED.sub(r"\1", pattern))


def touches(pattern: str, command: SimpleCommand) -> bool:
    """Return whether a rule that denies or asks is about a simple command."""
    pattern = pattern.casefold()
    words, places = invocation([word.casefold() for word in command.words])
    if (prefix := _prefix(pattern)) is not None:
        return not prefix or any(
            name_of(words[place]) == name_of(prefix[0]) and words[place + 1 : place + len(prefix)] == prefix[1:]
            for place in places
        )
    as_run = " ".join((*map(name_of, words[:1]), *words[1:]))
    texts = (command.text.casefold(), as_run)
    if not _STAR.search(pattern):
        literal = _ESCAPED.sub(r"\1", pattern)
        return any(literal in text for text in texts)
    globs = _globs(pattern)
    if len(places) > 1:
        globs += tuple(f"*[ /]{form}" for form in globs)
    return any(fnmatchcase(text, form) for text in texts for form in globs)


def _prefix(pattern: str) -> tuple[str, ...] | None:
    return _words(pattern[:-2]) if pattern.endswith(":*") else None


def _words(text: str) -> tuple[str, ...]:
    try:
        return tuple(shlex.split(text))
    except ValueError:  # a quote that is never closed
        return tuple(text.split())


def _globs(pattern: str) -> tuple[str, ...]:
    form = _SPECIAL.sub(lambda special: f"[{special[2]}]" if special[2] else special[1].replace("*", "[*]"), pattern)
    return (form, form.removesuffix(" *")) if form.endswith(" *") else (form,)
