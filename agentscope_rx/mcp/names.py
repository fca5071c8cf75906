"""The names that tools of servers have for models: `mcp__server__tool`."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable

__all__ = ["LONGEST_SERVER_NAME", "is_server_name", "prefix", "tool_names"]

LONGEST_SERVER_NAME = 32
"""Characters, so that half of the name of a tool is left for the tool."""

_LONGEST_NAME = 64
_SERVER_NAME = re.compile(r"[A-Za-z0-9]([A-Za-z0-9-]|_(?!_))*(?<![_-])")
_ILLEGAL = re.compile(r"[^A-Za-z0-9_-]")
_DIGITS = 8


def is_server_name(name: str) -> bool:
    """Return whether a server may be called so: what `prefix` makes of it then begins the names of no other's tools."""
    return len(name) <= LONGEST_SERVER_NAME and _SERVER_NAME.fullmatch(name) is not None


def prefix(server: str) -> str:
    """Return what the names of the tools of a server begin with."""
    return f"mcp__{server}__"


def tool_names(server: str, tools: Iterable[str]) -> dict[str, str]:
    """Return what the server calls each tool, by what models call it: at most 64 of A-Z a-z 0-9 _ -, each once.

    Illegal characters become `_`. A name that is then too long, or that another tool has, ends with a hash of the
    original; a tool whose name is legal keeps it. A tool that is named twice is there once.
    """
    start = prefix(server)
    names: dict[str, str] = {}
    for tool in sorted(dict.fromkeys(tools), key=lambda tool: _ILLEGAL.search(tool) is not None):
        name = start + _ILLEGAL.sub("_", tool)
        if len(name) > _LONGEST_NAME or name in names:
            digest = hashlib.sha256(tool.encode("utf-8", "surrogatepass")).hexdigest()[:_DIGITS]
            name = f"{name[: _LONGEST_NAME - _DIGITS - 1]}_{digest}"
        names[name] = tool
    return names
