"""Work that is counted, not timed: how many functions are called, how many steps of the interpreter are taken."""

from __future__ import annotations

import gc
import sys
from collections.abc import Callable
from typing import Any

__all__ = ["calls_of", "steps_of"]


def calls_of(work: Callable[..., Any], *args: Any) -> int:
    """How many functions, Python's and C's, a piece of work calls."""
    count = 0

    def on_call(_frame: Any, event: str, _argument: Any) -> None:
        nonlocal count
        count += event in ("call", "c_call")

    before = sys.getprofile()
    gc.disable()  # its callbacks would count too
    sys.setprofile(on_call)
    try:
        work(*args)
    finally:
        sys.setprofile(before)
        gc.enable()
    return count


def steps_of(work: Callable[..., Any], *args: Any) -> int:
    """How many instructions of the interpreter a piece of work takes; slow, and exact where loops call nothing."""
    count = 0

    def on_step(frame: Any, event: str, _argument: Any) -> Any:
        nonlocal count
        frame.f_trace_opcodes, frame.f_trace_lines = True, False
        count += event == "opcode"
        return on_step

    before = sys.gettrace()
    gc.disable()
    sys.settrace(on_step)
    try:
        work(*args)
    finally:
        sys.settrace(before)
        gc.enable()
    return count
