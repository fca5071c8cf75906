from __future__ import annotations

import functools
import inspect
from typing import Any

import pytest

from agentscope_rx.context import RuntimeContext
from agentscope_rx.errors import ToolError
from agentscope_rx.message import PermissionBehavior
from agentscope_rx.tools import FunctionTool, Tool, ToolVerdict, tool

from .running import run, state, texts


@tool
def add(a: int, b: int = 1) -> int:
    """Add two numbers.

    Carries where it must.

    Args:
        a: The first.
        b: The second.
    """
    return a + b


class Files:
    def __init__(self, root: str) -> None:
        self.root = root

    @tool
    def read(self, path: str) -> str:
        """Read a file."""
        return f"{self.root}/{path}"

    @tool(parameters={"type": "object", "properties": {"path": {"type": "string"}}})
    def erase(self, path: str) -> str:
        return f"erased {self.root}/{path}"

    async def write(self, path: str) -> str:
        """Write a file."""
        return f"wrote {self.root}/{path}"

    @classmethod
    def count(cls, paths: list[str]) -> int:
        return len(paths)

    @staticmethod
    def join(a: str, b: str) -> str:
        return a + b


class Greeter:
    """Greet somebody."""

    def __call__(self, name: str) -> str:
        return f"hello {name}"


class AsyncGreeter:
    async def __call__(self, name: str) -> str:
        """Greet somebody in time."""
        return f"hello {name}"


def test_a_tool_is_still_the_function():
    assert isinstance(add, FunctionTool)
    assert isinstance(add, Tool)
    assert add(1, b=2) == 3
    assert add.__name__ == "add"
    assert add.__doc__ is not None
    assert list(inspect.signature(add).parameters) == ["a", "b"]
    assert repr(add) == "FunctionTool('add')"


def test_name_and_description_come_from_the_function():
    assert (add.name, add.description, add.concurrency_safe) == (
        "add",
        "Add two numbers.\n\nCarries where it must.",
        True,
    )
    schema = add.schema(RuntimeContext())
    assert (schema.name, schema.description) == (add.name, add.description)
    assert schema.parameters["properties"]["b"] == {"type": "integer", "default": 1, "description": "The second."}


def test_options_go_before_the_function():
    @tool(name="plus", description="Sum.", concurrency_safe=False)
    def other(a: int):
        """Not this.

        Args:
            a: But this.
        """

    assert (other.name, other.description, other.concurrency_safe) == ("plus", "Sum.", False)
    assert other.schema(RuntimeContext()).parameters["properties"]["a"]["description"] == "But this."


FILES = Files("root")


@pytest.mark.parametrize(
    ("function", "name", "description", "arguments", "text"),
    [
        (FILES.read, "read", "Read a file.", {"path": "p"}, "root/p"),
        (FILES.erase, "erase", "", {"path": "p"}, "erased root/p"),
        (FILES.write, "write", "Write a file.", {"path": "p"}, "wrote root/p"),
        (Files.count, "count", "", {"paths": ["a", "b"]}, "2"),
        (Files.join, "join", "", {"a": "x", "b": "y"}, "xy"),
        (Greeter(), "Greeter", "Greet somebody.", {"name": "Ann"}, "hello Ann"),
        (AsyncGreeter(), "AsyncGreeter", "Greet somebody in time.", {"name": "Ann"}, "hello Ann"),
        (functools.partial(FILES.write), "write", "Write a file.", {"path": "p"}, "wrote root/p"),
        (functools.partial(Greeter(), name="Bob"), "Greeter", "Greet somebody.", {}, "hello Bob"),
    ],
)
def test_any_callable_is_a_tool(function: Any, name: str, description: str, arguments: dict[str, Any], text: str):
    made = function if isinstance(function, Tool) else tool(function)
    assert (made.name, made.description) == (name, description)
    chunks = run(made, arguments)
    assert (texts(chunks), state(chunks)) == ([text], "success")


def test_a_tool_in_a_class_binds_like_a_method():
    assert FILES.read("x") == "root/x"
    assert Files("other").read("x") == "other/x"
    assert Files.read(FILES, "x") == "root/x"
    assert list(FILES.read.schema(RuntimeContext()).parameters["properties"]) == ["path"]


@pytest.mark.parametrize("name", ["", "two words", "é", "x" * 65, "a.b"])
def test_a_name_that_models_refuse(name: str):
    with pytest.raises(ToolError, match="is no name for a tool: expected 1 to 64 of"):
        FunctionTool(lambda: None, name=name)


def test_attributes_of_a_callable_object_do_not_reach_the_tool():
    class Odd:
        def __init__(self) -> None:
            self.schema = self.bind = self.name = None

        def __call__(self) -> str:
            return "ok"

    made = FunctionTool(Odd())
    assert made.name == "Odd"
    assert texts(run(made)) == ["ok"]


def copy_file(source: str, target: str) -> None: ...


async def unsure(*_: Any) -> None: ...


def test_a_tool_declares_nothing_by_default():
    assert (add.read_only, add.edits, add.paths, add.command) == (False, False, (), None)
    assert add.check_permission({"a": 1}) is None
    assert not add.match_rule("1", {"a": 1})


def test_what_a_tool_declares_outlives_its_binding_to_an_object():
    class Shell:
        @tool(command="line", check_permission=lambda arguments: ToolVerdict(PermissionBehavior.ASK, str(arguments)))
        def run(self, line: str) -> str:
            return line

    made = Shell().run
    assert made.command == "line"
    assert made.check_permission({"line": "ls"}) == ToolVerdict(PermissionBehavior.ASK, "{'line': 'ls'}")


def test_a_tool_matches_rules_by_a_function_of_its_own():
    made = FunctionTool(add.function, match_rule=lambda pattern, arguments: str(arguments["a"]) in pattern.split())
    assert made.match_rule("1 2", {"a": 2})
    assert not made.match_rule("1 2", {"a": 3})


@pytest.mark.parametrize(
    ("declared", "message"),
    [
        ({"edits": True}, "copy_file cannot be a tool: edits= needs paths="),
        ({"edits": True, "read_only": True, "paths": ("target",)}, "contradict each other"),
        ({"paths": ("source",), "command": "target"}, "declare one of them"),
        ({"paths": ("source",), "match_rule": lambda pattern, arguments: True}, "match rules by themselves"),
        ({"command": "source", "match_rule": lambda pattern, arguments: True}, "match rules by themselves"),
        ({"check_permission": unsure}, "do not wait"),
        ({"match_rule": unsure}, "do not wait"),
        ({"paths": ("source", "to")}, "parameters that the model writes, not to"),
        ({"command": "line"}, "parameters that the model writes, not line"),
    ],
)
def test_declarations_that_make_no_sense(declared: dict[str, Any], message: str):
    with pytest.raises(ToolError, match=message):
        FunctionTool(copy_file, **declared)


def test_declared_parameters_may_come_from_a_schema_of_its_own():
    schema = {"type": "object", "properties": {"file": {"type": "string"}}}
    made = FunctionTool(lambda **keywords: keywords, name="keep", parameters=schema, paths=("file",), edits=True)
    assert (made.paths, made.edits) == (("file",), True)
