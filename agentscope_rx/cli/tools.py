"""The tools that the console's agent has: small, real, and safe to leave on."""

from __future__ import annotations

from datetime import UTC, datetime, tzinfo
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from ..errors import ToolError
from ..tools import tool
from .arithmetic import evaluate

__all__ = ["TOOLS", "calculate", "get_current_time"]


@tool
def get_current_time(timezone: str = "UTC") -> str:
    """Get the current date and time.

    Args:
        timezone: IANA name such as Europe/Paris
    """
    return f"{datetime.now(_zone(timezone)):%A, %d %B %Y, %H:%M:%S %Z}"


def _zone(name: str) -> tzinfo:
    if name == UTC.tzname(None):
        return UTC  # without asking for the database of time zones, which not every machine has
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        raise ToolError(f"there is no time zone {name!r}; expected an IANA name such as Europe/Paris") from None


@tool
def calculate(expression: str) -> str:
    """Calculate an arithmetic expression.

    Args:
        expression: such as 2 + 3 * 4
    """
    value = evaluate(expression)
    return f"{value:.15g}" if isinstance(value, float) else str(value)


TOOLS = (get_current_time, calculate)
"""All of them."""
