"""What is known of the programs that shell commands run.

Three tables: programs that are dangerous, programs that only read, and programs that run others.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from fnmatch import fnmatchcase
from itertools import chain, dropwhile
from typing import NamedTuple

__all__ = ["danger_of", "invocation", "is_read_only", "name_of"]


class _Danger(NamedTuple):
    program: str
    """Its name in lower case; a glob."""
    words: tuple[str, ...]
    """Arguments, one of which makes it dangerous; empty for a program that always is."""
    why: str


_DANGERS = tuple(
    _Danger(program, tuple(words.split()), why)
    for programs, words, why in (
        ("rm", "-r --recursive", "removes whole directories"),
        ("sudo doas", "rm", "removes files that are not the user's"),
        ("dd mkfs mkfs.* fdisk format", "", "writes over whole devices"),
        ("chmod", "777 0777 +rwx a+rwx ugo+rwx", "lets everybody change files"),
        ("chown", "-r --recursive", "changes the owner of whole directories"),
        ("kill pkill killall", "-9 -kill -sigkill kill sigkill", "kills programs before they can save anything"),
        ("eval source .", "", "runs commands that are not to be seen here"),
    )
    for program in programs.split()
)

_SHELLS = frozenset({"ash", "bash", "csh", "dash", "fish", "ksh", "sh", "tcsh", "zsh"})
"""Programs that run what they read, unless their first argument is a script."""

_RUNNERS = frozenset({
    "builtin", "busybox", "chroot", "command", "doas", "env", "exec", "find", "ionice", "nice", "nohup", "parallel",
    "setsid", "ssh", "stdbuf", "su", "sudo", "time", "timeout", "watch", "xargs",
})  # fmt: skip
"""Programs with another command among their arguments."""

_READ_ONLY: Mapping[tuple[str, ...], tuple[str, ...]] = {
    tuple(words.split()): tuple(changing.split())
    for commands, changing in (
        ("basename, cat, cd, cut, df, dirname, du, echo, egrep, false, fgrep, grep, head, id, ls, nl, pwd", ""),
        ("readlink, realpath, stat, tail, true, type, uname, wc, whereis, which, whoami", ""),
        ("node --version, node -v, python --version, python -V, python3 --version, python3 -V", ""),
        ("docker images, docker info, docker inspect, docker logs, docker ps, docker version", ""),
        ("git config --get, git config --list, git ls-files, git ls-tree, git rev-list, git rev-parse", ""),
        ("git describe, git status, npm list, npm ls", ""),
        (
            "git blame, git diff, git grep, git log, git shortlog, git show",
            "-O --open-files-in-pager --output --ext-diff",
        ),
        ("gh issue list, gh pr list, gh repo view, gh status", "-w --web"),
        ("file", "-C --compile"),
        ("find", "-delete -exec -execdir -fls -fprint -fprint0 -fprintf -ok -okdir"),
        ("pip list, pip show", "--log"),
        ("printf", "-v"),
        ("rg", "--hostname-bin --pre"),
        ("tree", "-R -o"),
    )
    for words in commands.split(", ")
}
"""Commands that change nothing, by their first words, and the options with which they do."""

_LONGEST_READ_ONLY = max(map(len, _READ_ONLY))

_VARIABLE = re.compile(r"\w+\+?=")


class Invocation(NamedTuple):
    """A simple command without the variables before it."""

    words: tuple[str, ...]
    """The program and its arguments; those of a program that runs another taken apart, as that one may do."""
    places: tuple[int, ...]
    """Where among them a program may stand: at the beginning, and anywhere behind a program that runs another."""


def invocation(words: Sequence[str]) -> Invocation:
    """Return what a simple command comes to."""
    run = tuple(dropwhile(_VARIABLE.match, words))
    if run and name_of(run[0]) in _RUNNERS:
        run = tuple(chain.from_iterable(word.split() for word in run))
        # Behind the first program, a dot is the current directory.
        return Invocation(run, tuple(place for place, word in enumerate(run) if place == 0 or word != "."))
    return Invocation(run, (0,) if run else ())


def name_of(word: str) -> str:
    """Return the name of a program, without its directory and in lower case."""
    return word.rpartition("/")[2].casefold()


def danger_of(words: Sequence[str]) -> str | None:
    """Return what is dangerous about a simple command; None for nothing."""
    run, places = invocation([word.casefold() for word in words])
    names = {place: name_of(run[place]) for place in places}
    for danger in _DANGERS:
        found = next((place for place, name in names.items() if fnmatchcase(name, danger.program)), None)
        if found is not None and (not danger.words or _has_option(run[found + 1 :], danger.words)):
            return f"{danger.program.removesuffix('.*')} {danger.why}"
    if any(_reads_commands(run[place : place + 2]) for place in places):
        return "a shell runs commands that are not to be seen here"
    return None


def is_read_only(words: Sequence[str]) -> bool:
    """Return whether a simple command is known to change nothing."""
    for length in range(1, _LONGEST_READ_ONLY + 1):
        changing = _READ_ONLY.get(tuple(words[:length]))
        if changing is not None:
            return not _has_option(words, changing)
    return False


def _reads_commands(words: Sequence[str]) -> bool:
    return name_of(words[0]) in _SHELLS and (len(words) == 1 or words[1].startswith(("-", "+")))


def _has_option(words: Iterable[str], options: Sequence[str]) -> bool:
    return any(_is_option(word, option) for word in words for option in options)


def _is_option(word: str, option: str) -> bool:
    if option.startswith("--"):  # GNU programs accept the beginning of a long option
        name = word.partition("=")[0]
        return len(name) > 2 and option.startswith(name)
    if option.startswith("-") and len(option) == 2:
        return word.startswith("-") and not word.startswith("--") and option[1] in word
    return option in (word, name_of(word))
