"""Connections that last, break and come back, of servers that are real processes."""

from __future__ import annotations

import asyncio
import gc
import json
import logging
import os
import socket
import subprocess
import sys
import threading
import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import httpx2
import pytest

from agentscope_rx import McpHttpServer, McpServers, McpStdioServer
from agentscope_rx.message import ToolResultState

from ..tools.running import state
from .serving import answer, call, crashing, found, mute, page, plain, progress_of, text_of, until
from .websites import website

TOKEN = "a-very-secret-token"


def runs(pid: str | int) -> bool:
    try:
        os.kill(int(pid), 0)
    except ProcessLookupError:
        return False
    return True


def pid_of(servers: McpServers) -> str:
    return text_of(answer(servers, "mcp__plain__whoami"))


@pytest.fixture
def servers() -> Iterator[McpServers]:
    with McpServers(plain(env={"TOKEN": TOKEN}), patience=60) as servers:
        found(servers)
        yield servers


# ------------------------------------------------------------------------------------------------ a lasting connection


def test_nothing_happens_before_somebody_looks() -> None:
    with McpServers(crashing(), patience=60) as servers:
        assert "not connected yet" in text_of(answer(servers, "mcp__crashed__anything"))


def test_one_process_serves_loops_and_threads_at_once(servers: McpServers) -> None:
    pids: list[str] = []

    def ask() -> None:
        pids.extend(pid_of(servers) for _ in range(5))

    threads = [threading.Thread(target=ask) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(pids) == 20
    assert len(set(pids)) == 1


def test_progress_of_an_older_server(servers: McpServers) -> None:
    chunks = answer(servers, "mcp__plain__count")
    assert progress_of(chunks) == ["1/3\n", "2/3\n", "3/3\n"]
    assert text_of(chunks) == "three"


def test_an_older_server_hears_of_a_cancellation(servers: McpServers) -> None:
    async def give_up() -> None:
        stream = call(servers, "mcp__plain__wait")
        waiting = asyncio.create_task(stream)
        await asyncio.sleep(0.1)
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting

    asyncio.run(give_up())
    assert json.loads(text_of(answer(servers, "mcp__plain__heard"))) == ["cancelled"]


def test_a_changed_list_is_there_the_next_time_somebody_looks(servers: McpServers) -> None:
    answer(servers, "mcp__plain__swap")
    names = [tool.name for tool in found(servers, first=False).tools]
    assert names[0] == "mcp__plain__who"
    assert state(answer(servers, "mcp__plain__whoami")) is ToolResultState.ERROR


@pytest.mark.parametrize("name", ["hundred", "bare"])
def test_a_hundred_tools_on_many_pages_and_none_at_all(name: str) -> None:
    with website(name) as url, McpServers(page(url, name), patience=60) as servers:
        tools = found(servers).tools
        assert not found(servers).missing
        assert len(tools) == (100 if name == "hundred" else 0)
        if tools:
            assert text_of(answer(servers, "mcp__hundred__tool_99")) == "this is tool_99"


# ------------------------------------------------------------------------------------------------ what goes wrong


def test_who_is_missing_is_named_with_the_reason(caplog: pytest.LogCaptureFixture) -> None:
    lost = McpStdioServer("lost", "there-is-no-such-program")
    closed = McpHttpServer("closed", "http://127.0.0.1:9/mcp")
    with McpServers(plain(), crashing(), mute(connect_timeout=0.3), lost, closed, patience=60) as servers:
        there = found(servers)
    assert {tool.name.split("__")[1] for tool in there.tools} == {"plain"}
    assert {one.source: one.reason for one in there.missing} == {
        "the MCP server 'crashed'": "it has ended",
        "the MCP server 'hanging'": "it did not answer within 0.3 s",
        "the MCP server 'lost'": "FileNotFoundError: [Errno 2] No such file or directory: 'there-is-no-such-program'",
        "the MCP server 'closed'": "ConnectError: All connection attempts failed",
    }
    assert "'crashed' are missing: it has ended; its last words: no configuration" in caplog.text


def test_a_hanging_server_is_waited_for_once(monkeypatch: pytest.MonkeyPatch) -> None:
    with McpServers(mute(), patience=0.1) as servers:
        (missing,) = found(servers).missing
        assert missing.reason == "it has not answered yet"
        servers._patience = 600  # which nobody would sit out
        assert found(servers).missing == (missing,)
        assert found(servers, first=False).missing == (missing,)


def test_a_late_server_joins_in() -> None:
    with McpServers(plain(), patience=0) as servers:
        assert found(servers).missing
        until(lambda: found(servers, first=False).tools)
        assert not found(servers).missing


def test_a_crash_fails_the_call_and_the_server_comes_back(
    servers: McpServers, caplog: pytest.LogCaptureFixture
) -> None:
    before = pid_of(servers)
    chunks = answer(servers, "mcp__plain__crash")
    assert state(chunks) is ToolResultState.ERROR
    assert text_of(chunks) == "ToolError: The connection to the MCP server 'plain' broke during the call."
    assert not found(servers, first=False).missing
    assert pid_of(servers) != before
    assert "its last words: out of luck, and the key is [hidden]" in caplog.text
    assert TOKEN not in caplog.text


def test_a_server_that_hangs_up_is_noticed_at_once(servers: McpServers) -> None:
    before = pid_of(servers)
    answer(servers, "mcp__plain__hang_up")
    assert not found(servers, first=False).missing
    assert pid_of(servers) != before


def test_a_server_that_dies_unasked_is_noticed_without_a_call(servers: McpServers) -> None:
    before = pid_of(servers)
    os.kill(int(before), 9)
    until(lambda: not found(servers, first=False).missing and pid_of(servers) != before)


def test_what_failed_is_tried_again_by_a_later_reply_and_not_by_this_one(tmp_path: Path) -> None:
    flag = tmp_path / "ready"
    script = f"import os, runpy; os.path.exists({str(flag)!r}) or exit(1); runpy.run_path({plain().args[0]!r})"
    with McpServers(McpStdioServer("later", sys.executable, ["-c", script]), patience=60) as servers:
        assert found(servers).missing
        flag.touch()
        assert found(servers, first=False).missing
        assert not found(servers).missing


def test_a_silent_call_is_given_up(servers: McpServers) -> None:
    with McpServers(plain(call_timeout=0.2), patience=60) as impatient:
        found(impatient)
        chunks = answer(impatient, "mcp__plain__wait")
        assert text_of(chunks) == "ToolError: The MCP server 'plain' was silent for 0.2 s, so the call was given up."
        assert json.loads(text_of(answer(impatient, "mcp__plain__heard"))) == ["cancelled"]


@contextmanager
def black_hole() -> Iterator[str]:
    """A port that takes connections, and never says a word."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        yield f"http://127.0.0.1:{listener.getsockname()[1]}/mcp"


def test_a_page_that_never_answers_takes_nobody_down() -> None:
    with (
        black_hole() as url,
        McpServers(McpHttpServer("page", url, connect_timeout=0.3), plain(), patience=60) as servers,
    ):
        there = found(servers)
        assert [one.reason for one in there.missing] == ["it did not answer within 0.3 s"]
        assert there.tools


def refusing(app: Any) -> Any:
    async def refuse(scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == "lifespan":
            await app(scope, receive, send)
        else:
            await send({"type": "http.response.start", "status": 401, "headers": [(b"x-token", TOKEN.encode())]})
            await send({"type": "http.response.body", "body": TOKEN.encode()})

    return refuse


def test_a_page_that_refuses_is_missing_and_no_secret_is_told(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG, "agentscope_rx")
    with website("bare", refusing) as url:
        server = page(f"{url}?token={TOKEN}", headers={"X-Token": TOKEN})
        with McpServers(server, patience=60) as servers:
            (missing,) = found(servers).missing
    assert "HTTP 401" in missing.reason
    assert TOKEN not in missing.reason
    assert TOKEN not in "".join(record.getMessage() for record in caplog.records if "agentscope" in record.name)


def knowing(header: str, app: Any) -> Any:
    """The app, for those who send a header."""

    async def check(scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == "http" and header.encode() not in dict(scope["headers"]):
            await send({"type": "http.response.start", "status": 401, "headers": []})
            await send({"type": "http.response.body"})
        else:
            await app(scope, receive, send)

    return check


class Badge(httpx2.Auth):
    def auth_flow(self, request: httpx2.Request) -> Iterator[httpx2.Request]:
        request.headers["X-Badge"] = "7"
        yield request


def test_requests_carry_headers_and_what_authorises_them() -> None:
    with website("bare", partial(knowing, "x-badge")) as url:
        by_header = page(url, "header", headers={"X-Badge": "7"})
        with McpServers(page(url, "nobody"), by_header, page(url, "auth", auth=Badge()), patience=60) as servers:
            assert [one.source for one in found(servers).missing] == ["the MCP server 'nobody'"]


def test_a_session_that_the_page_has_forgotten_is_begun_again() -> None:
    forgotten: set[bytes] = set()

    def forgetting(app: Any) -> Any:
        async def forget(scope: Any, receive: Any, send: Any) -> None:
            headers = dict(scope.get("headers", ()))
            unknown = headers.get(b"mcp-method") == b"server/discover" or headers.get(b"mcp-session-id") in forgotten
            if scope["type"] == "http" and unknown:
                await send({"type": "http.response.start", "status": 404, "headers": []})
                await send({"type": "http.response.body"})
                return
            if b"mcp-session-id" in headers:
                sessions.add(headers[b"mcp-session-id"])
            await app(scope, receive, send)

        return forget

    sessions: set[bytes] = set()
    with website("everything", forgetting) as url, McpServers(page(url), patience=60) as servers:
        assert not found(servers).missing
        forgotten |= sessions
        chunks = answer(servers, "mcp__everything__add", {"a": 1, "b": 2})
        assert state(chunks) is ToolResultState.ERROR
        assert not found(servers, first=False).missing
        assert text_of(answer(servers, "mcp__everything__add", {"a": 1, "b": 2})) == "3"
        assert len(sessions) == 2


def test_a_page_that_goes_away() -> None:
    with website("everything") as url:
        servers = McpServers(page(url), patience=60)
        assert not found(servers).missing
    chunks = answer(servers, "mcp__everything__add", {"a": 1, "b": 2})
    assert state(chunks) is ToolResultState.ERROR
    assert [one.source for one in found(servers, first=False).missing] == ["the MCP server 'everything'"]
    servers.close()


# ------------------------------------------------------------------------------------------------ the end


def test_closing_ends_the_program_and_is_final(servers: McpServers) -> None:
    pid = pid_of(servers)
    servers.close()
    assert not runs(pid)
    assert text_of(answer(servers, "mcp__plain__whoami")) == (
        "ToolError: The MCP server 'plain' is not there: its connection was closed. Its tools cannot be called now."
    )
    assert [one.reason for one in found(servers).missing] == ["its connection was closed"]
    servers.close()


@pytest.mark.parametrize("hangs", [False, pytest.param(True, marks=pytest.mark.heavy)])
def test_a_page_is_told_that_the_session_is_over_and_may_be_deaf_to_it(hangs: bool) -> None:
    methods: list[str] = []

    def with_sessions(app: Any) -> Any:
        async def note(scope: Any, receive: Any, send: Any) -> None:
            if scope["type"] == "http":
                methods.append(scope["method"])
            if dict(scope.get("headers", ())).get(b"mcp-method") == b"server/discover":
                await send({"type": "http.response.start", "status": 404, "headers": []})
                await send({"type": "http.response.body"})
            elif hangs and scope.get("method") == "DELETE":
                await asyncio.sleep(60)
            else:
                await app(scope, receive, send)

        return note

    with website("bare", with_sessions) as url:
        with McpServers(page(url), patience=60) as servers:
            assert not found(servers).missing
        assert methods[-1] == "DELETE"
        assert not servers._hub.worker.alive


def test_closing_fails_the_calls_that_are_out() -> None:
    async def main() -> None:
        async with McpServers(plain(), patience=60) as servers:
            await servers.find(first=True)
            waiting = asyncio.create_task(call(servers, "mcp__plain__wait"))
            await asyncio.sleep(0.1)
        chunks = await waiting
        assert state(chunks) is ToolResultState.ERROR

    asyncio.run(main())


def test_closing_while_connecting() -> None:
    async def main() -> None:
        servers = McpServers(mute(), patience=600)
        looking = asyncio.create_task(servers.find(first=True))
        await asyncio.sleep(0.1)
        await servers.aclose()
        (missing,) = (await looking).missing
        assert missing.reason == "its connection was closed"

    asyncio.run(main())


@pytest.mark.parametrize("moment", [0, 0.01, 0.02, 0.03, 0.05, 0.08, 0.12])
def test_closing_at_any_moment_leaves_no_program(moment: float) -> None:
    servers = McpServers(plain(), crashing(), patience=moment)
    found(servers)
    servers.close()
    gc.collect()  # a program that nobody has seen end, or a pipe that is open, is a warning now


def test_looking_may_be_cancelled_and_the_server_still_comes() -> None:
    async def main() -> None:
        async with McpServers(plain(), patience=600) as servers:
            looking = asyncio.create_task(servers.find(first=True))
            await asyncio.sleep(0)
            looking.cancel()
            with pytest.raises(asyncio.CancelledError):
                await looking
            assert not (await servers.find(first=True)).missing

    asyncio.run(main())


def test_who_is_forgotten_is_closed() -> None:
    servers = McpServers(plain(), patience=60)
    found(servers)
    pid, gone = pid_of(servers), weakref.ref(servers)
    del servers
    gc.collect()
    assert gone() is None
    until(lambda: not runs(pid))


def test_no_program_outlives_the_process() -> None:
    code = """
from tests.mcp.serving import *
servers = McpServers(plain(), patience=60)
found(servers)
print(text_of(answer(servers, "mcp__plain__whoami")))
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60)
    assert not runs(done.stdout)
    assert done.stderr == ""


@pytest.mark.heavy
@pytest.mark.skipif(sys.platform == "win32", reason="there is no fork")
def test_a_fork_connects_anew() -> None:
    code = """
import os
from tests.mcp.serving import *
servers = McpServers(plain(), patience=60)
pid = lambda: text_of(answer(servers, "mcp__plain__whoami"))
found(servers)
before = pid()
child = os.fork()
if not child:
    absent = pid()
    found(servers)
    other = pid()
    servers.close()
    os._exit(0 if "not connected yet" in absent and other != before and not found(servers).tools else 1)
assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
assert pid() == before
servers.close()
"""
    subprocess.run([sys.executable, "-W", "ignore", "-c", code], check=True, timeout=60)
