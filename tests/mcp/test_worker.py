"""A loop in a thread of its own, and those who give it work from theirs."""

from __future__ import annotations

import asyncio
import contextvars
import subprocess
import sys
import threading
from collections.abc import Iterator

import pytest

from agentscope_rx.errors import ToolError
from agentscope_rx.mcp.worker import Worker

name: contextvars.ContextVar[str] = contextvars.ContextVar("name")


@pytest.fixture
def worker() -> Iterator[Worker]:
    worker = Worker("test-worker")
    yield worker
    worker.close()
    assert not worker.alive


async def thread() -> int:
    return threading.get_ident()


def test_work_runs_on_one_thread_whatever_loop_it_comes_from(worker: Worker) -> None:
    threads = {asyncio.run(worker.run(thread)) for _ in range(3)}
    assert len(threads) == 1
    assert threads != {threading.get_ident()}


def test_work_sees_the_contextvars_of_its_caller(worker: Worker) -> None:
    async def read() -> str:
        return name.get()

    async def main() -> str:
        name.set("friday")
        return await worker.run(read)

    assert asyncio.run(main()) == "friday"


def test_an_error_comes_back(worker: Worker) -> None:
    async def fail() -> None:
        raise KeyError("lost")

    with pytest.raises(KeyError):
        asyncio.run(worker.run(fail))


def test_a_cancellation_arrives_and_its_cleanup_is_waited_for(worker: Worker) -> None:
    told: list[str] = []
    started = threading.Event()

    async def wait() -> None:
        started.set()
        try:
            await asyncio.Event().wait()
        finally:
            await asyncio.sleep(0.05)
            told.append("cleaned up")

    async def main() -> None:
        task = asyncio.create_task(worker.run(wait))
        await asyncio.to_thread(started.wait)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert told == ["cleaned up"]

    asyncio.run(main())


def test_closing_ends_what_runs_and_what_comes_later() -> None:
    worker = Worker("test-worker")
    started = threading.Event()

    async def wait() -> None:
        started.set()
        await asyncio.Event().wait()

    async def main() -> None:
        task = asyncio.create_task(worker.run(wait))
        await asyncio.to_thread(started.wait)
        await asyncio.to_thread(worker.close)
        with pytest.raises(ToolError, match="closed"):
            await task
        with pytest.raises(ToolError, match="closed"):
            await worker.run(wait)

    asyncio.run(main())
    worker.close()


def test_the_last_thing_that_runs_is_the_farewell() -> None:
    worker = Worker("test-worker")
    told: list[str] = []
    started = threading.Event()

    async def wait() -> None:
        started.set()
        try:
            await asyncio.Event().wait()
        finally:
            await asyncio.sleep(0.05)
            told.append("ended")

    async def say_goodbye() -> None:
        await asyncio.sleep(0.01)
        told.append("goodbye")

    async def main() -> None:
        task = asyncio.create_task(worker.run(wait))
        await asyncio.to_thread(started.wait)
        await asyncio.gather(*(asyncio.to_thread(worker.close, say_goodbye) for _ in range(3)))
        with pytest.raises(ToolError, match="closed"):
            await task

    asyncio.run(main())
    assert told == ["ended", "goodbye"]


def test_it_may_be_closed_by_what_it_runs() -> None:
    worker = Worker("test-worker")

    async def main() -> None:
        async def close() -> None:
            worker.close()
            await asyncio.Event().wait()

        with pytest.raises(ToolError, match="closed"):
            await worker.run(close)

    asyncio.run(main())


@pytest.mark.skipif(sys.platform == "win32", reason="there is no fork")
def test_a_fork_has_no_worker() -> None:
    code = """
import os
from agentscope_rx.mcp.worker import Worker
worker = Worker("w")
assert worker.alive
child = os.fork()
if not child:
    assert not worker.alive
    worker.close()
    os._exit(0)
assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
worker.close()
"""
    subprocess.run([sys.executable, "-W", "ignore", "-c", code], check=True, timeout=60)
