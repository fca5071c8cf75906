"""State (floor 5): what an agent remembers of its sessions, and where it is kept."""

from .agent_state import AgentState, ContextCut, PausedReply
from .json_file import JsonFileStateStore
from .memory import InMemoryStateStore
from .sqlite import SqliteStateStore
from .store import StateStore, StoredState

__all__ = [
    "AgentState",
    "ContextCut",
    "InMemoryStateStore",
    "JsonFileStateStore",
    "PausedReply",
    "SqliteStateStore",
    "StateStore",
    "StoredState",
]
