from __future__ import annotations

from typing import Any

import pytest

from agentscope_rx.model.decoding import Parts, count_at


def test_a_part_is_found_by_any_of_its_names_and_else_it_is_the_last() -> None:
    parts: Parts[str] = Parts()
    assert parts.find("a") is None
    parts.begin("first", "a", 0)
    parts.begin("second", None, 1)
    assert (parts.find("a"), parts.find(0), parts.find(None, 0)) == ("first", "first", "first")
    assert (parts.find(1), parts.find(), parts.find("unknown", 7)) == ("second", "second", "second")
    assert (parts.named("a"), parts.named("unknown"), parts.named(None)) == ("first", None, None)


def test_a_name_that_comes_again_means_the_later_part() -> None:
    parts: Parts[str] = Parts()
    parts.begin("first", 0)
    parts.begin("second", 0)
    assert parts.find(0) == "second"


@pytest.mark.parametrize(
    ("value", "count"),
    [
        ({"a": {"b": 3}}, 3),
        ({"a": {"b": 0}}, 0),
        ({"a": {"b": "3"}}, None),
        ({"a": None}, None),
        ([], None),
        (None, None),
    ],
)
def test_counts(value: Any, count: int | None) -> None:
    assert count_at(value, "a", "b") == count
