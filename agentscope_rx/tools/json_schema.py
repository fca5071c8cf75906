"""JSON Schema as models are shown it."""

from __future__ import annotations

from typing import Any

from pydantic import TypeAdapter
from pydantic.json_schema import GenerateJsonSchema, JsonSchemaWarningKind

__all__ = ["json_schema"]

_NAMED_SCHEMAS = frozenset({"properties", "patternProperties", "$defs"})
_VALUES = frozenset({"default", "const", "enum", "examples"})


class _Generator(GenerateJsonSchema):
    def emit_warning(self, kind: JsonSchemaWarningKind, detail: str) -> None:
        """Leave out a default that has no JSON form, without a word."""


def json_schema(adapter: TypeAdapter[Any]) -> dict[str, Any]:
    """Return the JSON schema of a type, without titles: they only repeat the names.

    Raises:
        pydantic.errors.PydanticUserError: the type has no JSON form.
    """
    schema: dict[str, Any] = _untitled(adapter.json_schema(schema_generator=_Generator))
    return schema


def _untitled(schema: Any) -> Any:
    if isinstance(schema, list):
        return [_untitled(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    copy: dict[str, Any] = {}
    for key, value in schema.items():
        if key in _NAMED_SCHEMAS:  # maps names to schemas: a property may well be named "title"
            copy[key] = {name: _untitled(item) for name, item in value.items()}
        elif key != "title":
            copy[key] = value if key in _VALUES else _untitled(value)
    return copy
