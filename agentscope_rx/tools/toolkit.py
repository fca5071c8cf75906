"""The tools of an agent."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, TypeAlias

from ..context import RuntimeContext
from ..errors import AgentScopeError, ToolError
from ..message import ToolUseBlock
from .base import Tool
from .function import FunctionTool
from .groups import RESET_TOOLS, InactiveTool, ToolGroup, active_groups, reset_tools
from .schema import ToolSchema

__all__ = ["ToolLike", "Toolkit"]

ToolLike: TypeAlias = "Tool | ToolGroup | Toolkit | Callable[..., Any]"
"""What a toolkit is made of: tools, functions, groups and other toolkits."""


class Toolkit:
    """Tools by name, in the order in which they were given. A toolkit never changes.

    With groups in it, it has the tool `reset_tools` too, by which the model chooses those that are active.
    """

    def __init__(self, tools: Iterable[ToolLike] = ()) -> None:
        """Collect tools.

        Raises:
            ToolError: a function cannot be a tool, two tools or two groups have one name, or a tool is in two groups.
        """
        self._tools: dict[str, Tool] = {}
        self._groups: dict[str, ToolGroup] = {}
        grouped: dict[str, ToolGroup | None] = {}
        for tool, group in _flatten(tools):
            self._add(tool)
            if grouped.setdefault(tool.name, group) is not group:
                raise ToolError(f"the tool {tool.name!r} is given twice, with a group and without or with another")
            if group is not None and self._groups.setdefault(group.name, group) is not group:
                raise ToolError(f"two groups of tools are named {group.name!r}; give one of them another name")
        if self._groups:
            self._add(reset_tools(self._groups.values()))

    def _add(self, tool: Tool) -> None:
        if (other := self._tools.setdefault(tool.name, tool)) is not tool:
            raise ToolError(
                f"two tools are named {tool.name!r}: {_origin(other)} and {_origin(tool)}; "
                f"give one of them another name"
            )

    def equipped(self, context: RuntimeContext) -> Toolkit:
        """Return the toolkit as a session has it: `InactiveTool` stands for each tool of a group that is not active."""
        if not self._groups:
            return self
        active = active_groups(self._groups.values(), context)
        equipped = copy.copy(self)
        equipped._tools = self._tools | {
            tool.name: InactiveTool(tool, group)
            for group in self._groups.values()
            if group.name not in active
            for tool in group.tools
        }
        return equipped

    def __iter__(self) -> Iterator[Tool]:
        return iter(self._tools.values())

    def __len__(self) -> int:
        return len(self._tools)

    def get(self, name: str) -> Tool | None:
        """Return the tool of this name, None when there is none."""
        return self._tools.get(name)

    def schemas(self, context: RuntimeContext) -> tuple[ToolSchema, ...]:
        """Return what the model is told of the tools in this context; nothing of those that are inactive.

        Raises:
            ToolError: a tool failed to say; it is named, and what it raised is the cause.
        """
        return tuple(_schema(tool, context) for tool in self if not isinstance(tool, InactiveTool))

    def batches(self, calls: Sequence[ToolUseBlock]) -> list[list[ToolUseBlock]]:
        """Split the calls of a turn, in order, into batches whose calls may run side by side.

        Neighbours that are concurrency-safe form a batch; a call that is not is a batch of its own. A call of an
        unknown tool runs nothing and is safe.
        """
        batches: list[list[ToolUseBlock]] = []
        joinable = False
        for call in calls:
            safe = self._is_safe(call)
            if safe and joinable:
                batches[-1].append(call)
            else:
                batches.append([call])
            joinable = safe
        return batches

    def _members(self) -> Iterator[tuple[Tool, ToolGroup | None]]:
        """Yield the tools with their groups, as they were given."""
        grouped = {tool.name: group for group in self._groups.values() for tool in group.tools}
        own = {RESET_TOOLS} if self._groups else set()
        return ((tool, grouped.get(tool.name)) for tool in self if tool.name not in own)

    def _is_safe(self, call: ToolUseBlock) -> bool:
        tool = self.get(call.name)
        return tool is None or tool.concurrency_safe


def _flatten(tools: Iterable[ToolLike]) -> Iterator[tuple[Tool, ToolGroup | None]]:
    for tool in tools:
        if isinstance(tool, Toolkit):
            yield from tool._members()
        elif isinstance(tool, ToolGroup):
            yield from ((member, tool) for member in tool.tools)
        else:
            yield (tool if isinstance(tool, Tool) else FunctionTool(tool)), None


def _schema(tool: Tool, context: RuntimeContext) -> ToolSchema:
    try:
        return tool.schema(context)
    except AgentScopeError:
        raise
    except Exception as error:
        raise ToolError(
            f"the tool {tool.name!r} raised {type(error).__name__} when it was asked for its schema; "
            f"expected a ToolSchema, see the cause"
        ) from error


def _origin(tool: Tool) -> str:
    source = tool.function if isinstance(tool, FunctionTool) else tool
    named = source if hasattr(source, "__qualname__") else type(source)
    return f"{named.__module__}.{named.__qualname__}"
