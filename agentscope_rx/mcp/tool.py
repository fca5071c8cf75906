"""The tools of servers, and what stands for them when the server is not there."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, NoReturn, Protocol, TypeAlias

from ..context import RuntimeContext
from ..errors import ToolError
from ..message import PermissionBehavior
from ..stream import call_on
from ..tools import Tool, ToolChunk, ToolEmitter, ToolSchema, ToolText, ToolVerdict

if TYPE_CHECKING:
    from jsonschema.protocols import Validator
    from mcp.types import Tool as ToolDescription

__all__ = ["AbsentTool", "McpTool", "Report", "absence"]

Report: TypeAlias = Callable[[float, float | None, str | None], object]
"""Takes the progress of a call, from any thread: how much is done, of how much, and what is being done."""

_REPORTS = 64
"""How many reports may wait for a slow consumer; it misses the oldest of more."""

_SHOWN = 5
"""How many problems with the arguments of a call the model is told of."""

_LONGEST_PROBLEM = 300
"""Characters of each: the argument that is wrong may be long."""


class Calls(Protocol):
    """Makes a call of a tool of the server, and returns what the result says."""

    def __call__(self, tool: str, arguments: dict[str, Any], report: Report) -> Awaitable[Iterator[ToolChunk]]: ...


class McpTool(Tool):
    """A tool of a server, as the server has described it.

    A tool that only reads runs beside others. One that destroys, by its own account, asks before every call.
    """

    def __init__(self, name: str, described: ToolDescription, call: Calls, *, trusted: bool) -> None:
        hints = described.annotations
        self.name = name
        self.description = described.description or described.title or ""
        self.read_only = trusted and hints is not None and hints.read_only_hint is True
        self.concurrency_safe = self.read_only
        self._destroys = hints is not None and hints.destructive_hint is True and not self.read_only
        self._remote_name = described.name
        self._schema = ToolSchema(
            name, self.description, {"type": "object", "properties": {}, **described.input_schema}
        )
        self._call = call

    def check_permission(self, arguments: Mapping[str, Any]) -> ToolVerdict | None:
        """Ask about a call that may destroy something; leave others to the rules and the mode."""
        if self._destroys:
            return ToolVerdict(PermissionBehavior.ASK, "it may destroy something, as its server says")
        return None

    def schema(self, context: RuntimeContext) -> ToolSchema:
        """Return what the model is told of the tool."""
        return self._schema

    def bind(self, arguments: dict[str, Any], context: RuntimeContext, emitter: ToolEmitter) -> Callable[[], Any]:
        """Return one call: an async generator of progress as it comes, and then the result.

        Raises:
            ToolError: the arguments do not fit the schema.
        """
        if problems := self._problems(arguments):
            raise ToolError("\n".join(["the arguments do not fit:", *problems[:_SHOWN]]))
        return partial(self._run, arguments)

    async def _run(self, arguments: dict[str, Any]) -> AsyncIterator[ToolChunk]:
        reports = _Reports()
        call = asyncio.ensure_future(self._call(self._remote_name, arguments, reports.put))
        call.add_done_callback(lambda _: reports.close())
        try:
            async for report in reports:
                yield report
            for chunk in call.result():
                yield chunk
        finally:
            call.cancel()
            await asyncio.wait((call,))

    def _problems(self, arguments: dict[str, Any]) -> list[str]:
        from jsonschema.exceptions import SchemaError
        from referencing.exceptions import Unresolvable

        try:
            return [
                f"- {error.json_path.removeprefix('$.')}: {error.message[:_LONGEST_PROBLEM]}"
                for error in self._validator.iter_errors(arguments)
            ]
        except (SchemaError, Unresolvable):  # the server must know what it means
            return []

    @cached_property
    def _validator(self) -> Validator:
        from jsonschema import Draft202012Validator
        from jsonschema.validators import validator_for
        from referencing import Registry

        schema = self._schema.parameters
        kind = validator_for(schema, default=Draft202012Validator)
        kind.check_schema(schema)
        return kind(schema, registry=Registry())  # an empty one: no schema makes us fetch a URL


class AbsentTool(Tool):
    """Stands for any tool of a server that is not there: the model is not told of it, and a call is told so.

    Such a call does nothing, so nobody is asked about it.
    """

    def __init__(self, name: str, why: str) -> None:
        self.name = name
        self.description = ""
        self._why = why

    def check_permission(self, arguments: Mapping[str, Any]) -> ToolVerdict:
        """Allow the call, which does nothing."""
        return ToolVerdict(PermissionBehavior.ALLOW)

    def schema(self, context: RuntimeContext) -> ToolSchema:
        """Return a schema without parameters: nobody is here to ask for the real one."""
        return ToolSchema(self.name, self.description, {"type": "object", "properties": {}})

    def bind(self, arguments: dict[str, Any], context: RuntimeContext, emitter: ToolEmitter) -> Callable[[], Any]:
        """Return a call that says why there is none."""
        return self._refuse

    async def _refuse(self) -> NoReturn:
        raise ToolError(self._why)


def absence(server: str, trouble: str) -> str:
    """Return what a model is told that has called a tool of a server that is not there."""
    return f"The MCP server {server!r} is not there: {trouble}. Its tools cannot be called now."


class _Reports:
    """The progress of one call on its way from the thread of the connection to the loop of the call."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._waiting: deque[str] = deque(maxlen=_REPORTS)
        self._changed = asyncio.Event()
        self._closed = False

    def put(self, progress: float, total: float | None, message: str | None) -> None:
        amount = f"{progress:g}" if total is None else f"{progress:g}/{total:g}"
        call_on(self._loop, self._add, f"{message} ({amount})\n" if message else f"{amount}\n")

    def close(self) -> None:
        self._closed = True
        self._changed.set()

    async def __aiter__(self) -> AsyncIterator[ToolChunk]:
        while True:
            while self._waiting:
                yield ToolText(self._waiting.popleft(), progress=True)
            if self._closed:
                return
            await self._changed.wait()
            self._changed.clear()

    def _add(self, report: str) -> None:
        self._waiting.append(report)
        self._changed.set()
