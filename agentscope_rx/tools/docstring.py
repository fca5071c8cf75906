"""What a docstring says about a function and its parameters, in the Google, NumPy or Sphinx style."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import pairwise

__all__ = ["Docstring", "parse_docstring"]

_PARAMETER_SECTIONS = ("Args", "Arguments", "Parameters", "Keyword Args", "Keyword Arguments", "Other Parameters")
_OTHER_SECTIONS = ("Returns", "Return", "Yields", "Yield", "Raises", "Warns", "Attributes", "Examples", "Example")

_SECTION = re.compile(rf"({'|'.join(_PARAMETER_SECTIONS + _OTHER_SECTIONS)})(:?)\s*$")
_UNDERLINE = re.compile(r"-{3,}\s*$")
_FIELD = re.compile(r":\w+[^:]*:")

_GOOGLE_ENTRY = re.compile(r"\s*(?P<names>\w+)\s*(?:\(.*?\))?\s*:\s*(?P<text>.*)")
_NUMPY_ENTRY = re.compile(r"(?P<names>\w+(?:\s*,\s*\w+)*)\s*(?::.*)?(?P<text>)$")
_SPHINX_ENTRY = re.compile(r":(?:param|parameter|arg|argument|keyword)\s+(?:[^:]*\s)?(?P<names>\w+):\s*(?P<text>.*)")


@dataclass(frozen=True, slots=True)
class Docstring:
    """A docstring, taken apart."""

    description: str
    """What stands before the first section: the summary and the paragraphs after it."""
    parameters: dict[str, str]
    """What is said about each parameter, by name."""


def parse_docstring(text: str | None) -> Docstring:
    """Take a docstring apart; None is an empty one."""
    lines = inspect.cleandoc(text or "").splitlines()
    starts = [index for index in range(len(lines)) if _starts_section(lines, index)]
    parameters: dict[str, str] = {}
    for start, end in pairwise([*starts, len(lines)]):
        parameters.update(_section(lines[start:end]))
    return Docstring("\n".join(lines[: starts[0]] if starts else lines).strip(), parameters)


def _starts_section(lines: list[str], index: int) -> bool:
    if _FIELD.match(lines[index]):
        return True
    header = _SECTION.match(lines[index])
    return header is not None and (bool(header[2]) or _is_underlined(lines, index))


def _is_underlined(lines: list[str], index: int) -> bool:
    return index + 1 < len(lines) and _UNDERLINE.match(lines[index + 1]) is not None


def _section(lines: list[str]) -> dict[str, str]:
    header = _SECTION.match(lines[0])
    if header is None:
        return _entries(lines, _SPHINX_ENTRY)
    if header[1] not in _PARAMETER_SECTIONS:
        return {}
    return _entries(lines[1:], _GOOGLE_ENTRY) if header[2] else _entries(lines[2:], _NUMPY_ENTRY)


def _entries(lines: Iterable[str], entry: re.Pattern[str]) -> dict[str, str]:
    """Read entries: each begins at the indentation of the first one, and deeper lines go on with it."""
    texts: dict[str, list[str]] = {}
    margin: int | None = None
    current: list[str] = []
    for line in lines:
        if not (content := line.strip()):
            continue
        indent = len(line) - len(line.lstrip())
        margin = indent if margin is None else margin
        if indent <= margin and (match := entry.match(line)):
            current = [match["text"]]
            texts.update((name.strip(), current) for name in match["names"].split(","))
        else:
            current.append(content)
    return {name: " ".join(filter(None, pieces)) for name, pieces in texts.items()}
