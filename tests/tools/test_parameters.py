from __future__ import annotations

import datetime
import enum
import functools
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, Literal, Protocol

import pytest
from pydantic import BaseModel, Field, PlainValidator, field_validator

from agentscope_rx.context import RuntimeContext
from agentscope_rx.errors import ToolError
from agentscope_rx.tools import FunctionTool, ToolEmitter

from .running import run, state, texts

if TYPE_CHECKING:
    from collections.abc import Mapping


class Address(BaseModel):
    """Where somebody lives."""

    street: str
    title: str | None = None


class Person(BaseModel):
    name: str
    addresses: list[Address] = []


class Colour(enum.Enum):
    RED = "red"
    BLUE = "blue"


@dataclass
class Box:
    width: int


class Database:
    """A class that no JSON schema describes."""

    def __init__(self, name: str = "db") -> None:
        self.name = name


class Clock(Protocol):
    def now(self) -> int: ...


class Tenant(BaseModel):
    id: int


class MyContext(RuntimeContext):
    pass


def plain(a: int, b, c: float = 1.5): ...
def nothing(): ...
def keyword_only(*, a: int): ...
def literal(mode: Literal["fast", "slow"] = "fast"): ...
def optional(a: int | None = None): ...
def annotated(a: Annotated[int, Field(ge=0, le=9, description="A digit.")]): ...
def default_in_field(a: int = Field(5, gt=1), b: Annotated[str, Field(default="x")] = Field(description="B.")): ...
def nested(person: Person): ...
def awkward_names(json: str, schema: int, model_config: bool, _private: str, self_: int, title: str): ...
def kinds(colour: Colour, day: datetime.date, box: Box, items: list[tuple[int, str]], table: dict[str, float]): ...
def strange_default(a: Any = nothing): ...
def mutable_default(a: list[int] = []): ...  # noqa: B006
def returns_what_is_not_there(a: int) -> Mapping[str, int]: ...


INTEGER, STRING = {"type": "integer"}, {"type": "string"}

SCHEMAS: list[tuple[Callable[..., Any], dict[str, Any], list[str] | None]] = [
    (plain, {"a": INTEGER, "b": {}, "c": {"type": "number", "default": 1.5}}, ["a", "b"]),
    (nothing, {}, None),
    (keyword_only, {"a": INTEGER}, ["a"]),
    (literal, {"mode": {"type": "string", "enum": ["fast", "slow"], "default": "fast"}}, None),
    (optional, {"a": {"anyOf": [INTEGER, {"type": "null"}], "default": None}}, None),
    (annotated, {"a": {"type": "integer", "minimum": 0, "maximum": 9, "description": "A digit."}}, ["a"]),
    (
        default_in_field,
        {
            "a": {"type": "integer", "exclusiveMinimum": 1, "default": 5},
            "b": {"type": "string", "default": "x", "description": "B."},
        },
        None,
    ),
    (
        awkward_names,
        {
            "json": STRING,
            "schema": INTEGER,
            "model_config": {"type": "boolean"},
            "_private": STRING,
            "self_": INTEGER,
            "title": STRING,
        },
        ["json", "schema", "model_config", "_private", "self_", "title"],
    ),
    (strange_default, {"a": {}}, None),
    (mutable_default, {"a": {"type": "array", "items": INTEGER, "default": []}}, None),
    (returns_what_is_not_there, {"a": INTEGER}, ["a"]),
]


def schema_of(function: Callable[..., Any], context: RuntimeContext | None = None, **options: Any) -> dict[str, Any]:
    return FunctionTool(function, name="probe", **options).schema(context or RuntimeContext()).parameters


@pytest.mark.parametrize(
    ("function", "properties", "required"), SCHEMAS, ids=lambda value: getattr(value, "__name__", "")
)
def test_schema(function: Callable[..., Any], properties: dict[str, Any], required: list[str] | None):
    expected = {"type": "object", "properties": properties}
    if required is not None:
        expected["required"] = required
    assert schema_of(function) == expected


def test_nested_models_keep_their_definitions_and_properties_named_title():
    assert schema_of(nested) == {
        "type": "object",
        "properties": {"person": {"$ref": "#/$defs/Person"}},
        "required": ["person"],
        "$defs": {
            "Person": {
                "type": "object",
                "properties": {
                    "name": STRING,
                    "addresses": {"type": "array", "items": {"$ref": "#/$defs/Address"}, "default": []},
                },
                "required": ["name"],
            },
            "Address": {
                "type": "object",
                "description": "Where somebody lives.",
                "properties": {"street": STRING, "title": {"anyOf": [STRING, {"type": "null"}], "default": None}},
                "required": ["street"],
            },
        },
    }


def test_values_in_a_schema_are_not_taken_for_schemas():
    def function(
        a: dict[str, Any] = {"title": "kept", "properties": 1},  # noqa: B006
        b: Annotated[dict[str, Any], Field(examples=[{"title": "kept"}])] = {},  # noqa: B006
    ): ...

    properties = schema_of(function)["properties"]
    assert properties["a"]["default"] == {"title": "kept", "properties": 1}
    assert properties["b"]["examples"] == [{"title": "kept"}]


def test_descriptions_come_from_the_docstring_unless_the_field_has_one():
    def function(a: int, b: Person, c: Annotated[int, Field(description="Said here.")] = 0):
        """Do it.

        Args:
            a: The first.
            b: The second.
            c: Not this.
        """

    properties = schema_of(function)["properties"]
    assert [properties[name]["description"] for name in "abc"] == ["The first.", "The second.", "Said here."]
    assert properties["b"]["$ref"] == "#/$defs/Person"


def test_a_partial_hides_what_it_holds():
    def fetch(url: str, key: str, retries: int = 1):
        return f"{url} {key} {retries}"

    function = functools.partial(fetch, key="secret")
    assert schema_of(function)["properties"] == {"url": STRING, "retries": {"type": "integer", "default": 1}}
    assert texts(run(function, {"url": "u"})) == ["u secret 1"]
    refused = run(function, {"url": "u", "key": "mine"})
    assert "key: Extra inputs are not permitted" in texts(refused)[0]
    positional = functools.partial(fetch, "fixed")
    assert list(schema_of(positional)["properties"]) == ["key", "retries"]
    assert texts(run(positional, {"key": "k"})) == ["fixed k 1"]


def test_an_alias_is_what_the_model_writes():
    def move(source: Annotated[str, Field(alias="from")]):
        return source

    assert schema_of(move)["required"] == ["from"]
    assert texts(run(move, {"from": "here"})) == ["here"]


# What a function is called with.


VALIDATION = [
    (plain, {"a": "3", "b": None}, {"a": 3, "b": None, "c": 1.5}),
    (plain, {"a": 3.0, "b": [1], "c": 2}, {"a": 3, "b": [1], "c": 2.0}),
    (optional, {"a": None}, {"a": None}),
    (literal, {"mode": None}, {"mode": "fast"}),
    (default_in_field, {}, {"a": 5, "b": "x"}),
    (
        kinds,
        {"colour": "red", "day": "2024-05-06", "box": {"width": "2"}, "items": [[1, "x"]], "table": {"k": 1}},
        {
            "colour": Colour.RED,
            "day": datetime.date(2024, 5, 6),
            "box": Box(2),
            "items": [(1, "x")],
            "table": {"k": 1.0},
        },
    ),
    (
        nested,
        {"person": {"name": "Ann", "addresses": [{"street": "S"}]}},
        {"person": Person(name="Ann", addresses=[Address(street="S")])},
    ),
    (strange_default, {}, {"a": nothing}),
]


@pytest.mark.parametrize(("function", "arguments", "keywords"), VALIDATION)
def test_arguments(function: Callable[..., Any], arguments: dict[str, Any], keywords: dict[str, Any]):
    bound: Any = FunctionTool(function).bind(arguments, RuntimeContext(), ToolEmitter(None))  # type: ignore[arg-type]
    assert bound.keywords == keywords


@pytest.mark.parametrize(
    ("function", "arguments", "lines"),
    [
        (plain, {}, ["a: Field required", "b: Field required"]),
        (plain, {"a": "x", "b": 1}, ["a: Input should be a valid integer, unable to parse string as an integer"]),
        (plain, {"a": None, "b": 1}, ["a: Field required"]),
        (plain, {"a": 1, "b": 1, "d": None}, ["d: Extra inputs are not permitted"]),
        (plain, {"a": 1, "b": 1, "self": 1}, ["self: Extra inputs are not permitted"]),
        (literal, {"mode": "hasty"}, ["mode: Input should be 'fast' or 'slow'"]),
        (annotated, {"a": 12}, ["a: Input should be less than or equal to 9"]),
        (nested, {"person": {"name": "A", "addresses": [{}]}}, ["person.addresses.0.street: Field required"]),
        (nothing, {"a": 1}, ["a: Extra inputs are not permitted"]),
    ],
)
def test_wrong_arguments_are_told_field_by_field(function: Any, arguments: dict[str, Any], lines: list[str]):
    chunks = run(function, arguments)
    assert texts(chunks) == [
        "\n".join(["ToolError: the arguments do not fit the parameters:", *(f"- {line}" for line in lines)])
    ]
    assert state(chunks) == "error"


def test_errors_hold_none_of_the_input_and_are_not_endless():
    def many(numbers: list[int]): ...

    (text,) = texts(run(many, {"numbers": ["top-secret"] * 1_000}))
    assert "top-secret" not in text
    assert text.count("\n") == 11
    assert text.endswith("- and 990 more")


def test_a_validator_that_raises_anything_is_an_error_result():
    def refuse(value: Any) -> Any:
        raise RuntimeError("no")

    def function(a: Annotated[int, PlainValidator(refuse, json_schema_input_type=int)]): ...

    chunks = run(FunctionTool(function), {"a": 1})
    assert (texts(chunks), state(chunks)) == (["RuntimeError: no"], "error")


# What a function is injected with.


def takes_emitter(a: int, emitter: ToolEmitter):
    return type(emitter).__name__


def takes_context(context: RuntimeContext, a: int):
    return context.session_id


def takes_my_context(a: int, context: MyContext):
    return context.session_id


def takes_database(a: int, db: Database):
    return db.name


def takes_optional_database(a: int, db: Database | None = None):
    return "none" if db is None else db.name


def takes_annotated_database(a: int, db: Annotated[Database, "note"]):
    return db.name


def takes_protocol(a: int, clock: Clock):
    return str(clock.now())


def takes_tenant(a: int, tenant: Tenant):
    return f"tenant {tenant.id}"


class FixedClock:
    def now(self) -> int:
        return 12


DATABASE = RuntimeContext().put(Database("main"))

INJECTION = [
    (takes_emitter, RuntimeContext(), "ToolEmitter"),
    (takes_context, RuntimeContext("s1"), "s1"),
    (takes_context, MyContext("s2"), "s2"),
    (takes_my_context, MyContext("s3"), "s3"),
    (takes_database, DATABASE, "main"),
    (takes_optional_database, DATABASE, "main"),
    (takes_optional_database, RuntimeContext(), "none"),
    (takes_annotated_database, DATABASE, "main"),
    (takes_protocol, RuntimeContext().put(Clock, FixedClock()), "12"),
    (takes_tenant, RuntimeContext().put(Tenant(id=7)), "tenant 7"),
]


@pytest.mark.parametrize(("function", "context", "text"), INJECTION)
def test_injected_parameters_are_hidden_and_filled(function: Any, context: RuntimeContext, text: str):
    assert schema_of(function, context) == {"type": "object", "properties": {"a": INTEGER}, "required": ["a"]}
    chunks = run(function, {"a": 1}, context)
    assert (texts(chunks), state(chunks)) == ([text], "success")


def test_a_class_with_a_schema_is_an_argument_where_the_context_does_not_hold_it():
    tool = FunctionTool(takes_tenant)
    assert list(tool.schema(RuntimeContext()).parameters["properties"]) == ["a", "tenant"]
    assert list(tool.schema(RuntimeContext().put(Tenant(id=1))).parameters["properties"]) == ["a"]
    assert texts(run(tool, {"a": 1, "tenant": {"id": 3}})) == ["tenant 3"]
    refused = run(tool, {"a": 1, "tenant": {"id": 3}}, RuntimeContext().put(Tenant(id=1)))
    assert "tenant: Extra inputs are not permitted" in texts(refused)[0]


@pytest.mark.parametrize(
    ("function", "missing"),
    [(takes_database, "Database"), (takes_my_context, "MyContext"), (takes_protocol, "Clock")],
)
def test_what_the_context_lacks_is_named_and_the_tool_not_run(function: Any, missing: str):
    ran: list[int] = []

    @functools.wraps(function)
    def wrapper(**arguments: Any):
        ran.append(1)
        return function(**arguments)

    chunks = run(FunctionTool(wrapper), {"a": 1})
    assert state(chunks) == "error"
    assert f"needs a {missing} and the context holds none" in texts(chunks)[0]
    assert not ran


def test_types_that_are_local_to_a_function_are_found():
    class Local:
        text = "local"

    class Methods:
        Inner = Local

        def method(self, a: int, inner: Inner, local: Local):
            return inner.text + local.text

        tool = FunctionTool(method)

    def function(a: int, local: Local):
        return local.text

    context = RuntimeContext().put(Local())
    assert texts(run(function, {"a": 1}, context)) == ["local"]
    assert texts(run(Methods().tool, {"a": 1}, context)) == ["locallocal"]


def test_types_of_the_language_are_never_injected():
    def function(a: str, b: dict[str, int] | None = None):
        return a

    context = RuntimeContext().put(str, "other").put(dict, {})
    assert list(schema_of(function, context)["properties"]) == ["a", "b"]
    assert texts(run(function, {"a": "mine"}, context)) == ["mine"]


# What cannot be a tool.


def unresolvable(a: NotThere): ...  # type: ignore[name-defined]  # noqa: F821
def positional_only(a: int, /): ...
def starred(*items: int): ...
def double_starred(**items: int): ...
def takes_function(a: Callable[[int], int]): ...
def takes_list_of_opaque(a: list[Database]): ...
def takes_a_class(a: type): ...


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (unresolvable, "unresolvable cannot be a tool: .*NotThere.*beforehand"),
        (positional_only, "'a' is positional-only"),
        (starred, "'items' is variadic positional"),
        (double_starred, "'items' is variadic keyword"),
        (takes_function, "a model cannot write the parameter 'a'"),
        (takes_list_of_opaque, "a model cannot write the parameter 'a'.*Database"),
        (takes_a_class, "a model cannot write the parameter 'a'"),
        (int, "a tool is a function"),
        ("text", "a tool is a function"),
        (lambda: None, "'<lambda>' is no name for a tool"),
    ],
)
def test_what_cannot_be_a_tool(function: Any, message: str):
    with pytest.raises(ToolError, match=message):
        FunctionTool(function)


# Schemas of one's own.


def sums(a: int, b: int = 0, *, emitter: ToolEmitter):
    return a + b


def test_a_schema_of_ones_own_is_shown_as_it_is_and_the_signature_validates():
    custom = {"type": "object", "title": "Kept", "properties": {"a": {"type": "integer", "title": "A"}}}
    tool = FunctionTool(sums, parameters=custom)
    assert tool.schema(RuntimeContext()).parameters == custom
    assert texts(run(tool, {"a": "4"})) == ["4"]
    assert "a: Field required" in texts(run(tool, {}))[0]


class Digits(BaseModel):
    a: int = Field(ge=0, le=9)
    b: int = 1

    @field_validator("b")
    @classmethod
    def even(cls, value: int) -> int:
        if value % 2:
            raise ValueError("must be even")
        return value


def test_a_model_of_ones_own_is_shown_and_validates():
    tool = FunctionTool(sums, parameters=Digits)
    assert tool.schema(RuntimeContext()).parameters == {
        "type": "object",
        "properties": {
            "a": {"type": "integer", "minimum": 0, "maximum": 9},
            "b": {"type": "integer", "default": 1},
        },
        "required": ["a"],
    }
    assert texts(run(tool, {"a": "4"})) == ["5"]
    assert "a: Input should be less" in texts(run(tool, {"a": 10}))[0]
    assert "b: Value error, must be even" in texts(run(tool, {"a": 1, "b": 3}))[0]


def test_keywords_take_what_a_schema_of_ones_own_offers():
    def proxy(method: str, **arguments: Any):
        return {"method": method, **arguments}

    custom = {"type": "object", "properties": {"method": STRING, "x": INTEGER}}
    assert texts(run(FunctionTool(proxy, parameters=custom), {"method": "m", "x": 1, "y": 2})) == [
        '{"method": "m", "x": 1, "y": 2}'
    ]


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"type": "object", "properties": {"a": {}, "z": {}}}, "offers z, which the function does not take"),
        ({"type": "object", "properties": {"b": {}}}, "lacks a, which the function needs"),
        ({"type": "array"}, "type 'array', expected the JSON schema of an 'object'"),
        ({}, "type None, expected"),
        (Tenant, "offers id"),
    ],
)
def test_a_schema_that_does_not_fit(parameters: Any, message: str):
    with pytest.raises(ToolError, match=f"sums cannot be a tool: its schema .*{message}|sums cannot be.*{message}"):
        FunctionTool(sums, parameters=parameters)
