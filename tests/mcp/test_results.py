"""Servers of the SDK, as child processes and by HTTP, in the protocol of 2026 and the one before: the same holds."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any

import pytest

from agentscope_rx import McpServers, McpTool
from agentscope_rx.message import ToolResultState
from agentscope_rx.tools import ToolData

from ..tools.running import state
from .server import PIXEL, SOUND
from .serving import answer, call, found, page, program, progress_of, text_of, until
from .websites import website

TOKEN = "a-very-secret-token"


def handshaking(app: Any) -> Any:
    """The app, as if it knew nothing of the newer protocol."""

    async def without_discovery(scope: Any, receive: Any, send: Any) -> None:
        if dict(scope.get("headers", ())).get(b"mcp-method") == b"server/discover":
            await send({"type": "http.response.start", "status": 404, "headers": []})
            await send({"type": "http.response.body"})
        else:
            await app(scope, receive, send)

    return without_discovery


@pytest.fixture(scope="module", params=["stdio", "http", "http, handshake", "http, JSON"])
def servers(request: pytest.FixtureRequest) -> Iterator[McpServers]:
    with ExitStack() as stack, pytest.MonkeyPatch.context() as environment:
        environment.setenv("TOKEN", TOKEN)
        if request.param == "stdio":
            server = program("everything", env={"TOKEN": TOKEN})
        else:
            app = handshaking if "handshake" in request.param else lambda app: app
            url = stack.enter_context(website("everything", app, json_response="JSON" in request.param))
            server = page(url, headers={"Authorization": f"Bearer {TOKEN}"})
        with McpServers(server, patience=60) as servers:
            assert not found(servers).missing
            yield servers


@pytest.fixture
def streaming(servers: McpServers, request: pytest.FixtureRequest) -> McpServers:
    """Those that can say something before they answer."""
    if "http, JSON" in request.node.name:
        pytest.skip("an answer of plain JSON comes alone")
    return servers


def test_tools_are_found_with_what_they_say_of_themselves(servers: McpServers) -> None:
    tools = {tool.name: tool for tool in found(servers).tools}
    add = tools["mcp__everything__add"]
    assert isinstance(add, McpTool)
    assert (add.description, add.read_only) == ("Add two numbers.", True)
    assert "mcp__everything__so_many_dots" in tools


def test_a_result_says_what_the_server_says(servers: McpServers) -> None:
    assert text_of(answer(servers, "mcp__everything__add", {"a": 1, "b": 2})) == "3"
    assert text_of(answer(servers, "mcp__everything__greet", {"name": "Ada"})) == "Hello Ada\nWelcome"
    assert text_of(answer(servers, "mcp__everything__so_many_dots")) == "odd"


def test_structured_content_is_kept(servers: McpServers) -> None:
    end: Any = answer(servers, "mcp__everything__add", {"a": 1, "b": 2})[-1]
    assert end.metadata == {"structured_content": {"result": 3}}


def test_pictures_and_sounds_are_data(servers: McpServers) -> None:
    chunks = answer(servers, "mcp__everything__album")
    data = [(chunk.media_type, chunk.data) for chunk in chunks if isinstance(chunk, ToolData)]
    assert data == [("image/png", PIXEL), ("audio/wav", SOUND)]
    assert text_of(chunks) == "Here:"


def test_resources_are_text_and_data(servers: McpServers) -> None:
    chunks = answer(servers, "mcp__everything__files")
    assert [chunk.data for chunk in chunks if isinstance(chunk, ToolData)] == [PIXEL]
    assert "file:///notes.txt:\nBuy milk." in text_of(chunks)
    assert "manual: file:///manual.pdf (How it works.)" in text_of(chunks)


@pytest.mark.parametrize(("tool", "said"), [("fail", "no entry with the key"), ("refuse", "refused the call: the key")])
def test_a_failure_is_an_error_without_a_secret(servers: McpServers, tool: str, said: str) -> None:
    chunks = answer(servers, f"mcp__everything__{tool}")
    assert state(chunks) is ToolResultState.ERROR
    assert said in text_of(chunks)
    assert "[hidden]" in text_of(chunks)
    assert TOKEN not in text_of(chunks)


def test_progress_is_shown_on_the_way(streaming: McpServers) -> None:
    chunks = answer(streaming, "mcp__everything__climb", {"steps": 3})
    assert progress_of(chunks) == ["step 1 (1/3)\n", "step 2 (2/3)\n", "step 3 (3/3)\n"]
    assert text_of(chunks) == "on top"


def test_a_cancellation_reaches_the_server(streaming: McpServers) -> None:
    def heard() -> int:
        return int(text_of(answer(streaming, "mcp__everything__cancelled")))

    async def give_up() -> None:
        waiting = asyncio.create_task(call(streaming, "mcp__everything__wait"))
        await asyncio.sleep(0.1)
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting

    before = heard()
    asyncio.run(give_up())
    until(lambda: heard() == before + 1)


def test_a_list_that_changes_is_read_again(streaming: McpServers) -> None:
    def names() -> set[str]:
        return {tool.name for tool in found(streaming, first=False).tools}

    assert "mcp__everything__old" in names()
    assert text_of(answer(streaming, "mcp__everything__change", {"add": "new", "remove": "old"})) == "changed"
    until(lambda: "mcp__everything__new" in names())
    assert "mcp__everything__old" not in names()
    answer(streaming, "mcp__everything__change", {"add": "old", "remove": "new"})
    until(lambda: "mcp__everything__old" in names())


def test_one_connection_serves_many_loops(servers: McpServers) -> None:
    assert len({text_of(answer(servers, "mcp__everything__whoami")) for _ in range(3)}) == 1
