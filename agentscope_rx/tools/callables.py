"""What a callable comes down to, behind partials, methods and objects with `__call__`."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any

__all__ = ["plain", "runs_on_loop", "without_partials"]


def without_partials(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return what is behind the partials: a function, a method or an object with `__call__`."""
    while isinstance(function, functools.partial):
        function = function.func
    return function


def plain(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return the function or method that a call arrives at."""
    inner = without_partials(function)
    return inner if inspect.isroutine(inner) else type(inner).__call__


def runs_on_loop(function: Callable[..., Any]) -> bool:
    """Return whether a call is asynchronous from the start, so that it never blocks the loop it is made on."""
    target = plain(function)
    return inspect.iscoroutinefunction(target) or inspect.isasyncgenfunction(target)
