from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from zoneinfo import available_timezones

import pytest

from agentscope_rx import ReActAgent, RuntimeContext, ToolError, ToolResultBlock, ToolResultState
from agentscope_rx.cli.tools import TOOLS, calculate, get_current_time
from agentscope_rx.testing import ScriptedModel, text, tool_call

FORMAT = "%A, %d %B %Y, %H:%M:%S"


def test_the_time_is_now() -> None:
    shown, zone = get_current_time().rsplit(" ", 1)
    assert zone == "UTC"
    assert abs(datetime.strptime(shown, FORMAT).replace(tzinfo=UTC) - datetime.now(UTC)) < timedelta(minutes=1)


@pytest.mark.skipif("Asia/Tokyo" not in available_timezones(), reason="there is no database of time zones here")
def test_the_time_elsewhere() -> None:
    here = datetime.strptime(get_current_time().rsplit(" ", 1)[0], FORMAT)
    tokyo, zone = get_current_time("Asia/Tokyo").rsplit(" ", 1)
    assert zone == "JST"
    assert timedelta(hours=9) <= datetime.strptime(tokyo, FORMAT) - here < timedelta(hours=9, minutes=1)


@pytest.mark.parametrize("name", ["Mars/Olympus", "", "../../etc/passwd", "Europe", "a\0b", "é" * 300])
def test_a_time_zone_that_is_none(name: str) -> None:
    with pytest.raises(ToolError, match=re.escape("expected an IANA name such as Europe/Paris")):
        get_current_time(name)


@pytest.mark.parametrize(
    ("expression", "result"),
    [
        ("17 + 25", "42"),
        ("84 / 2", "42"),
        ("0.1 + 0.2", "0.3"),
        ("1 / 3", "0.333333333333333"),
        ("10 ** 20 / 3", "3.33333333333333e+19"),
    ],
)
def test_a_result_reads_well(expression: str, result: str) -> None:
    assert calculate(expression) == result


def test_what_the_model_is_told() -> None:
    time, arithmetic = (tool.schema(RuntimeContext()) for tool in TOOLS)
    assert (time.name, time.description) == ("get_current_time", "Get the current date and time.")
    assert time.parameters["properties"]["timezone"]["default"] == "UTC"
    assert "required" not in time.parameters
    assert (arithmetic.name, arithmetic.description) == ("calculate", "Calculate an arithmetic expression.")
    assert arithmetic.parameters["required"] == ["expression"]


def test_the_model_reads_what_is_wrong_and_may_try_again() -> None:
    model = ScriptedModel([[tool_call("calculate", {"expression": "17 plus 25"})], [text("Hm.")]])
    message = ReActAgent("a", model, tools=TOOLS).call("hi").run()
    result = message.get_content_blocks(ToolResultBlock)[0]
    assert result.state is ToolResultState.ERROR
    assert "expected numbers, + - * / // % ** and parentheses" in result.output[0].model_dump()["text"]
