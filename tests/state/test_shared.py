"""What only the stores on a server must stand: connections, loops, secrets, failures."""

from __future__ import annotations

import asyncio
import sqlite3
import sys
import threading
import traceback
from collections.abc import Callable, Coroutine
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import pytest
from redis.asyncio import Redis
from sqlalchemy.engine import make_url
from sqlalchemy.ext.asyncio import create_async_engine

from agentscope_rx import (
    ConfigurationError,
    MissingExtraError,
    RedisStateStore,
    SqliteStateStore,
    SqlStateStore,
    StateConflictError,
    StateStore,
    StoreError,
)
from agentscope_rx.state.shared.finished import finished

from ..agent.shapes import run
from .servers import IN_URL, PASSWORD, Server, ask_postgresql, ask_redis, free_port
from .stores import Opened, Opener, sqlite, state, text_of

SECRET = "hunter2"


def told(error: BaseException) -> str:
    """All that a log shows of an error."""
    return "".join(traceback.format_exception(error))


# ---------------------------------------------------------------------------------------------------- what is given


@pytest.mark.parametrize(
    ("url", "said"),
    [
        (SECRET, "cannot be read"),
        (f"postgresql://u:{SECRET}@host:{SECRET}/db", "cannot be read"),
        (f"mysql://u:{SECRET}@host/db", "postgresql and sqlite: got mysql"),
        (f"postgres://u:{SECRET}@host/db", "postgresql and sqlite: got postgres"),
        ("sqlite+pysqlite:///f.db", r"sqlite\+pysqlite is no asynchronous driver .*; use sqlite\+aiosqlite"),
        (f"postgresql+nothing://u:{SECRET}@host/db", r"postgresql\+nothing is no .* driver"),
        ("sqlite://", "name a file"),
        ("sqlite:///:memory:", "name a file"),
        ("", "cannot be read"),
    ],
)
def test_a_database_that_cannot_be_is_an_error_at_once(url: str, said: str) -> None:
    with pytest.raises(ConfigurationError, match=said) as caught:
        SqlStateStore(url)
    assert SECRET not in told(caught.value)


@pytest.mark.parametrize("url", ["", SECRET, f"http://:{SECRET}@host", f"redis://:{SECRET}@host:{SECRET}/0"])
def test_a_redis_url_that_cannot_be_is_an_error_at_once(url: str) -> None:
    with pytest.raises(ConfigurationError, match="cannot be read") as caught:
        RedisStateStore(url)
    assert SECRET not in told(caught.value)


@pytest.mark.parametrize("lease", [0, -1.0, float("nan")])
def test_a_lease_lasts_some_time(lease: float) -> None:
    with pytest.raises(ConfigurationError, match="more than 0 seconds"):
        SqlStateStore("sqlite:///states.db", lease=lease)
    with pytest.raises(ConfigurationError, match="more than 0 seconds"):
        RedisStateStore("redis://host", lease=lease)


@pytest.mark.parametrize(
    ("module", "make", "said"),
    [
        ("redis", lambda: RedisStateStore("redis://host"), r"RedisStateStore needs .*agentscope-rx\[redis\]"),
        ("sqlalchemy", lambda: SqlStateStore("sqlite:///f.db"), r"SqlStateStore needs .*agentscope-rx\[sql\]"),
        ("asyncpg", lambda: SqlStateStore("postgresql://host/db"), r"with postgresql\+asyncpg needs .*\[sql\]"),
        ("aiosqlite", lambda: SqlStateStore("sqlite:///f.db"), r"with sqlite\+aiosqlite needs .*\[sql\]"),
    ],
)
def test_a_package_that_is_missing_is_named(
    module: str, make: Callable[[], object], said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for loaded in list(sys.modules):
        if loaded.split(".")[0] == module or loaded.startswith("agentscope_rx.state.shared."):
            monkeypatch.delitem(sys.modules, loaded)
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(MissingExtraError, match=said):
        make()


def test_a_url_may_be_one_of_sqlalchemy(tmp_path: Path) -> None:
    store = SqlStateStore(make_url(f"sqlite+aiosqlite:///{tmp_path / 'states.db'}"))
    assert run(store.save(state(), 0)) == 1


def test_both_sqlite_stores_read_one_file(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'states.db'}"
    with closing(SqliteStateStore(tmp_path / "states.db")) as plain:
        run(plain.save(state("first", "é" * 3000, "ann"), 0))
        assert run(SqlStateStore(url).save(state("second", "é" * 3000, "ann"), 1)) == 2
        assert run(text_of(plain, "é" * 3000, "ann")) == ("second", 2)


# ----------------------------------------------------------------------------------------------------- connections


def test_an_engine_is_used_on_one_loop_and_stays_open(tmp_path: Path) -> None:
    async def main() -> SqlStateStore:
        engine = create_async_engine(f"sqlite+aiosqlite:///{tmp_path / 'states.db'}")
        try:
            store = SqlStateStore(engine)
            assert await store.save(state("mine"), 0) == 1
            await store.aclose()
            store = SqlStateStore(engine)
            assert await text_of(store) == ("mine", 1)
            return store
        finally:
            await engine.dispose()

    store = run(main())
    with pytest.raises(
        ConfigurationError, match="the engine of SQLAlchemy belongs to the event loop that used it first"
    ):
        run(store.load("s"))


@pytest.mark.heavy
@pytest.mark.parametrize("text", [True, False])
def test_a_client_is_used_on_one_loop_and_stays_open(redis_server: Server, text: bool) -> None:
    ask_redis(redis_server.url, "FLUSHALL")

    async def main() -> RedisStateStore:
        async with Redis.from_url(redis_server.url, decode_responses=text) as client:
            store = RedisStateStore(client)
            async with store.lease("s") as held:
                assert await held.save(state("mine"), 0) == 1
            with pytest.raises(StateConflictError):
                await store.save(state("mine"), 0)
            await store.aclose()
            assert await client.ping()
            store = RedisStateStore(client)
            assert await text_of(store) == ("mine", 1)
            return store

    store = run(main())
    with pytest.raises(ConfigurationError, match="the client of redis-py belongs to the event loop that used it first"):
        run(store.load("s"))


def test_a_closed_store_is_a_store_error(shared: Opener, opened: Opened) -> None:
    store: Any = opened(shared)

    async def main() -> None:
        await store.save(state(), 0)
        await store.aclose()
        await store.aclose()
        operations: list[Callable[[], Coroutine[Any, Any, Any]]] = [
            lambda: store.load("s"),
            lambda: store.save(state(), 1),
            lambda: store.delete("s"),
            lambda: store.lease("s").__aenter__(),
        ]
        for operation in operations:
            with pytest.raises(StoreError, match="is closed"):
                await operation()

    run(main())
    assert run(text_of(opened(shared))) == ("hi", 1)


def test_a_store_can_be_closed_before_it_was_used(shared: Opener, opened: Opened) -> None:
    store: Any = opened(shared)
    run(store.aclose())


def test_many_sessions_share_a_few_connections(shared: Opener, opened: Opened) -> None:
    store = opened(shared)

    async def main() -> None:
        async def turns(number: int) -> None:
            for version in range(2):
                await store.save(state(f"{number}.{version}", f"s{number}"), version)

        await asyncio.gather(*(turns(number) for number in range(150)))
        assert await text_of(store, "s149") == ("149.1", 2)

    run(main())


def test_several_loops_open_a_new_database_at_once(shared: Opener, opened: Opened) -> None:
    together = threading.Barrier(6)

    def open_and_save(number: int) -> int:
        store = shared(opened.folder)
        together.wait()
        return asyncio.run(asyncio.wait_for(store.save(state("first", f"s{number}"), 0), 30))

    with ThreadPoolExecutor(6) as threads:
        assert list(threads.map(open_and_save, range(6))) == [1] * 6


def test_a_save_that_is_cancelled_is_done_or_not_and_breaks_nothing(shared: Opener, opened: Opened) -> None:
    store = opened(shared)

    async def main() -> None:
        version = await store.save(state("0"), 0)
        for number in range(40):
            saving = asyncio.create_task(store.save(state(str(number)), version))
            await asyncio.sleep(number * 0.0001)
            saving.cancel()
            await asyncio.wait((saving,))
            stored = await store.load("s")
            assert stored is not None
            assert stored.version in (version, version + 1)
            version = await store.save(state("again"), stored.version)

    run(main())


def test_who_is_cancelled_leaves_when_the_server_has_answered() -> None:
    async def main() -> None:
        answered = asyncio.Event()

        async def ask() -> None:
            await asyncio.sleep(0.03)
            answered.set()

        asking = asyncio.create_task(finished(ask()))
        await asyncio.sleep(0)
        asking.cancel()
        await asyncio.wait((asking,))
        assert asking.cancelled()
        assert answered.is_set()

    run(main())


def test_a_server_that_never_answers_is_left_after_a_while(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("agentscope_rx.state.shared.finished._PATIENCE", 0.01)

    async def main() -> None:
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(finished(asyncio.sleep(60)), 0.01)

    run(main())


def test_a_question_that_fails_after_all_is_nobodys_concern() -> None:
    async def fail() -> None:
        await asyncio.sleep(0.01)
        raise StoreError("down")

    async def main() -> None:
        with pytest.raises(StoreError, match="down"):
            await finished(fail())
        asking = asyncio.create_task(finished(fail()))
        await asyncio.sleep(0)
        asking.cancel()
        await asyncio.wait((asking,))
        assert asking.cancelled()

    run(main())


# --------------------------------------------------------------------------------------------------------- secrets


@pytest.mark.parametrize(
    "store", [f"redis://u:{SECRET}@127.0.0.1:{{}}/0", f"postgresql://u:{SECRET}@127.0.0.1:{{}}/db"]
)
def test_a_server_that_does_not_answer_is_named_without_its_password(store: str) -> None:
    port = free_port()
    url = store.format(port)
    opened = RedisStateStore(url) if url.startswith("redis") else SqlStateStore(url)

    async def main() -> None:
        for operation in (opened.load("s"), opened.save(state("prompt"), 0), opened.lease("s").__aenter__()):
            with pytest.raises(
                StoreError, match=rf"cannot (read|write) the .* at 127\.0\.0\.1:{port}.*try again"
            ) as caught:
                await operation
            assert SECRET not in told(caught.value)
            assert "prompt" not in told(caught.value)

    run(main())


@pytest.mark.heavy
@pytest.mark.parametrize(("kind", "said"), [("redis", "username-password"), ("postgresql", "password authentication")])
def test_a_wrong_password_is_not_shown(kind: str, said: str, request: pytest.FixtureRequest) -> None:
    url = request.getfixturevalue(f"{kind}_server").url.replace(IN_URL, SECRET)
    store: StateStore = RedisStateStore(url) if kind == "redis" else SqlStateStore(url)
    with pytest.raises(StoreError, match=said) as caught:
        run(store.load("s"))
    assert SECRET not in told(caught.value)
    assert PASSWORD not in told(caught.value)


def test_an_error_of_the_database_does_not_show_the_record(opened: Opened) -> None:
    run(opened(sqlite).load("s"))
    with closing(sqlite3.connect(opened.folder / "states.db")) as other:
        other.execute("CREATE TRIGGER no BEFORE INSERT ON agent_states BEGIN SELECT RAISE(ABORT, 'full up'); END")
    store = SqlStateStore(f"sqlite:///{opened.folder / 'states.db'}")
    with pytest.raises(StoreError, match="full up") as caught:
        run(store.save(state(SECRET), 0))
    assert SECRET not in told(caught.value)


def test_statements_that_are_logged_do_not_show_the_record(opened: Opened, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level("INFO", "sqlalchemy.engine"):
        run(SqlStateStore(f"sqlite:///{opened.folder / 'states.db'}").save(state(SECRET), 0))
    assert "INSERT INTO agent_states" in caplog.text
    assert SECRET not in caplog.text


# ------------------------------------------------------------------------------------------------------ PostgreSQL


@pytest.fixture
def database(postgresql_server: Server) -> str:
    ask_postgresql(postgresql_server.url, "DROP TABLE IF EXISTS agent_states, agent_leases")
    return postgresql_server.url


@pytest.mark.heavy
def test_a_row_that_the_database_refuses_is_not_shown(database: str) -> None:
    store = SqlStateStore(database)
    run(store.load("s"))
    ask_postgresql(database, "ALTER TABLE agent_states ADD CHECK (version < 1)")
    with pytest.raises(StoreError, match="violates check constraint") as caught:
        run(store.save(state(SECRET), 0))
    assert SECRET not in told(caught.value)


@pytest.mark.heavy
def test_a_stricter_isolation_of_the_database_makes_no_other_errors(database: str) -> None:
    ask_postgresql(database, "ALTER DATABASE postgres SET default_transaction_isolation = 'serializable'")
    try:
        store = SqlStateStore(database)

        async def main() -> None:
            for version in range(5):
                saves = [store.save(state(str(number)), version) for number in range(10)]
                done = await asyncio.gather(*saves, return_exceptions=True)
                assert [type(one) for one in done if one != version + 1] == [StateConflictError] * 9

        run(main())
    finally:
        ask_postgresql(database, "ALTER DATABASE postgres RESET default_transaction_isolation")


@pytest.mark.heavy
def test_who_may_not_make_tables_may_use_them(database: str) -> None:
    run(SqlStateStore(database).save(state("mine"), 0))
    ask_postgresql(database, f"CREATE ROLE clerk LOGIN PASSWORD '{PASSWORD}'")
    try:
        ask_postgresql(database, "GRANT SELECT, INSERT, UPDATE, DELETE ON agent_states, agent_leases TO clerk")
        store = SqlStateStore(database.replace("//postgres:", "//clerk:"))

        async def main() -> None:
            async with store.lease("s") as held:
                assert await held.save(state("theirs"), 1) == 2

        run(main())
        ask_postgresql(database, "DROP TABLE agent_leases")
        with pytest.raises(StoreError, match="permission denied for schema public"):
            run(SqlStateStore(database.replace("//postgres:", "//clerk:")).load("s"))
    finally:
        ask_postgresql(database, "DROP OWNED BY clerk")
        ask_postgresql(database, "DROP ROLE clerk")


# ------------------------------------------------------------------------------------------------ servers that fail


@pytest.mark.heavy
@pytest.mark.parametrize("kind", ["redis", "postgresql"])
def test_a_server_that_comes_back_is_used_again(kind: str, request: pytest.FixtureRequest) -> None:
    server: Server = request.getfixturevalue(f"{kind}_server")
    store: Any = RedisStateStore(server.url) if kind == "redis" else SqlStateStore(server.url)

    async def main() -> None:
        await store.delete("back")
        assert await store.save(state("before", "back"), 0) == 1
        await asyncio.to_thread(server.stop)
        try:
            with pytest.raises(StoreError, match="see that it runs"):
                await store.save(state("meanwhile", "back"), 1)
        finally:
            await asyncio.to_thread(server.start)
        assert await text_of(store, "back") == ("before", 1)
        assert await store.save(state("after", "back"), 1) == 2

    run(main())


class Lossy:
    """What is between a client and a server: it breaks the connection in the place of one answer."""

    def __init__(self, port: int, request: bytes) -> None:
        self._port, self._request = port, request
        self.seen = 0
        """How often the request was sent whose first answer is lost."""

    async def __call__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        behind, to = await asyncio.open_connection("127.0.0.1", self._port)
        losing = False

        async def ask() -> None:
            nonlocal losing
            while data := await reader.read(65536):
                if self._request in data:
                    self.seen += 1
                    losing = self.seen == 1
                to.write(data)
            to.close()

        async def answer() -> None:
            while data := await behind.read(65536):
                if losing:
                    writer.transport.abort()
                    return
                writer.write(data)
            writer.close()

        with suppress(ConnectionError):
            await asyncio.gather(ask(), answer())


@pytest.mark.heavy
def test_a_save_whose_answer_is_lost_does_not_conflict_with_itself(redis_server: Server) -> None:
    ask_redis(redis_server.url, "FLUSHALL")
    port = make_url(redis_server.url).port
    assert port is not None
    between = Lossy(port, b"saved twice")

    async def main() -> None:
        async with await asyncio.start_server(between, "127.0.0.1", 0) as listening:
            own = str(listening.sockets[0].getsockname()[1])
            store = RedisStateStore(redis_server.url.replace(str(port), own))
            assert await store.save(state("first"), 0) == 1
            assert await store.save(state("saved twice"), 1) == 2
            await store.aclose()
            await asyncio.sleep(0.05)  # the relays end

    asyncio.run(asyncio.wait_for(main(), 20))
    assert between.seen == 2
    assert run(text_of(RedisStateStore(redis_server.url))) == ("saved twice", 2)
