"""What only the store in files must stand."""

from __future__ import annotations

import asyncio
import stat
import sys
from pathlib import Path

import pytest

from agentscope_rx import StoreError

from ..agent.shapes import run
from .stores import HOSTILE_IDS, Opened, change_record, json_files, state, text_of


def test_a_spoiled_file_is_not_written_over(opened: Opened) -> None:
    store = opened(json_files)
    run(store.save(state("old"), 0))
    change_record(json_files, opened.folder, lambda record: "{")
    for version in (0, 1):
        with pytest.raises(StoreError, match="does not hold the state"):
            run(store.save(state("new"), version))


def test_a_write_that_fails_leaves_the_old_file_and_no_other(opened: Opened, monkeypatch: pytest.MonkeyPatch) -> None:
    store = opened(json_files)
    run(store.save(state("old"), 0))
    before = sorted(path.name for path in (opened.folder / "states").iterdir())
    with monkeypatch.context() as patch:
        patch.setattr("os.fsync", lambda descriptor: (_ for _ in ()).throw(OSError(28, "No space left on device")))
        with pytest.raises(StoreError, match=r"cannot write .*\.json: No space left on device; "):
            run(store.save(state("new"), 1))
    assert run(text_of(store)) == ("old", 1)
    assert sorted(path.name for path in (opened.folder / "states").iterdir()) == before
    assert run(store.save(state("new"), 1)) == 2


def test_a_reader_never_sees_half_a_file(opened: Opened) -> None:
    """States of very different length, saved and loaded at once; each says how long it is."""

    async def main() -> None:
        store = opened(json_files)
        await store.save(state("", n=0), 0)

        async def write() -> None:
            for version in range(1, 30):
                length = version % 2 * 200_000
                await store.save(state("x" * length, n=length), version)

        writing = asyncio.create_task(write())
        while not writing.done():
            stored = await store.load("s")
            assert stored is not None
            assert len(stored.state.history[0].get_text_content()) == stored.state.values["n"]
        await writing

    run(main())


def test_what_a_killed_writer_left_is_in_nobodys_way(opened: Opened) -> None:
    store = opened(json_files)
    run(store.save(state("old"), 0))
    [path] = (opened.folder / "states").glob("*.json")
    path.with_suffix(".new").write_text('{"format": 1, "ver')
    assert run(text_of(store)) == ("old", 1)
    assert run(store.save(state("new"), 1)) == 2
    assert run(text_of(store)) == ("new", 2)
    assert not list((opened.folder / "states").glob("*.new"))


@pytest.mark.skipif(sys.platform == "win32", reason="modes are those of POSIX")
def test_a_file_is_for_its_owner_only(opened: Opened) -> None:
    run(opened(json_files).save(state(), 0))
    [path] = (opened.folder / "states").glob("*.json")
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_file_names_differ_in_more_than_case(opened: Opened) -> None:
    store = opened(json_files)
    for number, session_id in enumerate(HOSTILE_IDS):
        run(store.save(state(str(number), session_id), 0))
    names = [path.name for path in (opened.folder / "states").glob("*.json")]
    assert len({name.lower() for name in names}) == len(names) == len(HOSTILE_IDS)
    assert all(name.isascii() and len(name) <= 110 for name in names)


def test_a_directory_that_cannot_be_made_is_an_error_at_once(tmp_path: Path) -> None:
    (tmp_path / "states").write_text("a file")
    with pytest.raises(StoreError, match=r"cannot make the directory .*states"):
        json_files(tmp_path)


def test_a_directory_that_is_gone_is_an_error_when_it_is_written(opened: Opened) -> None:
    store = opened(json_files)
    (opened.folder / "states").rmdir()
    assert run(store.load("s")) is None
    for write in (store.save(state(), 0), store.delete("s")):
        with pytest.raises(StoreError, match="No such file or directory"):
            run(write)
