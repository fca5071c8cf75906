"""Laws L5, L6 and L8 down to the bytes: an agent whose model answers over HTTP, in pieces cut anywhere."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import suppress
from typing import Any

import httpx
from hypothesis import given, strategies as st
from reactivex import operators as ops

from agentscope_rx import AgentScopeError, ModelError, OpenAIChatModel, ReActAgent, TextBlockDeltaEvent
from agentscope_rx.model import NO_RETRY
from agentscope_rx.testing import assert_valid_stream
from tests.model.openai_chat.decoding import DONE, STOP, delta, sse
from tests.strategies import PIECES
from tests.virtual_time import in_virtual_time, other_tasks

from .consuming import LEAVERS, LEAVERS_AT_TIMES, Way, disposing, disposing_later, rest

ENDINGS = ("finish", "cut", "error frame", "no end", "silence")


class Body(httpx.AsyncByteStream):
    """An answer on its way: counts what is read of it, and whether it is closed."""

    def __init__(self, texts: list[str], ending: str, size: int, gap: float) -> None:
        self.frames = [sse(delta(content=text)) for text in texts]
        last = {"finish": [STOP, DONE], "error frame": [{"error": {"message": "SECRET", "type": "overloaded"}}]}
        self._bytes = b"".join((*self.frames, *map(sse, last.get(ending, ()))))
        self._ending = ending
        self._gap = gap
        self.size = size
        self.read = 0
        self.closed = False

    async def __aiter__(self) -> AsyncIterator[bytes]:
        while self.read < len(self._bytes) and not self.closed:
            await asyncio.sleep(self._gap)
            piece = self._bytes[self.read : self.read + self.size]
            self.read += len(piece)
            yield piece
        if self._ending == "cut":
            raise httpx.ReadError("SECRET")
        if self._ending == "silence" and not self.closed:
            await asyncio.Event().wait()

    async def aclose(self) -> None:
        self.closed = True


bodies = st.builds(
    Body,
    st.lists(st.sampled_from(PIECES), min_size=1, max_size=20),
    st.sampled_from(ENDINGS),
    st.integers(1, 300),
    st.sampled_from((0, 1)),
)
ended_bodies = bodies.filter(lambda body: body._ending != "silence")


def agent_of(body: Body) -> ReActAgent:
    """An agent whose model answers with the body first, and with `done` ever after."""
    asked = [body]

    def answer(request: httpx.Request) -> httpx.Response:
        first = asked and b"again" not in request.content
        return httpx.Response(200, stream=asked.pop() if first else Body(["done"], "finish", 1_000, 0))

    client = httpx.AsyncClient(transport=httpx.MockTransport(answer))
    model = OpenAIChatModel("m", api_key="k", base_url="https://models.example", retry=NO_RETRY, http_client=client)
    return ReActAgent("friday", model)


@given(ended_bodies, st.integers(1, 8))
def test_l5_a_slow_consumer_slows_the_reading_of_the_body(body: Body, buffer: int) -> None:
    deltas: list[Any] = []
    taken: list[Any] = []

    def publish(event: Any) -> None:
        if isinstance(event, TextBlockDeltaEvent):
            deltas.append(event.delta)

    async def main() -> None:
        stream = agent_of(body).stream_events("go").pipe(ops.do_action(publish))
        async with stream.iterate(buffer) as events:
            with suppress(ModelError):
                async for event in events:
                    taken.append(event)
                    await asyncio.sleep(1_000)
                    assert events.statistics().buffered <= buffer + 1
                    # What is read is published, but for the rest of a piece and of a frame that is not whole yet.
                    published = sum(map(len, body.frames[: len(deltas) + 1]))
                    assert body.read <= published + body.size or len(deltas) >= len(body.frames)

    in_virtual_time(main)
    assert [event.delta for event in taken if isinstance(event, TextBlockDeltaEvent)][: len(deltas)] == deltas


@given(
    bodies,
    st.tuples(st.sampled_from(LEAVERS), st.integers(1, 8))
    | st.tuples(st.sampled_from(LEAVERS_AT_TIMES), st.sampled_from((0.0, 0.5, 2.5, 7.5))),
)
def test_l6_leaving_closes_the_response_and_reads_no_more_of_it(body: Body, leaving: tuple[Way, float]) -> None:
    leave, when = leaving

    async def main() -> None:
        agent = agent_of(body)
        heard: list[Any] = []
        with suppress(ModelError):
            async with asyncio.timeout(1_000):
                await leave(agent.stream_events("go"), heard, when)
        read, count = body.read, len(heard)
        if leave in (disposing, disposing_later):
            await rest()
        assert not other_tasks()
        assert body.closed or not body.read
        await asyncio.sleep(1_000_000)
        assert (body.read, len(heard)) == (read, count)
        assert (await agent.call("again")).get_text_content().endswith("done")

    in_virtual_time(main, reported=ModelError)


@given(ended_bodies)
def test_l8_a_broken_body_is_a_typed_error_after_what_it_said(body: Body) -> None:
    heard: list[Any] = []

    async def main() -> AgentScopeError | None:
        try:
            await agent_of(body).stream_events("go").pipe(ops.do_action(heard.append))
        except AgentScopeError as error:
            return error
        return None

    error = in_virtual_time(main)
    assert_valid_stream(heard)
    assert (error is None) == (body._ending == "finish")
    assert isinstance(error, ModelError | None)
    assert body.closed
