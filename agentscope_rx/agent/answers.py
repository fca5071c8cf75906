"""Answers to a paused reply: whether they fit it, and what they decide. Nothing is changed here."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass, field

from ..context import RuntimeContext
from ..errors import (
    PendingToolCallsError,
    ResumeError,
    StaleAnswerError,
    ToolError,
    UnknownToolCallError,
)
from ..event import ConfirmResult, ExternalExecutionResultEvent, UserConfirmResultEvent
from ..message import PermissionRule, ToolCallState, ToolResultBlock, ToolUseBlock, parse_arguments
from ..state import PausedReply
from ..tools import ToolEmitter, Toolkit
from ..tools.channel import READY
from .inputs import Given

__all__ = ["Answers", "check_answers"]

_PARKED = {ToolCallState.ASKING, ToolCallState.SUBMITTED}


@dataclass(frozen=True, slots=True)
class Answers:
    """What was decided of the calls of a paused reply."""

    confirm: UserConfirmResultEvent | None = None
    """What a person said, as it is published: with the calls as they will run."""
    external: ExternalExecutionResultEvent | None = None
    """What came from outside, as it is published."""
    denied: dict[str, str] = field(default_factory=dict)
    """The calls that a person denied, and what the model is told of each."""
    results: dict[str, ToolResultBlock] = field(default_factory=dict)
    """The results that came from outside, by call."""
    rules: tuple[PermissionRule, ...] = ()
    """The rules that a person accepted."""


def check_answers(paused: PausedReply | None, given: Given, toolkit: Toolkit, context: RuntimeContext) -> Answers:
    """Return what an input decides of a paused reply.

    Raises:
        PendingToolCallsError: calls wait for an answer, and the input has none.
        UnknownToolCallError: an answer names a call that the reply does not have.
        StaleAnswerError: an answer is for another reply, or for a call that does not wait for it, or comes twice.
        ResumeError: an answer changes what it may not, or there is nothing to interrupt.
    """
    if paused is None:
        if given.interrupt is not None:
            raise ResumeError("there is no paused reply to interrupt; a running one is stopped by agent.interrupt()")
        if given.is_answer:
            raise StaleAnswerError("no reply of this session waits for an answer")
        return Answers()
    _check_reply(paused, given)
    if given.interrupt is not None:
        return Answers()
    calls = {call.id: call for call in paused.message.get_content_blocks(ToolUseBlock)}
    if not given.is_answer:
        waiting = [call.id for call in calls.values() if call.state in _PARKED]
        if waiting:
            raise PendingToolCallsError(
                f"{len(waiting)} tool calls wait for an answer ({', '.join(waiting)}); give a UserConfirmResultEvent "
                "or an ExternalExecutionResultEvent, or a UserInterruptEvent to give them up"
            )
        return Answers()
    confirms = [confirm for event in given.confirms for confirm in event.confirm_results]
    results = [result for event in given.results for result in event.tool_results]
    _check_waiting(calls, ((c.tool_call.id, c.tool_call.name) for c in confirms), ToolCallState.ASKING)
    _check_waiting(calls, ((result.id, result.name) for result in results), ToolCallState.SUBMITTED)
    settled = tuple(_settled(confirm, calls[confirm.tool_call.id], toolkit, context) for confirm in confirms)
    reply_id = paused.message.id
    return Answers(
        confirm=UserConfirmResultEvent(reply_id=reply_id, confirm_results=settled, seq=0) if settled else None,
        external=ExternalExecutionResultEvent(reply_id=reply_id, tool_results=tuple(results), seq=0)
        if results
        else None,
        denied={confirm.tool_call.id: _denial(confirm) for confirm in settled if not confirm.confirmed},
        results={result.id: result for result in results},
        rules=tuple(rule for confirm in settled for rule in confirm.rules),
    )


def _check_reply(paused: PausedReply, given: Given) -> None:
    for event in (*given.confirms, *given.results, *((given.interrupt,) if given.interrupt else ())):
        if event.reply_id not in ("", paused.message.id):
            raise StaleAnswerError(f"the paused reply is {paused.message.id!r}: got an answer to {event.reply_id!r}")


def _check_waiting(
    calls: dict[str, ToolUseBlock], answered: Iterable[tuple[str, str]], waiting_for: ToolCallState
) -> None:
    seen: set[str] = set()
    for id, name in answered:
        call = calls.get(id)
        if call is None:
            waiting = [call.id for call in calls.values() if call.state is waiting_for]
            raise UnknownToolCallError(
                f"the paused reply has no call {id!r}; these wait: {', '.join(waiting) or 'none'}"
            )
        if id in seen:
            raise StaleAnswerError(f"call {id!r} is answered twice at once")
        if call.state is not waiting_for:
            raise StaleAnswerError(f"call {id!r} is {call.state.value}, it does not wait for this answer")
        if name != call.name:
            raise ResumeError(f"an answer may not change the tool of a call: {id!r} is of {call.name!r}, got {name!r}")
        seen.add(id)


def _settled(confirm: ConfirmResult, call: ToolUseBlock, toolkit: Toolkit, context: RuntimeContext) -> ConfirmResult:
    """The answer with the call as it will run: the stored one, with the edited input if there is one."""
    input = confirm.tool_call.input
    if not confirm.confirmed or input == call.input:
        return confirm.model_copy(update={"tool_call": call})
    tool = toolkit.get(call.name)
    try:
        if tool is not None:
            tool.bind(dict(input), context, ToolEmitter(lambda chunk: READY))
    except ToolError as error:
        raise ResumeError(f"the edited input of call {call.id!r} does not fit {call.name!r}: {error}") from error
    raw = confirm.tool_call.raw_input
    try:
        fits = parse_arguments(raw) == input
    except ValueError:
        fits = False
    edited = call.model_copy(
        update={"input": input, "raw_input": raw if fits else json.dumps(input, ensure_ascii=False)}
    )
    return confirm.model_copy(update={"tool_call": edited})


def _denial(confirm: ConfirmResult) -> str:
    return (
        "The user denied the tool call." if not confirm.reason else f"The user denied the tool call: {confirm.reason}"
    )
