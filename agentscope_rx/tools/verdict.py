"""What a tool says of its own calls, before they run."""

from __future__ import annotations

from dataclasses import dataclass

from ..message import PermissionBehavior

__all__ = ["ToolVerdict"]


@dataclass(frozen=True, slots=True)
class ToolVerdict:
    """What a tool says of one call of its own.

    A tool that denies is obeyed, and a tool that asks is asking for a person: no rule and no mode answers in their
    place. What a tool allows needs no rule.
    """

    behavior: PermissionBehavior
    """ALLOW, DENY or ASK; PASSTHROUGH leaves the call to the rules and the mode, as no verdict at all does."""
    message: str = ""
    """Why, for people and for the model."""
