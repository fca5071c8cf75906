"""The names of tools: legal, each once, and told apart by server."""

from __future__ import annotations

import re

import pytest
from hypothesis import given, strategies as st

from agentscope_rx.mcp.names import is_server_name, prefix, tool_names

LEGAL = re.compile(r"[A-Za-z0-9_-]{1,64}")
server_names = st.from_regex(r"[A-Za-z0-9_-]{1,40}", fullmatch=True).filter(is_server_name)
tools = st.lists(st.text(max_size=90) | st.text("ab._-/ ", max_size=8), max_size=12)


def test_a_name_says_the_server_and_the_tool() -> None:
    assert tool_names("files", ["read", "read-only"]) == {
        "mcp__files__read": "read",
        "mcp__files__read-only": "read-only",
    }


def test_what_no_model_takes_is_replaced() -> None:
    assert tool_names("web", ["search.pages", "zoek/é"]) == {
        "mcp__web__search_pages": "search.pages",
        "mcp__web__zoek__": "zoek/é",
    }


def test_a_legal_name_is_kept_whatever_others_are_made_into() -> None:
    names = tool_names("web", ["a.b", "a/b", "a_b"])
    assert names["mcp__web__a_b"] == "a_b"
    assert sorted(names.values()) == ["a.b", "a/b", "a_b"]


def test_a_long_name_ends_with_a_hash_that_stays() -> None:
    one, other = "x" * 80 + "1", "x" * 80 + "2"
    both, alone = tool_names("s", [one, other]), tool_names("s", [other])
    assert set(alone) < set(both)
    assert {len(name) for name in both} == {64}


@pytest.mark.parametrize("name", ["a", "a-b", "a_b", "A9", "x" * 32])
def test_what_a_server_may_be_called(name: str) -> None:
    assert is_server_name(name)


@pytest.mark.parametrize("name", ["", "a b", "a__b", "_a", "a_", "a-", "-a", "ä", "x" * 33, "a\n", "a.b"])
def test_what_it_may_not(name: str) -> None:
    assert not is_server_name(name)


@given(server_names, tools)
def test_every_tool_has_one_legal_name(server: str, tools: list[str]) -> None:
    names = tool_names(server, tools)
    assert sorted(names.values()) == sorted(set(tools))
    assert all(LEGAL.fullmatch(name) and name.startswith(prefix(server)) for name in names)


@given(server_names, server_names, tools)
def test_a_name_begins_as_those_of_one_server_do(server: str, other: str, tools: list[str]) -> None:
    if server != other:
        assert not any(name.startswith(prefix(other)) for name in tool_names(server, tools))
