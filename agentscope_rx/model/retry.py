"""When a failed model call is made again, and after how long.

Only what may pass by itself is tried again: no connection, a server that is overloaded, starting or rate-limited, a
body that broke off. And only before the first content: what was shown cannot be unshown.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

from ..errors import ModelError, ModelHTTPError, ModelTruncatedError
from ..identity import now

__all__ = ["NO_RETRY", "RetryPolicy", "parse_retry_after"]

_PASSING_STATUSES = frozenset({408, 429})


@dataclass(frozen=True, slots=True, kw_only=True)
class RetryPolicy:
    """How often and how patiently a failed model call is made again.

    The wait doubles from attempt to attempt, and a random part of it, up to a half, is left out, so that many clients
    do not come back at once. A `Retry-After` of the server replaces a shorter wait.
    """

    max_attempts: int = 3
    """The most requests that one model call makes, the first included."""
    base_delay: float = 0.5
    """Seconds before the second attempt."""
    max_delay: float = 30.0
    """The longest wait that doubling leads to, in seconds."""
    max_retry_after: float = 60.0
    """The longest wait that a server may ask for, in seconds. When it asks for more, the call fails at once: a request
    that comes early is refused again, and the error says how long to wait."""
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep
    """Waits for so many seconds."""
    random: Callable[[], float] = random.random
    """Returns a number from 0 up to 1."""

    def delay(self, error: ModelError, attempt: int) -> float | None:
        """Return how many seconds to wait after attempt number `attempt` (from 1) failed; None says: give up."""
        if attempt >= self.max_attempts or not _may_pass(error):
            return None
        backoff: float = min(self.max_delay, self.base_delay * 2 ** (attempt - 1))
        backoff *= 1 - self.random() / 2
        asked = error.retry_after if isinstance(error, ModelHTTPError) else None
        if asked is None:
            return backoff
        return max(backoff, asked) if asked <= self.max_retry_after else None


NO_RETRY = RetryPolicy(max_attempts=1)
"""Every failure is final."""


def _may_pass(error: ModelError) -> bool:
    if isinstance(error, ModelHTTPError):
        return error.status is None or error.status >= 500 or error.status in _PASSING_STATUSES
    return isinstance(error, ModelTruncatedError)


def parse_retry_after(value: str | None, moment: Callable[[], datetime] = now) -> float | None:
    """Return the seconds that a `Retry-After` header asks to wait: a number or an HTTP date; None when it is neither.

    Args:
        value: the header, None when there is none.
        moment: tells what time it is.
    """
    if value is None:
        return None
    try:
        seconds = float(value)
    except ValueError:
        try:
            date = parsedate_to_datetime(value)
        except (ValueError, OverflowError):
            return None
        if date.tzinfo is None:
            date = date.replace(tzinfo=UTC)
        seconds = (date - moment()).total_seconds()
    return max(0.0, seconds) if seconds == seconds and seconds != float("inf") else None
