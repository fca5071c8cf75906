"""The servers of `server.py` by HTTP."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import uvicorn

from .server import SERVERS
from .serving import until


@contextmanager
def website(name: str, app: Callable[[Any], Any] = lambda app: app, **settings: Any) -> Iterator[str]:
    """A server that is spoken to by HTTP, in a thread; gives its URL."""
    site = app(SERVERS[name]().streamable_http_app(**settings))
    server = uvicorn.Server(uvicorn.Config(site, host="127.0.0.1", port=0, log_level="critical", ws="none"))
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    until(lambda: server.started)
    try:
        port = server.servers[0].sockets[0].getsockname()[1]
        yield f"http://127.0.0.1:{port}/mcp"
    finally:
        server.should_exit = server.force_exit = True
        thread.join(10)
