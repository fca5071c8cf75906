"""What has come out of one reply so far: numbers, ids, and what is open. It knows the lifecycle table, no habits."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from datetime import datetime
from typing import Any, TypeVar

from ...identity import now
from ...message import Msg
from ..base import BaseEvent
from ..fold import MessageBuilder
from ..lifecycle import BLOCKS, RULES, STEPS, Part, PartKey, Phase, key_of_block
from ..types import (
    DataBlockEndEvent,
    DataBlockStartEvent,
    ModelCallEndEvent,
    ModelCallStartEvent,
    TextBlockEndEvent,
    TextBlockStartEvent,
    ThinkingBlockEndEvent,
    ThinkingBlockStartEvent,
    ToolCallEndEvent,
    ToolCallStartEvent,
    ToolResultEndEvent,
    ToolResultStartEvent,
)
from .calls import NO_RESULT

__all__ = ["Track"]

E = TypeVar("E", bound=BaseEvent)

_RULES = {(rule.part, rule.phase): rule for rule in RULES}
_INSIDE_OUT = (BLOCKS, (Part.MODEL_CALL,), (Part.TOOL_RESULT,))

_START: dict[Part, type[Any]] = {
    Part.TEXT: TextBlockStartEvent,
    Part.THINKING: ThinkingBlockStartEvent,
    Part.DATA: DataBlockStartEvent,
    Part.TOOL_CALL: ToolCallStartEvent,
    Part.MODEL_CALL: ModelCallStartEvent,
    Part.TOOL_RESULT: ToolResultStartEvent,
}
_END: dict[Part, type[Any]] = {
    Part.TEXT: TextBlockEndEvent,
    Part.THINKING: ThinkingBlockEndEvent,
    Part.DATA: DataBlockEndEvent,
    Part.TOOL_CALL: ToolCallEndEvent,
    Part.MODEL_CALL: ModelCallEndEvent,
    Part.TOOL_RESULT: ToolResultEndEvent,
}


class Track:
    """The lawful side of one reply.

    Args:
        reply_id: Its id.
        source: The agent whose reply it is, None for the top.
        send: Takes the events, in order.
    """

    def __init__(self, reply_id: str, source: str | None, send: Callable[[Any], None]) -> None:
        self.reply_id = reply_id
        """Its id."""
        self.builder = MessageBuilder(source=source)
        """The fold of what was sent."""
        self.numbered = False
        """Whether the events came with numbers, which are kept."""
        self.moment: datetime = now()
        """The time of the event that is dealt with; what is made up for it happens at the same time."""
        self.cut = NO_RESULT
        """How that ends which nothing else ends."""
        self.last_seq = 0
        """The number of the last event."""
        self.source = source
        """The agent whose reply it is, None for the top."""
        self._send = send
        self._open: dict[PartKey, BaseEvent | None] = {}  # in order of START, with the END that is held back
        self._open_ids: dict[Part, dict[str, None]] = {part: {} for part in Part}  # the same, kind by kind
        self._used: set[PartKey] = set()
        self._ids: dict[tuple[Part, str], str] = {}
        self._uses: Counter[tuple[Part, str]] = Counter()

    # ---------------------------------------------------------------------------------------------- out

    def make(self, cls: type[E], **fields: Any) -> E:
        """Make an event of this reply."""
        return cls(**{"reply_id": self.reply_id, "source": self.source, "created_at": self.moment, **fields})

    def send(self, event: Any, **changes: Any) -> None:
        """Send an event of this reply, with changes.

        It was read or made for this stream and is nobody else's, so it is changed in place: a copy costs more than
        all the rest.
        """
        for field, value in {"reply_id": self.reply_id, **changes}.items():
            object.__setattr__(event, field, value)
        self.pass_on(event)
        part, phase, key_field = STEPS[type(event)]
        if part is Part.REPLY:
            return
        key = PartKey(part, getattr(event, key_field))
        if phase is Phase.START:
            self._open[key] = self._open_ids[part][key.id] = None
            self._used.add(key)
        elif phase is Phase.END:
            del self._open[key], self._open_ids[part][key.id]

    def pass_on(self, event: Any) -> None:
        """Send an event as it is, numbered."""
        seq = event.seq if self.numbered else self.last_seq + 1
        object.__setattr__(event, "seq", seq)
        self.builder.apply(event)
        self.last_seq = seq or self.last_seq
        self._send(event)

    def remember(self, message: Msg) -> None:
        """Take what a message holds for what came before."""
        for block in message.content:
            if (key := key_of_block(block)) is not None:
                self._used.add(key)
                self._uses[key.part, key.id] += 1
                self._ids[key.part, key.id] = key.id

    # ---------------------------------------------------------------------------------------------- ids

    def rename(self, part: Part, id: str) -> str:
        """Return the id of a new part that came as `id`: that, or with `~2`, `~3`, … if it was used before."""
        self._uses[part, id] += 1
        fresh = id if self._uses[part, id] == 1 else f"{id}~{self._uses[part, id]}"
        if PartKey(part, fresh) in self._used:
            return self.rename(part, id)
        self._ids[part, id] = fresh
        return fresh

    def know(self, part: Part, id: str, as_id: str) -> None:
        """From now on, what comes as `id` is `as_id`."""
        self._ids[part, id] = as_id

    def id_of(self, part: Part, id: str) -> str | None:
        """Return what the part that comes as `id` is called now, None when none has come."""
        return self._ids.get((part, id))

    # ---------------------------------------------------------------------------------------------- open and closed

    def is_open(self, part: Part, id: str) -> bool:
        """Tell whether a part is open."""
        return PartKey(part, id) in self._open

    def open_as(self, part: Part, id: str) -> str | None:
        """Return what the open part that comes as `id` is called, None when none is open."""
        own = self._ids.get((part, id))
        return own if own is not None and self.is_open(part, own) else None

    def is_used(self, part: Part, id: str) -> bool:
        """Tell whether a part is or was open."""
        return PartKey(part, id) in self._used

    def opened(self, *parts: Part) -> Iterator[str]:
        """Yield the ids of what is open, in order of start."""
        yield from [key.id for key in self._opened(parts)]

    def last_opened(self, part: Part) -> str | None:
        """Return the id of the open part that started last, None when none is open."""
        return next(reversed(self._open_ids[part]), None)

    def _opened(self, parts: Iterable[Part]) -> list[PartKey]:
        kinds = [part for part in parts if self._open_ids[part]]
        if len(kinds) > 1:
            return [key for key in self._open if key.part in kinds]
        return [PartKey(part, id) for part in kinds for id in self._open_ids[part]]

    @property
    def is_idle(self) -> bool:
        """Whether nothing is open but the reply."""
        return not self._open

    def make_way(self, part: Part, phase: Phase, id: str) -> None:
        """End what must have ended before this part may move, and open a model call if it needs one."""
        rule = _RULES.get((part, phase))
        if rule is None:
            return
        self.end_all(rule.closed)
        if rule.open is Part.MODEL_CALL and not self._open_ids[Part.MODEL_CALL]:
            self.open(Part.MODEL_CALL, self.rename(Part.MODEL_CALL, self.reply_id), model_name="")
        if rule.same_key_closed is not None and self.is_open(rule.same_key_closed, id):
            self.end(rule.same_key_closed, id)

    def open(self, part: Part, id: str, **fields: Any) -> None:
        """Open a part that its stream did not."""
        self.make_way(part, Phase.START, id)
        self.send(self.make(_START[part], **{_key(part): id}, **fields))

    def end_later(self, part: Part, id: str, event: BaseEvent | None) -> None:
        """Hold an END back until something needs it; None forgets it."""
        self._open[PartKey(part, id)] = event

    def end(self, part: Part, id: str) -> None:
        """End a part, by the END that was held back if there is one."""
        held = self._open[PartKey(part, id)]
        if held is not None:
            self.send(held, **{_key(part): id})
            return
        how: dict[Part, dict[str, Any]] = {
            Part.MODEL_CALL: {"finish_reason": self.cut.finish_reason},
            Part.TOOL_RESULT: {"state": self.cut.result.state},
        }
        self.send(self.make(_END[part], **{_key(part): id}, **how.get(part, {})))

    def end_all(self, parts: Iterable[Part]) -> None:
        """End all parts of these kinds, in order of start: blocks, model calls, results."""
        for group in _INSIDE_OUT:
            for key in self._opened([part for part in group if part in parts]):
                self.end(key.part, key.id)


def _key(part: Part) -> str:
    return STEPS[_START[part]].key
