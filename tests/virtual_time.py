"""An event loop on which waiting takes no time."""

from __future__ import annotations

import asyncio
import selectors
import threading
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

__all__ = ["VirtualTimeLoop", "in_virtual_time", "other_tasks"]

T = TypeVar("T")

_HANG = 10.0
"""Real seconds after which a thread of a tool is taken to hang."""

_GRACE = 0.005
"""Real seconds that time waits for a thread of a tool before it jumps."""


class _Jumping(selectors.DefaultSelector):
    """Instead of waiting for a timer, makes it due."""

    def __init__(self, jump: Callable[[float], None]) -> None:
        super().__init__()
        self._jump = jump

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        if timeout is None:
            if events := super().select(_HANG if _tools_run() else 0):
                return events
            raise AssertionError("everything on the loop waits, and nothing will ever happen")
        if events := super().select(_GRACE if timeout > 0 and _tools_run() else 0):
            return events
        self._jump(max(0.0, timeout))
        return []


class VirtualTimeLoop(asyncio.SelectorEventLoop):
    """Time stands still while anything is ready, and jumps to the next timer when nothing is.

    The threads of tools live in real time. While one runs, time waits a moment for what it has to say.
    """

    def __init__(self) -> None:
        self._now = 0.0
        super().__init__(_Jumping(self._jump))

    def time(self) -> float:
        """Return the virtual time, in seconds."""
        return self._now

    def _jump(self, seconds: float) -> None:
        self._now += seconds


def in_virtual_time(main: Callable[[], Coroutine[Any, Any, T]], reported: type[Exception] | tuple[()] = ()) -> T:
    """Run `main()`; nothing may be left behind.

    Args:
        main: The test.
        reported: What the loop's exception handler may be told of.
    """

    async def checked() -> T:
        reports: list[dict[str, Any]] = []
        asyncio.get_running_loop().set_exception_handler(lambda _, report: reports.append(report))
        result = await main()
        assert not other_tasks()
        assert all(isinstance(report.get("exception"), reported) for report in reports), reports
        return result

    with asyncio.Runner(loop_factory=VirtualTimeLoop) as runner:
        return runner.run(checked())


def other_tasks() -> set[asyncio.Task[Any]]:
    """The tasks of the loop besides this one."""
    return asyncio.all_tasks() - {asyncio.current_task()}


def _tools_run() -> bool:
    return any(thread.name.startswith("tool ") for thread in threading.enumerate())
