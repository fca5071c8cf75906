"""Publication: the last stage of a reply, through which every event goes once.

It numbers the events, folds them into the live message, and makes sure that whoever subscribes sees a lawful stream:
AGENT_RESULT directly before AGENT_END, nothing after it, and an end even where the stages before gave none.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from reactivex import Observable, abc

from ..errors import AgentScopeError, LocalProtocolError, MiddlewareError, ProtocolError
from ..event import (
    AgentEndEvent,
    AgentErrorInfo,
    AgentEvent,
    AgentResultEvent,
    AgentStartEvent,
    BaseEvent,
    FinishReason,
    MessageBuilder,
    ModelCallEndEvent,
    RequestStopEvent,
    ToolCallStartEvent,
)
from ..event.lifecycle import describe
from ..identity import new_id, now
from ..message import GenerateReason, Msg, ToolUseBlock
from .closing import FAILED, INTERRUPTED, closing_events

__all__ = ["Publication"]


class Publication:
    """The published side of one reply: its number, its live message, and what the loop must know of it."""

    def __init__(self, start: AgentStartEvent, last_seq: int = 0, *, synchronous: str = "") -> None:
        """Publish the reply that `start` begins.

        Args:
            start: Its first event; published even when the stages before fail to give it.
            last_seq: The number of its last event, when it goes on after a pause.
            synchronous: The middlewares that must pass an event on while it is emitted; "" when there are none.
        """
        self.reply_id = start.reply_id
        """The reply."""
        self._start = start
        self._synchronous = synchronous
        self._emitting = not synchronous
        self.builder = MessageBuilder()
        """The live message: the fold of what was published."""
        self.finish_reason = FinishReason.UNKNOWN
        """Why the last model call ended."""
        self.call_ids = set() if start.message is None else _call_ids(start.message)
        """The ids of all tool calls so far, those that were withdrawn included."""
        self.stop: RequestStopEvent | None = None
        """The first request to stop."""
        self._seq = last_seq
        self._ended = False

    def watch(self, source: Observable[AgentEvent]) -> Observable[AgentEvent]:
        """Pass on what the loop emits, below the `on_agent` middlewares, and remember while it does.

        A fresh event that is published at another time has been delayed: the loop has gone on without it.
        """
        if not self._synchronous:
            return source

        def subscribe(
            observer: abc.ObserverBase[AgentEvent], scheduler: abc.SchedulerBase | None = None
        ) -> abc.DisposableBase:
            def on_next(event: AgentEvent) -> None:
                self._emitting = True
                try:
                    observer.on_next(event)
                finally:
                    self._emitting = False

            return source.subscribe(on_next, observer.on_error, observer.on_completed, scheduler=scheduler)

        return Observable(subscribe)

    def publish(self, source: Observable[AgentEvent]) -> Observable[AgentEvent]:
        """Publish the events of a reply.

        Emits every event of the source, numbered, and AGENT_RESULT before AGENT_END. When the source fails or
        completes before AGENT_END, what is open is closed and AGENT_END comes first. Disposing publishes nothing more,
        but the live message is closed all the same, as interrupted.

        Raises:
            LocalProtocolError: as on_error, when an event breaks the lifecycle or comes after AGENT_END.
        """

        def subscribe(
            observer: abc.ObserverBase[AgentEvent], scheduler: abc.SchedulerBase | None = None
        ) -> abc.DisposableBase:
            hears = True

            def emit(event: AgentEvent) -> None:
                """Emit to a subscriber that has not raised: one that has is told of the error, and nothing more."""
                nonlocal hears
                if hears:
                    try:
                        observer.on_next(event)
                    except BaseException:
                        hears = False
                        raise

            def on_next(event: AgentEvent) -> None:
                try:
                    if self._ended:
                        raise LocalProtocolError(f"AGENT_END comes last: got {describe(event)} after it")
                    if not self._emitting and event.seq == 0:
                        raise LocalProtocolError(
                            f"{self._synchronous} delayed {describe(event)}: on_agent passes an event on, or drops "
                            "it, before its on_next returns; use on_reasoning or on_acting for asynchronous work"
                        )
                    if type(event) is AgentEndEvent and event.source is None:
                        if left := self.builder.open:
                            raise LocalProtocolError(f"everything is closed before AGENT_END: {left[0].id!r} is open")
                        self._end(event, emit)
                        return
                    event = self._accept(event)
                except ProtocolError as error:
                    on_error(_blame(error))
                    return
                except AttributeError as error:
                    if isinstance(event, BaseEvent):
                        raise
                    on_error(_no_event(event, error))
                    return
                emit(event)

            def on_error(error: Exception) -> None:
                error = self._typed(error)
                end = AgentEndEvent(**self._ending(FAILED.generate_reason), error=_describe(error))
                try:
                    self._close(end, emit)
                finally:
                    observer.on_error(error)

            def on_completed() -> None:
                try:
                    self._close(AgentEndEvent(**self._ending(GenerateReason.MODEL_STOP)), emit)
                except Exception as error:
                    observer.on_error(error)
                else:
                    observer.on_completed()

            return source.subscribe(on_next, on_error, on_completed, scheduler=scheduler)

        return Observable(subscribe)

    def settle(self) -> None:
        """Close the live message of a reply that nobody follows any more, as interrupted; emits nothing."""
        if self.builder.reply_id is None:
            return
        self._close(AgentEndEvent(**self._ending(INTERRUPTED.generate_reason)), lambda event: None)

    def _close(self, end: AgentEndEvent, emit: Callable[[AgentEvent], Any]) -> None:
        if self.builder.ended:
            return
        if self.builder.reply_id is None:
            emit(self._accept(self._start))
        closing = INTERRUPTED if end.generate_reason is INTERRUPTED.generate_reason else FAILED
        for event in closing_events(self.builder, closing):
            emit(self._accept(event))
        self._end(end, emit)

    def _end(self, end: AgentEndEvent, emit: Callable[[AgentEvent], Any]) -> None:
        ending = {"generate_reason": end.generate_reason, "structured_output": end.structured_output}
        result = self.builder.message().model_copy(update=ending)
        emit(self._accept(AgentResultEvent(reply_id=self.reply_id, result=result, seq=0)))
        # Made before AGENT_RESULT, published after it: its id and time shall say so.
        emit(self._accept(end.model_copy(update={"id": new_id(), "created_at": now(), "seq": 0})))
        self._ended = True

    def _accept(self, event: AgentEvent) -> AgentEvent:
        fields = event.__dict__  # once: to get an attribute of a model takes three times as long as to get a key
        if fields["source"] is None:
            number = self._seq + 1
            if fields["seq"] == 0:
                # Fresh, and nobody's but ours: stamping it costs a hundredth of a copy.
                fields["seq"] = number  # pyright: ignore[reportIndexIssue] - a model has a dict of its own
            else:
                if fields.get("reply_id", self.reply_id) != self.reply_id:
                    raise LocalProtocolError(
                        f"all events of a reply have its id, {self.reply_id!r}: got {describe(event)} of "
                        f"{fields['reply_id']!r}; an event of another agent has a source"
                    )
                event = event.model_copy(update={"seq": number, "id": new_id()})
            self.builder.apply(event)
            self._seq = number
        note = _NOTES.get(type(event))
        if note is not None:
            note(self, event)
        return event

    def _ending(self, reason: GenerateReason) -> dict[str, Any]:
        return {"reply_id": self.reply_id, "generate_reason": reason, "seq": 0}

    def _typed(self, error: Exception) -> Exception:
        """The loop fails with typed errors alone (an AssertionError is a test double's): others are `on_agent`'s."""
        if not self._synchronous or isinstance(error, AgentScopeError | AssertionError):
            return error
        blamed = MiddlewareError(f"one of {self._synchronous} failed with {type(error).__name__}")
        blamed.__cause__ = error
        return blamed

    def _note_model_call(self, event: ModelCallEndEvent) -> None:
        if event.source is None:
            self.finish_reason = event.finish_reason

    def _note_call(self, event: ToolCallStartEvent) -> None:
        if event.source is None:
            self.call_ids.add(event.tool_call_id)

    def _note_stop(self, event: RequestStopEvent) -> None:
        if event.source is None and self.stop is None:
            self.stop = event


_NOTES: dict[type, Callable[[Publication, Any], None]] = {
    ModelCallEndEvent: Publication._note_model_call,
    ToolCallStartEvent: Publication._note_call,
    RequestStopEvent: Publication._note_stop,
}


def _call_ids(message: Msg) -> set[str]:
    return {block.id for block in message.get_content_blocks(ToolUseBlock)}


def _blame(error: ProtocolError) -> LocalProtocolError:
    """Whoever put the event into the stream is in this process."""
    if isinstance(error, LocalProtocolError):
        return error
    blamed = LocalProtocolError(f"a stage of the agent, or a middleware, broke the stream: {error}")
    blamed.__cause__ = error
    return blamed


def _no_event(item: object, error: Exception) -> LocalProtocolError:
    blamed = LocalProtocolError(f"a middleware emits events: got {type(item).__name__}")
    blamed.__cause__ = error
    return blamed


def _describe(error: Exception) -> AgentErrorInfo:
    """Say what happened; the text of an error that is not ours could hold anything and stays out."""
    own = isinstance(error, AgentScopeError)
    return AgentErrorInfo(type=type(error).__name__, message=str(error) if own else "an unexpected error")
