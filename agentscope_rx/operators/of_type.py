"""`of_type`: keep the events of some classes."""

from __future__ import annotations

from typing import Any, TypeVar

from reactivex import operators as ops

from ..errors import ConfigurationError
from ..event import BaseEvent
from .operator import Operator

__all__ = ["of_type"]

E = TypeVar("E", bound=BaseEvent)


def of_type(*classes: type[E]) -> Operator[Any, E]:
    """Keep the events that are of one of `classes`, in order.

    Emits a subset of the source; completes and fails with it.

    Example:
        `agent.stream_events("hi").pipe(of_type(TextBlockDeltaEvent))`

    Raises:
        ConfigurationError: there is no class, or one of them is something else.
    """
    if not classes:
        raise ConfigurationError("of_type takes one class of events or more: got none")
    try:
        isinstance(None, classes)
    except TypeError:
        raise ConfigurationError(f"of_type takes classes of events: got {classes!r}") from None

    def wanted(event: Any) -> bool:
        return isinstance(event, classes)

    return ops.filter(wanted)
