"""A tool as a model is told of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

__all__ = ["ToolSchema"]


@dataclass(frozen=True, slots=True)
class ToolSchema:
    """A tool as the model is told of it."""

    name: str
    """The name that the model calls it by."""
    description: str
    """What it does, for the model to read."""
    parameters: dict[str, Any]
    """JSON Schema of the arguments: an object schema."""
