"""A limit to what one run may cost."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import reactivex as rx
from reactivex import Observable, abc, operators as ops

from ..context import RuntimeContext
from ..errors import ConfigurationError
from ..event import AgentEvent, ModelCallEndEvent, RequestStopEvent
from .base import AgentLike, Middleware, ModelCallInput, Next

__all__ = ["Budget"]


@dataclass(slots=True)
class _Spent:
    tokens: int = 0
    model_calls: int = 0


class Budget(Middleware):
    """Stops a run that has spent its budget: REQUEST_STOP after the model call that used up the last of it.

    The reply then ends with MIDDLEWARE_STOP_REQUESTED; tool calls that the model has made stay pending, and
    `stream_events(None)` runs them. Every run has the whole budget, a resumed one too. Failed calls count; tokens that
    the provider does not report count as none.

    Args:
        tokens: Input and output tokens together; None for no limit.
        model_calls: Model calls; None for no limit.

    Raises:
        ConfigurationError: neither is given, or one is less than 1.
    """

    order: ClassVar[int] = 50

    def __init__(self, tokens: int | None = None, model_calls: int | None = None) -> None:
        limits = [limit for limit in (tokens, model_calls) if limit is not None]
        if not limits or min(limits) < 1:
            raise ConfigurationError(
                f"a budget is at least 1 token or model call: got tokens={tokens}, model_calls={model_calls}"
            )
        self._tokens = tokens
        self._model_calls = model_calls

    def on_model_call(
        self, agent: AgentLike, context: RuntimeContext, input: ModelCallInput, next: Next[ModelCallInput]
    ) -> Observable[AgentEvent]:
        """Count the call, and stop the run after it if nothing is left."""
        spent = self._spent(context)

        def count(event: AgentEvent) -> None:
            if isinstance(event, ModelCallEndEvent):
                spent.model_calls += 1
                spent.tokens += (event.input_tokens or 0) + (event.output_tokens or 0)

        def judge(_: abc.SchedulerBase) -> Observable[AgentEvent]:
            reason = self._exceeded(spent)
            return rx.just(RequestStopEvent(reason=reason, seq=0)) if reason else rx.empty()

        return next(input).pipe(ops.do_action(count), ops.concat(rx.defer(judge)))

    def _spent(self, context: RuntimeContext) -> _Spent:
        key = f"{__name__}.{id(self)}"
        if context.get(key) is None:
            context.put(key, _Spent())
        spent: _Spent = context.get(key)
        return spent

    def _exceeded(self, spent: _Spent) -> str:
        for name, used, limit in (
            ("tokens", spent.tokens, self._tokens),
            ("model calls", spent.model_calls, self._model_calls),
        ):
            if limit is not None and used >= limit:
                return f"the budget of {limit} {name} is spent: {used} used"
        return ""
