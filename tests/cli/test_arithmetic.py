from __future__ import annotations

import pytest
from hypothesis import given, strategies as st

from agentscope_rx import ToolError
from agentscope_rx.cli.arithmetic import evaluate


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        ("17 + 25", 42),
        (" 2 + 3 * 4 ", 14),
        ("(2 + 3) * 4", 20),
        ("7 / 2", 3.5),
        ("7 // 2", 3),
        ("-7 % 3", 2),
        ("2 ** 10", 1024),
        ("2 ^ 10", 1024),
        ("2 ** -1", 0.5),
        ("6 × 7 ÷ 2 − 1", 20.0),
        ("+-+1", -1),
        ("1_000 * 0x10", 16000),
        ("1.5e3", 1500.0),
        ("-" * 199 + "1", -1),
        ("0 ** 10 ** 900", 0),
        ("(-1) ** 10 ** 900", 1),
    ],
)
def test_it_works_out(expression: str, value: float) -> None:
    result = evaluate(expression)
    assert (result, type(result)) == (value, type(value))


@pytest.mark.parametrize(
    ("expression", "problem"),
    [
        ("", "no arithmetic"),
        ("17 plus 25", "no arithmetic"),
        ("1 +", "no arithmetic"),
        ("(" * 100 + "1", "no arithmetic"),
        ("1\0", "no arithmetic"),
        ("x", "'x' is no arithmetic"),
        ("True + 1", "'True' is no arithmetic"),
        ("'a' * 3", "is no arithmetic"),
        ("1, 2", "is no arithmetic"),
        ("~1", "is no arithmetic"),
        ("1 if 1 else 2", "is no arithmetic"),
        ("1 << 9999999999", "is no arithmetic"),
        ("1j", "is no arithmetic"),
        ("__import__('os').getpid()", "is no arithmetic"),
        ("(lambda: 1)()", "is no arithmetic"),
        ("1 / 0", "by zero"),
        ("0 ** -1", "by zero"),
        ("5 % 0.0", "by zero"),
        ("(-8) ** 0.5", "not a real number"),
        ("1e999", "too large"),
        ("1e308 * 10", "too large"),
        ("2.0 ** 5000", "too large"),
        ("10 ** 400 / 3", "too large"),
        ("9 ** 9 ** 9", "too large"),
        ("(10 ** 1200) * (10 ** 1200)", "too large"),
        ("1" * 201, "at most 200 characters"),
    ],
)
def test_it_refuses(expression: str, problem: str) -> None:
    with pytest.raises(ToolError, match=problem):
        evaluate(expression)


@given(st.text(alphabet="0123456789.+-*/%()^e_ ", max_size=210))
def test_any_text_comes_to_a_number_or_a_tool_error(expression: str) -> None:
    try:
        result = evaluate(expression)
    except ToolError:
        return
    assert isinstance(result, int | float)
    assert len(str(result)) < 1300
