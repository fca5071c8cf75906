"""What every tool is."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from typing import Any

from ..context import RuntimeContext
from .emitter import ToolEmitter
from .schema import ToolSchema
from .verdict import ToolVerdict

__all__ = ["Tool"]


class Tool(ABC):
    """Something that a model may call.

    A tool says how it looks to the model, and turns the arguments of a call into a function that is ready to run.
    The function may be of any kind: `run_tool` runs it where it belongs and makes a stream of what it gives.
    """

    name: str
    """The name that the model calls it by."""
    description: str
    """What it does, for the model to read."""
    concurrency_safe: bool = True
    """Whether a call may run beside other calls of the same turn."""
    external: bool = False
    """Whether calls are run elsewhere: the reply pauses, and their results come from outside."""
    suspends: bool = False
    """Whether a call may work for a while before it raises `ToolSuspend`; it is silent until it has decided."""
    read_only: bool = False
    """Whether no call changes anything."""
    edits: bool = False
    """Whether a call changes what its `paths` name, and nothing else."""
    paths: tuple[str, ...] = ()
    """The parameters that name files or directories: each a path, or a list of paths."""
    command: str | None = None
    """The parameter that holds a shell command, None when there is none."""

    def check_permission(self, arguments: Mapping[str, Any]) -> ToolVerdict | None:
        """Say whether a call may run; None leaves it to the rules and the mode, as a tool does by default.

        `arguments` are as the model wrote them, not validated yet. A check that raises denies the call.
        """
        return None

    def match_rule(self, pattern: str, arguments: Mapping[str, Any]) -> bool:
        """Return whether a rule with this content is about a call; by default only a rule without content is.

        Not asked by tools that declare `paths` or a `command`: their rules are globs and command patterns.
        """
        return False

    @abstractmethod
    def schema(self, context: RuntimeContext) -> ToolSchema:
        """Return what the model is told of the tool in this context; nobody changes what is returned."""

    @abstractmethod
    def bind(self, arguments: dict[str, Any], context: RuntimeContext, emitter: ToolEmitter) -> Callable[[], Any]:
        """Return one call of the tool, ready to run: a function without parameters, of any kind.

        `arguments` are the call's own copy. Nothing has happened yet when this returns.

        Raises:
            ToolError: the arguments do not fit, or the context lacks what the tool needs; the message is for the model.
        """
