"""Makes model calls in a test, to their end."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

from agentscope_rx.errors import ModelError
from agentscope_rx.message import UserMessage
from agentscope_rx.model import ChatModel, ModelChunk, ModelRequest

from .outcome import Outcome

T = TypeVar("T")

PROMPT = "My secret plan is to conquer the moon before breakfast."
REQUEST = ModelRequest([UserMessage(PROMPT)])


def run(main: Coroutine[Any, Any, T]) -> T:
    """Run a test; nothing may hang, and no task of ours may be left."""

    async def bounded() -> T:
        async with asyncio.timeout(10):
            result = await main
            left = asyncio.all_tasks() - {asyncio.current_task()}
            assert not left
            return result

    return asyncio.run(bounded())


async def outcome_of(chat: ChatModel, request: ModelRequest = REQUEST) -> Outcome:
    chunks: list[ModelChunk] = []
    try:
        async for chunk in chat.stream(request):
            chunks.append(chunk)  # noqa: PERF401 - what came before an error counts
    except ModelError as error:
        return Outcome.of(chunks, error)
    return Outcome.of(chunks)
