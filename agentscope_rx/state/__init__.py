"""State (floor 5): what an agent remembers of its sessions, and where it is kept."""

from .agent_state import AgentState, PausedReply
from .memory import InMemoryStateStore
from .store import StateStore, StoredState

__all__ = ["AgentState", "InMemoryStateStore", "PausedReply", "StateStore", "StoredState"]
