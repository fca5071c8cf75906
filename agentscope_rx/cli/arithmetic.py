"""Arithmetic on text that nobody vouches for: what it may hold is a table, and what it may cost has a limit."""

from __future__ import annotations

import ast
import math
import operator
from collections.abc import Callable
from typing import Any, TypeAlias

from ..errors import ToolError

__all__ = ["Number", "evaluate"]

Number: TypeAlias = int | float
"""What an expression is made of and comes to."""

_MAX_LENGTH = 200
"""The longest expression, in characters; it bounds the depth of the syntax tree too."""
_MAX_BITS = 4096
"""The largest integer, in bits: about 1,200 digits."""

_EXPECTED = "expected numbers, + - * / // % ** and parentheses"
_TOO_LARGE = f"the result is too large: an integer has at most {_MAX_BITS} bits"

_SPELLINGS = str.maketrans({"^": "**", "×": "*", "÷": "/", "−": "-"})
"""Signs that people write, and their Python ones."""


def evaluate(expression: str) -> Number:
    """Work out `expression`: numbers, + - * / // % **, and parentheses.

    Raises:
        ToolError: it is too long, holds anything else, or has no finite result of a reasonable size.
    """
    if len(expression) > _MAX_LENGTH:
        raise ToolError(f"an expression has at most {_MAX_LENGTH} characters: got {len(expression)}")
    try:
        tree = ast.parse(expression.translate(_SPELLINGS).strip(), mode="eval")
        return _value(tree.body)
    except ZeroDivisionError:
        raise ToolError("the expression divides by zero") from None
    except OverflowError:
        raise ToolError("the result is too large for a floating-point number") from None
    except (SyntaxError, ValueError, MemoryError, RecursionError):
        raise ToolError(f"that is no arithmetic: {_EXPECTED}") from None


def _value(node: ast.expr) -> Number:
    match node:
        case ast.Constant(value=int() | float() as value) if not isinstance(value, bool):
            return _bounded(value)
        case ast.UnaryOp(op=sign, operand=operand) if type(sign) in _UNARY:
            return _UNARY[type(sign)](_value(operand))
        case ast.BinOp(left=left, op=sign, right=right) if type(sign) in _BINARY:
            return _bounded(_BINARY[type(sign)](_value(left), _value(right)))
        case _:
            raise ToolError(
                f"{ast.unparse(node)!r} is no arithmetic: expected numbers, + - * / // % ** and parentheses"
            )


def _bounded(value: Any) -> Number:
    if isinstance(value, complex):
        raise ToolError("the result is not a real number")
    if isinstance(value, float) and not math.isfinite(value):
        raise OverflowError
    if isinstance(value, int) and value.bit_length() > _MAX_BITS:
        raise ToolError(_TOO_LARGE)
    number: Number = value
    return number


def _power(base: Number, exponent: Number) -> Any:
    # Judged before it is computed: 9**9**9 would take all memory.
    integers = isinstance(base, int) and isinstance(exponent, int)
    if integers and abs(base) > 1 and exponent * math.log2(abs(base)) > _MAX_BITS:
        raise ToolError(_TOO_LARGE)
    return base**exponent


_UNARY: dict[type[ast.unaryop], Callable[[Number], Number]] = {
    ast.UAdd: operator.pos,
    ast.USub: operator.neg,
}

_BINARY: dict[type[ast.operator], Callable[[Number, Number], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.Pow: _power,
}
