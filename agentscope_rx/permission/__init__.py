"""Permission (floor 5): whether a tool call may run, must not, or a person has to be asked."""

from .context import PermissionContext
from .decision import DECISIONS, PermissionDecision, PermissionStep, decision_table
from .engine import PermissionEngine
from .mode import PermissionMode

__all__ = [
    "DECISIONS",
    "PermissionContext",
    "PermissionDecision",
    "PermissionEngine",
    "PermissionMode",
    "PermissionStep",
    "decision_table",
]
