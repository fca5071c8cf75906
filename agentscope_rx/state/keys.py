"""Sessions as keys of a table."""

from __future__ import annotations

import hashlib
import json
from typing import NamedTuple

__all__ = ["RowKey", "row_key"]

_LONGEST = 1_000
"""Characters; an index of PostgreSQL holds 2,704 bytes of a row."""


class RowKey(NamedTuple):
    """The ids of a session as texts of ASCII characters, which every database compares alike."""

    user_id: str
    """JSON, so that no user is `null`; a digest when that is long."""
    session_id: str
    """JSON; a digest when that is long."""


def row_key(session_id: str, user_id: str | None) -> RowKey:
    """Return the key of a session."""
    return RowKey(_text(user_id), _text(session_id))


def _text(id: str | None) -> str:
    text = json.dumps(id)
    return text if len(text) <= _LONGEST else "sha256:" + hashlib.sha256(text.encode()).hexdigest()
