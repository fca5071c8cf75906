"""States on a Redis server."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...errors import ConfigurationError, MissingExtraError
from ...stream import LoopLocal
from .store import OneLoop, SharedStateStore

if TYPE_CHECKING:
    from redis.asyncio import Redis

    from .redis_server import RedisServer

__all__ = ["RedisStateStore"]


class RedisStateStore(SharedStateStore):
    """Keeps sessions on a Redis server, which other programs may use too.

    The keys are `agentscope_rx:state:` and `agentscope_rx:lease:` with the user and session ids as JSON. A session is
    as lasting as the server makes its data: see to `appendonly yes` and `maxmemory-policy noeviction`.

    Args:
        redis: `redis://user:password@host:port/db`, `rediss://` with TLS, or `unix://`, with the options of redis-py
            as its query; or a client of redis-py, which stays the caller's to close and can be used on one event loop.
        lease: Seconds after which others no longer wait for a process that has died or hangs; None: nobody waits, and
            who saves a session second gets StateConflictError.

    Raises:
        MissingExtraError: the extra `redis` is not installed.
        ConfigurationError: the URL is none, or the lease is not longer than 0.
    """

    def __init__(self, redis: str | Redis, *, lease: float | None = 30.0) -> None:
        try:
            from .redis_server import RedisServer
        except ImportError as error:
            raise MissingExtraError("RedisStateStore", 'pip install "agentscope-rx[redis]"') from error
        servers: LoopLocal[RedisServer] | OneLoop
        if isinstance(redis, str):
            _check(RedisServer, redis)
            servers = LoopLocal(lambda: RedisServer.at(redis), RedisServer.aclose)
        else:
            servers = OneLoop(RedisServer(redis), "client of redis-py")
        super().__init__(servers, lease)


def _check(server: type[RedisServer], url: str) -> None:
    try:
        server.at(url)  # connects when it is first used
    except ValueError:
        raise ConfigurationError(
            "the URL of the Redis server cannot be read (it is not shown, since it may hold a password); "
            "redis://user:password@host:port/db is one, with special characters as %XX"
        ) from None
