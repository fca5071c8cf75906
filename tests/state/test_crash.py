"""A writer that is killed at any moment: what was saved stays, and nothing is torn."""

from __future__ import annotations

import random
import time
from collections.abc import Iterator
from multiprocessing.connection import Connection

import pytest

from ..agent.shapes import run
from .processes import processes
from .stores import LASTING, SERVERS, Opened, Opener, prepared, state
from .writer import write

LATEST = 0.1
"""Seconds from the first save to the latest kill: dozens of saves."""


def rounds(opener: Opener) -> list[object]:
    """A few rounds in every run, and many in the heavy one."""
    many = pytest.param(opener, 50, id=f"{opener.__name__}-50", marks=pytest.mark.heavy)
    return [many] if opener in SERVERS else [pytest.param(opener, 3, id=f"{opener.__name__}-3"), many]


def received(saved: Connection) -> Iterator[int]:
    """The versions that came; the writer may have been killed while it sent one."""
    try:
        while True:
            yield saved.recv()
    except (EOFError, OSError):
        pass


@pytest.mark.parametrize(("opener", "times"), [case for opener in LASTING for case in rounds(opener)])
def test_a_writer_that_is_killed_leaves_a_whole_state(
    opener: Opener, times: int, opened: Opened, request: pytest.FixtureRequest
) -> None:
    """Each round goes on where the last one was killed; what the writer was told is saved, is."""
    store = opened(prepared(request, opener))
    moments = random.Random(times)
    seen = 0
    for _ in range(times):
        saved, told = processes.Pipe(duplex=False)
        process = processes.Process(target=write, args=(opener, opened.folder, told))
        process.start()
        told.close()
        try:
            assert saved.poll(60)
            assert saved.recv() == seen + 1
            time.sleep(moments.uniform(0, LATEST))
        finally:
            process.kill()
            process.join(60)
        with saved:
            last = max([seen + 1, *received(saved)])
        stored = run(store.load("s"))
        assert stored is not None
        assert stored.version in (last, last + 1)
        assert len(stored.state.history[0].get_text_content()) == stored.state.values["n"]
        seen = run(store.save(state("", n=0), stored.version))
    assert seen > 2 * times + 1, "the writers were killed before they had done anything"
