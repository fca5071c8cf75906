"""The reasoning stage: one model call as events."""

from __future__ import annotations

from collections.abc import AsyncIterator, Container

from ..errors import ModelError
from ..event import AgentEvent, FinishReason, ModelCallStartEvent
from ..identity import new_id
from ..model import ChatModel, ModelRequest
from ..stream import unwinding
from .assembler import Assembler

__all__ = ["model_call_events"]


async def model_call_events(
    model: ChatModel, request: ModelRequest, reply_id: str, iteration: int, taken_ids: Container[str]
) -> AsyncIterator[AgentEvent]:
    """Make one model call.

    Yields MODEL_CALL_START, the blocks as they come, and MODEL_CALL_END; when the call fails, the ENDs and
    MODEL_CALL_END(error) come first, then the error.

    Raises:
        ModelError: the call failed; whatever else a model raises is wrapped in one. An AssertionError is let through:
            it is the verdict of a test double.
    """
    model_call_id = new_id()
    assembler = Assembler(reply_id, model_call_id, taken_ids)
    yield ModelCallStartEvent(
        reply_id=reply_id, model_call_id=model_call_id, model_name=model.model_name, iteration=iteration, seq=0
    )
    try:
        async with unwinding(model.stream(request)) as chunks:
            async for chunk in chunks:
                for event in assembler.feed(chunk):
                    yield event
    except (ModelError, AssertionError):
        for event in assembler.finish(FinishReason.ERROR):
            yield event
        raise
    except Exception as error:
        for event in assembler.finish(FinishReason.ERROR):
            yield event
        raise ModelError(f"model {model.model_name!r} raised {type(error).__name__}") from error
    for event in assembler.finish():
        yield event
