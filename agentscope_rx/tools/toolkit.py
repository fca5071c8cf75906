"""The tools of an agent."""

from __future__ import annotations

import asyncio
import copy
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, TypeAlias

from ..context import RuntimeContext
from ..errors import AgentScopeError, ToolError
from ..message import ToolUseBlock
from .base import Tool
from .function import FunctionTool
from .groups import InactiveTool, ToolGroup, active_groups, reset_tools
from .schema import ToolSchema
from .source import FoundTools, MissingTools, ToolSource

__all__ = ["ToolLike", "Toolkit"]

ToolLike: TypeAlias = "Tool | ToolGroup | ToolSource | Toolkit | Callable[..., Any]"
"""What a toolkit is made of: tools, functions, groups, sources of tools and other toolkits."""

_Member: TypeAlias = "tuple[Tool | ToolSource, ToolGroup | None]"
"""A part of a toolkit, and the group that it is in."""


class Toolkit:
    """Tools by name, in the order in which they were given. A toolkit never changes.

    With groups in it, it has the tool `reset_tools` too, by which the model chooses those that are active. With sources
    in it, `found` returns the toolkit with what they have.
    """

    def __init__(self, tools: Iterable[ToolLike] = ()) -> None:
        """Collect tools.

        Raises:
            ToolError: a function cannot be a tool, two tools or two groups have one name, or a tool is in two groups.
        """
        self._tools: dict[str, Tool] = {}
        self._groups: dict[str, ToolGroup] = {}
        self._grouped: dict[str, ToolGroup | None] = {}
        self._sources: dict[ToolSource, ToolGroup | None] = {}
        self.missing: tuple[MissingTools, ...] = ()
        """What the sources should have and have not; nothing before they were asked."""
        for member, group in _flatten(tools):
            self._add_member(member, group)
        if self._groups:
            self._add(reset_tools(self._groups.values()))

    def _add_member(self, member: Tool | ToolSource, group: ToolGroup | None) -> None:
        if isinstance(member, ToolSource):
            known, name = self._sources.setdefault(member, group), repr(member)
        else:
            self._add(member)
            known, name = self._grouped.setdefault(member.name, group), f"the tool {member.name!r}"
        if known is not group:
            raise ToolError(f"{name} is given twice, with a group and without or with another")
        if group is not None and self._groups.setdefault(group.name, group) is not group:
            raise ToolError(f"two groups of tools are named {group.name!r}; give one of them another name")

    def _add(self, tool: Tool) -> None:
        if (other := self._tools.setdefault(tool.name, tool)) is not tool:
            raise ToolError(
                f"two tools are named {tool.name!r}: {_origin(other)} and {_origin(tool)}; "
                f"give one of them another name"
            )

    @property
    def has_sources(self) -> bool:
        """Whether there may be tools that have to be looked for."""
        return bool(self._sources)

    async def found(self, context: RuntimeContext, *, first: bool) -> Toolkit:
        """Return the toolkit with the tools that its sources have now, asked all at once.

        Sources in groups that are not active are left alone.

        Args:
            context: The session.
            first: Whether the reply looks for the first time.

        Raises:
            ToolError: two tools have one name, or a source failed to say what it has; what it raised is the cause.
        """
        asked = _in_groups(self._sources, active_groups(self._groups.values(), context))
        answers = await _answers([source for source, _ in asked], first)
        found = copy.copy(self)
        found._tools, found._grouped = dict(self._tools), dict(self._grouped)
        for (_, group), answer in zip(asked, answers, strict=True):
            for tool in answer.tools:
                found._add_member(tool, group)
        found.missing = tuple(missing for answer in answers for missing in answer.missing)
        return found

    def equipped(self, context: RuntimeContext) -> Toolkit:
        """Return the toolkit as a session has it: `InactiveTool` stands for each tool of a group that is not active.

        It is without the sources of such groups.
        """
        if not self._groups:
            return self
        active = active_groups(self._groups.values(), context)
        equipped = copy.copy(self)
        equipped._sources = dict(_in_groups(self._sources, active))
        equipped._tools = self._tools | {
            name: InactiveTool(self._tools[name], group)
            for name, group in self._grouped.items()
            if group is not None and group.name not in active
        }
        return equipped

    def __iter__(self) -> Iterator[Tool]:
        return iter(self._tools.values())

    def __len__(self) -> int:
        return len(self._tools)

    def get(self, name: str) -> Tool | None:
        """Return the tool of this name, or what a source has in its place; None when there is none."""
        if (tool := self._tools.get(name)) is not None:
            return tool
        return next((tool for source in self._sources if (tool := source.get(name)) is not None), None)

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

    def _members(self) -> Iterator[_Member]:
        """Yield the tools and the sources with their groups, as they were given."""
        yield from ((self._tools[name], group) for name, group in self._grouped.items())
        yield from self._sources.items()

    def _is_safe(self, call: ToolUseBlock) -> bool:
        tool = self.get(call.name)
        return tool is None or tool.concurrency_safe


def _flatten(tools: Iterable[ToolLike]) -> Iterator[_Member]:
    for tool in tools:
        if isinstance(tool, Toolkit):
            yield from tool._members()
        elif isinstance(tool, ToolGroup):
            yield from ((member, tool) for member in tool.tools)
            yield from ((source, tool) for source in tool.sources)
        else:
            yield (tool if isinstance(tool, Tool | ToolSource) else FunctionTool(tool)), None


def _in_groups(
    sources: dict[ToolSource, ToolGroup | None], active: frozenset[str]
) -> list[tuple[ToolSource, ToolGroup | None]]:
    return [(source, group) for source, group in sources.items() if group is None or group.name in active]


async def _answers(sources: Sequence[ToolSource], first: bool) -> list[FoundTools]:
    """Ask sources all at once; every one has answered or ended when this returns or raises."""
    outcomes = await asyncio.gather(*(source.find(first=first) for source in sources), return_exceptions=True)
    answers: list[FoundTools] = []
    for source, outcome in zip(sources, outcomes, strict=True):
        if isinstance(outcome, FoundTools):
            answers.append(outcome)
            continue
        if isinstance(outcome, AgentScopeError):
            raise outcome
        raise ToolError(
            f"the source of tools {type(source).__name__} gave {type(outcome).__name__} when it was asked what it has; "
            "expected FoundTools, with what is missing in it"
        ) from (outcome if isinstance(outcome, BaseException) else None)
    return answers


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
