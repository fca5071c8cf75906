"""Shutting down: every call ends and is saved, by itself or interrupted, and no new one begins."""

from __future__ import annotations

from ..errors import SessionBusyError
from ..stream import blocked_loops
from .session import Sessions

__all__ = ["shut_down"]

_SAID = "The agent is shutting down."
"""What interrupted replies say."""

_PATIENCE = 2.0
"""Seconds that interrupted calls have to end by themselves, as far as their consumers let them."""


async def shut_down(sessions: Sessions, grace: float) -> None:
    """Close the sessions and wait until every call has ended and is saved.

    Calls that have not ended after the grace are interrupted. One that cannot even end in order then, because nobody
    reads its events, is cancelled; the calls that wait behind it get their turn to end.

    Args:
        sessions: The sessions.
        grace: Seconds that the calls have to end by themselves.

    Raises:
        SessionBusyError: a call runs on an event loop that stands still until this returns; the sessions stay open.
    """
    if any(call.loop in blocked_loops() for call in sessions.calls()):
        raise SessionBusyError(
            ".run() would never return: a call runs on the event loop that .run() blocks; await shutdown() instead"
        )
    sessions.close()
    if await sessions.emptied(grace):
        return
    for call in sessions.calls():
        call.interrupt(_SAID)
    while not await sessions.emptied(_PATIENCE):
        for call in sessions.calls():
            call.cancel()
