from __future__ import annotations

from typing import Any

import pytest

from agentscope_rx.model.gemini.schema import parameters_of


def simplified(**schema: Any) -> Any:
    """What becomes of the schema of one parameter."""
    parameters = parameters_of({"type": "object", "properties": {"p": schema}})
    assert parameters is not None
    return parameters["properties"]["p"]


@pytest.mark.parametrize("schema", [{}, {"type": "object"}, {"type": "object", "properties": {}, "title": "Nothing"}])
def test_a_function_without_parameters_has_no_schema(schema: dict[str, Any]) -> None:
    assert parameters_of(schema) is None


def test_what_the_api_knows_stays_as_it_is() -> None:
    schema = {
        "type": "object",
        "description": "d",
        "properties": {
            "a": {"type": ["integer", "null"], "minimum": 1, "maximum": 3, "default": 2},
            "title": {"type": "string", "enum": ["x"], "pattern": "x+", "minLength": 1, "maxLength": 3},
            "list": {"type": "array", "items": {"$ref": "#/$defs/Item"}, "minItems": 1, "uniqueItems": True},
            "pair": {"type": "array", "prefixItems": [{"type": "string"}, {"type": "number"}]},
            "either": {"anyOf": [{"type": "string", "format": "date-time"}, {"type": "null"}]},
            "map": {"type": "object", "additionalProperties": {"type": "string"}, "maxProperties": 4},
            "open": {"type": "object", "additionalProperties": True},
        },
        "required": ["a"],
        "additionalProperties": False,
        "$defs": {"Item": {"type": "object", "properties": {"next": {"$ref": "#/$defs/Item", "description": "d"}}}},
    }
    assert parameters_of(schema) == schema


def test_what_the_api_does_not_know_is_left_out_at_every_depth() -> None:
    odd = {"$schema": "s", "$id": "i", "title": "T", "examples": [1], "exclusiveMinimum": 0, "not": {}, "x-own": 1}
    known = {"type": "string"}
    assert simplified(
        **odd,
        type="object",
        properties={"title": {**odd, **known}},
        additionalProperties={**odd, **known},
        anyOf=[{**odd, "type": "array", "items": {**odd, **known}}],
    ) == {
        "type": "object",
        "properties": {"title": known},
        "additionalProperties": known,
        "anyOf": [{"type": "array", "items": known}],
    }


@pytest.mark.parametrize("field", ["properties", "$defs", "definitions", "anyOf", "oneOf", "prefixItems"])
def test_what_makes_no_sense_is_left_out(field: str) -> None:
    assert simplified(type="object", properties={"a": {"type": "object", field: None}}) == {
        "type": "object",
        "properties": {"a": {"type": "object"}},
    }


def test_a_reference_stands_alone_but_for_its_description() -> None:
    assert simplified(**{"$ref": "#/$defs/X", "description": "d", "title": "T", "type": "object"}) == {
        "$ref": "#/$defs/X",
        "description": "d",
    }


def test_definitions_of_older_drafts_are_found() -> None:
    schema = {"properties": {"a": {"$ref": "#/definitions/X"}}, "definitions": {"X": {"type": "string", "title": "X"}}}
    assert parameters_of(schema) == {
        "properties": {"a": {"$ref": "#/$defs/X"}},
        "$defs": {"X": {"type": "string"}},
    }


@pytest.mark.parametrize("constant", ["x", 1, None, False])
def test_a_constant_is_the_only_value_of_an_enumeration(constant: Any) -> None:
    assert simplified(const=constant, type="string") == {"type": "string", "enum": [constant]}


def test_a_format_that_the_api_has_no_word_for_is_described() -> None:
    assert simplified(type="string", format="email") == {"type": "string", "description": "(format: email)"}
    assert simplified(type="string", format="uri", description="A link.") == {
        "type": "string",
        "description": "A link. (format: uri)",
    }


def test_the_schema_of_the_tool_is_not_changed() -> None:
    schema: dict[str, Any] = {"properties": {"a": {"const": 1, "format": "uri", "title": "T"}}}
    before = repr(schema)
    parameters_of(schema)
    assert repr(schema) == before
