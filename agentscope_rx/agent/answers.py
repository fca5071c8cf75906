"""Answers to a paused reply: whether they fit it, and what they decide. Nothing is changed here."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, TypeVar

from pydantic_core import PydanticSerializationError

from ..context import RuntimeContext
from ..errors import (
    PendingToolCallsError,
    ResumeError,
    StaleAnswerError,
    UnknownToolCallError,
)
from ..event import ConfirmResult, ExternalExecutionResultEvent, UserConfirmResultEvent
from ..message import (
    Base64Source,
    DataBlock,
    PermissionBehavior,
    PermissionRule,
    ToolCallState,
    ToolResultBlock,
    ToolUseBlock,
    parse_arguments,
)
from ..state import AgentState, PausedReply
from ..tools import Toolkit
from ..tools.run import refusal
from .inputs import Given

__all__ = ["Answers", "check_answers"]

E = TypeVar("E", UserConfirmResultEvent, ExternalExecutionResultEvent)

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


def check_answers(state: AgentState, given: Given, toolkit: Toolkit, context: RuntimeContext) -> Answers:
    """Return what an input decides of the paused reply of a session.

    Raises:
        PendingToolCallsError: calls wait for an answer, and the input has none.
        UnknownToolCallError: an answer names a call that the reply does not have.
        StaleAnswerError: an answer is for another reply, or for a call that does not wait for it, or comes twice.
        ResumeError: an answer changes what it may not, holds what no message can, or accepts a rule where there are
            none; or there is nothing to interrupt.
    """
    paused = state.paused
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
                f"tool calls wait for an answer ({', '.join(waiting)}); give a UserConfirmResultEvent "
                "or an ExternalExecutionResultEvent, or a UserInterruptEvent to give them up"
            )
        return Answers()
    confirms = [confirm for event in given.confirms for confirm in event.confirm_results]
    results = tuple(result for event in given.results for result in event.tool_results)
    _check_waiting(calls, ((c.tool_call.id, c.tool_call.name) for c in confirms), ToolCallState.ASKING)
    _check_waiting(calls, ((result.id, result.name) for result in results), ToolCallState.SUBMITTED)
    settled = tuple(_settled(confirm, calls[confirm.tool_call.id], toolkit, context) for confirm in confirms)
    rules = tuple(rule for confirm in settled for rule in confirm.rules)
    _check_rules(rules, state)
    _check_data(results)
    reply_id = paused.message.id
    return Answers(
        confirm=_whole(UserConfirmResultEvent(reply_id=reply_id, confirm_results=settled, seq=0)) if settled else None,
        external=_whole(ExternalExecutionResultEvent(reply_id=reply_id, tool_results=results, seq=0))
        if results
        else None,
        denied={confirm.tool_call.id: _denial(confirm) for confirm in settled if not confirm.confirmed},
        results={result.id: result for result in results},
        rules=rules,
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
    if not confirm.confirmed or confirm.tool_call.input == call.input:
        return confirm.model_copy(update={"tool_call": call})
    wrong = f"the edited input of call {call.id!r} does not fit {call.name!r}"
    try:
        edited = call.model_copy(update=_input(confirm.tool_call))
    except (TypeError, ValueError, RecursionError) as error:
        raise ResumeError(f"{wrong}: {error}") from error
    if (tool := toolkit.get(call.name)) is not None and (why := refusal(edited, tool, context)) is not None:
        raise ResumeError(f"{wrong}: {why}")
    return confirm.model_copy(update={"tool_call": edited})


def _input(edited: ToolUseBlock) -> dict[str, Any]:
    """The input of an edited call and its text, which is written anew unless it was edited too."""
    try:
        if parse_arguments(edited.raw_input) == edited.input:
            return {"input": edited.input, "raw_input": edited.raw_input}
    except ValueError:
        pass
    raw_input = json.dumps(edited.input, ensure_ascii=False)
    return {"input": parse_arguments(raw_input), "raw_input": raw_input}


def _check_rules(rules: Iterable[PermissionRule], state: AgentState) -> None:
    for rule in rules:
        if rule.behavior is PermissionBehavior.PASSTHROUGH:
            raise ResumeError(f"an accepted rule allows, denies or asks: got one about {rule.tool_name} that does not")
        if state.permission is None:
            raise ResumeError(
                f"a rule about {rule.tool_name} was accepted, and the session has no rules; give the agent a "
                "permission= to have some, or answer without rules"
            )


def _check_data(results: Iterable[ToolResultBlock]) -> None:
    for result in results:
        for block in result.output:
            if isinstance(block, DataBlock) and isinstance(block.source, Base64Source):
                try:
                    base64.b64decode(block.source.data, validate=True)
                except ValueError as error:
                    raise ResumeError(
                        f"the result of call {result.id!r} has data that are not standard base64: {error}"
                    ) from None


def _whole(event: E) -> E:
    """The event, if it can be stored and sent."""
    try:
        event.model_dump_json()
    except (PydanticSerializationError, ValueError, RecursionError) as error:
        raise ResumeError(
            f"{event.type} holds what JSON cannot: its texts must be valid Unicode, its metadata JSON values"
        ) from error
    return event


def _denial(confirm: ConfirmResult) -> str:
    return (
        "The user denied the tool call." if not confirm.reason else f"The user denied the tool call: {confirm.reason}"
    )
