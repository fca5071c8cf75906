from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
from pydantic import BaseModel

from agentscope_rx.context import RuntimeContext
from agentscope_rx.errors import ToolError
from agentscope_rx.message import ToolUseBlock
from agentscope_rx.tools import FunctionTool, Tool, ToolEmitter, Toolkit, ToolSchema, tool

from .running import run, texts


class User(BaseModel):
    name: str


def first(a: int): ...
def second(user: User): ...


@tool(name="first")
def other_first(): ...


@tool(concurrency_safe=False)
def alone(): ...


class Echo(Tool):
    """A tool that is no function."""

    name = "echo"
    description = "Say it again."

    def schema(self, context: RuntimeContext) -> ToolSchema:
        return ToolSchema(self.name, self.description, {"type": "object", "properties": {"text": {"type": "string"}}})

    def bind(self, arguments: dict[str, Any], context: RuntimeContext, emitter: ToolEmitter) -> Callable[[], Any]:
        return partial(self._say, arguments["text"])

    async def _say(self, text: str):
        for letter in text:
            yield letter


def calls(*names: str) -> list[ToolUseBlock]:
    return [ToolUseBlock(id=str(number), name=name) for number, name in enumerate(names)]


def test_a_toolkit_is_made_of_functions_tools_and_toolkits():
    toolkit = Toolkit([first, Toolkit([alone, Echo()]), second])
    assert [tool.name for tool in toolkit] == ["first", "alone", "echo", "second"]
    assert len(toolkit) == 4
    assert toolkit.get("alone") is alone
    assert isinstance(toolkit.get("first"), FunctionTool)
    assert toolkit.get("absent") is None
    assert len(Toolkit()) == 0


def test_a_tool_that_is_no_function_runs_like_one():
    assert texts(run(Echo(), {"text": "abc"})) == ["a", "b", "c"]
    assert texts(run(Echo(), {})) == ["KeyError: 'text'"]


def test_schemas_depend_on_the_context():
    toolkit = Toolkit([first, second])
    assert [list(schema.parameters["properties"]) for schema in toolkit.schemas(RuntimeContext())] == [["a"], ["user"]]
    with_user = RuntimeContext().put(User(name="Ann"))
    assert [list(schema.parameters["properties"]) for schema in toolkit.schemas(with_user)] == [["a"], []]


class Broken(Echo):
    name = "broken"
    error: Exception = KeyError("secret")

    def schema(self, context: RuntimeContext) -> ToolSchema:
        raise self.error


def test_a_tool_that_fails_to_say_its_schema_is_named():
    broken = Broken()
    with pytest.raises(ToolError, match=r"^the tool 'broken' raised KeyError when it was asked") as caught:
        Toolkit([first, broken]).schemas(RuntimeContext())
    assert caught.value.__cause__ is broken.error
    broken.error = ToolError("typed")
    with pytest.raises(ToolError, match=r"^typed$"):
        Toolkit([first, broken]).schemas(RuntimeContext())


def test_two_tools_of_one_name_are_both_named():
    with pytest.raises(ToolError, match=r"two tools are named 'first': tests.*\.first and tests.*\.other_first;"):
        Toolkit([first, other_first])
    with pytest.raises(ToolError, match=r"named 'echo': .*\.Echo and .*\.Echo"):
        Toolkit([Echo(), Toolkit([Echo()])])


@pytest.mark.parametrize("item", [None, "first", 3, first.__class__])
def test_what_is_no_tool(item: Any):
    with pytest.raises(ToolError, match="a tool is a function"):
        Toolkit([item])


@pytest.mark.parametrize(
    ("names", "batches"),
    [
        ("", []),
        ("s", ["s"]),
        ("ss", ["ss"]),
        ("a", ["a"]),
        ("aa", ["a", "a"]),
        ("ssas", ["ss", "a", "s"]),
        ("assa", ["a", "ss", "a"]),
        ("sus", ["sus"]),
        ("uau", ["u", "a", "u"]),
    ],
)
def test_batches(names: str, batches: list[str]):
    toolkit = Toolkit([first, alone])
    called = calls(*({"s": "first", "a": "alone", "u": "unknown"}[letter] for letter in names))
    split = toolkit.batches(called)
    assert [len(batch) for batch in split] == [len(batch) for batch in batches]
    assert [call for batch in split for call in batch] == called
