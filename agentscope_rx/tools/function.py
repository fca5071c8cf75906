"""Functions as tools."""

from __future__ import annotations

import copy
import functools
import inspect
import re
from collections.abc import Callable, Mapping
from types import MethodType
from typing import Any, Generic, ParamSpec, TypeAlias, TypeVar, overload

from pydantic import BaseModel

from ..context import RuntimeContext
from ..errors import ToolError
from .base import Tool
from .callables import plain, runs_on_loop, without_partials
from .docstring import parse_docstring
from .emitter import ToolEmitter
from .parameters import Parameters
from .schema import ToolSchema
from .verdict import ToolVerdict

__all__ = ["FunctionTool", "tool"]

P = ParamSpec("P")
R = TypeVar("R")

PermissionCheck: TypeAlias = Callable[[Mapping[str, Any]], ToolVerdict | None]
RuleMatcher: TypeAlias = Callable[[str, Mapping[str, Any]], bool]

_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")


class FunctionTool(Tool, Generic[P, R]):
    """A function that a model may call; calling the object calls the function.

    The function may be synchronous (it runs in a thread), asynchronous (it runs on the event loop), or a generator of
    either kind (what it yields is the result, as it comes and with nothing in between). Methods, partials and objects
    with `__call__` will do.

    The model sees the parameters that it can write. Those typed `ToolEmitter`, `RuntimeContext`, a class that the
    context holds, or a class that has no JSON schema are injected. Arguments are validated and converted by
    pydantic; null for a parameter that cannot be null means "not given".
    """

    def __init__(
        self,
        function: Callable[P, R],
        *,
        name: str | None = None,
        description: str | None = None,
        concurrency_safe: bool = True,
        external: bool = False,
        suspends: bool = False,
        parameters: Mapping[str, Any] | type[BaseModel] | None = None,
        read_only: bool = False,
        edits: bool = False,
        paths: tuple[str, ...] = (),
        command: str | None = None,
        check_permission: PermissionCheck | None = None,
        match_rule: RuleMatcher | None = None,
    ) -> None:
        """Make a tool of a function.

        Args:
            function: The function.
            name: Its name for the model, by default its own.
            description: What it does, for the model, by default its docstring up to the first section.
            concurrency_safe: Whether a call may run beside other calls of the same turn.
            external: Whether calls are run elsewhere; the function is then only a description.
            suspends: Whether a call may work for a while before it raises `ToolSuspend`.
            parameters: The JSON schema of the arguments, if not that of the signature: a schema, which is shown as it
                is while the signature still validates, or a pydantic model, which also validates; its fields become
                the keyword arguments.
            read_only: Whether no call changes anything.
            edits: Whether a call changes what its `paths` name, and nothing else.
            paths: The parameters that name files or directories: each a path, or a list of paths.
            command: The parameter that holds a shell command.
            check_permission: Says whether a call may run, given its arguments as the model wrote them; None for no
                opinion. A check that raises denies the call.
            match_rule: Whether a rule with some content is about a call, given the content and the arguments.

        Raises:
            ToolError: the function cannot be a tool, `parameters` does not fit it, or what it declares contradicts
                itself or its parameters.
        """
        if isinstance(function, type) or not callable(function):
            raise ToolError(f"a tool is a function, a method or an object with __call__, got {function!r}")
        functools.update_wrapper(self, function, updated=())
        inner = without_partials(function)
        named: Any = inner if inspect.isroutine(inner) else type(inner)
        self.name = named.__name__ if name is None else name
        if not _NAME.fullmatch(self.name):
            raise ToolError(f"{self.name!r} is no name for a tool: expected 1 to 64 of A-Z a-z 0-9 _ -; pass name=")
        docstring = parse_docstring(plain(inner).__doc__ or named.__doc__)
        self.description = docstring.description if description is None else description
        self.concurrency_safe = concurrency_safe
        self.external = external
        self.suspends = suspends
        self.read_only = read_only
        self.edits = edits
        self.paths = tuple(paths)
        self.command = command
        self._check_permission = check_permission
        self._match_rule = match_rule
        self.function = function
        """The function itself."""
        try:
            self._parameters = Parameters(function, docstring.parameters, parameters)
            self._check_declarations()
        except ToolError as error:
            raise ToolError(f"{named.__qualname__} cannot be a tool: {error}") from error

    def check_permission(self, arguments: Mapping[str, Any]) -> ToolVerdict | None:
        """Say whether a call may run, given its arguments as the model wrote them; None for no opinion."""
        return None if self._check_permission is None else self._check_permission(arguments)

    def match_rule(self, pattern: str, arguments: Mapping[str, Any]) -> bool:
        """Return whether a rule with this content is about a call."""
        return self._match_rule is not None and self._match_rule(pattern, arguments)

    def schema(self, context: RuntimeContext) -> ToolSchema:
        """Return what the model is told of the tool in this context; nobody changes what is returned."""
        return ToolSchema(self.name, self.description, self._parameters.schema(context.types()))

    def bind(self, arguments: dict[str, Any], context: RuntimeContext, emitter: ToolEmitter) -> Callable[[], R]:
        """Return one call of the function, with its arguments validated and the rest injected.

        Raises:
            ToolError: an argument is missing, unknown or wrong, or the context lacks an object to inject.
        """
        available: dict[type, object] = {cls: context.get(cls) for cls in context.types()}
        available |= {RuntimeContext: context, type(context): context, ToolEmitter: emitter}
        return functools.partial(self.function, **self._parameters.bind(arguments, available))

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        """Call the function, as if it were no tool."""
        return self.function(*args, **kwargs)

    def __get__(self, instance: object, owner: type | None = None) -> FunctionTool[..., R]:
        """Bind to an object, as a method does, where the function is defined in a class."""
        if instance is None:
            return self
        bound = copy.copy(self)
        bound.function = MethodType(self.function, instance)
        bound._parameters = self._parameters_of_method
        return bound

    def _check_declarations(self) -> None:
        checks = (self._check_permission, self._match_rule)
        for wrong, problem in (
            (self.edits and not self.paths, "edits= needs paths=, the parameters that name what it changes"),
            (self.edits and self.read_only, "edits= and read_only= contradict each other"),
            (
                self.paths and self.command,
                "rules for paths= are globs, those for command= are not; declare one of them",
            ),
            (self._match_rule and (self.paths or self.command), "paths= and command= match rules by themselves"),
            (any(check and runs_on_loop(check) for check in checks), "check_permission= and match_rule= do not wait"),
        ):
            if wrong:
                raise ToolError(problem)
        if declared := {*self.paths, *filter(None, [self.command])}:
            offered = self._parameters.schema(frozenset()).get("properties", {})
            if unknown := sorted(declared - set(offered)):
                raise ToolError(f"paths= and command= name parameters that the model writes, not {', '.join(unknown)}")

    @functools.cached_property
    def _parameters_of_method(self) -> Parameters:
        return self._parameters.of_method()

    def __repr__(self) -> str:
        return f"FunctionTool({self.name!r})"


@overload
def tool(function: Callable[P, R], /) -> FunctionTool[P, R]: ...
@overload
def tool(
    *,
    name: str | None = None,
    description: str | None = None,
    concurrency_safe: bool = True,
    external: bool = False,
    suspends: bool = False,
    parameters: Mapping[str, Any] | type[BaseModel] | None = None,
    read_only: bool = False,
    edits: bool = False,
    paths: tuple[str, ...] = (),
    command: str | None = None,
    check_permission: PermissionCheck | None = None,
    match_rule: RuleMatcher | None = None,
) -> Callable[[Callable[P, R]], FunctionTool[P, R]]: ...
def tool(function: Callable[..., Any] | None = None, /, **options: Any) -> Any:
    """Make a `FunctionTool` of a function, which can still be called as before: `@tool` or `@tool(name=…)`.

    Takes the keyword arguments of `FunctionTool`.

    Raises:
        ToolError: the function cannot be a tool.
    """
    if function is None:
        return functools.partial(FunctionTool, **options)
    return FunctionTool(function, **options)
