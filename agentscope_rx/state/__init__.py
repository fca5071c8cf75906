"""State (floor 5): what an agent remembers of its sessions, and where it is kept.

The store in memory loads with the package, the others when they are first asked for.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..lazy import lazily
from .agent_state import AgentState, ContextCut, PausedReply
from .memory import InMemoryStateStore
from .store import LeasingStateStore, StateStore, StoredState, leased

if TYPE_CHECKING:
    from .json_file import JsonFileStateStore
    from .shared import RedisStateStore, SharedStateStore, SqlStateStore
    from .sqlite import SqliteStateStore

__all__ = [
    "AgentState",
    "ContextCut",
    "InMemoryStateStore",
    "JsonFileStateStore",
    "LeasingStateStore",
    "PausedReply",
    "RedisStateStore",
    "SharedStateStore",
    "SqlStateStore",
    "SqliteStateStore",
    "StateStore",
    "StoredState",
    "leased",
]

_LAZY = {
    "JsonFileStateStore": ".json_file",
    "RedisStateStore": ".shared",
    "SharedStateStore": ".shared",
    "SqlStateStore": ".shared",
    "SqliteStateStore": ".sqlite",
}

__getattr__ = lazily(__name__, _LAZY)


def __dir__() -> list[str]:
    return __all__
