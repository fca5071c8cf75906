"""Another model, when the first one fails."""

from __future__ import annotations

from collections.abc import Generator
from typing import Any, ClassVar

from reactivex import Observable, abc

from ..context import RuntimeContext
from ..errors import ConfigurationError, ModelError
from ..event import AgentEvent, FinishReason, ModelCallEndEvent, ModelCallResetEvent
from ..event.lifecycle import BLOCKS, STEPS, Phase
from ..model import ChatModel
from ..stream import concat_stages
from .base import AgentLike, Middleware, ModelCallInput, Next

__all__ = ["FallbackModel"]

_STARTS = {cls for cls, step in STEPS.items() if step.part in BLOCKS and step.phase is Phase.START}


class FallbackModel(Middleware):
    """Lets another model answer when a model call fails.

    The failed call ends with MODEL_CALL_END(error); if it had shown anything, MODEL_CALL_RESET comes before that, and
    the message has only what the other model says. The other model's call is of the same iteration.

    Args:
        model: The other model.

    Raises:
        ConfigurationError: `model` is no `ChatModel`.
    """

    order: ClassVar[int] = 0

    def __init__(self, model: ChatModel) -> None:
        if not isinstance(model, ChatModel):
            raise ConfigurationError(f"a fallback is a ChatModel, see resolve_model(): got {type(model).__name__}")
        self._model = model

    def on_model_call(
        self, agent: AgentLike, context: RuntimeContext, input: ModelCallInput, next: Next[ModelCallInput]
    ) -> Observable[AgentEvent]:
        """Make the call, and if it fails, make it again with the other model."""

        def attempts() -> Generator[Observable[AgentEvent], Any, None]:
            try:
                yield _withdrawing(next(input))
            except ModelError:
                yield next(_with_model(input, self._model))

        return concat_stages(attempts)


def _with_model(input: ModelCallInput, model: ChatModel) -> ModelCallInput:
    return ModelCallInput(input.messages, input.tools, input.options, input.iteration, model)


def _withdrawing(call: Observable[AgentEvent]) -> Observable[AgentEvent]:
    """Withdraw what a model call has shown before it ends with an error."""

    def subscribe(
        observer: abc.ObserverBase[AgentEvent], scheduler: abc.SchedulerBase | None = None
    ) -> abc.DisposableBase:
        shown = False
        attempt = 1

        def on_next(event: Any) -> None:
            nonlocal shown, attempt
            kind = type(event)
            if kind in _STARTS:
                shown = True
            elif kind is ModelCallResetEvent:
                shown, attempt = False, event.attempt + 1
            elif shown and kind is ModelCallEndEvent and event.finish_reason is FinishReason.ERROR:
                observer.on_next(
                    ModelCallResetEvent(
                        reply_id=event.reply_id,
                        model_call_id=event.model_call_id,
                        attempt=attempt,
                        reason="the model failed",
                        seq=0,
                    )
                )
            observer.on_next(event)

        return call.subscribe(on_next, observer.on_error, observer.on_completed, scheduler=scheduler)

    return Observable(subscribe)
