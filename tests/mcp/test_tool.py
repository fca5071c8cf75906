"""A tool of a server as the agent sees it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from mcp.types import Tool as ToolDescription, ToolAnnotations

from agentscope_rx import McpTool, PermissionBehavior, PermissionContext, PermissionEngine, RuntimeContext
from agentscope_rx.errors import ToolError
from agentscope_rx.mcp.tool import AbsentTool
from agentscope_rx.message import ToolResultState
from agentscope_rx.tools import ToolChunk, ToolEmitter, ToolEnd, ToolText

from ..tools.running import run, state, texts

NOBODY = ToolEmitter(lambda chunk: pytest.fail("nothing is emitted"))


async def echo(tool: str, arguments: dict[str, Any], report: Any) -> Iterator[ToolChunk]:
    return iter([ToolText(f"{tool} {arguments}"), ToolEnd(ToolResultState.SUCCESS)])


def tool(schema: dict[str, Any] | None = None, *, trusted: bool = True, call: Any = echo, **hints: Any) -> McpTool:
    described = ToolDescription(
        name="erase.all", title="Erase", input_schema=schema or {}, annotations=ToolAnnotations(**hints)
    )
    return McpTool("mcp__disk__erase_all", described, call, trusted=trusted)


def decision(tool: McpTool, context: PermissionContext | None) -> PermissionBehavior:
    return PermissionEngine(context).evaluate(tool, {}).behavior


def test_a_call_is_made_by_the_name_that_the_server_knows() -> None:
    assert texts(run(tool(), {"a": 1})) == ["erase.all {'a': 1}"]


def test_the_model_sees_an_object_schema() -> None:
    schema = tool({"properties": {"a": {}}}).schema(RuntimeContext())
    assert (schema.name, schema.description) == ("mcp__disk__erase_all", "Erase")
    assert schema.parameters == {"type": "object", "properties": {"a": {}}}


def test_who_only_reads_is_not_asked_about_and_runs_beside_others() -> None:
    reader = tool(read_only_hint=True)
    assert reader.concurrency_safe
    assert decision(reader, PermissionContext()) is PermissionBehavior.ALLOW


@pytest.mark.parametrize("hints", [{}, {"read_only_hint": False}, {"read_only_hint": True, "trusted": False}])
def test_others_are_up_to_the_rules_and_run_one_by_one(hints: dict[str, Any]) -> None:
    assert not tool(**hints).concurrency_safe
    assert decision(tool(**hints), PermissionContext()) is PermissionBehavior.ASK
    assert decision(tool(**hints), None) is PermissionBehavior.ALLOW


@pytest.mark.parametrize("trusted", [True, False])
def test_who_destroys_needs_a_yes_even_without_rules(trusted: bool) -> None:
    assert decision(tool(destructive_hint=True, trusted=trusted), None) is PermissionBehavior.ASK


def test_a_reader_destroys_nothing_whatever_else_is_said() -> None:
    assert decision(tool(read_only_hint=True, destructive_hint=True), None) is PermissionBehavior.ALLOW


def test_arguments_that_do_not_fit_reach_no_server() -> None:
    strict = tool({"properties": {"a": {"type": "integer"}}, "required": ["b"]})
    with pytest.raises(ToolError) as caught:
        strict.bind({"a": "x"}, RuntimeContext(), NOBODY)
    assert str(caught.value) == (
        "the arguments do not fit:\n- a: 'x' is not of type 'integer'\n- $: 'b' is a required property"
    )


@pytest.mark.parametrize(
    "schema",
    [
        {"properties": {"a": {"type": "no such type"}}},
        {"properties": {"a": {"$ref": "http://127.0.0.1:1/schema.json"}}},
        {"properties": {"a": {"$ref": "#/nowhere"}}},
        {"properties": {"a": {"pattern": "("}}},
    ],
)
def test_a_schema_that_cannot_be_checked_is_the_servers_business(schema: dict[str, Any]) -> None:
    assert texts(run(tool(schema), {"a": "1"})) == ["erase.all {'a': '1'}"]


def test_progress_comes_before_the_result() -> None:
    async def climb(tool: str, arguments: dict[str, Any], report: Any) -> Iterator[ToolChunk]:
        report(1, 2, "half way")
        report(2, None, None)
        return iter([ToolText("on top"), ToolEnd(ToolResultState.SUCCESS)])

    chunks = run(tool(call=climb))
    assert texts(chunks, progress=True) == ["half way (1/2)\n", "2\n"]
    assert texts(chunks) == ["on top"]


def test_of_more_reports_than_can_wait_the_newest_are_shown() -> None:
    async def hurry(tool: str, arguments: dict[str, Any], report: Any) -> Iterator[ToolChunk]:
        for done in range(1_000):
            report(done, None, None)
        return iter([ToolEnd(ToolResultState.SUCCESS)])

    shown = texts(run(tool(call=hurry)), progress=True)
    assert shown == [f"{done}\n" for done in range(1_000 - len(shown), 1_000)]
    assert len(shown) <= 64


def test_an_absent_tool_asks_nobody_and_says_why() -> None:
    absent = AbsentTool("mcp__disk__erase", "the disk is gone")
    assert PermissionEngine(PermissionContext()).evaluate(absent, {}).behavior is PermissionBehavior.ALLOW
    chunks = run(absent)
    assert state(chunks) is ToolResultState.ERROR
    assert texts(chunks) == ["ToolError: the disk is gone"]
    assert absent.schema(RuntimeContext()).parameters == {"type": "object", "properties": {}}
