"""Judging one call before it runs."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cached_property
from typing import Any

from ..errors import ToolError
from ..message import PermissionBehavior, PermissionRule
from ..tools import Tool, ToolVerdict
from .access import Access, PlainAccess
from .context import PermissionContext
from .decision import DECISIONS, PermissionDecision, PermissionStep
from .mode import PermissionMode
from .paths import PathAccess

__all__ = ["PermissionEngine"]

_log = logging.getLogger(__name__)


class PermissionEngine:
    """Judges calls by the rules and the mode of a context, and by what their tools say and declare.

    It holds nothing but the context: whoever changes the rules makes a new engine.
    """

    def __init__(self, context: PermissionContext | None = None) -> None:
        """Make an engine.

        Args:
            context: The rules and the mode; None for neither, so that only what a tool itself says or declares has a
                call denied, or a person asked.
        """
        self._context = context

    def evaluate(self, tool: Tool, call_input: Mapping[str, Any]) -> PermissionDecision:
        """Judge a call by `DECISIONS`: the first step that applies, and is not left out in the mode, decides.

        Nothing runs, but symbolic links are followed. Never raises: a check of the tool that does denies the call.

        Args:
            tool: The tool that is called.
            call_input: The arguments, as the model wrote them.
        """
        try:
            return self._judge(_Call(tool, call_input, self._context or PermissionContext()))
        except Exception as error:
            _log.warning("the permission check of %s failed", tool.name, exc_info=error)
            message = f"{tool.name} may not run: its permission check failed with {type(error).__name__}: {error}"
            return PermissionDecision(PermissionBehavior.DENY, message, PermissionStep.TOOL_DENY)

    def _judge(self, call: _Call) -> PermissionDecision:
        mode = None if self._context is None else self._context.mode
        step, behavior, why = next(
            (row.step, behavior, why)
            for row in DECISIONS
            if (behavior := row.outcomes[mode]) is not None and (why := _ANSWERS[row.step](call)) is not None
        )
        if mode is PermissionMode.DONT_ASK and _ASKS[step]:
            why = f"{why}, and nobody is there to be asked"
        by_rule = step is PermissionStep.MODE and behavior is not PermissionBehavior.ALLOW
        return PermissionDecision(
            behavior, f"{call.tool.name} {_OUTCOMES[behavior]}: {why}", step, call.suggested_rules() if by_rule else ()
        )


class _Call:
    """One call, and what there is to know of it; found out when a step asks, and once."""

    def __init__(self, tool: Tool, arguments: Mapping[str, Any], context: PermissionContext) -> None:
        self.tool = tool
        self.context = context
        self._arguments = arguments

    @cached_property
    def access(self) -> Access:
        if self.tool.paths and self.tool.command:
            raise ToolError("it declares paths and a command; expected one of them")
        if self.tool.command:
            from .commands import CommandAccess  # it reads shell commands, which few agents have a tool for

            return CommandAccess(self.tool, self._arguments)
        return (PathAccess if self.tool.paths else PlainAccess)(self.tool, self._arguments)

    @cached_property
    def verdict(self) -> ToolVerdict:
        verdict = self.tool.check_permission(self._arguments)
        if verdict is None:
            return _NO_VERDICT
        if not isinstance(verdict, ToolVerdict):
            raise ToolError(f"it gave a {type(verdict).__name__}; expected a ToolVerdict or None")
        return verdict

    def says(self, behavior: PermissionBehavior) -> str | None:
        """Return why the tool itself says so; None when it does not."""
        return (self.verdict.message or "the tool says so") if self.verdict.behavior is behavior else None

    def touching(self, rules: Iterable[PermissionRule]) -> str | None:
        """Return what the first rule is about that touches the call; None when no rule does."""
        for content in self._contents(rules):
            if not content:
                return "every call of it"
            if self.access.touched_by(content):
                return content
        return None

    def is_covered(self) -> bool:
        """Return whether the allow rules cover the call."""
        contents = [content or "" for content in self._contents(self.context.allow_rules)]
        return "" in contents or (bool(contents) and self.access.covered_by(contents))

    def suggested_rules(self) -> tuple[PermissionRule, ...]:
        """Return rules that would let the call run."""
        return tuple(
            PermissionRule(
                tool_name=self.tool.name, rule_content=content, behavior=PermissionBehavior.ALLOW, source="suggested"
            )
            for content in self.access.suggestions()
        )

    def _contents(self, rules: Iterable[PermissionRule]) -> Iterator[str | None]:
        return (rule.rule_content for rule in rules if rule.tool_name == self.tool.name)


_NO_VERDICT = ToolVerdict(PermissionBehavior.PASSTHROUGH)

_OUTCOMES = {
    PermissionBehavior.ALLOW: "may run",
    PermissionBehavior.DENY: "may not run",
    PermissionBehavior.ASK: "needs a yes",
}

_ASKS = {row.step: row.outcomes[PermissionMode.DEFAULT] is PermissionBehavior.ASK for row in DECISIONS}


def _denied_by_rule(call: _Call) -> str | None:
    denied = call.touching(call.context.deny_rules)
    return denied and f"a rule denies {denied}"


def _asked_by_rule(call: _Call) -> str | None:
    asked = call.touching(call.context.ask_rules)
    return asked and f"a rule asks about {asked}"


def _dangerous(call: _Call) -> str | None:
    return call.says(PermissionBehavior.ASK) or call.access.danger()


def _edits_inside(call: _Call) -> str | None:
    inside = call.access.edits_inside(call.context.working_directories)
    return "it edits inside the working directories" if inside else None


_ANSWERS: dict[PermissionStep, Callable[[_Call], str | None]] = {
    PermissionStep.DENY_RULE: _denied_by_rule,
    PermissionStep.TOOL_DENY: lambda call: call.says(PermissionBehavior.DENY),
    PermissionStep.NOT_READ_ONLY: lambda call: None if call.access.read_only else "the call is not read-only",
    PermissionStep.SAFETY: _dangerous,
    PermissionStep.ASK_RULE: _asked_by_rule,
    PermissionStep.TOOL_ALLOW: lambda call: call.says(PermissionBehavior.ALLOW),
    PermissionStep.READ_ONLY: lambda call: "the call is read-only" if call.access.read_only else None,
    PermissionStep.EDIT: _edits_inside,
    PermissionStep.ALLOW_RULE: lambda call: "rules allow it" if call.is_covered() else None,
    PermissionStep.MODE: lambda call: "no rule speaks of it",
}
"""Why a step applies to a call; None when it does not."""
