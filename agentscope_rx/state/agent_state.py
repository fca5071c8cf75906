"""What an agent remembers of one session."""

from __future__ import annotations

import copy
from typing import Any

from pydantic import Field

from ..message import AssistantMessage, Msg
from ..message.frozen import FrozenModel, LazyModel
from ..model import OutputFormat
from ..permission import PermissionContext

__all__ = ["AgentState", "ContextCut", "PausedReply"]


class PausedReply(FrozenModel):
    """A reply that paused or was stopped, and can go on."""

    message: AssistantMessage
    """The reply as it stands; the states of its calls say what they wait for."""
    iteration: int
    """The rounds of reasoning that it has had."""
    last_seq: int
    """The number of its last event."""
    turn: tuple[str, ...] = ()
    """The tool calls of the turn that is not finished."""
    denied_by_user: bool = False
    """Whether a person has denied a call of that turn."""
    output: OutputFormat | None = None
    """The object that the reply must end with, None when it need not."""


class ContextCut(FrozenModel):
    """Where the part of the history begins that is still sent to the model."""

    message_id: str
    """The message."""
    part: int = 0
    """The part of it: the iteration of a reply, from 0."""
    summary: str = ""
    """What the model is told in the place of what comes before; "" for nothing."""


class AgentState(LazyModel):
    """What an agent remembers of one session: loaded behind the session's gate, saved at every end.

    A tool that has a parameter of this type is handed the state of its session, and may keep things in `values`.
    """

    session_id: str
    """The conversation."""
    user_id: str | None = None
    """The user, None when there is only one."""
    history: tuple[Msg, ...] = ()
    """The turns that are finished, in order."""
    cut: ContextCut | None = None
    """Where the part begins that is still sent to the model; None: all of it is."""
    paused: PausedReply | None = None
    """The reply that waits to go on, None when there is none."""
    permission: PermissionContext | None = None
    """The rules of the session, accepted ones included; None when the agent has none."""
    active_groups: tuple[str, ...] | None = None
    """The groups of tools that are active; None as long as nobody has chosen, which is as the groups say."""
    values: dict[str, Any] = Field(default_factory=dict)
    """What tools and middlewares keep, by key; JSON values, if a store is to save them."""

    def snapshot(self) -> AgentState:
        """Return a copy that later changes do not reach; messages are frozen, and shared."""
        return self.model_copy(update={"values": copy.deepcopy(self.values)})
