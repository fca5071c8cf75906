"""`from_source`: keep the events of one agent and of its children."""

from __future__ import annotations

from typing import Any

from reactivex import operators as ops

from ..event import AgentEvent
from .operator import Operator

__all__ = ["from_source"]


def from_source(path: str | None) -> Operator[AgentEvent, AgentEvent]:
    """Keep the events whose source is `path` or lies below it, in order; None keeps those of the top agent alone.

    `from_source("main/researcher")` keeps `main/researcher` and `main/researcher/reader`, not `main/researcher2`.
    Emits a subset of the source; completes and fails with it.
    """
    below = f"{path}/"

    def wanted(event: Any) -> bool:
        source = event.source
        return source == path or (path is not None and source is not None and source.startswith(below))

    return ops.filter(wanted)
