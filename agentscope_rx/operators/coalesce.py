"""`coalesce`: fewer, longer deltas for a consumer that falls behind."""

from __future__ import annotations

import asyncio
from collections import deque
from typing import Any

from reactivex import Observable, abc
from reactivex.disposable import CompositeDisposable, Disposable, SingleAssignmentDisposable

from ..errors import ConfigurationError
from ..event import AgentEvent
from ..event.lifecycle import STEPS, Phase
from ..stream import Gate, LoopScheduler, attach, call_on
from .operator import Operator

__all__ = ["coalesce"]

_KEY_OF_DELTA = {
    cls: step.key for cls, step in STEPS.items() if step.phase is Phase.DELTA and "delta" in cls.model_fields
}
_LIMIT = 64


def coalesce(max_chars: int = 4096) -> Operator[AgentEvent, AgentEvent]:
    """Join neighbouring deltas of one block while the consumer is behind.

    Emits the events of the source as they come while the consumer keeps up. While it does not (its gate is closed),
    the source goes on, and deltas of text, thinking, tool calls and tool results that follow each other in one block
    become one, with the id, time and number of the last of them; the source is paused when `max_chars` characters or
    64 events wait. No text is lost, and order is kept. Completes and fails with its source, after what waits.

    A log must have every event: never put this before one.

    Raises:
        ConfigurationError: `max_chars` is less than 1.
    """
    if max_chars < 1:
        raise ConfigurationError(f"coalesce takes a max_chars of at least 1: got {max_chars}")

    def operator(source: Observable[AgentEvent]) -> Observable[AgentEvent]:
        def subscribe(
            observer: abc.ObserverBase[AgentEvent], scheduler: abc.SchedulerBase | None = None
        ) -> abc.DisposableBase:
            if not isinstance(scheduler, LoopScheduler):  # nobody says that they are behind
                return source.subscribe(observer, scheduler=scheduler)
            return _Coalescer(observer, scheduler, max_chars).start(source)

        return Observable(subscribe)

    return operator


class _Coalescer:
    """One subscription: what waits for its consumer."""

    def __init__(self, observer: abc.ObserverBase[AgentEvent], scheduler: LoopScheduler, max_chars: int) -> None:
        self._observer = observer
        self._scheduler = scheduler
        self._max_chars = max_chars
        self._gate = Gate()
        self._waiting: deque[_Run] = deque()
        self._chars = 0
        self._ending: tuple[bool, Exception | None] = (False, None)
        self._emptier: asyncio.Task[None] | None = None

    def start(self, source: Observable[AgentEvent]) -> abc.DisposableBase:
        # Upstream sees a gate of our own: it may go on while the consumer's is closed.
        upstream = SingleAssignmentDisposable()
        attach(
            upstream, source, self._on_next, self._on_error, self._on_completed, self._scheduler.with_gate(self._gate)
        )
        return CompositeDisposable(upstream, Disposable(self._stop))

    def _on_next(self, event: Any) -> None:
        if not self._waiting and not self._scheduler.gate.closed:
            self._observer.on_next(event)
            return
        if not (self._waiting and self._waiting[-1].take(event)):
            self._waiting.append(_Run(event))
        self._chars += len(getattr(event, "delta", None) or "")
        if self._chars >= self._max_chars or len(self._waiting) >= _LIMIT:
            self._gate.close()
        self._empty_soon()

    def _on_error(self, error: Exception) -> None:
        self._end(error)

    def _on_completed(self) -> None:
        self._end(None)

    def _end(self, error: Exception | None) -> None:
        self._ending = (True, error)
        if not self._waiting:
            self._tell()

    def _tell(self) -> None:
        ended, error = self._ending
        if not ended:
            return
        if error is None:
            self._observer.on_completed()
        else:
            self._observer.on_error(error)

    def _empty_soon(self) -> None:
        if self._emptier is None:
            self._emptier = self._scheduler.loop.create_task(self._empty())
            self._scheduler.tasks.add(self._emptier)
            self._emptier.add_done_callback(self._scheduler.tasks.discard)

    async def _empty(self) -> None:
        """Give out what waits, whenever the consumer is ready for more."""
        while self._waiting:
            await self._scheduler.gate.wait()
            event = self._waiting.popleft().event()
            self._chars -= len(getattr(event, "delta", None) or "")
            self._observer.on_next(event)
            if self._chars < self._max_chars and len(self._waiting) < _LIMIT:
                self._gate.open()
        self._emptier = None
        self._tell()

    def _stop(self) -> None:
        self._waiting.clear()
        call_on(self._scheduler.loop, self._leave)

    def _leave(self) -> None:
        if self._emptier is not None and self._emptier is not asyncio.current_task():
            self._emptier.cancel()


class _Run:
    """Neighbouring deltas of one block, or one other event."""

    __slots__ = ("_key", "_last", "_pieces")

    def __init__(self, event: Any) -> None:
        self._key = _key(event)
        self._last = event
        self._pieces = [event.delta] if self._key is not None else []

    def take(self, event: Any) -> bool:
        """Take the event, if it goes on with the same block."""
        if self._key is None or _key(event) != self._key:
            return False
        self._pieces.append(event.delta)
        self._last = event
        return True

    def event(self) -> Any:
        """Return the whole as one event."""
        if len(self._pieces) < 2:
            return self._last
        return self._last.model_copy(update={"delta": "".join(self._pieces)})


def _key(event: Any) -> tuple[Any, ...] | None:
    key_field = _KEY_OF_DELTA.get(type(event))
    if key_field is None or event.metadata is not None:
        return None
    return (type(event), event.source, event.reply_id, getattr(event, key_field))
