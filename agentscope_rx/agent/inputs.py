"""What an agent can be given."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, TypeAlias

from ..errors import ConfigurationError, UnknownToolCallError
from ..message import Msg, MsgRole, UserMessage

__all__ = ["AgentInput", "to_messages"]

AgentInput: TypeAlias = str | Msg | Sequence[Msg] | None
"""A text, a message, several messages, or nothing: go on from the history as it is."""


def to_messages(given: Any) -> tuple[Msg, ...]:
    """Return the input of a call as messages.

    Raises:
        ConfigurationError: it is none of the kinds in `AgentInput`, or a system message.
        UnknownToolCallError: it holds tool results, and no call waits for them.
    """
    if given is None:
        return ()
    if isinstance(given, str):
        return (UserMessage(given),)
    messages = (given,) if isinstance(given, Msg) else tuple(given) if isinstance(given, Iterable) else (given,)
    for message in messages:
        if not isinstance(message, Msg):
            raise ConfigurationError(
                f"an agent takes a str, a Msg, a list of Msg or None: got {type(message).__name__}"
            )
        if message.role is MsgRole.SYSTEM:
            raise ConfigurationError("an agent's instructions are its sys_prompt: got a system message as input")
        if message.role is MsgRole.TOOL:
            raise UnknownToolCallError("got tool results, but no tool call waits for one")
    return messages
