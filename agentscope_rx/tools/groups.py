"""Groups of tools that a session turns on and off, and the tool with which the model does it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from pydantic import ConfigDict, Field, create_model

from ..context import RuntimeContext
from ..errors import ToolError
from ..message import PermissionBehavior
from .base import Tool
from .emitter import ToolEmitter
from .function import FunctionTool
from .schema import ToolSchema
from .source import ToolSource
from .verdict import ToolVerdict

__all__ = ["RESET_TOOLS", "HasToolGroups", "InactiveTool", "ToolGroup", "active_groups", "reset_tools"]

RESET_TOOLS = "reset_tools"
"""The name of the tool with which the model chooses."""


class HasToolGroups:
    """Whose groups are turned on and off: the context holds the state of the session under this type."""

    active_groups: tuple[str, ...] | None
    """The groups that are active; None as long as nobody has chosen, which is as the groups say."""


class ToolGroup:
    """Tools that a session has only while the group is active: `Toolkit([search, ToolGroup("browser", [...])])`.

    A toolkit with groups has a tool more, `reset_tools`, with which the model chooses the groups that are active from
    the next model call on. What was chosen is kept in `AgentState.active_groups`, for each session by itself.

    Args:
        name: The name of the group: a parameter of `reset_tools`.
        tools: Its tools; the tools of a source are looked for only while the group is active.
        description: What they are for, for the model to choose by.
        instructions: What the model is told when it has activated the group; "" for nothing.
        active: Whether the group is active in a session that has not chosen.
    """

    def __init__(
        self,
        name: str,
        tools: Iterable[Tool | ToolSource | Callable[..., Any]],
        description: str = "",
        *,
        instructions: str = "",
        active: bool = False,
    ) -> None:
        if not name.isidentifier():
            raise ToolError(f"{name!r} is no name for a group of tools: expected a word such as browser")
        self.name = name
        """The name of the group."""
        given = tuple(tools)
        self.sources = tuple(tool for tool in given if isinstance(tool, ToolSource))
        """Where more of its tools come from."""
        self.tools = tuple(
            tool if isinstance(tool, Tool) else FunctionTool(tool) for tool in given if not isinstance(tool, ToolSource)
        )
        """Its tools."""
        self.description = description
        """What they are for."""
        self.instructions = instructions
        """What the model is told when it has activated the group."""
        self.active = active
        """Whether the group is active in a session that has not chosen."""

    def __repr__(self) -> str:
        return f"ToolGroup({self.name!r}, {[tool.name for tool in self.tools]})"


def active_groups(groups: Iterable[ToolGroup], context: RuntimeContext) -> frozenset[str]:
    """Return the names of the groups that are active in a session."""
    session = context.get(HasToolGroups)
    chosen = None if session is None else session.active_groups
    return frozenset(group.name for group in groups if (group.active if chosen is None else group.name in chosen))


class InactiveTool(Tool):
    """Stands for a tool whose group is not active: the model is not told of it, and a call is told so.

    Such a call does nothing, so nobody is asked about it, and nobody outside either.
    """

    def __init__(self, tool: Tool, group: ToolGroup) -> None:
        self.name = tool.name
        self.description = tool.description
        self._group = group

    def check_permission(self, arguments: Mapping[str, Any]) -> ToolVerdict:
        """Allow the call, which does nothing."""
        return ToolVerdict(PermissionBehavior.ALLOW)

    def schema(self, context: RuntimeContext) -> ToolSchema:
        """Return what the model would be told of the tool."""
        return ToolSchema(self.name, self.description, {"type": "object", "properties": {}})

    def bind(self, arguments: dict[str, Any], context: RuntimeContext, emitter: ToolEmitter) -> Callable[[], Any]:
        """Refuse the call."""
        raise ToolError(
            f"The tool {self.name!r} belongs to the group {self._group.name!r}, which is not active. "
            f"Activate it with {RESET_TOOLS} first."
        )


def reset_tools(groups: Iterable[ToolGroup]) -> Tool:
    """Make the tool with which the model says which groups are active: one boolean for each, false when left out."""
    # Under names that nothing else has: a group may well be called `context` or `json`.
    named = {f"group_{number}": group for number, group in enumerate(groups)}

    async def choose(context: RuntimeContext, **wanted: bool) -> str:
        session = context.get(HasToolGroups)
        if session is None:
            raise ToolError("Groups of tools belong to a session, and this call is of none.")
        chosen = [group for field, group in named.items() if wanted[field]]
        session.active_groups = tuple(group.name for group in chosen)
        return "\n".join(_told(group) for group in chosen) or "No group is active."

    fields: dict[str, Any] = {
        field: (bool, Field(default=False, alias=group.name, description=group.description or None))
        for field, group in named.items()
    }
    return FunctionTool(
        choose,
        name=RESET_TOOLS,
        description=(
            "Choose the groups of tools that you have from now on. Groups that you leave out are turned off, "
            "and their tools are gone."
        ),
        parameters=create_model(RESET_TOOLS, __config__=ConfigDict(extra="forbid"), **fields),
        concurrency_safe=False,
        read_only=True,
        check_permission=lambda _: ToolVerdict(PermissionBehavior.ALLOW),
    )


def _told(group: ToolGroup) -> str:
    tools = ", ".join(tool.name for tool in group.tools)
    active = f"The group {group.name} is active" + (f": {tools}." if tools else ".")
    return f"{active} {group.instructions}" if group.instructions else active
