from __future__ import annotations

import shlex
import shutil
import subprocess

import pytest
from hypothesis import given, strategies as st

from agentscope_rx.permission.shell import LONGEST, SimpleCommand, parse_command


def words(text: str) -> list[tuple[str, ...]]:
    command = parse_command(text)
    assert command.unclear is None
    return [part.words for part in command.parts]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", []),
        (" \n\t", []),
        ("git  status\t-s\n", [("git", "status", "-s")]),
        ("git status;", [("git", "status")]),
        ("a; b & c && d || e | f |& g", [("a",), ("b",), ("c",), ("d",), ("e",), ("f",), ("g",)]),
        ("a;b", [("a",), ("b",)]),
        ("echo 'a; b' \"c && d\" e\\;f", [("echo", "a; b", "c && d", "e;f")]),
        ("echo 'it''s' \"\" ''x", [("echo", "its", "", "x")]),
        ("""echo "a\\"b\\$c\\`d\\\\e\\f" '$HOME `x`'""", [("echo", 'a"b$c`d\\e\\f', "$HOME `x`")]),
        ("cat .e\"n\"'v'", [("cat", ".env")]),
        ("r\\m x", [("rm", "x")]),
        ('echo "two\nlines" "one \\\nline"', [("echo", "two\nlines", "one line")]),
        ("a#b", [("a#b",)]),
        ("echo a 2>&1", [("echo", "a")]),
        ("FOO=1 git push", [("FOO=1", "git", "push")]),
        ("npm test 2>&1 | tail", [("npm", "test"), ("tail",)]),
        ("npm test >/dev/null 2> /dev/null; x &>/dev/null; y >>/dev/null", [("npm", "test"), ("x",), ("y",)]),
        ("echo a>&1", [("echo", "a")]),
    ],
)
def test_what_a_command_runs(text: str, expected: list[tuple[str, ...]]):
    assert words(text) == expected


@pytest.mark.parametrize(
    ("text", "unclear"),
    [
        ("echo $(rm x)", "an expansion"),
        ("echo ${X}", "an expansion"),
        ("$X", "an expansion"),
        ("echo $'\\x72m'", "an expansion"),
        ("echo `rm x`", "a command substitution"),
        ('echo "$(rm x)"', "a quote that is never closed or holds an expansion"),
        ('echo "`rm x`"', "a quote that is never closed or holds an expansion"),
        ('echo "x', "a quote that is never closed or holds an expansion"),
        ("echo 'x", "a quote that is never closed"),
        ("(rm x)", "a subshell"),
        ("cat <(rm x)", "a redirection"),
        ("cat < x", "a redirection"),
        ("cat << EOF", "a redirection"),
        ("echo x > y", "a redirection"),
        ("echo x >> y", "a redirection"),
        ("echo x 2>y", "a redirection"),
        ("echo x >&2x", "a redirection"),
        ("echo x >/dev/nullx", "a redirection"),
        ("echo x >| /dev/null", "a redirection"),
        ("echo x > /dev/sda", "a redirection"),
        ("echo a2>&1", "a redirection"),
        ('echo "a"2>&1', "a redirection"),
        ("echo 22>&1", "a redirection"),
        ("echo \\;2>&1", "a redirection"),
        ("{ rm x; }", "a brace"),
        ("cat .e{nv,x}", "a brace"),
        ("sh # x", "a comment"),
        ("git status\nrm x", "several lines"),
        ("git status\r\nrm x", "several lines"),
        ("git \\\nstatus", "a line that goes on"),
        ("git \\", "a line that goes on"),
        ("if true; then x; fi", "a control structure"),
        ("for x in a; do y; done", "a control structure"),
        ("! x", "a control structure"),
        ("a ;; b", "an operator without a command"),
        ("| a", "an operator without a command"),
        ("git\u00a0status", "an unusual character"),
        ("git\0status", "an unusual character"),
        ("x" * (LONGEST + 1), f"more than {LONGEST} characters"),
    ],
)
def test_what_hides_what_a_command_runs(text: str, unclear: str):
    assert parse_command(text).unclear == unclear


def test_a_part_keeps_how_it_is_written():
    command = parse_command(""" git commit -m "a; b" 2>&1 | tail  -3 """)
    assert [part.text for part in command.parts] == ['git commit -m "a; b"', "tail  -3"]


def test_fragments_of_an_unclear_command():
    command = parse_command("echo $(/bin/r'm' -r x; ls)")
    assert SimpleCommand("/bin/r'm' -r x", ("/bin/rm", "-r", "x")) in command.parts
    assert [part.words[0] for part in command.parts] == ["echo", "/bin/rm", "ls"]


@given(st.lists(st.lists(st.text("abZ09 ./$`'\"\\;&|<>(){}#*?~=\n\té", max_size=6), min_size=1), min_size=1))
def test_quoted_words_come_back(commands: list[list[str]]):
    text = " && ".join(shlex.join(["run", *arguments]) for arguments in commands)
    assert words(text) == [("run", *arguments) for arguments in commands]


@given(st.text("ab '\"\\;&|<>$`(){}#2\n\0\té1=", max_size=30))
def test_parsing_never_fails(text: str):
    command = parse_command(text)
    assert all(part.words for part in command.parts)


PIECES = ["a", "é", "2", " ", "  ", "'", '"', "\\", "\n", "#", ";", ">&1", "2>&1", "; run ", " && run ", "'a'", '"b"']


@pytest.mark.skipif(shutil.which("sh") is None, reason="there is no shell to compare with")
@given(st.lists(st.lists(st.sampled_from(PIECES), max_size=8).map("".join), min_size=10, max_size=40))
def test_a_shell_agrees(arguments: list[str]):
    commands = [command for command in (f"run {text}" for text in arguments) if only_runs_itself(command)]
    script = "\n".join(["set -f", "IFS=,", "run() { printf '%s\\0' \"$#:$*\"; }", *commands, "wait"])
    done = subprocess.run(
        ["sh", "-c", script], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=30, check=False
    )
    parts = [part for command in commands for part in parse_command(command).parts]
    expected = [f"{len(part.words) - 1}:{','.join(part.words[1:])}" for part in parts]
    assert sorted(done.stdout.decode().split("\0")) == sorted([*expected, ""])  # what runs in the background is late


def only_runs_itself(text: str) -> bool:
    command = parse_command(text)
    return command.unclear is None and all(part.words[0] == "run" for part in command.parts)
