from __future__ import annotations

import pytest

from agentscope_rx.permission.command_pattern import covers, touches
from agentscope_rx.permission.shell import SimpleCommand, parse_command


def part(text: str) -> SimpleCommand:
    (command,) = parse_command(text).parts
    return command


COVERED = [
    ("git:*", "git"),
    ("git:*", "git status"),
    ("git commit:*", "git commit -m 'a; b'"),
    ("git commit:*", "git 'commit'"),
    ("'my prog':*", "'my prog' x"),
    (":*", "git"),
    ("npm * --dry-run", "npm publish x --dry-run"),
    ("git *", "git"),
    ("git *", "git push"),
    ("*", "git push"),
    ("echo [x] ?*", "echo [x] ?y"),
    ("git push", "git push"),
    ("git push", "git  'push'"),
    (r"echo \*", "echo '*'"),
    (r"echo \\\*x*", r"echo \*xy"),
]

NOT_COVERED = [
    ("git:*", "gitx"),
    ("git:*", "npm install"),
    ("git:*", "Git status"),
    ("git:*", "/tmp/git status"),
    ("git:*", "FOO=1 git status"),
    ("git:*", "sudo git status"),
    ("git:*", "'git status'"),
    ("git commit:*", "git"),
    ("git commit:*", "git commits"),
    ("npm * --dry-run", "npm publish"),
    ("git push", "git push --force"),
    ("git push", "git"),
    ("install", "pip install x"),
    ("push", "git push"),
    (r"echo \*", "echo x"),
    ("echo [x]*", "echo x"),
    ("'git:*", "git x"),
]


@pytest.mark.parametrize(("pattern", "command"), COVERED)
def test_what_an_allow_rule_covers(pattern: str, command: str):
    assert covers(pattern, part(command))
    assert touches(pattern, part(command))


@pytest.mark.parametrize(("pattern", "command"), NOT_COVERED)
def test_what_an_allow_rule_does_not_cover(pattern: str, command: str):
    assert not covers(pattern, part(command))


@pytest.mark.parametrize(
    ("pattern", "command"),
    [
        ("install", "pip install x"),
        ("INSTALL", "pip in'stall' x"),
        ("git push", "git push --force"),
        ("git push", "git  push"),
        ("rm:*", "rm x"),
        ("rm:*", "/bin/RM x"),
        ("/bin/rm:*", "rm x"),
        ("rm:*", "FOO=1 rm x"),
        ("rm:*", "sudo -u me rm x"),
        ("rm:*", "sudo /bin/rm x"),
        ("rm:*", "env -S 'rm x'"),
        ("git push:*", "env X=1 git push -f"),
        ("rm *", "/bin/rm x"),
        ("rm *", "sudo /bin/rm x"),
        ("rm *", "sudo rm"),
        ("npm * --force", "nohup npm install --force"),
        (r"echo \*", "echo '*' x"),
        ("'rm", 'echo "\'rm"'),
    ],
)
def test_what_other_rules_touch(pattern: str, command: str):
    assert touches(pattern, part(command))


@pytest.mark.parametrize(
    ("pattern", "command"),
    [
        ("rm:*", "git rm x"),
        ("rm:*", "rmdir x"),
        ("git push:*", "git pull"),
        ("rm *", "git rm x"),
        ("npm * --force", "npm install"),
        ("install", "pip list"),
    ],
)
def test_what_other_rules_do_not_touch(pattern: str, command: str):
    assert not touches(pattern, part(command))


def test_stars_do_not_blow_up():
    assert not touches("a*" * 20 + "b", SimpleCommand("a" * 10_000, ("a" * 10_000,)))
