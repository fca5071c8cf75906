"""Tools of every kind, and judging calls of them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from agentscope_rx.message import PermissionBehavior, PermissionRule
from agentscope_rx.permission import PermissionContext, PermissionDecision, PermissionEngine, PermissionMode
from agentscope_rx.tools import FunctionTool, Tool, ToolVerdict, tool

ALLOW, DENY, ASK, PASSTHROUGH = PermissionBehavior
FIELDS = {ALLOW: "allow_rules", DENY: "deny_rules", ASK: "ask_rules"}


@tool
def send(text: str) -> str:
    """A tool that declares nothing."""
    return text


@tool(read_only=True)
def look(thing: str) -> str:
    return thing


@tool(paths=("path",), read_only=True)
def read_file(path: str) -> str:
    return path


@tool(paths=("path",), edits=True)
def write_file(path: str, text: str = "") -> str:
    return path + text


@tool(paths=("sources", "target"), edits=True)
def move_files(sources: list[str], target: str | None = None) -> str:
    return f"{sources} {target}"


@tool(command="command")
def shell(command: str) -> str:
    return command


def saying(verdict: Any, **declared: Any) -> FunctionTool[..., str]:
    """A tool whose own check gives always the same, or raises it."""

    def check(arguments: object) -> Any:
        if isinstance(verdict, Exception):
            raise verdict
        return ToolVerdict(verdict, "so says the tool") if isinstance(verdict, PermissionBehavior) else verdict

    return FunctionTool(send.function, check_permission=check, **declared)


def rule(tool: Tool | str, content: str | None = None, behavior: PermissionBehavior = ALLOW) -> PermissionRule:
    name = tool if isinstance(tool, str) else tool.name
    return PermissionRule(tool_name=name, rule_content=content, behavior=behavior)


def context(
    *rules: PermissionRule, mode: PermissionMode = PermissionMode.DEFAULT, directories: Iterable[str] = ()
) -> PermissionContext:
    return PermissionContext(mode=mode, working_directories=tuple(directories)).with_rules(rules)


def judge(given: PermissionContext | None, tool: Tool, **arguments: Any) -> PermissionDecision:
    return PermissionEngine(given).evaluate(tool, arguments)


def outcome(given: PermissionContext | None, tool: Tool, **arguments: Any) -> tuple[str, str]:
    """What was decided, and by which step."""
    decision = judge(given, tool, **arguments)
    return decision.behavior.value, decision.reason.value


def contents(decision: PermissionDecision) -> list[str | None]:
    """The patterns of the suggested rules."""
    return [rule.rule_content for rule in decision.suggested_rules]
