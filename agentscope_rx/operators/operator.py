"""The type of an operator."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias, TypeVar

from reactivex import Observable

__all__ = ["Operator"]

A = TypeVar("A")
B = TypeVar("B")

Operator: TypeAlias = Callable[[Observable[A]], Observable[B]]
"""What goes into a `.pipe(...)`: a function from one Observable to another."""
