"""How records and leases are kept on a Redis server."""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from contextlib import contextmanager

from redis import exceptions
from redis.asyncio import BlockingConnectionPool, Redis
from redis.asyncio.retry import Retry
from redis.backoff import EqualJitterBackoff

from ...errors import StoreError
from ..keys import RowKey
from .server import Lease, Refusal

__all__ = ["RedisServer"]

_RETRIES = 3
"""How often a command is sent again when the connection breaks."""

_TIMEOUT = 5.0
"""Seconds for the server to answer."""

_LEASE_IS_ANOTHERS = -1

_HOLD = """
local holder = redis.call('GET', KEYS[1])
if holder and holder ~= ARGV[1] then return 0 end
redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])
return 1
"""
_RELEASE = """
if redis.call('GET', KEYS[1]) == ARGV[1] then redis.call('DEL', KEYS[1]) end
"""
_SAVE = f"""
local holder = redis.call('GET', KEYS[2])
if ARGV[5] ~= '' then
    if holder and holder ~= ARGV[5] then return {_LEASE_IS_ANOTHERS} end
    redis.call('SET', KEYS[2], ARGV[5], 'PX', ARGV[6])
end
local held = redis.call('HMGET', KEYS[1], 'version', 'save')
if held[2] == ARGV[4] then return nil end
local version = tonumber(held[1] or 0)
if version ~= tonumber(ARGV[1]) then return version end
redis.call('HSET', KEYS[1], 'version', ARGV[2], 'record', ARGV[3], 'save', ARGV[4])
"""
"""Each save has an id: redis-py sends one again when the answer to it is lost, and must not conflict with itself."""


class RedisServer:
    """A server for one event loop. A session is a hash, and its lease a string that expires; scripts are atomic."""

    def __init__(self, client: Redis) -> None:
        self._client = client
        self._hold = client.register_script(_HOLD)
        self._release = client.register_script(_RELEASE)
        self._save = client.register_script(_SAVE)
        settings = client.connection_pool.connection_kwargs
        place = settings.get("path") or f"{settings.get('host', 'localhost')}:{settings.get('port', 6379)}"
        self._name = f"the Redis server at {place}, database {settings.get('db', 0)}"

    @classmethod
    def at(cls, url: str) -> RedisServer:
        """Return the server of a URL, not connected yet.

        Raises:
            ValueError: the URL cannot be read.
        """
        pool = BlockingConnectionPool.from_url(
            url,
            retry=Retry(EqualJitterBackoff(), _RETRIES),
            retry_on_error=[exceptions.ConnectionError, exceptions.TimeoutError],
            socket_timeout=_TIMEOUT,
            socket_connect_timeout=_TIMEOUT,
        )
        return cls(Redis.from_pool(pool))

    async def load(self, key: RowKey) -> str | bytes | None:
        """Return the record of a session."""
        with self._failing_as("read"):
            record: str | bytes | None = await self._client.hget(_state(key), "record")
        return record

    async def save(self, key: RowKey, version: int, record: str, lease: Lease | None) -> Refusal | None:
        """Put a record in the place of a version."""
        with self._failing_as("write"):
            values = (version, version + 1, record, secrets.token_hex(8), *_arguments(lease))
            held: int | None = await self._save(keys=[_state(key), _lease(key)], args=values)
        if held is None:
            return None
        return Refusal(None if held == _LEASE_IS_ANOTHERS else held)

    async def delete(self, key: RowKey) -> None:
        """Forget the record of a session."""
        with self._failing_as("write"):
            await self._client.delete(_state(key))

    async def hold(self, key: RowKey, lease: Lease) -> bool:
        """Take or keep a lease."""
        with self._failing_as("write"):
            return bool(await self._hold(keys=[_lease(key)], args=_arguments(lease)))

    async def release(self, key: RowKey, lease: Lease) -> None:
        """Give back a lease."""
        with self._failing_as("write"):
            await self._release(keys=[_lease(key)], args=_arguments(lease))

    async def aclose(self) -> None:
        """Close the connections."""
        await self._client.aclose()

    def place(self, key: RowKey) -> str:
        """Return where a record is."""
        return f"the hash {_state(key)} of {self._name}"

    @contextmanager
    def _failing_as(self, what: str) -> Iterator[None]:
        try:
            yield
        except (exceptions.RedisError, OSError) as error:
            raise StoreError(
                f"cannot {what} {self._name}: {error}; see that it runs and lets this program in, and try again"
            ) from error


def _state(key: RowKey) -> str:
    return f"agentscope_rx:state:{key.user_id} {key.session_id}"


def _lease(key: RowKey) -> str:
    return f"agentscope_rx:lease:{key.user_id} {key.session_id}"


def _arguments(lease: Lease | None) -> tuple[str, int]:
    return ("", 0) if lease is None else (lease.holder, max(1, round(lease.seconds * 1000)))
