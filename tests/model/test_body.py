from __future__ import annotations

import pytest

from agentscope_rx.errors import ConfigurationError
from agentscope_rx.model import ToolSchema
from agentscope_rx.model.body import chosen_tool, merged_body

CLOCK, WEATHER = ToolSchema("clock", "", {}), ToolSchema("weather", "", {})


@pytest.mark.parametrize("choice", [None, "auto", "none", "required"])
def test_a_general_choice_names_no_tool(choice: str | None) -> None:
    assert chosen_tool([CLOCK], choice) is None


def test_a_choice_by_name() -> None:
    assert chosen_tool([CLOCK, WEATHER], "weather") is WEATHER
    with pytest.raises(ConfigurationError, match=r"'x'.*auto, none, required or one of: clock, weather"):
        chosen_tool([CLOCK, WEATHER], "x")


def test_extra_fields_win_and_extra_tools_join() -> None:
    body = {"model": "m", "stream": True, "tools": [{"name": "own"}]}
    assert merged_body(body, {}) == body
    assert merged_body(body, {"stream": None, "seed": 1}) == {**body, "stream": None, "seed": 1}
    assert merged_body(body, {"tools": [{"type": "search"}]})["tools"] == [{"name": "own"}, {"type": "search"}]
    assert merged_body({"model": "m"}, {"tools": [1]}) == {"model": "m", "tools": [1]}
    assert body["tools"] == [{"name": "own"}]


def test_extra_fields_join_those_of_a_nested_field() -> None:
    body = {"model": "m", "options": {"seed": 1, "tools": [1]}, "think": {"low": 1}}
    extra = {"options": {"seed": 2, "top_k": 3, "tools": [2]}, "think": {"high": 1}}
    assert merged_body(body, extra, "options") == {
        "model": "m",
        "options": {"seed": 2, "top_k": 3, "tools": [1, 2]},
        "think": {"high": 1},
    }
    assert merged_body({}, {"options": {"seed": 2}}, "options") == {"options": {"seed": 2}}
    assert merged_body(body, {"options": None}, "options")["options"] is None
    assert body["options"] == {"seed": 1, "tools": [1]}
