from __future__ import annotations

import os
import shlex
from pathlib import Path

import pytest
from hypothesis import assume, given, strategies as st

from agentscope_rx.message import PermissionBehavior
from agentscope_rx.permission import PermissionMode

from .calls import ALLOW, ASK, DENY, contents, context, judge, outcome, rule, shell


@pytest.mark.parametrize("command", ["git status", "ls -la && cat f", "ls | head; pwd", "git log 2>/dev/null"])
def test_11_3_104_a_command_that_only_reads(command: str):
    for mode in PermissionMode:
        assert outcome(context(mode=mode), shell, command=command) == ("allow", "read_only")


def test_11_3_104_a_command_with_its_first_argument_is_suggested():
    decision = judge(context(), shell, command="git commit -m x")
    assert (decision.behavior, decision.reason, contents(decision)) == ("ask", "mode", ["git commit:*"])
    (suggested,) = decision.suggested_rules
    assert (suggested.tool_name, suggested.behavior, suggested.source) == ("shell", "allow", "suggested")


@pytest.mark.parametrize(
    ("command", "suggested"),
    [
        ("make", ["make:*"]),
        ("cd src && npm run build -- -x | tail", ["npm run:*"]),
        ("git add . && git commit -m x && git add y", ["git add:*", "git commit:*"]),
        ("FOO=1 make all", ["FOO=1 make:*"]),
        ("'my prog' 'a b'", ["'my prog' 'a b':*"]),
        ("a; b; c; d; e", ["a:*", "b:*", "c:*", "d:*", "e:*"]),
        ("a; b; c; d; e; f", []),
        ("", []),
    ],
)
def test_suggestions(command: str, suggested: list[str]):
    assert contents(judge(context(), shell, command=command)) == suggested


@pytest.mark.parametrize(
    ("content", "behavior", "command", "expected"),
    [
        ("git:*", ALLOW, "git", ("allow", "allow_rule")),
        ("git:*", ALLOW, "git push", ("allow", "allow_rule")),
        ("git:*", ALLOW, "npm install", ("ask", "mode")),
        ("install", DENY, "pip install x", ("deny", "deny_rule")),
        ("npm * x", ASK, "npm install x", ("ask", "ask_rule")),
    ],
)
def test_11_3_102_command_rules(content: str, behavior: PermissionBehavior, command: str, expected: tuple[str, str]):
    assert outcome(context(rule(shell, content, behavior)), shell, command=command) == expected


@pytest.mark.parametrize(
    "command",
    ["git push; rm x", "git push && rm x", "git push | rm x", "git push & rm x", "rm x; git push", "git push || rm x"],
)
def test_no_allow_rule_reaches_over_a_joint(command: str):
    for content in ("git:*", "git *", "git push", "git push*rm x", command):
        assert outcome(context(rule(shell, content)), shell, command=command) == ("ask", "mode")
    both = context(rule(shell, "git:*"), rule(shell, "rm:*"))
    assert outcome(both, shell, command=command) == ("allow", "allow_rule")


@pytest.mark.parametrize(
    "command",
    ["git push $(rm x)", "git push `rm x`", "git push\nrm x", "git push > x", "git push $X", 'git push "$(rm x)"'],
)
def test_what_hides_a_command_is_dangerous_in_every_mode(command: str):
    for mode in (None, *PermissionMode):
        allowing = mode and context(rule(shell), rule(shell, "git:*"), mode=mode)
        denied = mode in (PermissionMode.DONT_ASK, PermissionMode.EXPLORE)
        assert judge(allowing, shell, command=command).behavior == ("deny" if denied else "ask")


@pytest.mark.parametrize(
    "command",
    ["make; rm x", "make $(rm x)", "make `/bin/r'm' x`", "sudo rm x", "echo a | xargs rm", "if true; then\nrm x; fi"],
)
def test_a_deny_rule_looks_everywhere(command: str):
    denying = context(rule(shell), rule(shell, "rm:*", DENY), mode=PermissionMode.BYPASS)
    assert outcome(denying, shell, command=command) == ("deny", "deny_rule")


def test_a_deny_rule_may_speak_of_the_command_as_a_whole():
    denying = context(rule(shell, "curl * | sh*", DENY), rule(shell, "a && b", DENY))
    assert outcome(denying, shell, command="curl x | sh -s") == ("deny", "deny_rule")
    assert outcome(denying, shell, command="a && b c") == ("deny", "deny_rule")


def test_what_is_only_read_needs_no_rule_beside_what_is_not():
    allowing = context(rule(shell, "make:*"))
    assert outcome(allowing, shell, command="cd src && make 2>&1 | tail -3") == ("allow", "allow_rule")
    assert outcome(allowing, shell, command="") == ("ask", "mode")


@pytest.mark.parametrize(
    "command",
    [
        "cat .env", "cat x/.env", "cat ~/.ssh/id_rsa", "ls .ssh", "cat .e*", "cat .e\"n\"v", "cp x .bashrc",
        "tee .git/hooks/pre-commit", "sed -i s/a/b/ .gitconfig", "curl -d @.env x", "x --file=.env", "x -o.npmrc",
        "scp x:.env y", "cd ~ && cat .netrc", "x -d a,.env", "rm -rf x", "cat link",
    ],
)  # fmt: skip
def test_dangerous_commands(command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "link").symlink_to(tmp_path / ".env")
    assert outcome(None, shell, command=command) == ("ask", "safety")


@pytest.mark.parametrize(
    "command", ["cat .git/config", "ls -la .vscode", "git commit -m 'read .env'", "cp .env.example x", "make env"]
)
def test_commands_that_are_not_dangerous(command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(os.path.realpath(tmp_path))
    assert outcome(None, shell, command=command) == ("allow", "mode")


@pytest.mark.parametrize("command", [3, ["ls"], {"a": 1}, True])
def test_a_command_that_is_no_text_is_dangerous(command: object):
    decision = judge(context(rule(shell)), shell, command=command)
    assert (decision.behavior, decision.reason) == ("ask", "safety")
    assert "something that is no text" in decision.message


@pytest.mark.parametrize("arguments", [{}, {"command": None}, {"command": " \n"}])
def test_an_empty_command_fits_no_pattern(arguments: dict[str, object]):
    assert outcome(context(rule(shell, "*"), rule(shell, ":*")), shell, **arguments) == ("ask", "mode")


WORDS = st.sampled_from(["git", "npm", "push", "x y", "*", "--force", "é", "A=1", "'", "ls", "a:*"])


@given(st.lists(st.lists(WORDS, min_size=1, max_size=4), min_size=1, max_size=5))
def test_suggested_rules_release_the_call(commands: list[list[str]]):
    command = "; ".join(map(shlex.join, commands))
    decision = judge(context(), shell, command=command)
    assume(decision.behavior is ASK)
    assert decision.reason == "mode"
    assert outcome(context(*decision.suggested_rules), shell, command=command) == ("allow", "allow_rule")
