from __future__ import annotations

from collections.abc import Iterator

import pytest

from .sse_server import SSEServer


@pytest.fixture
def server() -> Iterator[SSEServer]:
    server = SSEServer()
    yield server
    server.close()
