"""What an agent can be given: messages, or answers to what a paused reply waits for."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

from ..errors import ConfigurationError, RemoteProtocolError, ResumeError
from ..event import (
    ConfirmResult,
    ExternalExecutionResultEvent,
    UserConfirmResultEvent,
    UserInterruptEvent,
)
from ..identity import new_id
from ..message import Msg, MsgRole, ToolResultBlock, UserMessage

if TYPE_CHECKING:
    from ..event import Dialect

__all__ = ["AgentInput", "Answer", "Given", "read_input", "said_anew"]

Answer: TypeAlias = UserConfirmResultEvent | ExternalExecutionResultEvent | UserInterruptEvent
"""What a paused reply can be told."""

AgentInput: TypeAlias = str | Msg | Answer | Sequence[Msg] | Sequence[Answer] | None
"""A text, a message, several messages; an answer, several answers; or None, to go on as things are.

A message is an answer when its metadata has `agentscope_confirm_results`, or when its content is tool results.
"""

CONFIRM_RESULTS = "agentscope_confirm_results"
"""Metadata key of a message: the answers of a person, as `ConfirmResult` objects or as their JSON."""


@dataclass(frozen=True, slots=True)
class Given:
    """An input, sorted."""

    messages: tuple[Msg, ...] = ()
    """New messages."""
    confirms: tuple[UserConfirmResultEvent, ...] = ()
    """What a person said to calls that wait for confirmation."""
    results: tuple[ExternalExecutionResultEvent, ...] = ()
    """What came of calls that are run elsewhere."""
    interrupt: UserInterruptEvent | None = None
    """Whether the paused reply is to be stopped."""

    @property
    def is_answer(self) -> bool:
        """Whether a paused reply is told something."""
        return bool(self.confirms or self.results or self.interrupt)


def read_input(given: Any) -> Given:
    """Sort an input.

    Raises:
        ConfigurationError: it is none of the kinds in `AgentInput`, a system message, messages and answers at once, or
            an interruption beside other answers.
        ResumeError: an answer in a message is malformed.
    """
    if given is None:
        return Given()
    if isinstance(given, str):
        return Given(messages=(UserMessage(given),))
    items = tuple(given) if isinstance(given, Iterable) and not isinstance(given, Msg | Answer | Mapping) else (given,)
    sorted_items = [_sort(item) for item in items]
    answer = Given(
        messages=tuple(message for item in sorted_items for message in item.messages),
        confirms=tuple(event for item in sorted_items for event in item.confirms),
        results=tuple(event for item in sorted_items for event in item.results),
        interrupt=next((item.interrupt for item in sorted_items if item.interrupt is not None), None),
    )
    if answer.messages and answer.is_answer:
        raise ConfigurationError("an agent is given messages, or answers to a paused reply: got both at once")
    if answer.interrupt is not None and len(items) > 1:
        raise ConfigurationError("an interruption gives a paused reply up: got other answers beside it")
    return answer


def said_anew(messages: Iterable[Msg], history: Iterable[Msg]) -> tuple[Msg, ...]:
    """Return the messages as they go into a history; one that was said before is said again, under an id of its own."""
    known = {message.id for message in history}
    fresh = []
    for message in messages:
        fresh.append(message.model_copy(update={"id": new_id()}) if message.id in known else message)
        known.add(fresh[-1].id)
    return tuple(fresh)


def _sort(item: Any) -> Given:
    match item:
        case UserConfirmResultEvent():
            return Given(confirms=(item,))
        case ExternalExecutionResultEvent():
            return Given(results=(item,))
        case UserInterruptEvent():
            return Given(interrupt=item)
        case Msg():
            return _sort_message(item)
        case str():
            raise ConfigurationError(
                "a list for an agent holds messages and answer events: got a str; make it a UserMessage"
            )
        case _:
            raise ConfigurationError(
                "an agent takes a str, a Msg, an answer event, a list of messages and answer events, or None: "
                f"got {type(item).__name__}"
            )


def _sort_message(message: Msg) -> Given:
    if message.role is MsgRole.SYSTEM:
        raise ConfigurationError("an agent's instructions are its sys_prompt: got a system message as input")
    confirms = (message.metadata or {}).get(CONFIRM_RESULTS)
    if confirms is not None:
        return Given(confirms=(UserConfirmResultEvent(reply_id="", confirm_results=_confirm_results(confirms)),))
    results = message.get_content_blocks(ToolResultBlock)
    if message.role is MsgRole.TOOL or (results and len(results) == len(message.content)):
        if len(results) != len(message.content):
            raise ResumeError("a message with tool results holds nothing else: got other blocks beside them")
        return Given(results=(ExternalExecutionResultEvent(reply_id="", tool_results=tuple(results)),))
    return Given(messages=(message,))


def _confirm_results(items: Any) -> tuple[ConfirmResult, ...]:
    if not isinstance(items, Sequence) or isinstance(items, str):
        raise ResumeError(f"{CONFIRM_RESULTS} is a list of ConfirmResults: got {type(items).__name__}")
    return tuple(item if isinstance(item, ConfirmResult) else _confirm_result(item) for item in items)


def _confirm_result(item: Any) -> ConfirmResult:
    """Read a ConfirmResult from its JSON, in this package's form or in that of AgentScope Java or Python."""
    from ..event import decode  # the codec is large, and most answers come as objects

    if not isinstance(item, Mapping):
        raise ResumeError(f"{CONFIRM_RESULTS} holds ConfirmResults or their JSON: got {type(item).__name__}")
    key = "confirmResults" if _dialect(item) == "java" else "confirm_results"
    try:
        event = decode({"type": "USER_CONFIRM_RESULT", "reply_id": "", key: [item]}, _dialect(item))
    except RemoteProtocolError as error:
        raise ResumeError(f"an answer in {CONFIRM_RESULTS} is malformed: {error}") from error
    assert isinstance(event, UserConfirmResultEvent)
    return event.confirm_results[0]


def _dialect(item: Mapping[str, Any]) -> Dialect:
    if "toolCall" in item:
        return "java"
    call = item.get("tool_call")
    return "native" if isinstance(call, Mapping) and "raw_input" in call else "python"
