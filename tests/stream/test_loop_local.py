from __future__ import annotations

import asyncio
import gc
import threading
import weakref

import httpx
import pytest

from agentscope_rx.stream import LoopLocal, from_async_iterable

from .sse_server import SSEServer
from .watching import python, run


class Client:
    """Something bound to the loop that it was made on."""

    def __init__(self) -> None:
        self.loop = asyncio.get_running_loop()
        self.closed = False

    async def aclose(self) -> None:
        await asyncio.sleep(0)
        assert asyncio.get_running_loop() is self.loop
        self.closed = True


def clients() -> LoopLocal[Client]:
    return LoopLocal(Client, Client.aclose)


def test_one_value_per_loop_closed_with_its_loop() -> None:
    local = clients()

    async def main() -> Client:
        client = local.get()
        assert local.get() is client
        assert await asyncio.gather(asyncio.to_thread(lambda: None)) == [None]
        assert not client.closed
        return client

    first, second = asyncio.run(main()), asyncio.run(main())
    assert first is not second
    assert first.closed
    assert second.closed


def test_loops_in_several_threads_have_values_of_their_own() -> None:
    local, got = clients(), list[Client]()
    barrier = threading.Barrier(4)

    async def main() -> None:
        client = local.get()
        barrier.wait(10)
        assert local.get() is client
        got.append(client)

    threads = [threading.Thread(target=lambda: asyncio.run(main())) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(set(map(id, got))) == 4
    assert all(client.closed for client in got)


def test_without_a_running_loop_there_is_no_value() -> None:
    with pytest.raises(RuntimeError, match="no running event loop"):
        clients().get()


def test_the_value_of_a_loop_that_was_closed_carelessly_is_dropped() -> None:
    local = clients()

    async def main() -> weakref.ref[Client]:
        return weakref.ref(local.get())

    loop = asyncio.new_event_loop()
    careless = loop.run_until_complete(main())
    loop.close()
    asyncio.run(main())
    gc.collect()
    assert careless() is None


def test_an_error_in_the_closing_is_reported_to_the_loop() -> None:
    async def fail(value: object) -> None:
        raise ValueError("closing")

    local: LoopLocal[object] = LoopLocal(object, fail)
    reported: list[Exception] = []

    async def main() -> None:
        asyncio.get_running_loop().set_exception_handler(lambda _, report: reported.append(report["exception"]))
        local.get()

    asyncio.run(main())
    assert [str(error) for error in reported] == ["closing"]


def test_an_http_client_per_loop_leaves_no_socket_open(server: SSEServer) -> None:
    local = LoopLocal(httpx.AsyncClient, httpx.AsyncClient.aclose)

    async def request() -> int:
        return (await local.get().get(f"{server.url}?n=1")).status_code

    async def requests():  # type: ignore[no-untyped-def]
        for _ in range(2):
            yield await request()

    async def main() -> None:
        assert [status async for status in from_async_iterable(requests)] == [200, 200]
        assert from_async_iterable(requests).run() == 200

    run(main)
    assert from_async_iterable(requests).run() == 200
    gc.collect()  # an unclosed socket would complain now


def test_the_end_of_the_process_closes_the_value_of_the_portal() -> None:
    code = """
        import asyncio, threading
        from agentscope_rx.stream import LoopLocal, from_async_iterable
        async def close(value):
            await asyncio.sleep(0)
            print("closed", value)
        local = LoopLocal(lambda: "value", close)
        async def source():
            yield local.get()
        done = threading.Event()
        from_async_iterable(source).subscribe(print, print, done.set)
        done.wait(5)
    """
    assert python(code) == ["value", "closed", "value"]


def test_a_value_may_be_closed_before_its_loop_shuts_down() -> None:
    local = clients()

    async def main() -> None:
        await local.aclose()
        client = local.get()
        await local.aclose()
        assert client.closed
        await local.aclose()
        assert local.get() is not client

    run(main)
