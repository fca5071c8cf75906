"""openai-agents: `Runner.run_streamed` over a model that yields the events of the Responses API."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

from agents import Agent, Runner, set_tracing_disabled
from agents.models.interface import Model
from openai.types.responses import (
    Response,
    ResponseCompletedEvent,
    ResponseContentPartAddedEvent,
    ResponseCreatedEvent,
    ResponseOutputItemAddedEvent,
    ResponseOutputMessage,
    ResponseOutputText,
    ResponseTextDeltaEvent,
)
from stopwatch import time_stream

set_tracing_disabled(True)


def response(*output: ResponseOutputMessage) -> Response:
    return Response(
        id="resp_1",
        created_at=0.0,
        model="fake",
        object="response",
        output=list(output),
        tool_choice="auto",
        tools=[],
        parallel_tool_calls=False,
    )


def message(text: str | None = None) -> ResponseOutputMessage:
    content = [] if text is None else [ResponseOutputText(text=text, type="output_text", annotations=[])]
    status = "in_progress" if text is None else "completed"
    return ResponseOutputMessage(id="msg_1", content=content, role="assistant", status=status, type="message")


class FakeModel(Model):
    def __init__(self, deltas: int) -> None:
        self._deltas = deltas

    async def get_response(self, *args: Any, **kwargs: Any) -> Any:
        raise NotImplementedError

    async def stream_response(self, *args: Any, **kwargs: Any) -> AsyncIterator[Any]:
        place: dict[str, Any] = {"content_index": 0, "item_id": "msg_1", "output_index": 0}
        yield ResponseCreatedEvent(response=response(), type="response.created", sequence_number=0)
        yield ResponseOutputItemAddedEvent(
            item=message(), output_index=0, type="response.output_item.added", sequence_number=1
        )
        yield ResponseContentPartAddedEvent(
            **place,
            part=ResponseOutputText(text="", type="output_text", annotations=[]),
            type="response.content_part.added",
            sequence_number=2,
        )
        for number in range(3, self._deltas + 3):
            yield ResponseTextDeltaEvent(
                **place, delta="word ", type="response.output_text.delta", sequence_number=number, logprobs=[]
            )
        yield ResponseCompletedEvent(
            response=response(message("word " * self._deltas)),
            type="response.completed",
            sequence_number=self._deltas + 3,
        )


def prepare(deltas: int, mode: str) -> Callable[[], Awaitable[int]]:
    agent = Agent(name="assistant", instructions="You are helpful.", model=FakeModel(deltas))

    async def consume() -> int:
        run = Runner.run_streamed(agent, "hi")
        events = 0
        async for _ in run.stream_events():
            events += 1
        assert run.final_output == "word " * deltas
        return events

    return consume


if __name__ == "__main__":
    time_stream("openai-agents", prepare)
