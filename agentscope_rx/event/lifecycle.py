"""What may follow what: the lifecycle of a reply and of everything in it, written once, as data.

A reply, a model call, a content block, a tool call and a tool result are the *parts* of a stream. Each part has a
key (its id), moves through states by its events, and never opens twice:

    STEPS         event class  -> which part it moves, and how
    TRANSITIONS   part, state, phase -> next state
    RULES         what else must be open or closed when a part moves (law L2)

The fold applies the transitions alone, so that a filtered stream still folds; `Lifecycle`, and with it
`verify_events`, applies the rules too. The diagrams in the documentation are drawn from these tables.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple

from pydantic import BaseModel

from ..errors import MissingStartError, ProtocolError
from ..message import DataBlock, Msg, TextBlock, ThinkingBlock, ToolResultBlock, ToolUseBlock
from .base import BaseEvent
from .types import (
    AgentEndEvent,
    AgentResultEvent,
    AgentStartEvent,
    AllToolsDeniedEvent,
    DataBlockDeltaEvent,
    DataBlockEndEvent,
    DataBlockStartEvent,
    ExceedMaxItersEvent,
    ExternalExecutionResultEvent,
    HintBlockEvent,
    ModelCallEndEvent,
    ModelCallResetEvent,
    ModelCallStartEvent,
    RequireExternalExecutionEvent,
    RequireUserConfirmEvent,
    TextBlockDeltaEvent,
    TextBlockEndEvent,
    TextBlockStartEvent,
    ThinkingBlockDeltaEvent,
    ThinkingBlockEndEvent,
    ThinkingBlockStartEvent,
    ToolCallDeltaEvent,
    ToolCallEndEvent,
    ToolCallStartEvent,
    ToolResultDataDeltaEvent,
    ToolResultEndEvent,
    ToolResultStartEvent,
    ToolResultTextDeltaEvent,
    UserConfirmResultEvent,
    UserInterruptEvent,
)

__all__ = ["BLOCKS", "RULES", "STEPS", "TRANSITIONS", "Lifecycle", "Part", "PartKey", "Phase", "Rule", "State", "Step"]


class Part(StrEnum):
    """What has a lifecycle."""

    REPLY = "reply"
    MODEL_CALL = "model_call"
    TEXT = "text"
    THINKING = "thinking"
    DATA = "data"
    TOOL_CALL = "tool_call"
    TOOL_RESULT = "tool_result"


class State(StrEnum):
    """Where a part stands."""

    NEW = "new"
    OPEN = "open"
    CLOSED = "closed"


class Phase(StrEnum):
    """How an event moves its part."""

    START = "start"
    DELTA = "delta"
    MARK = "mark"
    RESET = "reset"
    END = "end"
    RESUME = "resume"


class Step(NamedTuple):
    """Which part an event moves, how, and which of its fields is the part's key."""

    part: Part
    """The part."""
    phase: Phase
    """How it moves."""
    key: str
    """The field that holds the part's id."""


class PartKey(NamedTuple):
    """One part of one reply."""

    part: Part
    """What it is."""
    id: str
    """Its block id, tool call id, model call id or reply id."""


STEPS: dict[type[BaseEvent], Step] = {
    AgentStartEvent: Step(Part.REPLY, Phase.START, "reply_id"),
    AgentResultEvent: Step(Part.REPLY, Phase.MARK, "reply_id"),
    AgentEndEvent: Step(Part.REPLY, Phase.END, "reply_id"),
    HintBlockEvent: Step(Part.REPLY, Phase.MARK, "reply_id"),
    ExceedMaxItersEvent: Step(Part.REPLY, Phase.MARK, "reply_id"),
    RequireUserConfirmEvent: Step(Part.REPLY, Phase.MARK, "reply_id"),
    RequireExternalExecutionEvent: Step(Part.REPLY, Phase.MARK, "reply_id"),
    UserConfirmResultEvent: Step(Part.REPLY, Phase.MARK, "reply_id"),
    ExternalExecutionResultEvent: Step(Part.REPLY, Phase.MARK, "reply_id"),
    UserInterruptEvent: Step(Part.REPLY, Phase.MARK, "reply_id"),
    AllToolsDeniedEvent: Step(Part.REPLY, Phase.MARK, "reply_id"),
    ModelCallStartEvent: Step(Part.MODEL_CALL, Phase.START, "model_call_id"),
    ModelCallResetEvent: Step(Part.MODEL_CALL, Phase.RESET, "model_call_id"),
    ModelCallEndEvent: Step(Part.MODEL_CALL, Phase.END, "model_call_id"),
    TextBlockStartEvent: Step(Part.TEXT, Phase.START, "block_id"),
    TextBlockDeltaEvent: Step(Part.TEXT, Phase.DELTA, "block_id"),
    TextBlockEndEvent: Step(Part.TEXT, Phase.END, "block_id"),
    ThinkingBlockStartEvent: Step(Part.THINKING, Phase.START, "block_id"),
    ThinkingBlockDeltaEvent: Step(Part.THINKING, Phase.DELTA, "block_id"),
    ThinkingBlockEndEvent: Step(Part.THINKING, Phase.END, "block_id"),
    DataBlockStartEvent: Step(Part.DATA, Phase.START, "block_id"),
    DataBlockDeltaEvent: Step(Part.DATA, Phase.DELTA, "block_id"),
    DataBlockEndEvent: Step(Part.DATA, Phase.END, "block_id"),
    ToolCallStartEvent: Step(Part.TOOL_CALL, Phase.START, "tool_call_id"),
    ToolCallDeltaEvent: Step(Part.TOOL_CALL, Phase.DELTA, "tool_call_id"),
    ToolCallEndEvent: Step(Part.TOOL_CALL, Phase.END, "tool_call_id"),
    ToolResultStartEvent: Step(Part.TOOL_RESULT, Phase.START, "tool_call_id"),
    ToolResultTextDeltaEvent: Step(Part.TOOL_RESULT, Phase.DELTA, "tool_call_id"),
    ToolResultDataDeltaEvent: Step(Part.TOOL_RESULT, Phase.DELTA, "tool_call_id"),
    ToolResultEndEvent: Step(Part.TOOL_RESULT, Phase.END, "tool_call_id"),
}
"""Every event that belongs to a reply. An AGENT_START with `resumed` has the phase RESUME instead."""

_ONCE = {
    State.NEW: {Phase.START: State.OPEN},
    State.OPEN: {Phase.DELTA: State.OPEN, Phase.END: State.CLOSED},
    State.CLOSED: {},
}

TRANSITIONS: dict[Part, dict[State, dict[Phase, State]]] = {
    Part.REPLY: {
        State.NEW: {Phase.START: State.OPEN, Phase.RESUME: State.OPEN},
        State.OPEN: {Phase.MARK: State.OPEN, Phase.END: State.CLOSED},
        State.CLOSED: {Phase.RESUME: State.OPEN},
    },
    Part.MODEL_CALL: {
        State.NEW: {Phase.START: State.OPEN},
        State.OPEN: {Phase.RESET: State.OPEN, Phase.END: State.CLOSED},
        State.CLOSED: {},
    },
    Part.TEXT: _ONCE,
    Part.THINKING: _ONCE,
    Part.DATA: _ONCE,
    Part.TOOL_CALL: _ONCE,
    Part.TOOL_RESULT: _ONCE,
}
"""The next state of a part; what is not here may not happen."""

BLOCKS = (Part.TEXT, Part.THINKING, Part.DATA, Part.TOOL_CALL)
"""What a model call opens and must close."""


@dataclass(frozen=True, slots=True)
class Rule:
    """What must be true of other parts when a part moves."""

    name: str
    """The rule in words; it heads the error."""
    part: Part
    """The part that moves."""
    phase: Phase
    """How it moves."""
    closed: tuple[Part, ...] = ()
    """Parts of which none may be open."""
    open: Part | None = None
    """A part of which one must be open."""
    same_key_closed: Part | None = None
    """A part of which the one with the same key must be closed."""


RULES = (
    Rule("a model call starts after the one before it and its tool results have ended", Part.MODEL_CALL, Phase.START,
         closed=(Part.MODEL_CALL, *BLOCKS, Part.TOOL_RESULT)),
    Rule("blocks close before MODEL_CALL_RESET", Part.MODEL_CALL, Phase.RESET, closed=BLOCKS),
    Rule("blocks close before MODEL_CALL_END", Part.MODEL_CALL, Phase.END, closed=BLOCKS),
    Rule("a tool call is made in a model call", Part.TOOL_CALL, Phase.START, open=Part.MODEL_CALL),
    Rule("a tool call ends before its result starts", Part.TOOL_RESULT, Phase.START, same_key_closed=Part.TOOL_CALL),
    Rule("everything opened is closed before AGENT_END", Part.REPLY, Phase.END,
         closed=(Part.MODEL_CALL, *BLOCKS, Part.TOOL_RESULT)),
)  # fmt: skip
"""Law L2: everything opened is closed, in order."""

_PART_OF_BLOCK: dict[type, Part] = {
    TextBlock: Part.TEXT,
    ThinkingBlock: Part.THINKING,
    DataBlock: Part.DATA,
    ToolUseBlock: Part.TOOL_CALL,
    ToolResultBlock: Part.TOOL_RESULT,
}


def key_of_block(block: BaseModel) -> PartKey | None:
    """Return the part that a block was in its stream; None when it came whole, or from no event."""
    part, id = _PART_OF_BLOCK.get(type(block)), getattr(block, "id", None)
    return None if part is None or id is None else PartKey(part, id)


_RULES: dict[tuple[Part, Phase], Rule] = {(rule.part, rule.phase): rule for rule in RULES}

_EVENT_NAME: dict[tuple[Part, Phase], str] = {(Part.REPLY, Phase.RESUME): "AGENT_START(resumed=True)"}
for _cls, _step in STEPS.items():
    _EVENT_NAME.setdefault((_step.part, _step.phase), str(_cls.model_fields["type"].default))


class Lifecycle:
    """Follows one reply and refuses the first event that breaks the table; a refused event changes nothing."""

    def __init__(self, message: Msg | None = None, opened: Iterable[PartKey] = ()) -> None:
        """Follow a reply from its start, or from where `message` stood with the parts in `opened` open."""
        self._states: dict[PartKey, State] = {}
        self._open: dict[Part, set[str]] = {part: set() for part in Part}
        if message is not None:
            self._seed(message)
        for key in opened:
            self._states[key] = State.OPEN
            self._open[key.part].add(key.id)

    def _seed(self, message: Msg) -> None:
        for block in message.content:
            if (key := key_of_block(block)) is not None:
                self._states[key] = State.CLOSED

    def advance(self, event: BaseEvent) -> None:
        """Let an event happen.

        Raises:
            MissingStartError: a delta or end of something that was never started.
            ProtocolError: any other breach; the message names the rule, the event and what is open.
        """
        step = STEPS.get(type(event))
        if step is None:
            return
        part, phase = step.part, step.phase
        if isinstance(event, AgentStartEvent) and event.resumed:
            phase = Phase.RESUME
        key = PartKey(part, getattr(event, step.key))
        state = self._states.get(key, State.NEW)
        following = TRANSITIONS[part][state].get(phase)
        if following is None:
            raise refusal(event, key, state, self.open)
        if (part, phase) in _RULES:
            self._check(_RULES[part, phase], event, key)
        if part is not Part.REPLY and not self._open[Part.REPLY]:
            raise ProtocolError(f"AGENT_START comes first: got {describe(event)}, expected AGENT_START before it")
        if following is not state:
            self._states[key] = following
            (self._open[part].add if following is State.OPEN else self._open[part].discard)(key.id)
        if phase is Phase.RESUME and isinstance(event, AgentStartEvent) and event.message is not None:
            self._seed(event.message)

    @property
    def open(self) -> tuple[PartKey, ...]:
        """What is open, the reply itself included."""
        return tuple(PartKey(part, key) for part, keys in self._open.items() for key in sorted(keys))

    def _check(self, rule: Rule, event: BaseEvent, key: PartKey) -> None:
        late = [f"{part.value} {other!r}" for part in rule.closed for other in sorted(self._open[part])]
        if late:
            raise ProtocolError(
                f"{rule.name}: got {describe(event)} while these are open: {', '.join(late)}; end them first"
            )
        if rule.open is not None and not self._open[rule.open]:
            raise ProtocolError(f"{rule.name}: got {describe(event)} while no {rule.open.value} is open")
        if rule.same_key_closed is not None:
            state = self._states.get(PartKey(rule.same_key_closed, key.id), State.NEW)
            if state is not State.CLOSED:
                raise ProtocolError(
                    f"{rule.name}: got {describe(event)} while {rule.same_key_closed.value} {key.id!r} is {state.value}"
                )


def describe(event: BaseEvent) -> str:
    """Name an event by its type, key and number, without its content."""
    step = STEPS.get(type(event))
    key = f" {getattr(event, step.key)!r}" if step is not None else ""
    number = f" (seq {event.seq})" if event.seq else ""
    return f"{event.type}{key}{number}"


def refusal(event: BaseEvent, key: PartKey, state: State, opened: tuple[PartKey, ...]) -> ProtocolError:
    """Make the error for an event that its own part cannot take in this state."""
    allowed = [_EVENT_NAME.get((key.part, phase), phase.value.upper()) for phase in TRANSITIONS[key.part][state]]
    now_open = ", ".join(f"{part.value} {id!r}" for part, id in opened) or "nothing"
    error = MissingStartError if state is State.NEW else ProtocolError
    return error(
        f"a {key.part.value} is opened once, before anything else happens to it: got {describe(event)}, but the "
        f"{key.part.value} is {state.value}; open: {now_open}; expected {' or '.join(allowed) or 'nothing more of it'}"
    )
