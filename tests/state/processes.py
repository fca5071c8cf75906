"""Processes that start at once: they are forked from one that has loaded all that they need."""

from __future__ import annotations

import multiprocessing

__all__ = ["processes"]

processes = multiprocessing.get_context("forkserver")
processes.set_forkserver_preload(
    [
        "sqlalchemy.dialects.postgresql.asyncpg",
        "sqlalchemy.dialects.sqlite.aiosqlite",
        "agentscope_rx.state.shared.redis_server",
        "agentscope_rx.state.shared.sql_server",
        "agentscope_rx.agent",
        "agentscope_rx.testing",
        "tests.state.writer",
    ]
)
