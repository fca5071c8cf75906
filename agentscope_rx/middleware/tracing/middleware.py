"""The middleware that records spans around the stages."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, ClassVar

from reactivex import Observable, abc
from reactivex.disposable import CompositeDisposable, Disposable

from ...context import RuntimeContext
from ...errors import MissingExtraError
from ...event import AgentEvent
from ...state import AgentState
from ..base import AgentCallInput, AgentLike, Middleware, ModelCallInput, Next, ToolCallInput
from .spans import AgentSpan, ChatSpan, StageSpan, ToolSpan, known

if TYPE_CHECKING:
    from opentelemetry.trace import Span, Tracer, TracerProvider

__all__ = ["Tracing"]


class Tracing(Middleware):
    """Records a span for every run of an agent, every model call and every tool call.

    `invoke_agent {agent}` is the parent of its `chat {model}` and `execute_tool {tool}` spans, and a child of whatever
    span is current where the stream is subscribed to. What a model's HTTP client or a tool records is a child of the
    call's span, a nested agent's run too; a subscriber never sees a span of ours as the current one. A span ends with
    its stage, also when the stream is disposed of. It is the innermost middleware: each try of a fallback model has a
    span of its own.

    Spans hold names, ids, numbers, reasons and types of errors; what was said is not in them unless `capture_content`.

    Args:
        tracer_provider: Where the spans go; the global one of OpenTelemetry when None.
        capture_content: Whether spans hold the messages, the instructions, the definitions of the tools, and the
            arguments and results of tool calls.

    Raises:
        MissingExtraError: the extra `otel` is not installed.
    """

    order: ClassVar[int] = -100

    def __init__(self, tracer_provider: TracerProvider | None = None, *, capture_content: bool = False) -> None:
        try:
            from opentelemetry import context as current, trace
        except ImportError as error:
            raise MissingExtraError("Tracing", 'pip install "agentscope-rx[otel]"') from error
        self._trace, self._current = trace, current
        self._tracer: Tracer = trace.get_tracer("agentscope_rx", tracer_provider=tracer_provider)
        self._capture = capture_content
        self._run = f"span of {id(self)}"

    def on_agent(
        self, agent: AgentLike, context: RuntimeContext, input: AgentCallInput, next: Next[AgentCallInput]
    ) -> Observable[AgentEvent]:
        """Record a span `invoke_agent`."""

        def begin() -> StageSpan:
            attributes = AgentSpan.attributes(agent.name, _session(context))
            span = self._tracer.start_span(f"invoke_agent {agent.name}", attributes=known(attributes))
            context.put(self._run, self._trace.set_span_in_context(span))
            return AgentSpan(span)

        return self._subscribers_own(self._recorded(next(input), begin))

    def on_model_call(
        self, agent: AgentLike, context: RuntimeContext, input: ModelCallInput, next: Next[ModelCallInput]
    ) -> Observable[AgentEvent]:
        """Record a span `chat`."""

        def begin() -> StageSpan:
            attributes = ChatSpan.attributes(input, self._capture)
            kind = self._trace.SpanKind.CLIENT
            return ChatSpan(
                self._start(f"chat {input.model.model_name}", agent, context, attributes, kind=kind), self._capture
            )

        return self._recorded(next(input), begin)

    def on_tool_call(
        self, agent: AgentLike, context: RuntimeContext, input: ToolCallInput, next: Next[ToolCallInput]
    ) -> Observable[AgentEvent]:
        """Record a span `execute_tool`."""

        def begin() -> StageSpan:
            attributes = ToolSpan.attributes(input, self._capture)
            return ToolSpan(
                self._start(f"execute_tool {input.tool_call.name}", agent, context, attributes), self._capture
            )

        return self._recorded(next(input), begin)

    def _start(
        self, name: str, agent: AgentLike, context: RuntimeContext, attributes: Mapping[str, Any], **kind: Any
    ) -> Span:
        """Start a span within that of the run."""
        shared = {"gen_ai.agent.name": agent.name, "gen_ai.conversation.id": _session(context)}
        return self._tracer.start_span(
            name, context=context.get(self._run), attributes=known({**attributes, **shared}), **kind
        )

    def _recorded(self, stage: Observable[AgentEvent], begin: Callable[[], StageSpan]) -> Observable[AgentEvent]:
        """Record a stage. Its span is current while the stage starts, so in the tasks that do its work."""

        def subscribe(
            observer: abc.ObserverBase[AgentEvent], scheduler: abc.SchedulerBase | None = None
        ) -> abc.DisposableBase:
            recorder = begin()
            note, ignored = recorder.note, recorder.ignored

            def on_next(event: AgentEvent) -> None:
                if type(event) not in ignored and event.source is None:
                    note(event)
                observer.on_next(event)

            def on_error(error: Exception) -> None:
                recorder.fail_with(error)
                recorder.end()
                observer.on_error(error)

            def on_completed() -> None:
                recorder.end()
                observer.on_completed()

            token = self._current.attach(self._trace.set_span_in_context(recorder.span))
            try:
                subscription = stage.subscribe(on_next, on_error, on_completed, scheduler=scheduler)
            finally:
                self._current.detach(token)
            return CompositeDisposable(subscription, Disposable(recorder.end))

        return Observable(subscribe)

    def _subscribers_own(self, run: Observable[AgentEvent]) -> Observable[AgentEvent]:
        """Give the subscriber its events under the span that was current when it subscribed."""
        attach, detach = self._current.attach, self._current.detach

        def subscribe(
            observer: abc.ObserverBase[AgentEvent], scheduler: abc.SchedulerBase | None = None
        ) -> abc.DisposableBase:
            outer = self._current.get_current()

            def outside(tell: Callable[..., None]) -> Callable[..., None]:
                def told(*what: Any) -> None:
                    token = attach(outer)
                    try:
                        tell(*what)
                    finally:
                        detach(token)

                return told

            # The ends too: when a run fails, its last events come with the error.
            return run.subscribe(
                outside(observer.on_next),
                outside(observer.on_error),
                outside(observer.on_completed),
                scheduler=scheduler,
            )

        return Observable(subscribe)


def _session(context: RuntimeContext) -> str:
    state = context.get(AgentState)
    return "" if state is None else state.session_id
