"""What the tests of the seam share: an observer that writes down what it hears, and a loop that must end up clean."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import textwrap
import time
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any, TypeVar

T = TypeVar("T")

PATIENCE = 10.0
"""Seconds after which something that should happen is taken not to happen."""


class Watcher:
    """An observer that writes down what it hears. `log` may be shared, to see the order of several things."""

    def __init__(self, log: list[Any] | None = None) -> None:
        self.items: list[Any] = []
        self.ends: list[Any] = []
        self.log: list[Any] = [] if log is None else log

    def on_next(self, item: Any) -> None:
        self.items.append(item)

    def on_error(self, error: Exception) -> None:
        self.ends.append(error)
        self.log.append(type(error).__name__)

    def on_completed(self) -> None:
        self.ends.append("completed")
        self.log.append("completed")

    async def end(self) -> Any:
        """Wait for the end, and return it."""
        await until(lambda: bool(self.ends))
        return self.ends[0]


async def until(condition: Callable[[], object]) -> None:
    """Wait until `condition()` holds, in small steps of the loop."""
    deadline = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < deadline, "it did not happen"
        await asyncio.sleep(0.001)


def wait_for(condition: Callable[[], object]) -> None:
    """`until` for code without a loop."""
    deadline = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < deadline, "it did not happen"
        time.sleep(0.001)


def other_tasks() -> set[asyncio.Task[Any]]:
    """The tasks of the loop besides this one."""
    return {task for task in asyncio.all_tasks() if task is not asyncio.current_task()}


def run(main: Callable[[], Coroutine[Any, Any, T]]) -> T:
    """Run `main()`; it must end, leave no task, and nothing may be reported to the loop's exception handler."""

    async def checked() -> T:
        reports: list[dict[str, Any]] = []
        asyncio.get_running_loop().set_exception_handler(lambda _, report: reports.append(report))
        async with asyncio.timeout(PATIENCE):
            result = await main()
            await until(lambda: not other_tasks())
        assert not reports
        return result

    return asyncio.run(checked())


def reports() -> list[dict[str, Any]]:
    """From now on, write down what is reported to the loop's exception handler, for a test that expects it."""
    reports: list[dict[str, Any]] = []
    asyncio.get_running_loop().set_exception_handler(lambda _, report: reports.append(report))
    return reports


def python(code: str) -> list[str]:
    """Run a program of its own and return the words it prints; it must end well and complain about nothing."""
    command = [sys.executable, "-W", "error", "-c", textwrap.dedent(code)]
    root = Path(__file__).parents[2]
    process = subprocess.run(command, cwd=root, capture_output=True, text=True, timeout=30, check=False)
    assert (process.returncode, process.stderr) == (0, "")
    return process.stdout.split()
