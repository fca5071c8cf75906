from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import AsyncIterator

import pytest

from agentscope_rx.errors import StreamCancelled
from agentscope_rx.stream import from_async_iterable
from agentscope_rx.stream.portal import portal_loop

from .watching import Watcher, python, wait_for


async def one() -> AsyncIterator[int]:
    await asyncio.sleep(0)
    yield 1


def test_there_is_one_portal_and_it_runs() -> None:
    loop = portal_loop()
    assert portal_loop() is loop
    assert loop.is_running()
    assert asyncio.run_coroutine_threadsafe(asyncio.sleep(0, "ran"), loop).result() == "ran"


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")  # the SystemExit of the portal
def test_a_portal_that_a_callback_has_ended_ends_its_streams_and_is_renewed() -> None:
    async def endless() -> AsyncIterator[int]:
        try:
            yield 0
            await asyncio.Event().wait()
        finally:
            await asyncio.sleep(0)
            bystander.log.append("cleaned")

    def leave(item: int) -> None:
        raise SystemExit

    culprit, bystander = Watcher(), Watcher()
    from_async_iterable(endless).subscribe(bystander)
    wait_for(lambda: bystander.items)
    (thread,) = _portal_threads()
    from_async_iterable(one).subscribe(leave, culprit.on_error)
    wait_for(lambda: culprit.ends and bystander.ends)
    assert isinstance(culprit.ends[0], StreamCancelled)
    assert isinstance(culprit.ends[0].__cause__, SystemExit)
    assert bystander.log == ["cleaned", "StreamCancelled"]
    thread.join()

    after = Watcher()
    from_async_iterable(one).subscribe(after)
    wait_for(lambda: after.ends)
    assert after.items == [1]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork")
def test_a_forked_child_gets_a_portal_of_its_own() -> None:
    code = """
        import os, asyncio, threading
        from agentscope_rx.stream import from_async_iterable
        async def one():
            await asyncio.sleep(0)
            yield os.getpid()
        def value():
            done, items = threading.Event(), []
            from_async_iterable(one).subscribe(items.append, print, done.set)
            assert done.wait(5)
            return items
        assert value() == [os.getpid()]
        child = os.fork()
        if child == 0:
            assert value() == [os.getpid()]
            print("child", flush=True)
            os._exit(0)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
        print("parent")
    """
    assert python(code) == ["child", "parent"]


def test_the_end_of_the_process_cleans_up_the_streams_of_the_portal() -> None:
    code = """
        import asyncio, threading
        from agentscope_rx.stream import from_async_iterable
        async def endless():
            try:
                yield 0
                await asyncio.Event().wait()
            finally:
                await asyncio.sleep(0.01)
                print("cleaned", flush=True)
        begun = threading.Event()
        from_async_iterable(endless).subscribe(lambda _: begun.set(), lambda error: print(type(error).__name__))
        assert begun.wait(5)
        print("end")
    """
    assert python(code) == ["end", "cleaned", "StreamCancelled"]


def test_the_portal_does_not_keep_the_process_alive() -> None:
    portal_loop()
    (thread,) = _portal_threads()
    assert thread.daemon


def _portal_threads() -> list[threading.Thread]:
    return [thread for thread in threading.enumerate() if thread.name == "agentscope-rx-portal"]
