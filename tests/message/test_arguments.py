"""The arguments of a tool call: what models write, and what of it can be carried on."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, strategies as st
from pydantic_core import from_json, to_json

from agentscope_rx.event import AgentResultEvent, AgentStartEvent, decode, encode
from agentscope_rx.message import AssistantMessage, ToolUseBlock, parse_arguments
from tests.arbitrary import json_values, texts
from tests.reference import reference_arguments


def nested(depth: int, *, lists: bool = False) -> str:
    """An object with `depth` levels."""
    inner = depth - 1
    return '{"a":' + ("[" * inner + "]" * inner if lists else '{"a":' * inner + "1" + "}" * inner) + "}"


@pytest.mark.parametrize("raw", ["", " ", "\n\t", "null", " null ", "{}"])
def test_b4_47_nothing_is_the_empty_object(raw: str) -> None:
    assert parse_arguments(raw) == {}


@given(st.dictionaries(texts, json_values(), max_size=4), st.booleans())
def test_an_object_is_read_as_it_was_written(arguments: dict[str, Any], ascii_only: bool) -> None:
    assert parse_arguments(json.dumps(arguments, ensure_ascii=ascii_only)) == arguments


@pytest.mark.parametrize(
    ("raw", "problem"),
    [
        ('{"secret"', "not valid JSON: .* at character 9 of 9"),
        ("{'secret': 1}", "not valid JSON: .* at character 1 of 13"),
        ("secret", "not valid JSON: .* at character 0 of 6"),
        ('{"secret": 1} {"secret": 2}', "not valid JSON: Extra data at character 14 of 27"),
        ('["secret"]', "must be a JSON object, got list"),
        ('"secret"', "must be a JSON object, got str"),
        ("5", "must be a JSON object, got int"),
        ('{"secret": NaN}', "not finite"),
        ('{"secret": -Infinity}', "not finite"),
        ('{"secret": [1e999]}', "not finite"),
        ('{"secret": "\\ud83c"}', "half a surrogate pair"),
        ('{"\\uDF0D": "secret"}', "half a surrogate pair"),
        ('{"secret": 1' + "0" * 309 + "}", "not finite, or too large"),
        ('{"secret": [-' + "9" * 4_000 + "]}", "not finite, or too large"),
        ('{"secret": ' + "9" * 5_000 + "}", "not finite, or too large"),
        ('{"secret": "\ud83c"}', "half a surrogate pair"),
        (nested(101), "nested more than 100 levels"),
        (nested(101, lists=True), "nested more than 100 levels"),
        (nested(100_000), "nested more than 100 levels"),
        (nested(100_000, lists=True), "nested more than 100 levels"),
    ],
)
def test_what_cannot_be_used_is_an_error_that_does_not_quote_it(raw: str, problem: str) -> None:
    with pytest.raises(ValueError, match=problem) as caught:
        parse_arguments(raw)
    assert "secret" not in str(caught.value)
    assert len(str(caught.value)) < 200


@pytest.mark.parametrize(
    "raw",
    [
        nested(100),
        nested(100, lists=True),
        '{"a": "' + "[{" * 500 + '"}',
        '{"a": [' + "[]," * 500 + "{}]}",
        '{"a": "\\ud83c\\udf0d", "b": "\\\\ud83c"}',
        '{"a": ' + "9" * 308 + "}",
        '{"a": 1e308, "b": 5e-324, "c": -0.0}',
        '{"a": 1, "a": 2}',
    ],
)
def test_what_is_taken_survives_every_event_that_carries_it(raw: str) -> None:
    arguments = parse_arguments(raw)
    assert arguments
    message = AssistantMessage(ToolUseBlock(id="c", name="f", input=arguments, raw_input=raw))
    for event in (
        AgentResultEvent(reply_id="r", result=message),
        AgentStartEvent(reply_id="r", name="x", resumed=True, message=message),
    ):
        assert decode(encode(event)) == event


@given(st.text(alphabet='{}[]:,"\\ud83cdf0 1.5eN-truefalsn\n', max_size=24) | st.text(max_size=12))
def test_anything_else_is_a_value_error_and_never_another(raw: str) -> None:
    try:
        arguments = parse_arguments(raw)
    except ValueError:
        arguments = {}
    assert arguments == reference_arguments(raw)
    assert from_json(to_json(arguments)) == arguments
