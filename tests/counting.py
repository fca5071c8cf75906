"""Work that is counted, not timed: how many functions are called, how many steps of the interpreter are taken."""

from __future__ import annotations

import gc
import sys
from collections import Counter
from collections.abc import Callable
from typing import Any

__all__ = ["calls_by_name", "calls_of", "steps_of"]


def calls_of(work: Callable[..., Any], *args: Any) -> int:
    """How many functions, Python's and C's, a piece of work calls."""
    count = 0

    def on_call(_frame: Any, event: str, _argument: Any) -> None:
        nonlocal count
        count += event in ("call", "c_call")

    _profiled(on_call, work, *args)
    return count


def calls_by_name(work: Callable[..., Any], *args: Any) -> Counter[str]:
    """How often a piece of work calls each function, by its qualified name."""
    count = Counter[str]()

    def on_call(frame: Any, event: str, argument: Any) -> None:
        if event == "call":
            count[frame.f_code.co_qualname] += 1
        elif event == "c_call":
            count[argument.__qualname__] += 1

    _profiled(on_call, work, *args)
    return count


def _profiled(on_call: Callable[..., None], work: Callable[..., Any], *args: Any) -> None:
    before = sys.getprofile()
    gc.disable()  # its callbacks would count too
    sys.setprofile(on_call)
    try:
        work(*args)
    finally:
        sys.setprofile(before)
        gc.enable()


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
