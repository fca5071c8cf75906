"""What every tool is."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any

from ..context import RuntimeContext
from .emitter import ToolEmitter
from .schema import ToolSchema

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
