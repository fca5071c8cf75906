"""A tool that is only a description: its calls are run elsewhere."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn

from ..context import RuntimeContext
from .base import Tool
from .emitter import ToolEmitter
from .schema import ToolSchema
from .suspend import ToolSuspend

__all__ = ["ExternalTool"]


class ExternalTool(Tool):
    """A tool without a function: the reply pauses at its calls and goes on with the results it is given.

    Args:
        name: The name that the model calls it by.
        description: What it does, for the model to read.
        parameters: JSON Schema of the arguments: an object schema.
        concurrency_safe: Whether a call may be out beside other calls of the same turn.
    """

    external = True

    def __init__(
        self, name: str, description: str, parameters: dict[str, Any], *, concurrency_safe: bool = True
    ) -> None:
        self.name = name
        self.description = description
        self.concurrency_safe = concurrency_safe
        self._schema = ToolSchema(name, description, parameters)

    def schema(self, context: RuntimeContext) -> ToolSchema:
        """Return what the model is told of the tool."""
        return self._schema

    def bind(self, arguments: dict[str, Any], context: RuntimeContext, emitter: ToolEmitter) -> Callable[[], Any]:
        """Return a call that hands itself over."""

        def hand_over() -> NoReturn:
            raise ToolSuspend

        return hand_over
