"""What every reply is made of, ready before the first one."""

from __future__ import annotations

from ..event import (
    AgentEndEvent,
    AgentResultEvent,
    AgentStartEvent,
    ModelCallEndEvent,
    ModelCallRecord,
    ModelCallStartEvent,
    TextBlockDeltaEvent,
    TextBlockEndEvent,
    TextBlockStartEvent,
)
from ..message import AssistantMessage, SystemMessage, UserMessage
from ..state import AgentState

__all__ = ["build_schemas"]

_OF_EVERY_REPLY = (
    UserMessage,
    SystemMessage,
    AssistantMessage,
    AgentState,
    AgentStartEvent,
    ModelCallStartEvent,
    ModelCallRecord,
    TextBlockStartEvent,
    TextBlockDeltaEvent,
    TextBlockEndEvent,
    ModelCallEndEvent,
    AgentResultEvent,
    AgentEndEvent,
)


def build_schemas() -> None:
    """Build the schemas of what every reply consists of; from the second time on there is nothing to do.

    An agent does it when it is made: its first reply need not wait, and the processes that a server forks then share
    what was built.
    """
    for model in _OF_EVERY_REPLY:
        model.model_rebuild()
