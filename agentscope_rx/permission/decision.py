"""What is decided about a call, and the table that decides."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple, TypeAlias

from ..message import PermissionBehavior, PermissionRule
from .mode import PermissionMode

__all__ = ["DECISIONS", "PermissionDecision", "PermissionStep", "Row", "decision_table"]


class PermissionStep(StrEnum):
    """The steps by which a call is judged, in order."""

    DENY_RULE = "deny_rule"
    TOOL_DENY = "tool_deny"
    NOT_READ_ONLY = "not_read_only"
    SAFETY = "safety"
    ASK_RULE = "ask_rule"
    TOOL_ALLOW = "tool_allow"
    READ_ONLY = "read_only"
    EDIT = "edit"
    ALLOW_RULE = "allow_rule"
    MODE = "mode"


@dataclass(frozen=True, slots=True)
class PermissionDecision:
    """What is decided about one call."""

    behavior: PermissionBehavior
    """ALLOW, DENY or ASK."""
    message: str
    """Why, for people and for the model."""
    reason: PermissionStep
    """The step that decided."""
    suggested_rules: tuple[PermissionRule, ...] = ()
    """Rules that would let this call and its like run; none where no rule could."""


Column: TypeAlias = PermissionMode | None
"""A mode, None where there is no permission context at all."""

COLUMNS: tuple[Column, ...] = (None, *PermissionMode)


class Row(NamedTuple):
    """One step: what it asks, and what follows where the answer is yes."""

    step: PermissionStep
    """The step."""
    question: str
    """When it applies, for readers."""
    outcomes: Mapping[Column, PermissionBehavior | None]
    """What it decides by mode, None where the step is left out."""


def _row(step: PermissionStep, question: str, *cells: PermissionBehavior | None) -> Row:
    return Row(step, question, dict(zip(COLUMNS, cells, strict=True)))


_ALLOW, _DENY, _ASK, _SKIP = PermissionBehavior.ALLOW, PermissionBehavior.DENY, PermissionBehavior.ASK, None

# fmt: off
DECISIONS: tuple[Row, ...] = (
    #                                                      without  default accept  explore bypass  dont_ask
    _row(PermissionStep.DENY_RULE, "a deny rule touches the call",
                                                           _SKIP,   _DENY,  _DENY,  _DENY,  _DENY,  _DENY),
    _row(PermissionStep.TOOL_DENY, "the tool's own check denies, or fails",
                                                           _DENY,   _DENY,  _DENY,  _DENY,  _DENY,  _DENY),
    _row(PermissionStep.NOT_READ_ONLY, "the call is not read-only",
                                                           _SKIP,   _SKIP,  _SKIP,  _DENY,  _SKIP,  _SKIP),
    _row(PermissionStep.SAFETY, "the tool's own check asks, or a path or command is dangerous",
                                                           _ASK,    _ASK,   _ASK,   _ASK,   _ASK,   _DENY),
    _row(PermissionStep.ASK_RULE, "an ask rule touches the call",
                                                           _SKIP,   _ASK,   _ASK,   _ASK,   _ASK,   _DENY),
    _row(PermissionStep.TOOL_ALLOW, "the tool's own check allows",
                                                           _SKIP,   _ALLOW, _ALLOW, _ALLOW, _ALLOW, _ALLOW),
    _row(PermissionStep.READ_ONLY, "the call is read-only",
                                                           _SKIP,   _ALLOW, _ALLOW, _ALLOW, _ALLOW, _ALLOW),
    _row(PermissionStep.EDIT, "the call edits nothing outside the working directories",
                                                           _SKIP,   _SKIP,  _ALLOW, _SKIP,  _SKIP,  _SKIP),
    _row(PermissionStep.ALLOW_RULE, "allow rules cover the call",
                                                           _SKIP,   _ALLOW, _ALLOW, _SKIP,  _ALLOW, _ALLOW),
    _row(PermissionStep.MODE, "nothing else has decided",
                                                           _ALLOW,  _ASK,   _ASK,   _SKIP,  _ALLOW, _DENY),
)
# fmt: on
"""How a call is judged: the first step that applies, and is not left out in the mode, decides."""


def decision_table() -> str:
    """Return `DECISIONS` as a Markdown table, for the documentation."""
    header = ["step", "applies when", *("no permission" if column is None else column.value for column in COLUMNS)]
    rows = [
        [row.step.value, row.question, *("-" if cell is None else cell.value for cell in row.outcomes.values())]
        for row in DECISIONS
    ]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in [header, ["---"] * len(header), *rows])
