from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import pytest
from hypothesis import given, strategies as st

from agentscope_rx.context import RuntimeContext
from agentscope_rx.message import PermissionBehavior, PermissionRule
from agentscope_rx.permission import PermissionContext, PermissionEngine, PermissionMode
from agentscope_rx.tools import FunctionTool, Tool, ToolEmitter, ToolSchema, ToolVerdict

from .calls import (
    ALLOW,
    ASK,
    DENY,
    PASSTHROUGH,
    contents,
    context,
    judge,
    look,
    move_files,
    outcome,
    read_file,
    rule,
    saying,
    send,
    shell,
    write_file,
)


class Query(Tool):
    """A tool that matches rules by itself, and declares whatever it is told to."""

    name = "query"
    description = ""

    def __init__(self, **declared: Any) -> None:
        self.__dict__.update(declared)

    def match_rule(self, pattern: str, arguments: Mapping[str, Any]) -> bool:
        return pattern in arguments["tables"]

    def schema(self, context: RuntimeContext) -> ToolSchema:
        return ToolSchema(self.name, self.description, {"type": "object"})

    def bind(self, arguments: dict[str, Any], context: RuntimeContext, emitter: ToolEmitter) -> Callable[[], Any]:
        return lambda: arguments


@pytest.mark.parametrize("content", [None, ""])
@pytest.mark.parametrize("tool", [send, write_file, shell])
def test_a_rule_without_content_is_about_every_call(tool: Tool, content: str | None):
    arguments = {"text": "x", "path": "/nowhere/a", "command": "make"}
    for behavior, step in ((ALLOW, "allow_rule"), (ASK, "ask_rule"), (DENY, "deny_rule")):
        assert outcome(context(rule(tool, content, behavior)), tool, **arguments) == (behavior.value, step)


def test_a_tool_without_a_matcher_fits_no_content():
    for behavior in (ALLOW, ASK, DENY):
        assert outcome(context(rule(send, "x", behavior)), send, text="x") == ("ask", "mode")


def test_a_tool_may_match_rules_itself():
    assert outcome(context(rule("query", "a")), Query(), tables=["a", "b"]) == ("allow", "allow_rule")
    assert outcome(context(rule("query", "c"), rule("query", "b", DENY)), Query(), tables=["a", "b"]) == (
        "deny",
        "deny_rule",
    )
    assert outcome(context(rule("query", "c")), Query(), tables=["a"]) == ("ask", "mode")


def test_rules_about_other_tools_do_not_matter():
    for behavior in (ALLOW, ASK, DENY):
        assert outcome(context(rule("other", None, behavior), rule("SEND", None, behavior)), send) == ("ask", "mode")


@pytest.mark.parametrize(
    ("tool", "content"), [(send, None), (write_file, None), (write_file, "*"), (shell, None), (shell, "*")]
)
def test_11_3_102_deny_wins_over_allow_and_ask_over_allow(tool: Tool, content: str | None):
    arguments = {"path": "/nowhere/a", "command": "make"}
    allow, ask, deny = (rule(tool, content, behavior) for behavior in (ALLOW, ASK, DENY))
    assert outcome(context(allow, deny), tool, **arguments) == ("deny", "deny_rule")
    assert outcome(context(allow, ask), tool, **arguments) == ("ask", "ask_rule")
    assert outcome(context(ask, deny), tool, **arguments) == ("deny", "deny_rule")


def test_11_3_105_what_the_tool_asks_is_asked_in_every_mode():
    """The Python peer lets such a call run in bypass; safety is never bypassed here."""
    assert outcome(context(mode=PermissionMode.DEFAULT), saying(ASK)) == ("ask", "safety")
    assert outcome(context(mode=PermissionMode.BYPASS), saying(ASK)) == ("ask", "safety")
    assert outcome(context(mode=PermissionMode.DONT_ASK), saying(ASK)) == ("deny", "safety")


def test_11_3_106_explore_reads_only():
    exploring = context(rule(send), rule(look), mode=PermissionMode.EXPLORE)
    assert outcome(exploring, look) == ("allow", "read_only")
    assert outcome(exploring, send) == ("deny", "not_read_only")
    assert outcome(exploring, saying(ALLOW)) == ("deny", "not_read_only")
    assert outcome(exploring, shell, command="git status") == ("allow", "read_only")
    assert outcome(exploring, shell, command="git push") == ("deny", "not_read_only")


def test_11_3_106_what_the_tool_says():
    assert outcome(context(), saying(ALLOW)) == ("allow", "tool_allow")
    assert outcome(context(mode=PermissionMode.BYPASS), saying(DENY)) == ("deny", "tool_deny")
    assert outcome(context(), saying(PASSTHROUGH)) == outcome(context(), saying(None)) == ("ask", "mode")
    assert outcome(context(rule(send)), saying(PASSTHROUGH)) == ("allow", "allow_rule")


def test_j24_nobody_is_asked_who_is_not_there():
    absent = context(rule(send, None, ASK), mode=PermissionMode.DONT_ASK)
    for tool, arguments in ((send, {}), (saying(ASK), {}), (write_file, {"path": ".env"}), (shell, {"command": "$X"})):
        decision = judge(absent, tool, **arguments)
        assert decision.behavior is DENY
        assert decision.message.endswith(", and nobody is there to be asked")


def test_j24_safety_does_not_hang_on_a_word():
    def check(arguments: object) -> ToolVerdict:
        return ToolVerdict(ALLOW, "checked for safety")

    assert outcome(None, FunctionTool(send.function, check_permission=check)) == ("allow", "mode")
    assert outcome(context(), FunctionTool(send.function, check_permission=check)) == ("allow", "tool_allow")


def test_p30_a_decision_changes_no_input():
    arguments = {"path": "~/a"}
    PermissionEngine(context()).evaluate(write_file, arguments)
    assert arguments == {"path": "~/a"}


def test_j12_accepted_rules_last():
    before = context()
    decision = judge(before, shell, command="git commit -m x && npm run build")
    saved = before.with_rules(decision.suggested_rules).model_dump_json()
    after = PermissionContext.model_validate_json(saved)
    assert outcome(after, shell, command="npm run test; git commit -m y") == ("allow", "allow_rule")


@pytest.mark.parametrize(
    ("decided", "message"),
    [
        (judge(context(rule(send, None, DENY)), send), "send may not run: a rule denies every call of it"),
        (judge(context(rule(shell, "a", DENY)), shell, command="a"), "shell may not run: a rule denies a"),
        (judge(context(rule(send, None, ASK)), send), "send needs a yes: a rule asks about every call of it"),
        (judge(context(), saying(DENY)), "send may not run: so says the tool"),
        (judge(context(), saying(ToolVerdict(ASK))), "send needs a yes: the tool says so"),
        (judge(context(), read_file, path="/a/.env"), "read_file needs a yes: /a/.env may hold secrets"),
        (judge(context(), shell, command="dd"), "shell needs a yes: dd writes over whole devices"),
        (judge(context(), send), "send needs a yes: no rule speaks of it"),
        (judge(context(rule(send)), send), "send may run: rules allow it"),
        (judge(context(mode=PermissionMode.EXPLORE), send), "send may not run: the call is not read-only"),
        (
            judge(context(mode=PermissionMode.DONT_ASK), send),
            "send may not run: no rule speaks of it, and nobody is there to be asked",
        ),
    ],
)  # fmt: skip
def test_a_message_says_why(decided: Any, message: str):
    assert decided.message == message


@pytest.mark.parametrize(
    ("tool", "told"),
    [
        (saying(TypeError("'>' not supported")), "failed with TypeError: '>' not supported"),
        (saying("deny"), "failed with ToolError: it gave a str; expected a ToolVerdict or None"),
        (saying(True), "failed with ToolError: it gave a bool; expected a ToolVerdict or None"),
        (Query(paths=("a",), command="b"), "failed with ToolError: it declares paths and a command"),
    ],
)
@pytest.mark.parametrize("mode", [None, *PermissionMode])
def test_a_check_that_fails_denies(tool: Tool, told: str, mode: PermissionMode | None):
    decision = judge(mode and context(rule(tool), mode=mode), tool)
    assert (decision.behavior, decision.reason) == (DENY, "tool_deny")
    assert told in decision.message


@pytest.mark.parametrize("behavior", [ALLOW, ASK, DENY])
def test_a_matcher_that_fails_denies(behavior: PermissionBehavior):
    decision = judge(context(rule("query", "x", behavior)), Query())
    assert (decision.behavior, decision.reason) == (DENY, "tool_deny")
    assert "failed with KeyError: 'tables'" in decision.message


def test_a_check_that_fails_is_logged(caplog: pytest.LogCaptureFixture):
    judge(None, saying(ValueError("odd")), text="a secret")
    (record,) = caplog.records
    assert record.getMessage() == "the permission check of send failed"
    assert "a secret" not in caplog.text


def test_rules_are_suggested_only_where_they_would_help():
    assert contents(judge(context(), send)) == [None]
    assert contents(judge(context(mode=PermissionMode.DONT_ASK), send)) == [None]
    assert contents(judge(context(rule(send, None, ASK)), send)) == []
    assert contents(judge(context(), saying(ASK))) == []
    assert contents(judge(context(mode=PermissionMode.EXPLORE), send)) == []
    assert contents(judge(context(rule(send)), send)) == []


# ---------------------------------------------------------------------------------------------------- properties

TOOLS: list[Tool] = [send, look, read_file, write_file, move_files, shell, *map(saying, PermissionBehavior), Query()]
PATHS = st.sampled_from(["a", "/data/a.py", ".env", "~/.ssh/id_rsa", "src/.git/x", "../b"])
COMMANDS = st.sampled_from(
    ["git status", "git push", "ls; rm -r x", "make && cat .env", "$X", "", "sudo rm x", "a | b"]
)
CALLS = st.fixed_dictionaries(
    {"path": PATHS, "sources": st.lists(PATHS, max_size=2), "command": COMMANDS, "text": st.text(max_size=3)},
    optional={"target": PATHS, "tables": st.just(["a"])},
)
RULES = st.lists(
    st.builds(
        PermissionRule,
        tool_name=st.sampled_from(TOOLS).map(lambda tool: tool.name),
        rule_content=st.sampled_from([None, "", "*", "**", "/data/**", "git:*", "make:*", "a", "rm:*"]),
        behavior=st.sampled_from([ALLOW, DENY, ASK]),
    ),
    max_size=5,
)
CONTEXTS = st.builds(
    lambda rules, mode: PermissionContext(mode=mode).with_rules(rules), RULES, st.sampled_from(PermissionMode)
)


@given(CONTEXTS | st.none(), st.sampled_from(TOOLS), CALLS)
def test_every_call_is_decided(given: PermissionContext | None, tool: Tool, arguments: dict[str, Any]):
    decision = judge(given, tool, **arguments)
    assert decision.behavior in (ALLOW, DENY, ASK)
    assert decision.message.startswith(f"{tool.name} ")
    assert decision == judge(given, tool, **arguments)


@given(CONTEXTS, st.sampled_from(TOOLS), CALLS)
def test_deny_always_wins(given: PermissionContext, tool: Tool, arguments: dict[str, Any]):
    denied = given.with_rules([rule(tool, None, DENY)])
    assert judge(denied, tool, **arguments).behavior is DENY


@given(CONTEXTS, st.sampled_from(TOOLS), CALLS)
def test_no_mode_and_no_rule_lets_a_dangerous_call_run(given: PermissionContext, tool: Tool, arguments: dict[str, Any]):
    if judge(None, tool, **arguments).behavior is not ALLOW:
        assert judge(given, tool, **arguments).behavior is not ALLOW


@given(CONTEXTS, st.sampled_from(TOOLS), CALLS)
def test_dont_ask_never_asks_and_otherwise_decides_as_by_default(
    given: PermissionContext, tool: Tool, arguments: dict[str, Any]
):
    absent = judge(given.with_mode(PermissionMode.DONT_ASK), tool, **arguments)
    present = judge(given.with_mode(PermissionMode.DEFAULT), tool, **arguments)
    assert absent.behavior is (DENY if present.behavior is ASK else present.behavior)
    assert (absent.reason, absent.suggested_rules) == (present.reason, present.suggested_rules)


@given(CONTEXTS, st.sampled_from(TOOLS), CALLS, RULES)
def test_more_deny_and_ask_rules_never_let_more_run(
    given: PermissionContext, tool: Tool, arguments: dict[str, Any], more: list[PermissionRule]
):
    strict = given.with_rules([rule for rule in more if rule.behavior is not ALLOW])
    if judge(given, tool, **arguments).behavior is not ALLOW:
        assert judge(strict, tool, **arguments).behavior is not ALLOW


@given(CONTEXTS, st.sampled_from(TOOLS), CALLS)
def test_suggested_rules_release_the_call(given: PermissionContext, tool: Tool, arguments: dict[str, Any]):
    decision = judge(given, tool, **arguments)
    if decision.suggested_rules:
        assert outcome(given.with_rules(decision.suggested_rules), tool, **arguments) == ("allow", "allow_rule")


@given(CONTEXTS, st.sampled_from(TOOLS), CALLS)
def test_exploring_lets_only_reading_run(given: PermissionContext, tool: Tool, arguments: dict[str, Any]):
    decision = judge(given.with_mode(PermissionMode.EXPLORE), tool, **arguments)
    if decision.behavior is ALLOW:
        assert tool in (look, read_file) or arguments["command"] == "git status"
