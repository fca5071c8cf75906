"""The decision table, cell by cell: what it says is written out here once more, and each cell is a call."""

from __future__ import annotations

import pytest

from agentscope_rx.message import PermissionBehavior
from agentscope_rx.permission import DECISIONS, PermissionMode, PermissionStep, decision_table
from agentscope_rx.tools import Tool

from .calls import ALLOW, ASK, DENY, context, look, outcome, rule, saying, send, shell, write_file

TABLE = """
| step | applies when | no permission | default | accept_edits | explore | bypass | dont_ask |
| --- | --- | --- | --- | --- | --- | --- | --- |
| deny_rule | a deny rule touches the call | - | deny | deny | deny | deny | deny |
| tool_deny | the tool's own check denies, or fails | deny | deny | deny | deny | deny | deny |
| not_read_only | the call is not read-only | - | - | - | deny | - | - |
| safety | the tool's own check asks, or a path or command is dangerous | ask | ask | ask | ask | ask | deny |
| ask_rule | an ask rule touches the call | - | ask | ask | ask | ask | deny |
| tool_allow | the tool's own check allows | - | allow | allow | allow | allow | allow |
| read_only | the call is read-only | - | allow | allow | allow | allow | allow |
| edit | the call edits nothing outside the working directories | - | - | allow | - | - | - |
| allow_rule | allow rules cover the call | - | allow | allow | - | allow | allow |
| mode | nothing else has decided | allow | ask | ask | - | allow | deny |
""".strip()

HEADER, _, *ROWS = [[cell.strip() for cell in line.strip("|").split("|")] for line in TABLE.splitlines()]
CELLS = {(row[0], column): cell for row in ROWS for column, cell in zip(HEADER[2:], row[2:], strict=True)}
COLUMNS = HEADER[2:]

SITUATIONS: list[tuple[Tool, str, str]] = [
    (saying(DENY), "deny ask allow", "deny_rule tool_deny not_read_only ask_rule allow_rule mode"),
    (saying(DENY, read_only=True), "ask allow", "tool_deny ask_rule read_only allow_rule mode"),
    (saying(ASK), "ask allow", "not_read_only safety ask_rule allow_rule mode"),
    (saying(ASK, read_only=True), "ask allow", "safety ask_rule read_only allow_rule mode"),
    (saying(ALLOW, read_only=True), "ask allow", "ask_rule tool_allow read_only allow_rule mode"),
    (saying(ALLOW, read_only=True), "allow", "tool_allow read_only allow_rule mode"),
    (look, "allow", "read_only allow_rule mode"),
    (write_file, "allow", "not_read_only edit allow_rule mode"),
    (send, "allow", "not_read_only allow_rule mode"),
    (send, "", "not_read_only mode"),
]
"""Tools, the rules there are about them, and all steps that apply to a call."""


def expected(column: str, steps: str) -> tuple[str, str]:
    return next((cell, step) for step in steps.split() if (cell := CELLS[step, column]) != "-")


@pytest.mark.parametrize("column", COLUMNS)
@pytest.mark.parametrize(("tool", "rules", "steps"), SITUATIONS)
def test_every_cell(tool: Tool, rules: str, steps: str, column: str):
    made = [rule(tool, None, PermissionBehavior(behavior)) for behavior in rules.split()]
    given = None if column == "no permission" else context(*made, mode=PermissionMode(column))
    assert outcome(given, tool, path="a") == expected(column, steps)


def test_every_cell_is_tried():
    tried = {(expected(column, steps)[1], column) for column in COLUMNS for _, _, steps in SITUATIONS}
    assert tried == {place for place, cell in CELLS.items() if cell != "-"}


def test_the_table_in_the_documentation_is_the_table():
    assert decision_table() == TABLE


def test_the_steps_stand_in_the_order_of_their_enumeration():
    assert [row.step for row in DECISIONS] == list(PermissionStep)


def test_without_permission_only_the_tool_decides():
    assert outcome(None, send, text="x") == ("allow", "mode")
    assert outcome(None, shell, command="rm -rf x") == ("ask", "safety")
    assert outcome(None, saying(DENY)) == ("deny", "tool_deny")
