"""The tools of an agent."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, TypeAlias

from ..context import RuntimeContext
from ..errors import AgentScopeError, ToolError
from ..message import ToolUseBlock
from .base import Tool
from .function import FunctionTool
from .schema import ToolSchema

__all__ = ["ToolLike", "Toolkit"]

ToolLike: TypeAlias = "Tool | Toolkit | Callable[..., Any]"
"""What a toolkit is made of: tools, functions and other toolkits."""


class Toolkit:
    """Tools by name, in the order in which they were given. A toolkit never changes."""

    def __init__(self, tools: Iterable[ToolLike] = ()) -> None:
        """Collect tools.

        Raises:
            ToolError: a function cannot be a tool, or two tools have one name.
        """
        self._tools: dict[str, Tool] = {}
        for tool in _flatten(tools):
            if (other := self._tools.setdefault(tool.name, tool)) is not tool:
                raise ToolError(
                    f"two tools are named {tool.name!r}: {_origin(other)} and {_origin(tool)}; "
                    f"give one of them another name"
                )

    def __iter__(self) -> Iterator[Tool]:
        return iter(self._tools.values())

    def __len__(self) -> int:
        return len(self._tools)

    def get(self, name: str) -> Tool | None:
        """Return the tool of this name, None when there is none."""
        return self._tools.get(name)

    def schemas(self, context: RuntimeContext) -> tuple[ToolSchema, ...]:
        """Return what the model is told of the tools in this context.

        Raises:
            ToolError: a tool failed to say; it is named, and what it raised is the cause.
        """
        return tuple(_schema(tool, context) for tool in self)

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

    def _is_safe(self, call: ToolUseBlock) -> bool:
        tool = self.get(call.name)
        return tool is None or tool.concurrency_safe


def _flatten(tools: Iterable[ToolLike]) -> Iterator[Tool]:
    for tool in tools:
        if isinstance(tool, Toolkit):
            yield from tool
        else:
            yield tool if isinstance(tool, Tool) else FunctionTool(tool)


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
