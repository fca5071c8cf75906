"""What there is to know of a server, and what of it is never shown."""

from __future__ import annotations

from typing import Any

import pytest

from agentscope_rx import ConfigurationError, McpHttpServer, McpServer, McpServers, McpStdioServer

KEY = "sk-12345678"


@pytest.mark.parametrize("name", ["two__parts", "", "with space", "x" * 33])
def test_a_name_that_tools_cannot_be_named_after(name: str) -> None:
    with pytest.raises(ConfigurationError, match="is no name for an MCP server"):
        McpStdioServer(name, "true")


@pytest.mark.parametrize("timeout", ["connect_timeout", "call_timeout"])
def test_a_timeout_of_nothing(timeout: str) -> None:
    settings: dict[str, Any] = {timeout: 0}
    with pytest.raises(ConfigurationError, match="seconds, more than 0"):
        McpStdioServer("files", "true", **settings)


@pytest.mark.parametrize("url", ["", "example.org/mcp", f"ftp://user:{KEY}@example.org", "http://"])
def test_a_url_that_is_none_is_not_repeated(url: str) -> None:
    with pytest.raises(ConfigurationError, match="is none") as caught:
        McpHttpServer("web", url)
    assert KEY not in str(caught.value)


def test_two_servers_of_one_name() -> None:
    with pytest.raises(ConfigurationError, match="two MCP servers are named files"):
        McpServers(McpStdioServer("files", "true"), McpHttpServer("files", "http://localhost/mcp"))


def test_negative_patience() -> None:
    with pytest.raises(ConfigurationError, match="patience"):
        McpServers(patience=-1)


@pytest.mark.parametrize(
    "server",
    [
        McpStdioServer("one", "serve", ["--key", KEY], env={"KEY": KEY}),
        McpHttpServer("one", f"https://user:{KEY}@example.org/mcp"),
        McpHttpServer("one", f"https://example.org/mcp?key={KEY}"),
        McpHttpServer("one", "https://example.org/mcp", headers={"Authorization": f"Bearer {KEY}"}),
    ],
)
def test_no_secret_is_in_a_repr(server: McpServer) -> None:
    assert KEY not in repr(server)
    assert KEY not in repr(McpServers(server))


def test_what_is_secret_is_hidden_wherever_it_stands() -> None:
    hidden = McpStdioServer("one", "serve", env={"KEY": KEY, "DEBUG": "1"}).hide(f"1 bad key: {KEY}!")
    assert hidden == "1 bad key: [hidden]!"
    web = McpHttpServer("one", "https://a:pass-word@example.org/?key=q%2Bu%2Be%2Br%2By", headers={"A": f"Bearer {KEY}"})
    assert web.hide(f"{KEY} pass-word q+u+e+r+y example") == "[hidden] [hidden] [hidden] example"
    secret_path = McpHttpServer("one", f"https://example.org/{KEY}/mcp")
    assert secret_path.hide(f"401 for https://example.org/{KEY}/mcp") == "401 for https://example.org/[hidden]/mcp"
    lines = McpStdioServer("one", "serve", env={"PEM": "-----BEGIN-----\nAAAASECRET\n-----END-----"})
    assert lines.hide("its last words: AAAASECRET") == "its last words: [hidden]"
