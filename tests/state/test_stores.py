"""What every store of states must do."""

from __future__ import annotations

import asyncio
import json
import math
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from typing import Any, get_args

import pytest

from agentscope_rx import (
    AgentState,
    ContentBlock,
    SqliteStateStore,
    StateConflictError,
    StateStore,
    StoreError,
    UserMessage,
)

from ..agent.shapes import run
from .full_state import full_state
from .processes import processes
from .stores import (
    HOSTILE_IDS,
    Opened,
    Opener,
    change_record,
    json_files,
    postgresql,
    redis,
    sql_file,
    sqlite,
    state,
    text_of,
)

# ------------------------------------------------------------------------------------------------- save and load


def test_a_store_is_a_state_store(store: StateStore) -> None:
    assert isinstance(store, StateStore)


def test_there_is_nothing_at_first(store: StateStore) -> None:
    assert run(store.load("s")) is None


def test_what_is_loaded_is_what_was_saved(store: StateStore) -> None:
    async def main() -> None:
        saved = full_state("s", "ann")
        assert await store.save(saved, 0) == 1
        loaded = await store.load("s", "ann")
        assert loaded == (saved, 1)
        assert [type(message) for message in loaded.state.history] == [type(message) for message in saved.history]

    run(main())


def test_the_full_state_holds_every_kind_of_block() -> None:
    kinds = set(get_args(get_args(ContentBlock)[0]))
    assert {type(block) for message in full_state().history for block in message.content} == kinds
    assert not [name for name in AgentState.model_fields if getattr(full_state(user_id="ann"), name) in (None, (), {})]


def test_versions_rise_with_every_save(store: StateStore) -> None:
    async def main() -> None:
        for version in range(5):
            assert await store.save(state(f"turn {version}"), version) == version + 1
            assert await text_of(store) == (f"turn {version}", version + 1)

    run(main())


def test_states_are_copies_and_no_references(store: StateStore) -> None:
    async def main() -> None:
        mine = state(seen={"list": [1]})
        await store.save(mine, 0)
        mine.values["seen"]["list"].append(2)
        mine.history = ()
        for _ in range(2):
            loaded = await store.load("s")
            assert loaded is not None
            assert loaded.state.values == {"seen": {"list": [1]}}
            assert len(loaded.state.history) == 1
            loaded.state.values["seen"]["list"].append(3)
            loaded.state.history = ()

    run(main())


def test_a_state_that_changes_while_it_is_saved_is_saved_as_it_was(store: StateStore) -> None:
    async def main() -> None:
        mine = state(seen=[1])
        saving = asyncio.create_task(store.save(mine, 0))
        await asyncio.sleep(0)
        mine.values["seen"].append(2)
        await saving
        loaded = await store.load("s")
        assert loaded is not None
        assert loaded.state.values == {"seen": [1]}

    run(main())


# ------------------------------------------------------------------------------------------------------ conflicts


@pytest.mark.parametrize(("held", "loaded"), [(0, 1), (1, 0), (2, 1), (1, 2), (1, -1)])
def test_a_conflict_changes_nothing(store: StateStore, held: int, loaded: int) -> None:
    async def main() -> None:
        for version in range(held):
            await store.save(state("first"), version)
        with pytest.raises(StateConflictError, match=rf"'s' is at version {held}, and was loaded at version {loaded}"):
            await store.save(state("second"), loaded)
        assert await text_of(store) == (("first", held) if held else None)

    run(main())


async def contest(store: StateStore, version: int, names: list[str]) -> list[str]:
    """Save one state for each name over the same version; returns the names of those that were saved."""
    done = await asyncio.gather(*(store.save(state(name), version) for name in names), return_exceptions=True)
    lost = [result for result in done if result != version + 1]
    assert all(isinstance(error, StateConflictError) for error in lost), lost
    return [name for name, result in zip(names, done, strict=True) if result == version + 1]


def test_of_concurrent_saves_exactly_one_wins_each_version(store: StateStore) -> None:
    async def main() -> None:
        for version in range(4):
            [winner] = await contest(store, version, [f"{version}-{number}" for number in range(20)])
            assert await text_of(store) == (winner, version + 1)

    run(main())


def test_a_store_serves_two_event_loops_in_two_threads(store: StateStore) -> None:
    """Both loops raise one counter in one session: nothing is lost, whoever comes first."""
    together = threading.Barrier(2)

    async def main() -> None:
        for _ in range(25):
            while True:
                stored = await store.load("s")
                counted, version = stored if stored is not None else (state(n=0), 0)
                counted.values["n"] += 1
                try:
                    await store.save(counted, version)
                    break
                except StateConflictError:
                    pass

    def serve() -> None:
        together.wait()
        asyncio.run(asyncio.wait_for(main(), 60))

    with ThreadPoolExecutor(2) as threads:
        for done in [threads.submit(serve) for _ in range(2)]:
            done.result()
    stored = run(store.load("s"))
    assert stored is not None
    assert (stored.state.values["n"], stored.version) == (50, 50)


# ------------------------------------------------------------------------------------------------------- sessions


def test_delete_forgets_a_session_and_only_that(store: StateStore) -> None:
    async def main() -> None:
        await store.delete("s")
        for session_id in ("s", "t"):
            await store.save(state(session_id, session_id), 0)
        await store.delete("s")
        await store.delete("s")
        assert await text_of(store, "s") is None
        assert await text_of(store, "t") == ("t", 1)
        assert await store.save(state("anew"), 0) == 1

    run(main())


def test_any_id_is_a_session_of_its_own(store: StateStore, tmp_path: Path) -> None:
    async def main() -> None:
        for number, session_id in enumerate(HOSTILE_IDS):
            await store.save(state(f"session {number}", session_id), 0)
            await store.save(state(f"user {number}", "s", session_id), 0)
        for number, session_id in enumerate(HOSTILE_IDS):
            assert await text_of(store, session_id) == (f"session {number}", 1)
            assert await text_of(store, "s", session_id) == (f"user {number}", 1)
        assert await text_of(store, "s") is None

    run(main())
    assert {path.parent for path in tmp_path.rglob("*") if path.is_file()} <= {tmp_path, tmp_path / "states"}


def test_users_are_kept_apart_from_sessions(store: StateStore) -> None:
    keys = [("a", "b"), ("b", "a"), ("a", None), ("a", ""), ("ab", None), ("a", "null"), ("", "a"), ("null", "a")]

    async def main() -> None:
        for number, (session_id, user_id) in enumerate(keys):
            await store.save(state(str(number), session_id, user_id), 0)
        for number, (session_id, user_id) in enumerate(keys):
            stored = await store.load(session_id, user_id)
            assert stored is not None
            assert (stored.state.session_id, stored.state.user_id) == (session_id, user_id)
            assert await text_of(store, session_id, user_id) == (str(number), 1)
        await store.delete("a", "b")
        assert [await text_of(store, *key) is None for key in keys] == [True, *[False] * 7]

    run(main())


# ---------------------------------------------------------------------------------------- stores that outlive us


@pytest.mark.parametrize("version", [0, 1])
@pytest.mark.parametrize(
    "value",
    [object(), {1, 2}, (1, 2), b"x", math.nan, -math.inf, {1: "x"}, {"deep": [1j]}, "\ud800", UserMessage("secret")],
    ids=lambda value: type(value).__name__,
)
def test_what_json_cannot_hold_is_refused_and_the_old_state_stands(
    opener: Opener, opened: Opened, value: Any, version: int
) -> None:
    async def main() -> None:
        store = opened(opener)
        if version:
            await store.save(state("old"), 0)
        with pytest.raises(StoreError) as caught:
            await store.save(state("new", bad=value), version)
        assert "secret" not in str(caught.value)
        assert await text_of(store) == (("old", 1) if version else None)

    run(main())


def test_a_value_that_holds_itself_is_refused(opener: Opener, opened: Opened) -> None:
    endless: list[Any] = []
    endless.append(endless)
    with pytest.raises(StoreError, match=r"values\['bad'\] of the state is no JSON value"):
        run(opened(opener).save(state(bad=endless), 0))


def test_metadata_that_json_cannot_hold_is_refused(opener: Opener, opened: Opened) -> None:
    held = AgentState(session_id="s", history=(UserMessage("hi", metadata={"bad": object()}),))
    with pytest.raises(StoreError, match="'s' cannot be written as JSON"):
        run(opened(opener).save(held, 0))


def test_a_store_opened_again_holds_the_same(opener: Opener, opened: Opened) -> None:
    saved = full_state()
    run(opened(opener).save(saved, 0))
    assert run(opened(opener).load("s")) == (saved, 1)


def _save_in_a_process(opener: Opener, folder: Path, name: str, start: Any, results: Any) -> None:
    start.wait()
    store = opener(folder)
    won = [len(asyncio.run(contest(store, version, [name]))) for version in range(10)]
    if isinstance(store, SqliteStateStore):
        store.close()
    results.put(won)


def test_of_saves_in_several_processes_exactly_one_wins_each_version(opener: Opener, tmp_path: Path) -> None:
    """Each process tries each version once, so that the first that nobody wins is the last that is tried."""
    start, results = processes.Barrier(2), processes.Queue()
    started = [
        processes.Process(target=_save_in_a_process, args=(opener, tmp_path, str(number), start, results))
        for number in range(2)
    ]
    for process in started:
        process.start()
    won = [results.get(timeout=60) for _ in started]
    for process in started:
        process.join(60)
    assert [process.exitcode for process in started] == [0, 0]
    results.close()
    results.join_thread()
    wins = [sum(versions) for versions in zip(*won, strict=True)]
    with closing(Opened(tmp_path)) as opened:
        _, version = run(text_of(opened(opener))) or ("", 0)
    assert wins == [1] * version + [0] * (10 - version)
    assert version >= 1


def record_with(opener: Opener, opened: Opened, change: Callable[[str], str]) -> StateStore:
    """A store that holds one session, whose record was changed behind its back."""
    store = opened(opener)
    run(store.save(state("old"), 0))
    change_record(opener, opened.folder, change)
    return store


WHERE: dict[Opener, str] = {
    json_files: r"s-[0-9a-f]{64}\.json",
    sqlite: r"session 's' .* agent_states of .*states\.db",
    sql_file: r'session "s" and user null in agent_states of the sqlite database .*states\.db',
    redis: r'the hash agentscope_rx:state:null "s" of the Redis server at 127\.0\.0\.1:\d+, database 0',
    postgresql: r'session "s" .* agent_states of the postgresql database postgres at 127\.0\.0\.1:\d+',
}
"""How a store says where a record is."""

SPOILED: dict[str, Callable[[str], str]] = {
    "empty": lambda record: "",
    "half": lambda record: record[: len(record) // 2],
    "other": lambda record: "[]",
    "zeros": lambda record: "\0" * len(record),
    "no version": lambda record: record.replace('"version"', '"x"'),
    "no format": lambda record: record.replace('"format"', '"x"'),
    "no state": lambda record: '{"format": 1, "version": 1}',
    "another role": lambda record: record.replace('"user"', '"nobody"'),
}


@pytest.mark.parametrize("change", SPOILED.values(), ids=SPOILED)
def test_a_spoiled_record_says_where_it_is_and_what_to_do(
    opener: Opener, opened: Opened, change: Callable[[str], str]
) -> None:
    store = record_with(opener, opened, change)
    with pytest.raises(StoreError, match=WHERE[opener] + " does not hold .*; put back a good copy, or delete"):
        run(store.load("s"))
    run(store.delete("s"))
    assert run(store.save(state("anew"), 0)) == 1


def test_a_record_of_a_newer_format_asks_for_an_upgrade(opener: Opener, opened: Opened) -> None:
    store = record_with(opener, opened, lambda record: '{"format": 2, "version": 7, "state": "of another shape"}')
    with pytest.raises(StoreError, match=WHERE[opener] + " has format 2, .*; upgrade agentscope_rx"):
        run(store.load("s"))


def test_unknown_fields_are_ignored(opener: Opener, opened: Opened) -> None:
    def change(record: str) -> str:
        parsed = json.loads(record)
        parsed["later"] = parsed["state"]["later"] = parsed["state"]["history"][0]["later"] = {"x": 1}
        return json.dumps(parsed)

    assert run(text_of(record_with(opener, opened, change))) == ("old", 1)
