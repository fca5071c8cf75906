"""Plausible arguments for a tool, and a question that leads to them: what a demonstration of the tool is made of."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from itertools import cycle
from typing import Any

from ..types import ToolSchema

__all__ = ["example_arguments", "example_question"]

_WORD = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])")
_MAX_DEPTH = 4

_GETTERS = frozenset({"get", "fetch"})

_QUESTIONS: Sequence[tuple[frozenset[str], int, str]] = (
    (frozenset({"expression", "formula", "equation"}), 1, "What is {0}?"),
    (frozenset({"add", "plus", "sum"}), 2, "What is {0} + {1}?"),
    (frozenset({"subtract", "minus", "difference"}), 2, "What is {0} - {1}?"),
    (frozenset({"multiply", "times", "product"}), 2, "What is {0} * {1}?"),
    (frozenset({"divide", "quotient"}), 2, "What is {0} / {1}?"),
    (frozenset({"weather", "forecast", "temperature"}), 1, "What is the weather in {0}?"),
    (frozenset({"time", "clock", "now", "today"}), 0, "What time is it?"),
)
"""Words in the names of tool and parameters, the number of arguments, and how people ask. The first that fits is it."""

_TEXTS: Mapping[str, str] = {
    word: value
    for value, words in (
        ("Rome", ("city", "place", "location")),
        ("Italy", ("country",)),
        ("UTC", ("timezone", "zone")),
        ("2 + 3", ("expression", "formula", "equation")),
        ("cats", ("query", "topic", "keyword", "term")),
        ("data.csv", ("path", "file", "filename")),
        ("http://example.com", ("url", "link")),
        ("tom@mail.com", ("email", "to", "recipient")),
        ("Tom", ("name", "user", "person")),
        ("2024-05-01", ("date", "day")),
        ("French", ("language",)),
        ("USD", ("currency",)),
        ("IBM", ("symbol", "company")),
        ("good morning", ("text", "message", "content", "subject")),
    )
    for word in words
}
"""What a text may be, by a word in the name of the parameter."""


def example_arguments(tool: ToolSchema) -> dict[str, Any]:
    """Return a value for each argument that the tool needs: one that its schema gives, else one its name suggests."""
    return _Sampler(tool.parameters).sample_object(tool.parameters, 0)


def example_question(tool: ToolSchema, arguments: Mapping[str, Any]) -> str:
    """Return a question that a call of the tool with these arguments answers."""
    words = _words(tool.name)
    values = [str(value) for value in arguments.values()]
    cues = {*words, *(word for name in arguments for word in _words(name))}
    for known, count, question in _QUESTIONS:
        if known & cues and count == len(values):
            return question.format(*values)
    if len(words) > 1 and words[0] in _GETTERS:
        return " of ".join((f"What is the {' '.join(words[1:])}", *_joined(values))) + "?"
    return " ".join((" ".join(words).capitalize(), *_joined(values))) + "."


def _joined(values: Sequence[str]) -> list[str]:
    return [" and ".join(values)] if values else []


def _words(name: str) -> list[str]:
    return [word.lower() for word in _WORD.findall(name)] or [name]


class _Sampler:
    """Makes values for schemas. No two numbers are alike at first, so that it shows which argument is which."""

    def __init__(self, root: Mapping[str, Any]) -> None:
        self._definitions = root.get("$defs", {})
        self._numbers = cycle(range(2, 10))

    def sample_object(self, schema: Mapping[str, Any], depth: int) -> dict[str, Any]:
        properties = schema.get("properties", {})
        return {name: self._sample(name, properties.get(name, {}), depth + 1) for name in schema.get("required", ())}

    def _sample(self, name: str, schema: Any, depth: int) -> Any:
        schema = self._plain(schema)
        for key in ("examples", "enum"):
            if given := schema.get(key):
                return given[0]
        if "const" in schema:
            return schema["const"]
        match _kind(schema):
            case "integer" | "number":
                return next(self._numbers)
            case "boolean":
                return True
            case "array":
                return [] if depth > _MAX_DEPTH else [self._sample(name, schema.get("items", {}), depth + 1)]
            case "object":
                return {} if depth > _MAX_DEPTH else self.sample_object(schema, depth)
            case _:
                return _text(name)

    def _plain(self, schema: Any) -> Mapping[str, Any]:
        """Follow references and take the first alternative that is not null."""
        for _ in range(_MAX_DEPTH):
            if not isinstance(schema, Mapping):
                return {}
            if "$ref" in schema:
                schema = self._definitions.get(str(schema["$ref"]).rpartition("/")[2])
            elif alternatives := schema.get("anyOf") or schema.get("oneOf") or schema.get("allOf"):
                schema = next((each for each in alternatives if each != {"type": "null"}), {})
            else:
                return schema
        return {}


def _kind(schema: Mapping[str, Any]) -> Any:
    kind = schema.get("type")
    return next((each for each in kind if each != "null"), None) if isinstance(kind, list) else kind


def _text(name: str) -> str:
    words = _words(name)
    return next((_TEXTS[word] for word in words if word in _TEXTS), " ".join(words))
