"""Plausible arguments for a tool, and a question that would lead to them: what a demonstration of the tool is made of."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import cycle
from typing import Any

from ..types import ToolSchema

__all__ = ["example_arguments", "example_question"]

_WORD = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])")
_MAX_DEPTH = 4

_QUESTIONS: Sequence[tuple[frozenset[str], str, int]] = (
    (frozenset({"expression", "formula", "equation"}), "What is {0}?", 1),
    (frozenset({"add", "plus", "sum"}), "What is {0} + {1}?", 2),
    (frozenset({"subtract", "minus", "difference"}), "What is {0} - {1}?", 2),
    (frozenset({"multiply", "times", "product"}), "What is {0} * {1}?", 2),
    (frozenset({"divide", "quotient"}), "What is {0} / {1}?", 2),
    (frozenset({"weather", "forecast", "temperature"}), "What is the weather in {0}?", 1),
    (frozenset({"time", "date", "clock", "now", "today"}), "What time is it?", 0),
)
"""How people ask for what tools of these words do, and how many arguments that takes. The first that fits counts."""

_GETTERS = frozenset({"get", "fetch"})
_VALUES: Mapping[str, str] = {
    "city": "Rome",
    "place": "Rome",
    "location": "Rome",
    "country": "Italy",
    "timezone": "UTC",
    "expression": "2 + 3",
    "formula": "2 + 3",
    "equation": "2 + 3",
    "query": "cats",
    "topic": "cats",
    "path": "data.csv",
    "file": "data.csv",
    "filename": "data.csv",
    "url": "http://example.com",
    "email": "tom@mail.com",
    "to": "tom@mail.com",
    "recipient": "tom@mail.com",
    "name": "Tom",
    "user": "Tom",
    "date": "2024-05-01",
    "language": "French",
    "currency": "USD",
    "symbol": "IBM",
    "subject": "party",
    "text": "good morning",
    "message": "good morning",
}
"""Values for text, by a word in the name of the parameter."""


def example_arguments(tool: ToolSchema) -> dict[str, Any]:
    """Return a value for every argument that the tool needs: what its schema offers, else what the name suggests."""
    sampler = _Sampler(tool.parameters)
    return sampler.object(tool.parameters, 0)


def example_question(tool: ToolSchema, arguments: Mapping[str, Any]) -> str:
    """Return a question that a call of the tool with these arguments answers."""
    words = _words(tool.name)
    values = [str(value) for value in arguments.values()]
    cues = {*words, *(word for name in arguments for word in _words(name))}
    for known, question, count in _QUESTIONS:
        if known & cues and count == len(values):
            return question.format(*values)
    objects = " and ".join(values)
    if words and words[0] in _GETTERS:
        return f"What is the {' '.join(words[1:])}{' of ' * bool(objects)}{objects}?"
    return f"{' '.join(words).capitalize()}{' ' * bool(objects)}{objects}."


def _words(name: str) -> list[str]:
    return [word.lower() for word in _WORD.findall(name)] or [name]


class _Sampler:
    """Makes values for schemas; numbers differ, so that it shows which argument is which."""

    def __init__(self, root: Mapping[str, Any]) -> None:
        self._definitions = root.get("$defs", {})
        self._numbers: Iterator[int] = cycle(range(2, 10))

    def object(self, schema: Mapping[str, Any], depth: int) -> dict[str, Any]:
        properties = schema.get("properties", {})
        return {name: self.value(name, properties.get(name, {}), depth + 1) for name in schema.get("required", ())}

    def value(self, name: str, schema: Any, depth: int) -> Any:
        ...
