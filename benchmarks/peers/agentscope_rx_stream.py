"""This package: `ReActAgent.stream_events` over a model that yields text."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable

from stopwatch import time_stream

from agentscope_rx import AgentResultEvent, ModelChunk, ModelRequest, ReActAgent
from agentscope_rx.model import TextPiece


class Model:
    model_name = "fake"

    def __init__(self, deltas: int) -> None:
        self._deltas = deltas

    async def stream(self, request: ModelRequest) -> AsyncIterator[ModelChunk]:
        for _ in range(self._deltas):
            yield ModelChunk(TextPiece("word "))


def prepare(deltas: int, mode: str) -> Callable[[], Awaitable[int]]:
    agent = ReActAgent("assistant", Model(deltas), sys_prompt="You are helpful.")

    async def consume() -> int:
        events, text = 0, ""
        async for event in agent.stream_events("hi"):
            events += 1
            if type(event) is AgentResultEvent:
                text = event.result.get_text_content()
        assert text == "word " * deltas
        return events

    return consume


if __name__ == "__main__":
    time_stream("agentscope-rx", prepare)
