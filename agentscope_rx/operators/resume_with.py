"""`resume_with`: when a reply pauses, ask, and go on in the same stream."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Generator, Iterable
from inspect import isawaitable
from typing import Any, Protocol, TypeAlias

from reactivex import Observable, abc, operators as ops

from ..errors import ConfigurationError
from ..event import (
    AgentEndEvent,
    AgentEvent,
    AgentStartEvent,
    ConfirmResult,
    ExternalExecutionResultEvent,
    RequireExternalExecutionEvent,
    RequireUserConfirmEvent,
    UserConfirmResultEvent,
    UserInterruptEvent,
)
from ..message import GenerateReason, ToolResultBlock
from ..stream import concat_stages, from_async_iterable
from .operator import Operator

__all__ = ["PauseAnswer", "PauseHandler", "PauseQuestion", "Resumable", "resume_with"]

PauseQuestion: TypeAlias = (
    RequireUserConfirmEvent
    | RequireExternalExecutionEvent
    | tuple[RequireUserConfirmEvent, RequireExternalExecutionEvent]
)
"""What a paused reply waits for: one event, or both kinds at once."""

_Event: TypeAlias = UserConfirmResultEvent | ExternalExecutionResultEvent | UserInterruptEvent
_Part: TypeAlias = ConfirmResult | ToolResultBlock | _Event

PauseAnswer: TypeAlias = bool | _Part | Iterable[_Part] | None
"""What a handler may say: yes or no to every call, answers to single calls, answer events, or None for no answer."""

PauseHandler: TypeAlias = Callable[[Any], PauseAnswer | Awaitable[PauseAnswer]]
"""Is given a `PauseQuestion`, and returns a `PauseAnswer` or awaits one."""

_WAITS = {GenerateReason.PERMISSION_ASKING, GenerateReason.TOOL_SUSPENDED}
"""Reasons of a pause that an answer ends; one that a middleware asked for is to stay."""


class Resumable(Protocol):
    """An agent whose paused reply can go on."""

    def stream_events(self, input: Any = None, context: Any = None) -> Observable[AgentEvent]:
        """Go on with the answers in `input`."""
        ...


def resume_with(agent: Resumable, handler: PauseHandler, context: Any = None) -> Operator[AgentEvent, AgentEvent]:
    """When the reply pauses, ask `handler` what it waits for, and go on with the answer in the same stream.

    Emits the events of the source and of every resumed run, in order: the AGENT_END of a pause and the
    AGENT_START(resumed=True) after it stay in. Any number of pauses; what an answer leaves open is asked again.
    Completes when a run ends that has not paused, or when the handler has no answer: the reply then stays paused.
    Children of the agent are not asked for.

    ```python
    agent.stream_events("Clean up").pipe(resume_with(agent, lambda question: ask(question.tool_calls))).run()
    ```

    Args:
        agent: Whose events these are.
        handler: A function or a coroutine function. It is given the REQUIRE event, or a tuple of the two when people
            and the outside are waited for, and returns

            * True or False: yes or no to every call that waits for a person;
            * `ConfirmResult` or `ToolResultBlock` objects, one or several;
            * UserConfirmResultEvent, ExternalExecutionResultEvent or UserInterruptEvent, one or several;
            * None, or nothing in a list: no answer.

            A plain function is called in the thread of the stream, which stands still meanwhile.
        context: The session of the call; the same as that of the source.

    Raises:
        ConfigurationError: as on_error, when the handler returns something else.
        ResumeError: as on_error, when an answer does not fit; what the handler raises comes as on_error too.
    """

    def operator(source: Observable[AgentEvent]) -> Observable[AgentEvent]:
        def runs() -> Generator[Observable[AgentEvent], Any, None]:
            run = source
            while True:
                pause = _Pause(handler)
                yield run.pipe(ops.do_action(pause.watch))
                if not pause.waiting:
                    return
                yield from_async_iterable(pause.ask)
                if not pause.answers:
                    return
                run = agent.stream_events(pause.answers, context)

        def subscribe(
            observer: abc.ObserverBase[AgentEvent], scheduler: abc.SchedulerBase | None = None
        ) -> abc.DisposableBase:
            return concat_stages(runs).subscribe(observer, scheduler=scheduler)

        return Observable(subscribe)

    return operator


class _Pause:
    """What one run waits for at its end, and what was said to that."""

    def __init__(self, handler: PauseHandler) -> None:
        self._handler = handler
        self._confirm: RequireUserConfirmEvent | None = None
        self._external: RequireExternalExecutionEvent | None = None
        self.waiting = False
        self.answers: list[_Event] = []

    def watch(self, event: AgentEvent) -> None:
        if event.source is not None:
            return
        match event:
            case AgentStartEvent():
                self._confirm = self._external = None
            case RequireUserConfirmEvent():
                self._confirm = event
            case RequireExternalExecutionEvent():
                self._external = event
            case AgentEndEvent():
                self.waiting = event.generate_reason in _WAITS and bool(self._confirm or self._external)

    async def ask(self) -> AsyncIterator[AgentEvent]:
        """Ask the handler; emits nothing."""
        question = tuple(filter(None, (self._confirm, self._external)))
        answer = self._handler(question if len(question) == 2 else question[0])
        self.answers = self._read(await answer if isawaitable(answer) else answer)
        return
        yield

    def _read(self, answer: Any) -> list[_Event]:
        if answer is None:
            return []
        if isinstance(answer, bool):
            return self._read(self._to_all(answer))
        parts = list(answer) if isinstance(answer, list | tuple) else [answer]
        confirms = tuple(part for part in parts if isinstance(part, ConfirmResult))
        results = tuple(part for part in parts if isinstance(part, ToolResultBlock))
        events = [part for part in parts if isinstance(part, _Event)]
        if len(confirms) + len(results) + len(events) < len(parts):
            raise ConfigurationError(
                "the handler of resume_with() returns a bool, ConfirmResults, ToolResultBlocks, answer events or None: "
                f"got {', '.join(sorted({type(part).__name__ for part in parts}))}"
            )
        if confirms:
            events.append(UserConfirmResultEvent(reply_id="", confirm_results=confirms))
        if results:
            events.append(ExternalExecutionResultEvent(reply_id="", tool_results=results))
        return events

    def _to_all(self, confirmed: bool) -> list[ConfirmResult]:
        if self._confirm is None:
            raise ConfigurationError(
                "the reply waits for the results of external tools: the handler of resume_with() returns "
                f"ToolResultBlocks then, not {confirmed}"
            )
        return [ConfirmResult(confirmed=confirmed, tool_call=call) for call in self._confirm.tool_calls]
