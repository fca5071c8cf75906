"""What there is to know of a server before it is connected to."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import parse_qsl, urlsplit

from ..errors import ConfigurationError
from .names import LONGEST_SERVER_NAME, is_server_name

if TYPE_CHECKING:
    import httpx2

__all__ = ["McpHttpServer", "McpServer", "McpStdioServer"]

_SHORTEST_SECRET = 6
"""Characters; hiding `true` or `1` wherever it stands would only garble what is said."""


@dataclass(frozen=True)
class McpServer:
    """A server that gives an agent tools by the Model Context Protocol."""

    name: str
    """What its tools are named after: up to 32 letters, digits, `-` and single `_`."""
    _: KW_ONLY
    trusted: bool = field(default=True, repr=False)
    """Whether it is believed that a tool only reads: the permission engine may then let it run unasked, and calls run
    beside others. That a tool destroys is always believed: its calls need a yes."""
    connect_timeout: float = field(default=60.0, repr=False)
    """Seconds after which an attempt to connect, or to list the tools, is given up."""
    call_timeout: float = field(default=120.0, repr=False)
    """Seconds that a call may be silent, with neither progress nor a result, before it is given up."""

    def __post_init__(self) -> None:
        if not is_server_name(self.name):
            raise ConfigurationError(
                f"{self.name!r} is no name for an MCP server: expected up to {LONGEST_SERVER_NAME} letters, digits, "
                "'-' and single '_', a letter or digit at both ends"
            )
        if min(self.connect_timeout, self.call_timeout) <= 0:
            raise ConfigurationError(f"the timeouts of the MCP server {self.name!r} are seconds, more than 0")

    def secrets(self) -> Iterator[str]:
        """Yield what must not be shown."""
        return iter(())

    def hide(self, text: str) -> str:
        """Return the text without what must not be shown, as far as it is known."""
        known = {part for secret in self.secrets() for part in (secret, *secret.splitlines())}  # a key may have lines
        for secret in sorted(known, key=len, reverse=True):
            if len(secret) >= _SHORTEST_SECRET:
                text = text.replace(secret, "[hidden]")
        return text


@dataclass(frozen=True)
class McpStdioServer(McpServer):
    """A server that is a program: it is started here, and spoken to by its standard input and output.

    What it writes to its standard error is logged, by `agentscope_rx.mcp` at the level DEBUG.
    """

    command: str
    """The program."""
    args: Sequence[str] = field(default=(), repr=False)
    """Its arguments."""
    env: Mapping[str, str] = field(default_factory=dict, repr=False)
    """Its environment, beside what every program needs, such as PATH and HOME: it inherits nothing else."""
    cwd: str | Path | None = field(default=None, repr=False)
    """Its working directory, that of this process when None."""

    def secrets(self) -> Iterator[str]:
        """Yield the values of the environment."""
        return iter(self.env.values())


@dataclass(frozen=True)
class McpHttpServer(McpServer):
    """A server that is spoken to by streamable HTTP."""

    url: str = field(repr=False)
    """Its endpoint, such as `https://example.org/mcp`."""
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    """Headers of every request, such as `Authorization`."""
    auth: httpx2.Auth | None = field(default=None, repr=False)
    """How requests are authorised beyond that, such as an `OAuthClientProvider` of the MCP SDK."""

    def __post_init__(self) -> None:
        super().__post_init__()
        parts = urlsplit(self.url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise ConfigurationError(
                f"the URL of the MCP server {self.name!r} is none (it is not shown, since it may hold a secret); "
                "expected one such as https://example.org/mcp"
            )

    def secrets(self) -> Iterator[str]:
        """Yield the headers, with and without their scheme, and what the URL says beside where the server is."""
        for value in self.headers.values():
            yield value
            yield value.rpartition(" ")[2]
        parts = urlsplit(self.url)
        yield from filter(None, (parts.query, parts.username, parts.password, *parts.path.split("/")))
        yield from (value for _, value in parse_qsl(parts.query))
