"""Gemini: the schema of arguments or of an answer, in the words of JSON Schema that the API knows.

`parametersJsonSchema` takes JSON Schema, but a part of it; what is outside may be ignored, or the request refused. A
constant becomes the only value of an enumeration, a format that the API has no word for goes into the description, and
what remains is left out: arguments and answers are checked here anyhow.
"""

from __future__ import annotations

from typing import Any

__all__ = ["known_schema", "parameters_of"]

_SCHEMA = frozenset({"items", "additionalProperties"})
_SCHEMAS = frozenset({"anyOf", "oneOf", "prefixItems"})
_NAMED_SCHEMAS = frozenset({"properties", "$defs"})
_VALUES = frozenset(
    {
        "type",
        "description",
        "default",
        "enum",
        "required",
        "propertyOrdering",
        "minimum",
        "maximum",
        "minItems",
        "maxItems",
        "uniqueItems",
        "minLength",
        "maxLength",
        "pattern",
        "minProperties",
        "maxProperties",
    }
)
_FORMATS = frozenset({"date-time", "date", "time", "enum", "float", "double", "int32", "int64"})
_BESIDE_REFERENCES = ("description", "default")
_OLD_DEFINITIONS = "definitions"


def parameters_of(schema: dict[str, Any]) -> dict[str, Any] | None:
    """Return the schema of the parameters of a function, None when it has no parameters."""
    if not schema.get("properties") and schema.get("type", "object") == "object" and "$ref" not in schema:
        return None
    return known_schema(schema)


def known_schema(schema: dict[str, Any]) -> dict[str, Any]:
    """Return a schema in the words that the API knows."""
    known: dict[str, Any] = _known(schema)
    return known


def _known(schema: Any) -> Any:
    if not isinstance(schema, dict):
        return schema  # `true` and `false` are schemas too
    if (reference := schema.get("$ref")) is not None:
        beside = {name: schema[name] for name in _BESIDE_REFERENCES if name in schema}
        return {"$ref": str(reference).replace(f"#/{_OLD_DEFINITIONS}/", "#/$defs/"), **beside}
    known: dict[str, Any] = {}
    for name, value in schema.items():
        if name in _VALUES:
            known[name] = value
        elif name in _SCHEMA:
            known[name] = _known(value)
        elif name in _SCHEMAS and isinstance(value, list):
            known[name] = [_known(item) for item in value]
        elif (name in _NAMED_SCHEMAS or name == _OLD_DEFINITIONS) and isinstance(value, dict):
            named = {key: _known(item) for key, item in value.items()}
            known["$defs" if name == _OLD_DEFINITIONS else name] = named
    if "const" in schema:
        known["enum"] = [schema["const"]]
    if (form := schema.get("format")) in _FORMATS:
        known["format"] = form
    elif form is not None:
        known["description"] = " ".join(filter(None, (known.get("description"), f"(format: {form})")))
    return known
