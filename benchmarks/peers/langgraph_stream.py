"""langgraph: `astream` (its messages) and `astream_events` of a graph of one node over a model that yields text."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

from langchain_core.language_models.chat_models import BaseChatModel
from langchain_core.messages import AIMessage, AIMessageChunk
from langchain_core.outputs import ChatGeneration, ChatGenerationChunk, ChatResult
from langgraph.graph import END, START, MessagesState, StateGraph
from stopwatch import time_stream

os.environ["LANGSMITH_TRACING"] = "false"


class Model(BaseChatModel):
    deltas: int

    @property
    def _llm_type(self) -> str:
        return "fake"

    def _generate(self, messages: Any, stop: Any = None, run_manager: Any = None, **kwargs: Any) -> ChatResult:
        return ChatResult(generations=[ChatGeneration(message=AIMessage("word " * self.deltas))])

    async def _astream(
        self, messages: Any, stop: Any = None, run_manager: Any = None, **kwargs: Any
    ) -> AsyncIterator[ChatGenerationChunk]:
        for _ in range(self.deltas):
            chunk = ChatGenerationChunk(message=AIMessageChunk(content="word "))
            if run_manager:
                await run_manager.on_llm_new_token("word ", chunk=chunk)
            yield chunk


def prepare(deltas: int, mode: str) -> Callable[[], Awaitable[int]]:
    model = Model(deltas=deltas)

    async def call(state: MessagesState) -> dict[str, Any]:
        return {"messages": [await model.ainvoke(state["messages"])]}

    graph = StateGraph(MessagesState)
    graph.add_node("model", call)
    graph.add_edge(START, "model")
    graph.add_edge("model", END)
    app = graph.compile()
    said: Any = {"messages": [("user", "hi")]}

    async def consume() -> int:
        if mode == "astream":
            stream = app.astream(said, stream_mode="messages")
        else:
            stream = app.astream_events(said, version="v2")
        events = 0
        async for _ in stream:
            events += 1
        return events

    return consume


if __name__ == "__main__":
    time_stream("langgraph", prepare)
