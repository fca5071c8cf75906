"""AgentScope (Python): `Agent.reply_stream` over a chat model that yields text."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

from agentscope.agent import Agent
from agentscope.credential import CredentialBase
from agentscope.formatter import OpenAIChatFormatter
from agentscope.message import TextBlock, UserMsg
from agentscope.model import ChatModelBase, ChatResponse
from pydantic import BaseModel
from stopwatch import time_stream


class Model(ChatModelBase):
    class Parameters(BaseModel):
        pass

    def __init__(self, deltas: int) -> None:
        super().__init__(
            credential=CredentialBase(), model="fake", parameters=self.Parameters(), stream=True, max_retries=0
        )
        self.formatter = OpenAIChatFormatter()
        self._deltas = deltas

    async def _call_api(self, *args: Any, **kwargs: Any) -> AsyncIterator[ChatResponse]:
        async def stream() -> AsyncIterator[ChatResponse]:
            for _ in range(self._deltas):
                yield ChatResponse(content=[TextBlock(text="word ")], is_last=False, id="r1")

        return stream()


def prepare(deltas: int, mode: str) -> Callable[[], Awaitable[int]]:
    agent = Agent(name="assistant", system_prompt="You are helpful.", model=Model(deltas))

    async def consume() -> int:
        events = 0
        async for _ in agent.reply_stream(UserMsg(name="user", content="hi")):
            events += 1
        return events

    return consume


if __name__ == "__main__":
    time_stream("agentscope", prepare)
