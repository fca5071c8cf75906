"""How much an agent may do without being asked for."""

from __future__ import annotations

from enum import StrEnum

__all__ = ["PermissionMode"]


class PermissionMode(StrEnum):
    """What happens to a call that no rule decides; parsed without regard to case.

    `decision_table` says it step by step.
    """

    DEFAULT = "default"
    """A person is asked, unless the call is read-only."""
    ACCEPT_EDITS = "accept_edits"
    """As DEFAULT, and edits of files inside the working directories need no question."""
    EXPLORE = "explore"
    """Only read-only calls run; nothing else does, whoever allows it."""
    BYPASS = "bypass"
    """Every call runs that no rule and no safety check stops."""
    DONT_ASK = "dont_ask"
    """As DEFAULT where nobody is there to answer: what would be asked is denied."""

    @classmethod
    def _missing_(cls, value: object) -> PermissionMode | None:
        folded = value.casefold() if isinstance(value, str) else None
        return next((mode for mode in cls if mode.value == folded), None)
