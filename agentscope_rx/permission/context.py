"""The rules and the mode that an agent's calls are judged by."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import chain
from typing import Any

from pydantic import ValidationInfo, field_validator

from ..errors import ConfigurationError
from ..message import PermissionBehavior, PermissionRule
from ..message.frozen import FrozenModel
from .mode import PermissionMode

__all__ = ["PermissionContext"]

_FIELDS = {
    PermissionBehavior.ALLOW: "allow_rules",
    PermissionBehavior.DENY: "deny_rules",
    PermissionBehavior.ASK: "ask_rules",
}
"""Where the rules of a behaviour are kept."""


class PermissionContext(FrozenModel):
    """Rules, mode and working directories: a value, saved with the state of the agent.

    Also parsed from the form that AgentScope writes: rules as lists by tool name, and directories by path.

    Raises:
        pydantic.ValidationError: a rule stands among those of another behaviour, or a field is malformed.
    """

    mode: PermissionMode = PermissionMode.DEFAULT
    """What happens to a call that no rule decides."""
    allow_rules: tuple[PermissionRule, ...] = ()
    """Rules that let calls run."""
    deny_rules: tuple[PermissionRule, ...] = ()
    """Rules that forbid calls, whatever else says that they may run."""
    ask_rules: tuple[PermissionRule, ...] = ()
    """Rules that have a person asked, whatever else says that the call may run."""
    working_directories: tuple[str, ...] = ()
    """The directories in which ACCEPT_EDITS accepts edits; empty stands for the current directory of the process."""

    @field_validator(*_FIELDS.values(), mode="before")
    @classmethod
    def _rules_of_all_tools(cls, value: Any) -> Any:
        return tuple(chain.from_iterable(value.values())) if isinstance(value, Mapping) else value

    @field_validator("working_directories", mode="before")
    @classmethod
    def _paths_of_directories(cls, value: Any) -> Any:
        return tuple(value) if isinstance(value, Mapping) else value

    @field_validator(*_FIELDS.values())
    @classmethod
    def _of_one_behavior(cls, rules: tuple[PermissionRule, ...], info: ValidationInfo) -> tuple[PermissionRule, ...]:
        for rule in rules:
            if _FIELDS.get(rule.behavior) != info.field_name:
                raise ValueError(f"a rule about {rule.tool_name} with the behavior {rule.behavior.value!r}")
        return rules

    def with_mode(self, mode: PermissionMode) -> PermissionContext:
        """Return the same context in another mode."""
        return self.model_copy(update={"mode": PermissionMode(mode)})

    def with_rules(self, rules: Iterable[PermissionRule]) -> PermissionContext:
        """Return the context with more rules, each added unless one that says the same is there.

        Raises:
            ConfigurationError: a rule neither allows, nor denies, nor asks.
        """
        fields: dict[str, dict[Any, PermissionRule]] = {
            field: {_meaning(rule): rule for rule in getattr(self, field)} for field in _FIELDS.values()
        }
        for rule in rules:
            if (field := _FIELDS.get(rule.behavior)) is None:
                raise ConfigurationError(
                    f"a rule about {rule.tool_name} has the behavior {rule.behavior.value!r}; "
                    f"expected one of {', '.join(_FIELDS)}"
                )
            fields[field].setdefault(_meaning(rule), rule)
        return self.model_copy(update={field: tuple(kept.values()) for field, kept in fields.items()})


def _meaning(rule: PermissionRule) -> tuple[str, str | None]:
    """Return what tells rules of one behaviour apart; where a rule comes from does not."""
    return rule.tool_name, rule.rule_content or None
