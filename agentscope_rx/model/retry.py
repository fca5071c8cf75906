"""When a failed model call is made again, and after how long.

Only what may pass by itself is tried again: no connection, a server that is overloaded, starting or rate-limited, a
stream that broke off or was damaged. And only before the first content, unless the policy says that content may be
withdrawn: not every consumer of a stream can take back what it has shown.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

from ..errors import ModelError, ModelHTTPError, ModelStallError, ModelStreamError, ModelTruncatedError
from ..identity import now

__all__ = ["NO_RETRY", "RetryPolicy", "parse_retry_after"]

_PASSING_STATUSES = frozenset({408, 429})
_PASSING_KINDS = frozenset(
    {
        *("overloaded_error", "api_error", "rate_limit_error", "timeout_error"),
        *("server_error", "internal_error", "rate_limit_exceeded", "overloaded"),
        *("unavailable", "internal", "resource_exhausted", "deadline_exceeded"),
        *("internalerror", "serviceunavailable", "throttling", "throttling.ratequota", "throttling.burstrate"),
    }
)
"""What providers call a failure that may pass when they tell of it in a stream, in lower case."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RetryPolicy:
    """How often and how patiently a failed model call is made again.

    The wait doubles from attempt to attempt, and a random part of it, up to a quarter, is left out, so that many
    clients do not come back at once. A `Retry-After` of the server replaces a shorter wait.
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
    after_content: bool = False
    """Whether a stream that breaks after its first content is made again too. What it has shown is withdrawn then: the
    agent emits MODEL_CALL_RESET, the message and the history hold the last attempt only, and the usage is that of all
    attempts. Whoever shows deltas as they come must heed the reset."""
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep
    """Waits for so many seconds."""
    random: Callable[[], float] = random.random
    """Returns a number from 0 up to 1."""

    def delay(self, error: ModelError, attempt: int, *, spoke: bool = False) -> float | None:
        """Return how many seconds to wait before the next attempt; None says: give up.

        Args:
            error: why the attempt failed.
            attempt: its number, from 1.
            spoke: whether it has shown content.
        """
        if attempt >= self.max_attempts or (spoke and not self.after_content) or not _may_pass(error, spoke):
            return None
        backoff: float = min(self.max_delay, self.base_delay * 2 ** (attempt - 1))
        backoff *= 1 - self.random() / 4
        asked = error.retry_after if isinstance(error, ModelHTTPError) else None
        if asked is None:
            return backoff
        return max(backoff, asked) if asked <= self.max_retry_after else None


NO_RETRY = RetryPolicy(max_attempts=1)
"""Every failure is final."""


def _may_pass(error: ModelError, spoke: bool) -> bool:
    match error:
        case ModelHTTPError(status=status):
            return status is None or _is_passing(status)
        case ModelStreamError(kind=kind, code=code, malformed=malformed):
            return malformed or _is_passing(code) or (kind or "").lower() in _PASSING_KINDS
        case ModelStallError():
            return spoke  # a model that has not begun yet may be thinking: it would only think again
        case _:
            return isinstance(error, ModelTruncatedError)


def _is_passing(status: str | int | None) -> bool:
    return isinstance(status, int) and (status >= 500 or status in _PASSING_STATUSES)


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
