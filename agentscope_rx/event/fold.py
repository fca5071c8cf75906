"""The fold: a message is what its events add up to (law L3).

`MessageBuilder` takes the events of one reply in the order of their publication and keeps one *slot* for each block
of the message. A slot gathers pieces in a list and joins them when the block is asked for, so n events cost O(n).
Which slot an event moves, and how, is read from the lifecycle table; gaps are legal, because filters make them.

See "Rebuilding messages from the event stream" in "Messages and events" (消息与事件), a page of the AgentScope Java
documentation.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime
from functools import reduce
from operator import add
from typing import Any

from pydantic import Field

from ..errors import MissingStartError, ProtocolError
from ..identity import UtcDatetime
from ..message import (
    AssistantMessage,
    ChatUsage,
    GenerateReason,
    HintBlock,
    Msg,
    ToolCallState,
)
from ..message.frozen import FrozenModel
from .base import BaseEvent
from .lifecycle import STEPS, Part, PartKey, Phase, State, describe, refusal
from .slots import SLOT_OF_PART, CallSlot, ResultSlot, Slot, fixed_slot, restore_slot
from .types import (
    AgentEndEvent,
    AgentResultEvent,
    AgentStartEvent,
    HintBlockEvent,
    ModelCallEndEvent,
    ModelCallStartEvent,
    RequireExternalExecutionEvent,
    RequireUserConfirmEvent,
    UserConfirmResultEvent,
)

__all__ = ["MessageBuilder", "MessageSnapshot", "ModelCallRecord"]

_DELTAS = {cls: step for cls, step in STEPS.items() if step.phase is Phase.DELTA}


class ModelCallRecord(FrozenModel):
    """What the fold knows of one model call."""

    id: str
    """The model call id."""
    started_at: UtcDatetime
    """When it started."""
    first_block: int
    """How many blocks the message had then: what a reset goes back to."""
    ended: bool = False
    """Whether it has ended; the figures below are its own, absolute, None when unknown."""
    usage: ChatUsage = Field(default_factory=ChatUsage)
    """What it cost."""


class MessageSnapshot(FrozenModel):
    """A fold in the middle of a reply: give it to a new `MessageBuilder` and go on with the next event."""

    message: AssistantMessage | None = None
    """The message so far, None before AGENT_START."""
    source: str | None = None
    """The agent whose reply it is: a path, None for the top."""
    last_seq: int = 0
    """The number of the last event that was applied, 0 when none had one."""
    ended: bool = False
    """Whether AGENT_END was applied."""
    open: tuple[PartKey, ...] = ()
    """The blocks and results that are open, in order of their start."""
    model_calls: tuple[ModelCallRecord, ...] = ()
    """The model calls since the reply started or was taken up."""
    earlier_usage: ChatUsage | None = None
    """What the reply had cost before those."""


class MessageBuilder:
    """Folds the events of one reply into its message.

    It binds to the first AGENT_START of its source, or to the reply of its snapshot, and ignores every other reply
    and source, events without a reply, and AGENT_RESULT. An event whose number it has passed changes nothing; one
    without a number is always applied.

    Args:
        snapshot: Where to go on from; None starts afresh.
        source: The agent whose reply is folded: the path of a child, None for the top.

    Raises:
        ProtocolError: the snapshot contradicts itself.
    """

    def __init__(self, snapshot: MessageSnapshot | None = None, *, source: str | None = None) -> None:
        self._source = source
        self._reply_id: str | None = None
        self._name = ""
        self._timestamp: datetime | None = None
        self._slots: list[Slot] = []
        self._by_key: dict[PartKey, Slot] = {}
        self._open: dict[Part, dict[str, Slot]] = {part: {} for part in Part}
        self._growing = {cls: (self._open[step.part], step.key) for cls, step in _DELTAS.items()}
        self._calls: dict[str, ModelCallRecord] = {}
        self._earlier_usage: ChatUsage | None = None
        self._last_seq = 0
        self._ended = False
        self._generate_reason: GenerateReason | None = None
        self._structured_output: dict[str, Any] | None = None
        if snapshot is not None:
            self._restore(snapshot)

    # -------------------------------------------------------------------------------------------- events in

    def apply(self, event: BaseEvent) -> None:
        """Apply one event; O(size of the event).

        Raises:
            MissingStartError: the event goes on with something whose start was never seen.
            RemoteProtocolError: a piece of data is not base64.
            ProtocolError: the event opens or ends something twice.
            After any of them the builder is as it was before.
        """
        growing = self._growing.get(type(event))
        fields = event.__dict__  # once: to get an attribute of a model takes three times as long as to get a key
        if growing is None or fields["reply_id"] != self._reply_id or fields["source"] != self._source or self._ended:
            self._apply_other(event)
            return
        # A stream is mostly deltas of one block: this is the short way, for them.
        seq = fields["seq"]
        if seq and seq <= self._last_seq:
            return
        slots, key_field = growing
        slot = slots.get(fields[key_field])
        if slot is None:
            raise self._refusal(event)
        slot.add(event)
        if seq:
            self._last_seq = seq

    def _apply_other(self, event: BaseEvent) -> None:
        step = STEPS.get(type(event))
        if step is None or event.source != self._source:
            return
        part, phase, key_field = step
        seq = event.seq
        if event.reply_id != self._reply_id:  # type: ignore[attr-defined]
            if self._reply_id is None:
                self._bind(event)
            return
        if seq and seq <= self._last_seq:
            return
        if self._ended and not isinstance(event, AgentStartEvent):
            return
        if part is Part.REPLY:
            self._apply_to_reply(event)
        elif part is Part.MODEL_CALL:
            self._apply_to_model_call(event, phase)
        else:
            self._open_or_close(event, PartKey(part, getattr(event, key_field)), phase)
        if seq:
            self._last_seq = seq

    def _bind(self, event: BaseEvent) -> None:
        if isinstance(event, AgentResultEvent):
            return
        if not isinstance(event, AgentStartEvent):
            raise MissingStartError(f"a fold begins with AGENT_START or a snapshot: got {describe(event)}")
        self._reply_id, self._name, self._timestamp = event.reply_id, event.name, event.created_at
        self._last_seq = event.seq or 0
        if event.resumed and event.message is not None:
            self._take_up(event.message)

    def _take_up(self, message: Msg) -> None:
        self._name, self._timestamp, self._earlier_usage = message.name, message.timestamp, message.usage
        for block in message.content:
            self._append(restore_slot(block))

    def _apply_to_reply(self, event: BaseEvent) -> None:
        if isinstance(event, AgentStartEvent):
            if not event.resumed:
                raise ProtocolError(
                    f"a reply starts once: got {describe(event)}; expected resumed=True or another reply_id"
                )
            self._ended, self._generate_reason, self._structured_output = False, None, None
        elif isinstance(event, AgentEndEvent):
            self._ended = True
            self._generate_reason, self._structured_output = event.generate_reason, event.structured_output
        elif (mark := _MARKS.get(type(event))) is not None:
            mark(self, event)

    def _open_or_close(self, event: BaseEvent, key: PartKey, phase: Phase) -> None:
        if phase is Phase.START:
            if key in self._by_key:
                raise self._refusal(event)
            slot = SLOT_OF_PART[key.part](event)
            self._append(slot)
            self._open[key.part][key.id] = slot
            return
        closing = self._open[key.part].get(key.id)
        if closing is None:
            raise self._refusal(event)
        closing.close(event)
        del self._open[key.part][key.id]
        if isinstance(closing, ResultSlot):
            self._change_call(key.id, state=ToolCallState.FINISHED)

    def _append(self, slot: Slot) -> None:
        self._slots.append(slot)
        if slot.key is not None:
            self._by_key[slot.key] = slot

    # -------------------------------------------------------------------------------------------- model calls

    def _apply_to_model_call(self, event: Any, phase: Phase) -> None:
        record = self._calls.get(event.model_call_id)
        state = State.NEW if record is None else State.CLOSED if record.ended else State.OPEN
        if isinstance(event, ModelCallStartEvent) and record is None:
            self._calls[event.model_call_id] = ModelCallRecord(
                id=event.model_call_id, started_at=event.created_at, first_block=len(self._slots)
            )
        elif isinstance(event, ModelCallEndEvent) and record is not None and not record.ended:
            usage = ChatUsage(
                input_tokens=event.input_tokens,
                output_tokens=event.output_tokens,
                cached_input_tokens=event.cached_input_tokens,
                reasoning_tokens=event.reasoning_tokens,
                total_tokens=_total(event.input_tokens, event.output_tokens),
                time=(event.created_at - record.started_at).total_seconds(),
            )
            self._calls[record.id] = record.model_copy(update={"ended": True, "usage": usage})
        elif phase is Phase.RESET and record is not None and not record.ended:
            self._withdraw(record.first_block)
        else:
            raise refusal(event, PartKey(Part.MODEL_CALL, event.model_call_id), state, self.open)

    def _withdraw(self, first_block: int) -> None:
        """Forget every block since `first_block` but the hints, which are not the model's."""
        kept, withdrawn = self._slots[:first_block], self._slots[first_block:]
        for slot in withdrawn:
            if slot.key is None:
                kept.append(slot)
            else:
                del self._by_key[slot.key]
                self._open[slot.key.part].pop(slot.key.id, None)
        self._slots = kept

    # -------------------------------------------------------------------------------------------- tool calls

    def _change_call(self, call_id: str, **changes: Any) -> None:
        slot = self._by_key.get(PartKey(Part.TOOL_CALL, call_id))
        if isinstance(slot, CallSlot):
            slot.change(**changes)

    def _on_require_confirm(self, event: RequireUserConfirmEvent) -> None:
        for call in event.tool_calls:
            self._change_call(call.id, state=ToolCallState.ASKING, suggested_rules=call.suggested_rules)

    def _on_require_external(self, event: RequireExternalExecutionEvent) -> None:
        for call in event.tool_calls:
            self._change_call(call.id, state=ToolCallState.SUBMITTED)

    def _on_confirmed(self, event: UserConfirmResultEvent) -> None:
        for answer in event.confirm_results:
            if answer.confirmed:
                call = answer.tool_call
                self._change_call(call.id, state=ToolCallState.ALLOWED, input=call.input, raw_input=call.raw_input)

    def _on_hint(self, event: HintBlockEvent) -> None:
        self._append(fixed_slot(HintBlock(id=event.block_id, hint=event.hint, source=event.hint_source)))

    # -------------------------------------------------------------------------------------------- the message out

    @property
    def reply_id(self) -> str | None:
        """The reply that is folded, None before AGENT_START."""
        return self._reply_id

    @property
    def last_seq(self) -> int:
        """The number of the last event that was applied, 0 when none had one."""
        return self._last_seq

    @property
    def ended(self) -> bool:
        """Whether AGENT_END was applied."""
        return self._ended

    @property
    def open(self) -> tuple[PartKey, ...]:
        """The model calls, blocks, tool calls and results that are open, each kind in order of start."""
        calls = tuple(PartKey(Part.MODEL_CALL, record.id) for record in self._calls.values() if not record.ended)
        return calls + self._open_slots()

    def _open_slots(self) -> tuple[PartKey, ...]:
        opened = {PartKey(part, id) for part, slots in self._open.items() for id in slots}
        if not opened:
            return ()
        return tuple(slot.key for slot in self._slots if slot.key is not None and slot.key in opened)

    def message(self) -> AssistantMessage:
        """Return the message as it stands.

        Raises:
            MissingStartError: no AGENT_START has come yet.
        """
        if self._reply_id is None or self._timestamp is None:
            raise MissingStartError("there is no message before AGENT_START")
        return AssistantMessage(
            id=self._reply_id,
            name=self._name,
            timestamp=self._timestamp,
            content=tuple(slot.block() for slot in self._slots),
            usage=self._usage(),
            generate_reason=self._generate_reason,
            structured_output=self._structured_output,
        )

    def _usage(self) -> ChatUsage | None:
        usages = [record.usage for record in self._calls.values() if record.ended]
        if self._earlier_usage is not None:
            usages.insert(0, self._earlier_usage)
        return _sum(usages) if len(usages) > 1 else next(iter(usages), None)

    # -------------------------------------------------------------------------------------------- snapshots

    def snapshot(self) -> MessageSnapshot:
        """Return where the fold stands; a builder made from it goes on as this one would."""
        return MessageSnapshot(
            message=None if self._reply_id is None else self.message(),
            source=self._source,
            last_seq=self._last_seq,
            ended=self._ended,
            open=self._open_slots(),
            model_calls=tuple(self._calls.values()),
            earlier_usage=self._earlier_usage,
        )

    def _restore(self, snapshot: MessageSnapshot) -> None:
        self._source, self._last_seq, self._ended = snapshot.source, snapshot.last_seq, snapshot.ended
        if snapshot.message is None:
            return
        self._reply_id = snapshot.message.id
        self._take_up(snapshot.message)
        self._generate_reason = snapshot.message.generate_reason
        self._structured_output = snapshot.message.structured_output
        self._earlier_usage = snapshot.earlier_usage
        self._calls = {record.id: record for record in snapshot.model_calls}
        for key in snapshot.open:
            slot = self._by_key.get(key)
            if slot is None:
                raise ProtocolError(
                    f"what a snapshot has open is in its message: got {key.part.value} {key.id!r}, which is not; "
                    "expected a snapshot as MessageBuilder made it"
                )
            slot.reopen()
            self._open[key.part][key.id] = slot

    def _refusal(self, event: BaseEvent) -> ProtocolError:
        part, _, key_field = STEPS[type(event)]
        key = PartKey(part, getattr(event, key_field))
        state = State.NEW
        if key in self._by_key:
            state = State.OPEN if key.id in self._open[key.part] else State.CLOSED
        return refusal(event, key, state, self.open)


_MARKS: dict[type[BaseEvent], Callable[[MessageBuilder, Any], None]] = {
    RequireUserConfirmEvent: MessageBuilder._on_require_confirm,
    RequireExternalExecutionEvent: MessageBuilder._on_require_external,
    UserConfirmResultEvent: MessageBuilder._on_confirmed,
    HintBlockEvent: MessageBuilder._on_hint,
}


_COUNTS = tuple(ChatUsage.model_fields)


def _total(input_tokens: int | None, output_tokens: int | None) -> int | None:
    return None if input_tokens is None or output_tokens is None else input_tokens + output_tokens


def _sum(usages: Sequence[ChatUsage]) -> ChatUsage:
    """Add what is known, one after the other: `sum` would round seconds otherwise than a fold that goes on later."""
    told = {name: [count for usage in usages if (count := usage.__dict__[name]) is not None] for name in _COUNTS}
    return ChatUsage(**{name: reduce(add, counts) for name, counts in told.items() if counts})
