"""Stores that several machines share, on a server: states, and leases that let one process at a time into a session."""

from .redis import RedisStateStore
from .sql import SqlStateStore
from .store import SharedStateStore

__all__ = ["RedisStateStore", "SharedStateStore", "SqlStateStore"]
