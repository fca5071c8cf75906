"""Arguments and questions for tools that nobody has seen before."""

from __future__ import annotations

from enum import Enum
from typing import Any, Literal

import pytest
from hypothesis import given, strategies as st
from pydantic import BaseModel, Field, TypeAdapter, create_model

from agentscope_rx.model import ToolSchema
from agentscope_rx.model.local.examples import example_arguments, example_question


def tool(name: str, **parameters: Any) -> ToolSchema:
    """A tool with parameters as pydantic would describe them: a type, or a type and a default."""
    fields = {key: value if isinstance(value, tuple) else (value, ...) for key, value in parameters.items()}
    return ToolSchema(name, f"Does {name}.", create_model(name, **fields).model_json_schema())


def question(schema: ToolSchema) -> str:
    return example_question(schema, example_arguments(schema))


class Unit(Enum):
    C = "celsius"
    F = "fahrenheit"


class Place(BaseModel):
    city: str
    country: str
    note: str = ""


@pytest.mark.parametrize(
    ("schema", "arguments"),
    [
        (tool("roll_dice"), {}),
        (tool("add", a=int, b=int), {"a": 2, "b": 3}),
        (tool("get_weather", city=str), {"city": "Rome"}),
        (tool("get_weather", cityName=str, days=(int, 1)), {"cityName": "Rome"}),
        (tool("calculate", expression=str), {"expression": "2 + 3"}),
        (tool("paint", color=Literal["red", "blue"]), {"color": "red"}),
        (tool("paint", color=(str, Field(examples=["mauve"]))), {"color": "mauve"}),
        (tool("convert", unit=Unit), {"unit": "celsius"}),
        (tool("go", place=Place), {"place": {"city": "Rome", "country": "Italy"}}),
        (tool("find", tags=list[str]), {"tags": ["tags"]}),
        (tool("wait", seconds=float | None, loud=bool), {"seconds": 2, "loud": True}),
        (tool("frobnicate", left_gizmo=str), {"left_gizmo": "left gizmo"}),
    ],
    ids=lambda value: value.name if isinstance(value, ToolSchema) else "",
)
def test_needed_arguments_get_values_of_their_kind(schema: ToolSchema, arguments: dict[str, Any]) -> None:
    assert example_arguments(schema) == arguments


@pytest.mark.parametrize(
    ("schema", "asked"),
    [
        (tool("add", a=int, b=int), "What is 2 + 3?"),
        (tool("multiply", x=float, y=float), "What is 2 * 3?"),
        (tool("calculate", expression=str), "What is 2 + 3?"),
        (tool("get_weather", city=str), "What is the weather in Rome?"),
        (tool("get_current_time", timezone=(str, "UTC")), "What time is it?"),
        (tool("getStockPrice", symbol=str), "What is the stock price of IBM?"),
        (tool("fetch_news"), "What is the news?"),
        (tool("send_email", to=str, subject=str), "Send email tom@mail.com and good morning."),
        (tool("roll_dice"), "Roll dice."),
        (tool("sum", numbers=list[int]), "Sum [2]."),
        (tool("7"), "7."),
    ],
    ids=lambda value: value.name if isinstance(value, ToolSchema) else "",
)
def test_a_question_is_put_as_people_would(schema: ToolSchema, asked: str) -> None:
    assert question(schema) == asked


def test_a_list_of_types_is_the_first_that_is_not_null() -> None:
    properties = {"n": {"type": ["null", "integer"]}, "nothing": {"type": ["null"]}}
    schema = ToolSchema("f", "", {"type": "object", "properties": properties, "required": ["n", "nothing"]})
    assert example_arguments(schema) == {"n": 2, "nothing": "nothing"}


def test_a_model_within_itself_ends() -> None:
    node: dict[str, Any] = {
        "type": "object",
        "properties": {"next": {"$ref": "#/$defs/Node"}},
        "required": ["next"],
    }
    schema = ToolSchema("walk", "", {"$defs": {"Node": node}, **node})
    assert str(example_arguments(schema)).count("next") < 10


schemas = st.recursive(
    st.sampled_from(
        [
            *({"type": kind} for kind in ("string", "integer", "number", "boolean", "null", "array", "object")),
            {},
            {"enum": ["x", "y"]},
            {"const": 5},
            {"$ref": "#/$defs/Missing"},
            {"type": ["string", "null"]},
        ]
    ),
    lambda inner: (
        st.fixed_dictionaries({"type": st.just("array"), "items": inner})
        | st.fixed_dictionaries({"anyOf": st.lists(inner, max_size=2)})
        | st.fixed_dictionaries({"type": st.just("object"), "properties": st.dictionaries(st.text(max_size=4), inner)})
    ),
    max_leaves=6,
)


@given(st.text(max_size=20), st.dictionaries(st.text(max_size=8), schemas, max_size=4), st.data())
def test_any_tool_can_be_demonstrated(name: str, properties: dict[str, Any], data: st.DataObject) -> None:
    required = data.draw(st.lists(st.sampled_from([*properties, "undeclared"]), unique=True))
    schema = ToolSchema(name, "", {"type": "object", "properties": properties, "required": required})
    arguments = example_arguments(schema)
    assert list(arguments) == required
    TypeAdapter(dict[str, Any]).dump_json(arguments)
    assert isinstance(question(schema), str)
