"""`group_by_block`: one Observable for each block of a stream."""

from __future__ import annotations

import weakref
from typing import Any, NamedTuple

from reactivex import Observable, abc
from reactivex.disposable import Disposable

from ..errors import ConfigurationError, StreamCancelled
from ..event import AgentEvent, HintBlockEvent, Part
from ..event.lifecycle import STEPS, Phase
from ..stream import Stream
from .operator import Operator

__all__ = ["BlockKey", "BlockStream", "group_by_block"]


class _Move(NamedTuple):
    """What an event does to the block it is of."""

    kind: str
    key: str
    opens: bool
    closes: bool


_MOVES: dict[type, _Move] = {
    cls: _Move(step.part.value, step.key, step.phase is Phase.START, step.phase is Phase.END)
    for cls, step in STEPS.items()
    if step.part not in (Part.REPLY, Part.MODEL_CALL)
}
_MOVES[HintBlockEvent] = _Move("hint", "block_id", opens=True, closes=True)


class BlockKey(NamedTuple):
    """Which block it is."""

    reply_id: str
    """The reply."""
    kind: str
    """`text`, `thinking`, `data`, `tool_call`, `tool_result` or `hint`."""
    block_id: str
    """The block; of a tool call or result, the id of the call."""


class _Channel:
    """The way of one block's events from the operator to the one subscriber, who may come late."""

    __slots__ = ("__weakref__", "_buffer", "_keep", "_observer", "_settled", "_taken")

    def __init__(self, keep: set[_Channel]) -> None:
        self._keep = keep  # the subscribed channels of one subscription: what nobody holds is not kept, nor filled
        self._buffer: list[Any] = []
        self._observer: abc.ObserverBase[Any] | None = None
        self._taken = False
        self._settled: tuple[bool, Exception | None] = (False, None)

    def connect(self, observer: abc.ObserverBase[Any]) -> abc.DisposableBase:
        if self._taken:
            observer.on_error(
                ConfigurationError("a BlockStream has one subscriber, this is a second; put ops.share() in between")
            )
            return Disposable()
        self._taken, self._observer = True, observer
        self._keep.add(self)
        waiting, self._buffer = self._buffer, []
        for event in waiting:
            observer.on_next(event)
        if self._settled[0]:
            self._tell()
        return Disposable(self._leave)

    def push(self, event: Any) -> None:
        if self._observer is not None:
            self._observer.on_next(event)
        elif not self._taken:
            self._buffer.append(event)

    def settle(self, error: Exception | None) -> None:
        self._settled = (True, error)
        self._tell()

    def _tell(self) -> None:
        observer, error = self._observer, self._settled[1]
        if observer is None:
            return
        self._leave()
        if error is None:
            observer.on_completed()
        else:
            observer.on_error(error)

    def _leave(self) -> None:
        self._observer = None
        self._keep.discard(self)


class BlockStream(Stream[AgentEvent]):
    """The events of one block, START to END; it has one subscriber, who may come late and still gets them all."""

    def __init__(self, key: BlockKey, start: AgentEvent, channel: _Channel) -> None:
        def subscribe(
            observer: abc.ObserverBase[AgentEvent], scheduler: abc.SchedulerBase | None = None
        ) -> abc.DisposableBase:
            return channel.connect(observer)

        super().__init__(Observable(subscribe))
        self.key = key
        """Which block it is."""
        self.start = start
        """The event that opened it."""

    def __repr__(self) -> str:
        return f"BlockStream({self.key.kind}, {self.key.block_id!r})"


def group_by_block() -> Operator[AgentEvent, BlockStream]:
    """Split a stream into its blocks.

    Emits a `BlockStream` at every START of a text, thinking, data, tool call or tool result block, and for every
    hint. A `BlockStream` emits the block's events from START to END and completes. Events outside blocks are dropped.
    A START of a block that is open already, as after a reconnect, completes its `BlockStream` and begins another one.
    A block buffers its own events until it is subscribed to, and nothing once nobody holds it. Completes with its
    source; an error of the source reaches the open blocks too, and disposing of this stream ends them with
    `StreamCancelled`.
    """

    def operator(source: Observable[AgentEvent]) -> Observable[BlockStream]:
        def subscribe(
            observer: abc.ObserverBase[BlockStream], scheduler: abc.SchedulerBase | None = None
        ) -> abc.DisposableBase:
            subscribed: set[_Channel] = set()
            open_blocks: dict[BlockKey, weakref.ref[_Channel]] = {}

            def begin(key: BlockKey) -> _Channel:
                replaced, channel = find(key), _Channel(subscribed)
                open_blocks[key] = weakref.ref(channel)
                if replaced is not None:
                    replaced.settle(None)
                return channel

            def find(key: BlockKey) -> _Channel | None:
                held = open_blocks.get(key)
                return None if held is None else held()

            def on_next(event: Any) -> None:
                move = _MOVES.get(type(event))
                if move is None:
                    return
                key = BlockKey(event.reply_id, move.kind, getattr(event, move.key))
                channel = begin(key) if move.opens else find(key)
                if move.closes:
                    open_blocks.pop(key, None)
                if channel is None:
                    return
                channel.push(event)
                if move.closes:
                    channel.settle(None)
                if move.opens:  # last, because the subscriber may dispose of everything in here
                    observer.on_next(BlockStream(key, event, channel))

            def settle_all(error: Exception | None) -> None:
                channels = [channel for held in open_blocks.values() if (channel := held()) is not None]
                open_blocks.clear()
                for channel in channels:
                    channel.settle(error)

            def on_error(error: Exception) -> None:
                settle_all(error)
                observer.on_error(error)

            def on_completed() -> None:
                settle_all(None)
                observer.on_completed()

            subscription = source.subscribe(on_next, on_error, on_completed, scheduler=scheduler)

            def dispose() -> None:
                subscription.dispose()
                settle_all(StreamCancelled("the stream that this block is part of was disposed of"))

            return Disposable(dispose)

        return Observable(subscribe)

    return operator
