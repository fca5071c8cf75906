"""Ids and time."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime

import pytest

from agentscope_rx.identity import new_id, now, set_clock, set_id_factory


@pytest.fixture(autouse=True)
def _defaults_after() -> Iterator[None]:
    yield
    set_id_factory(None)
    set_clock(None)


def test_an_id_is_a_prefix_of_the_process_and_a_counter() -> None:
    first, second = new_id(), new_id()
    assert re.fullmatch("[0-9a-f]{32}", first)
    assert first[:16] == second[:16]
    assert int(second[16:], 16) == int(first[16:], 16) + 1


def test_ids_of_one_process_sort_by_age() -> None:
    ids = [new_id() for _ in range(1_000)]
    assert ids == sorted(set(ids))


def test_ids_are_unique_over_threads() -> None:
    with ThreadPoolExecutor(8) as pool:
        ids = list(pool.map(lambda _: new_id(), range(8_000)))
    assert len(set(ids)) == 8_000


def test_a_factory_rules_all_new_ids_until_it_is_taken_back() -> None:
    prefix = new_id()[:16]
    set_id_factory(iter(["a", "b"]).__next__)
    assert (new_id(), new_id()) == ("a", "b")
    set_id_factory(None)
    assert new_id()[:16] == prefix


def test_the_time_is_aware_and_in_utc() -> None:
    before = datetime.now(UTC)
    assert before <= now() <= datetime.now(UTC)
    assert now().tzinfo is UTC


def test_a_clock_rules_the_time_until_it_is_taken_back() -> None:
    noon = datetime(2026, 5, 6, 12, tzinfo=UTC)
    set_clock(lambda: noon)
    assert now() is noon
    set_clock(None)
    assert now() > datetime(2020, 1, 1, tzinfo=UTC)


FORK = """
import os
from agentscope_rx.identity import new_id, set_id_factory

{before}
mine = new_id()
reading, writing = os.pipe()
child = os.fork()
if child == 0:
    os.write(writing, new_id().encode())
    os._exit(0)
os.waitpid(child, 0)
print(mine, os.read(reading, 64).decode(), new_id())
"""


def forked(before: str = "") -> list[str]:
    done = subprocess.run(
        [sys.executable, "-c", FORK.format(before=before)], capture_output=True, text=True, check=True
    )
    return done.stdout.split()


@pytest.mark.skipif(sys.platform == "win32", reason="this system cannot fork")
def test_a_forked_child_has_a_prefix_of_its_own() -> None:
    before, in_child, after = forked()
    assert in_child[:16] != before[:16]
    assert int(in_child[16:], 16) == 1
    assert after[:16] == before[:16]
    assert int(after[16:], 16) == int(before[16:], 16) + 1


@pytest.mark.skipif(sys.platform == "win32", reason="this system cannot fork")
def test_a_factory_outlives_a_fork() -> None:
    assert forked("set_id_factory(lambda: 'mine')") == ["mine", "mine", "mine"]
