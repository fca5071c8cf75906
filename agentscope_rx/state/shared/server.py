"""What a shared store asks of its server."""

from __future__ import annotations

from typing import NamedTuple, Protocol

from ..keys import RowKey

__all__ = ["Lease", "Refusal", "StateServer"]


class Lease(NamedTuple):
    """The right to be in a session alone."""

    holder: str
    """Who has it, if the server agrees; another one for every time that it is asked for."""
    seconds: float
    """How long it lasts when it is not renewed, by the server's clock."""


class Refusal(NamedTuple):
    """Why a server did not save."""

    held: int | None
    """The version that it holds, 0 for none; None when it did not look: the lease is somebody else's."""


class StateServer(Protocol):
    """The connections of one event loop to the server that holds the records and the leases.

    Every operation is atomic, and a StoreError when the server fails. If it fails in the middle of one, nobody here
    knows whether that was done.
    """

    async def load(self, key: RowKey) -> str | bytes | None:
        """Return the record of a session, None when there is none."""
        ...

    async def save(self, key: RowKey, version: int, record: str, lease: Lease | None) -> Refusal | None:
        """Put a record in the place of the one that has the version, of none if that is 0; return why not.

        Args:
            key: The session.
            version: The version that is replaced; the record has the next one.
            record: The record.
            lease: The lease that is needed for that, and taken or renewed by it; None: saved whoever has it.
        """
        ...

    async def delete(self, key: RowKey) -> None:
        """Forget the record of a session."""
        ...

    async def hold(self, key: RowKey, lease: Lease) -> bool:
        """Take the lease of a session, or renew it; False when somebody else has it."""
        ...

    async def release(self, key: RowKey, lease: Lease) -> None:
        """Give back the lease of a session, if its holder has it."""
        ...

    async def aclose(self) -> None:
        """Close the connections."""
        ...

    def place(self, key: RowKey) -> str:
        """Return where the record of a session is, for errors."""
        ...
