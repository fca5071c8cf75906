"""Work that is counted, not timed: how many functions are called, how many steps of the interpreter are taken."""

from __future__ import annotations

import gc
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

__all__ = ["calls_of", "counting", "steps_of"]


def calls_of(work: Callable[..., Any], *args: Any) -> int:
    """How many functions, Python's and C's, a piece of work calls."""
    count = 0

    def on_call(_frame: Any, event: str, _argument: Any) -> None:
        nonlocal count
        count += event in ("call", "c_call")

    with _profiled(on_call):
        work(*args)
    return count


@contextmanager
def counting() -> Iterator[Counter[str]]:
    """Count how often each function is called in this thread, by its qualified name."""
    count = Counter[str]()

    def on_call(frame: Any, event: str, argument: Any) -> None:
        if event == "call":
            count[frame.f_code.co_qualname] += 1
        elif event == "c_call":
            count[argument.__qualname__] += 1

    with _profiled(on_call):
        yield count


@contextmanager
def _profiled(on_call: Callable[..., None]) -> Iterator[None]:
    before = sys.getprofile()
    gc.disable()  # its callbacks would count too
    sys.setprofile(on_call)
    try:
        yield
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
