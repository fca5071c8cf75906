from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import given, strategies as st

from agentscope_rx.permission import PermissionMode
from agentscope_rx.tools import Tool

from .calls import ASK, DENY, contents, context, judge, move_files, outcome, read_file, rule, write_file


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current directory, and the home directory beside it; both without symbolic links in their paths."""
    real = Path(os.path.realpath(tmp_path))
    for name in ("here", "home", "elsewhere"):
        (real / name).mkdir()
    monkeypatch.chdir(real / "here")
    monkeypatch.setenv("HOME", str(real / "home"))
    monkeypatch.setenv("USERPROFILE", str(real / "home"))
    return real / "here"


@pytest.mark.parametrize(
    ("pattern", "path"),
    [
        ("*.py", "src/a.py"),
        ("*.py", "/data/a.py"),
        ("src/*", "src/deep/a.py"),
        ("src/**", "src/a.py"),
        ("./src/**", "src/../src/a.py"),
        ("lib/../src/**", "src/a.py"),
        ("../src/**", "../src/a.py"),
        ("src/a.py", "src/a.py"),
        ("src/a.??", "src/a.py"),
        ("/data/**", "/data/a.py"),
        ("~/notes/**", "~/notes/a"),
        ("**", "a"),
    ],
)
def test_11_3_102_globs(here: Path, pattern: str, path: str):
    assert outcome(context(rule(write_file, pattern)), write_file, path=path) == ("allow", "allow_rule")
    assert outcome(context(rule(write_file, pattern, ASK)), write_file, path=path) == ("ask", "ask_rule")
    assert outcome(context(rule(write_file, pattern, DENY)), write_file, path=path) == ("deny", "deny_rule")


@pytest.mark.parametrize(
    ("pattern", "path"),
    [
        ("*.py", "src/a.pyc"),
        ("src/**", "other/a.py"),
        ("src/**", "/src/a.py"),
        ("src/**", "src/../a.py"),
        ("/data/**", "/data2/a.py"),
        ("/data/**", "/data/../etc/passwd"),
        ("~/notes/**", "notes/a"),
        ("src/[id]/**", "src/[id]/a.py"),
    ],
)
def test_globs_that_do_not_fit(here: Path, pattern: str, path: str):
    assert outcome(context(rule(write_file, pattern)), write_file, path=path) == ("ask", "mode")
    assert outcome(context(rule(write_file, pattern, DENY)), write_file, path=path) == ("ask", "mode")


def test_an_allow_rule_is_exact_about_case_and_a_deny_rule_is_not(here: Path):
    assert outcome(context(rule(write_file, "src/**")), write_file, path="SRC/a") == ("ask", "mode")
    assert outcome(context(rule(write_file, "src/**", DENY)), write_file, path="SRC/a") == ("deny", "deny_rule")


def test_a_link_does_not_lead_an_allow_rule_out(here: Path):
    (here / "link").symlink_to(here.parent / "elsewhere")
    assert outcome(context(rule(write_file, "**")), write_file, path="link/a") == ("allow", "allow_rule")
    assert outcome(context(rule(write_file, f"{here}/**")), write_file, path="link/a") == ("ask", "mode")
    assert outcome(context(rule(write_file, "link/**")), write_file, path="link/a") == ("ask", "mode")
    assert outcome(context(rule(write_file, f"{here.parent}/elsewhere/**")), write_file, path="link/a") == (
        "allow",
        "allow_rule",
    )


@pytest.mark.parametrize(
    "pattern", ["link/**", "link/a", "*/link/*", "../elsewhere/**", "../elsewhere/a", "*/elsewhere/a"]
)
@pytest.mark.parametrize("path", ["link/a", "../elsewhere/a"])
def test_a_deny_rule_follows_links(here: Path, pattern: str, path: str):
    (here / "link").symlink_to(here.parent / "elsewhere")
    denied = outcome(context(rule(write_file, pattern, DENY)), write_file, path=path) == ("deny", "deny_rule")
    assert denied is not (pattern == "*/link/*" and path == "../elsewhere/a")  # nothing tells that it is behind a link


@pytest.mark.parametrize("tool", [write_file, read_file])
@pytest.mark.parametrize("path", ["innocent", "loop/../innocent"])
def test_p28_a_link_to_a_secret_is_dangerous(here: Path, tool: Tool, path: str):
    (here / "loop").symlink_to(here)
    (here / "innocent").symlink_to(here.parent / "home" / ".ssh" / "id_rsa")
    assert outcome(None, tool, path=path) == ("ask", "safety")


def test_a_path_with_two_meanings_is_judged_by_both(here: Path):
    (here.parent / "elsewhere" / "deep").mkdir()
    (here / "link").symlink_to(here.parent / "elsewhere" / "deep")
    path = "link/../a"  # here/a to those who shorten it, elsewhere/a to the system
    assert outcome(context(rule(write_file, f"{here}/**")), write_file, path=path) == ("ask", "mode")
    assert outcome(context(rule(write_file, "../elsewhere/**")), write_file, path=path) == ("ask", "mode")
    assert outcome(context(mode=PermissionMode.ACCEPT_EDITS), write_file, path=path) == ("ask", "mode")
    decision = judge(context(), write_file, path=path)
    assert contents(decision) == [f"{here.parent}/elsewhere/**", f"{here}/**"]
    assert outcome(context(*decision.suggested_rules), write_file, path=path) == ("allow", "allow_rule")


def test_a_secret_is_dangerous_under_its_own_name_too(here: Path):
    (here / ".env").symlink_to(here.parent / "elsewhere" / "settings")
    assert outcome(None, read_file, path=".env") == ("ask", "safety")


@pytest.mark.parametrize("path", ["~/.ssh/config", "~/.ssh/authorized_keys", ".SSH/config", "x/../.env"])
def test_p28_dangerous_paths(here: Path, path: str):
    decision = judge(None, write_file, path=path)
    assert (decision.behavior, decision.reason) == ("ask", "safety")
    assert ".." not in decision.message
    assert "~" not in decision.message


@pytest.mark.parametrize("path", [".git/config", ".vscode/settings.json", ".bashrc"])
def test_what_programs_trust_may_be_read(here: Path, path: str):
    assert outcome(context(), read_file, path=path) == ("allow", "read_only")
    assert outcome(context(), write_file, path=path) == ("ask", "safety")


@pytest.mark.parametrize("path", ["a\0b", "\ud800", 3, {"path": "x"}, ["a", 3], [["a"]], True])
def test_what_is_no_path_is_dangerous(here: Path, path: object):
    decision = judge(context(rule(write_file, "**"), rule(write_file)), write_file, path=path)
    assert (decision.behavior, decision.reason) == ("ask", "safety")
    assert decision.message == "write_file needs a yes: its path names no path"


@pytest.mark.parametrize("arguments", [{}, {"path": None}, {"path": []}, {"other": "x"}])
def test_a_call_without_a_path_fits_no_glob(here: Path, arguments: dict[str, object]):
    accepting = context(rule(write_file, "**"), mode=PermissionMode.ACCEPT_EDITS)
    decision = judge(accepting, write_file, **arguments)
    assert (decision.behavior, decision.reason, decision.suggested_rules) == ("ask", "mode", ())
    assert outcome(context(rule(write_file, "**", DENY)), write_file, **arguments) == ("ask", "mode")
    assert outcome(context(rule(write_file, None, DENY)), write_file, **arguments) == ("deny", "deny_rule")


def test_every_path_is_judged(here: Path):
    allowed = context(rule(move_files, "a/**"), rule(move_files, "b/**"))
    assert outcome(allowed, move_files, sources=["a/1", "b/2"], target="a/3") == ("allow", "allow_rule")
    assert outcome(allowed, move_files, sources=["a/1"]) == ("allow", "allow_rule")
    assert outcome(allowed, move_files, sources=["a/1", "c/2"], target="a/3") == ("ask", "mode")
    assert outcome(allowed, move_files, sources=["a/1"], target="c/3") == ("ask", "mode")
    denied = allowed.with_rules([rule(move_files, "b/**", DENY)])
    assert outcome(denied, move_files, sources=["a/1", "b/2"], target="a/3") == ("deny", "deny_rule")
    assert outcome(None, move_files, sources=["a/1", ".env"], target="a/3") == ("ask", "safety")
    assert outcome(None, move_files, sources=["a/1"], target=".env") == ("ask", "safety")


@pytest.mark.parametrize(
    ("directories", "path", "inside"),
    [
        ((), "a", True),
        ((), ".", True),
        ((), "../elsewhere/a", False),
        ((), "../here2/a", False),
        ((), "link/a", False),
        (("../elsewhere",), "../elsewhere/a", True),
        (("../elsewhere",), "link/a", True),
        (("../elsewhere",), "a", False),
        (("link",), "../elsewhere/a", True),
        (("~",), "~/a", True),
        (("~", "."), "a", True),
    ],
)
def test_edits_are_accepted_inside_the_working_directories(
    here: Path, directories: tuple[str, ...], path: str, inside: bool
):
    (here / "link").symlink_to(here.parent / "elsewhere")
    expected = ("allow", "edit") if inside else ("ask", "mode")
    accepting = context(mode=PermissionMode.ACCEPT_EDITS, directories=directories)
    assert outcome(accepting, write_file, path=path) == expected
    assert outcome(context(directories=directories), write_file, path=path) == ("ask", "mode")


def test_a_dangerous_edit_is_not_accepted(here: Path):
    assert outcome(context(mode=PermissionMode.ACCEPT_EDITS), write_file, path=".env") == ("ask", "safety")


def test_11_3_104_the_directory_of_a_path_is_suggested(here: Path):
    assert contents(judge(context(), write_file, path="/data/test.py")) == ["/data/**"]
    assert contents(judge(context(), write_file, path="a")) == [f"{here}/**"]
    assert contents(judge(context(), write_file, path="/a")) == ["/a"]
    assert contents(judge(context(), write_file, path="/data/[id]/a?")) == ["/data/[[]id]/**"]
    assert contents(judge(context(), move_files, sources=["/a/1", "/a/2"], target="/b/3")) == ["/a/**", "/b/**"]


NAMES = st.sampled_from(["a", "b.py", "[id]", "*", "?", "..", "é", "x y", "link"])


@given(st.lists(st.lists(NAMES, min_size=1, max_size=4).map("/".join), min_size=1, max_size=4), st.booleans())
def test_suggested_rules_release_the_call(paths: list[str], absolute: bool):
    paths = [f"/nowhere/at/all/{path}" if absolute else path for path in paths]
    decision = judge(context(), move_files, sources=paths)
    assert (decision.behavior, decision.reason) == ("ask", "mode")
    assert outcome(context(*decision.suggested_rules), move_files, sources=paths) == ("allow", "allow_rule")
