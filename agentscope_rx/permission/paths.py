"""Calls of tools that name files and directories."""

from __future__ import annotations

import glob
import os.path
import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, NamedTuple

from ..tools import Tool
from .access import Access
from .protected import protection

__all__ = ["PathAccess", "protection_of"]

_LITERAL = re.compile(r"[^*?\[]*(/|$)")
"""The beginning of a glob in which there is no wildcard: some directories, or all of it."""


class _Place(NamedTuple):
    """Where a path leads, absolute and with forward slashes."""

    named: str
    """As it is written, without a look at the disk."""
    ends: tuple[str, ...]
    """With every symbolic link followed; two places where a `..` behind a link is taken by its name or its target."""

    def names(self) -> tuple[str, ...]:
        return (self.named, *self.ends)


class PathAccess(Access):
    """A call that names paths; its rules are globs.

    A glob is absolute, begins with `~`, begins with `*` (it then fits anywhere), or belongs to the current directory;
    its wildcards go over slashes. An allow rule must fit the path with all symbolic links followed. A deny or ask
    rule applies under any name of the path, whichever way it is capitalized.
    """

    def __init__(self, tool: Tool, arguments: Mapping[str, Any]) -> None:
        super().__init__(tool)
        self._places: list[_Place] = []
        self._strange: str | None = None
        for parameter in tool.paths:
            for path in _listed(arguments.get(parameter)):
                if (place := _place(path)) is None:
                    self._strange = f"its {parameter} names no path"
                else:
                    self._places.append(place)

    def touched_by(self, pattern: str) -> bool:
        """Return whether any path, under any of its names, fits the glob."""
        anchored = _anchored(pattern)
        return any(
            fnmatchcase(name.casefold(), form.casefold())
            for form in (anchored, _followed(anchored))
            for place in self._places
            for name in place.names()
        )

    def covered_by(self, patterns: Collection[str]) -> bool:
        """Return whether every path, links followed, fits one of the globs."""
        forms = [_anchored(pattern) for pattern in patterns]
        return self._ends_all(lambda end: any(fnmatchcase(end, form) for form in forms))

    def danger(self) -> str | None:
        """Return what is said against a path that is protected, or none at all."""
        reasons = (_protection(place, read_only=self._tool.read_only) for place in self._places)
        return self._strange or next(filter(None, reasons), None)

    def edits_inside(self, directories: Sequence[str]) -> bool:
        """Return whether the tool edits, and every path leads into one of the directories."""
        inside = [os.path.realpath(os.path.expanduser(directory)) for directory in directories or (os.curdir,)]
        return self._tool.edits and self._ends_all(
            lambda end: any(Path(end).is_relative_to(directory) for directory in inside)
        )

    def suggestions(self) -> tuple[str | None, ...]:
        """Suggest everything in the directories of the paths; of a path at the very top, only the path."""
        return tuple(dict.fromkeys(_neighbourhood(end) for place in self._places for end in place.ends))

    def _ends_all(self, fit: Callable[[str], bool]) -> bool:
        return bool(self._places) and all(fit(end) for place in self._places for end in place.ends)


def protection_of(path: str, *, read_only: bool) -> str | None:
    """Return what is said against a path, under either of its names; None also where it is no path at all."""
    place = _place(path)
    return None if place is None else _protection(place, read_only=read_only)


def _protection(place: _Place, *, read_only: bool) -> str | None:
    return next(filter(None, (protection(name, read_only=read_only) for name in place.names())), None)


def _listed(value: Any) -> Iterator[Any]:
    if isinstance(value, list | tuple):
        yield from value
    elif value is not None:
        yield value


def _place(path: Any) -> _Place | None:
    if not isinstance(path, str):
        return None
    try:
        written = os.path.expanduser(path)
        named = os.path.abspath(written)
        ends = dict.fromkeys((os.path.realpath(written), os.path.realpath(named)))
    except ValueError:  # such as a null character
        return None
    return _Place(Path(named).as_posix(), tuple(Path(end).as_posix() for end in ends))


def _anchored(pattern: str) -> str:
    if pattern.startswith("*"):
        return pattern
    absolute = os.path.join(glob.escape(os.getcwd()), os.path.expanduser(pattern))
    return Path(os.path.normpath(absolute)).as_posix()


def _followed(pattern: str) -> str:
    """Return a glob with the links followed in what it names without a wildcard."""
    literal = _LITERAL.match(pattern)
    if literal is None:
        return pattern
    real = glob.escape(Path(os.path.realpath(literal[0])).as_posix())
    return f"{real.rstrip('/')}/{pattern[literal.end() :]}".rstrip("/")


def _neighbourhood(path: str) -> str:
    parent = Path(path).parent
    return glob.escape(path) if parent == parent.parent else f"{glob.escape(parent.as_posix())}/**"
