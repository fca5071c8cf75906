"""State (floor 5): what an agent remembers of its sessions, and where it is kept."""

from .agent_state import AgentState, ContextCut, PausedReply
from .json_file import JsonFileStateStore
from .memory import InMemoryStateStore
from .shared import RedisStateStore, SharedStateStore, SqlStateStore
from .sqlite import SqliteStateStore
from .store import LeasingStateStore, StateStore, StoredState, leased

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
