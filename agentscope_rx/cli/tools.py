"""The tools that the console's agent has: small, real, and safe to leave on."""

from __future__ import annotations

from datetime import datetime

from ..tools import tool
from .arithmetic import evaluate

__all__ = ["TOOLS", "calculate", "current_time"]


@tool
def calculate(expression: str) -> str:
    """Work out an arithmetic expression.

    Args:
        expression: Numbers, + - * / // % **, and parentheses, such as (2 + 3) * 4.
    """
    value = evaluate(expression)
    return f"{value:.15g}" if isinstance(value, float) else str(value)


@tool
def current_time() -> str:
    """Get the current date and time."""
    return f"{datetime.now().astimezone():%A, %d %B %Y, %H:%M:%S %Z}"


TOOLS = (calculate, current_time)
"""All of them."""
