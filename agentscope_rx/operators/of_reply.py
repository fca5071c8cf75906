"""`of_reply`: keep the events of one reply."""

from __future__ import annotations

from typing import Any

from reactivex import operators as ops

from ..event import AgentEvent
from .operator import Operator

__all__ = ["of_reply"]


def of_reply(reply_id: str) -> Operator[AgentEvent, AgentEvent]:
    """Keep the events of the reply `reply_id`, in order; events without a reply are dropped.

    Emits a subset of the source; completes and fails with it.
    """

    def wanted(event: Any) -> bool:
        return getattr(event, "reply_id", None) == reply_id

    return ops.filter(wanted)
