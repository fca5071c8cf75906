"""The stores that tests are given, and their servers, started when the first test needs them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from agentscope_rx import StateStore

from .servers import Server, running_postgresql, running_redis
from .stores import LASTING, SHARED, STORES, Opened, Opener, params, prepared


@pytest.fixture(scope="session")
def redis_server() -> Iterator[Server]:
    with running_redis() as server:
        yield server


@pytest.fixture(scope="session")
def postgresql_server() -> Iterator[Server]:
    with running_postgresql() as server:
        yield server


@pytest.fixture
def opened(tmp_path: Path) -> Iterator[Opened]:
    with closing(Opened(tmp_path)) as stores:
        yield stores


@pytest.fixture(params=params(STORES))
def store(request: pytest.FixtureRequest, opened: Opened) -> StateStore:
    return opened(prepared(request, request.param))


@pytest.fixture(params=params(LASTING))
def opener(request: pytest.FixtureRequest) -> Opener:
    return prepared(request, request.param)


@pytest.fixture(params=params(SHARED))
def shared(request: pytest.FixtureRequest) -> Opener:
    return prepared(request, request.param)
