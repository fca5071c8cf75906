from __future__ import annotations

import asyncio
import threading
from typing import Any

import pytest

from agentscope_rx.message import Base64Source, DataBlock, GenerateReason, TextBlock
from agentscope_rx.tools import ToolChunk, ToolData, ToolEmitter, ToolEnd, ToolStop, ToolText
from agentscope_rx.tools.channel import READY

from .running import collect, run, state, stream, texts

SUCCESS = ToolEnd("success")  # type: ignore[arg-type]


def test_progress_is_marked_and_the_result_follows():
    def work(emitter: ToolEmitter):
        emitter.emit("one")
        emitter.emit(TextBlock("two"))
        emitter.emit(DataBlock(source=Base64Source(media_type="image/png", data="AAAA"), id="d"))
        emitter.emit("")
        return "done"

    assert run(work) == [
        ToolText("one", progress=True),
        ToolText("two", progress=True),
        ToolData("d", "image/png", data="AAAA", progress=True),
        ToolText("done"),
        SUCCESS,
    ]


def test_what_is_emitted_keeps_its_place_among_what_is_yielded():
    async def work(emitter: ToolEmitter):
        emitter.emit("p1")
        yield "r1"
        await emitter.emit("p2")
        yield "r2"
        emitter.emit("p3")

    def work_in_thread(emitter: ToolEmitter):
        emitter.emit("p1")
        yield "r1"
        emitter.emit("p2")
        yield "r2"
        emitter.emit("p3")

    for function in (work, work_in_thread):
        assert [chunk.text for chunk in run(function)[:-1]] == ["p1", "r1", "p2", "r2", "p3"]


def test_progress_is_seen_while_an_asynchronous_tool_waits():
    async def main() -> list[ToolChunk]:
        seen = asyncio.Event()

        async def work(emitter: ToolEmitter):
            emitter.emit("working")
            await asyncio.wait_for(seen.wait(), 10)
            return "done"

        chunks = []
        async for chunk in stream(work):
            chunks.append(chunk)
            seen.set()
        return chunks

    assert asyncio.run(main()) == [ToolText("working", progress=True), ToolText("done"), SUCCESS]


def test_progress_is_seen_while_a_tool_in_a_thread_waits():
    seen = threading.Event()

    def work(emitter: ToolEmitter):
        emitter.emit("working")
        assert seen.wait(10)
        return "done"

    async def main() -> list[ToolChunk]:
        chunks = []
        async for chunk in stream(work):
            chunks.append(chunk)
            seen.set()
        return chunks

    assert texts(asyncio.run(main())) == ["done"]


def test_threads_that_a_tool_starts_may_emit():
    def work(emitter: ToolEmitter):
        def part(number: int) -> None:
            for step in range(100):
                emitter.emit(f"{number}:{step}")

        threads = [threading.Thread(target=part, args=(number,)) for number in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        return "done"

    chunks = run(work, buffer=8)
    progress = texts(chunks, progress=True)
    assert len(progress) == 400
    for number in range(4):
        mine = [text for text in progress if text.startswith(f"{number}:")]
        assert mine == [f"{number}:{step}" for step in range(100)]
    assert texts(chunks) == ["done"]


def test_a_tool_in_a_thread_may_await_emit_in_a_loop_of_its_own():
    def work(emitter: ToolEmitter):
        async def inner() -> None:
            for step in range(200):
                await emitter.emit(str(step))

        asyncio.run(inner())

    assert texts(run(work, buffer=4), progress=True) == [str(step) for step in range(200)]


def test_a_tool_may_ask_the_reply_to_stop():
    def work(emitter: ToolEmitter):
        emitter.request_stop("enough")
        emitter.request_stop("really", generate_reason=GenerateReason.ACTING_STOP_REQUESTED)
        return "result"

    assert run(work) == [
        ToolStop("enough", GenerateReason.MIDDLEWARE_STOP_REQUESTED),
        ToolStop("really", GenerateReason.ACTING_STOP_REQUESTED),
        ToolText("result"),
        SUCCESS,
    ]


def test_a_tool_that_floods_the_loop_without_awaiting_fails():
    async def work(emitter: ToolEmitter):
        for _ in range(5_000):
            emitter.emit("x")

    chunks = run(work, buffer=8)
    assert state(chunks) == "error"
    assert texts(chunks)[0].startswith("BufferOverflowError: ")
    assert len(texts(chunks, progress=True)) == 8 + 1024


def test_an_emitter_takes_what_a_tool_may_return_and_nothing_else():
    put: list[Any] = []

    def keep(chunk: ToolChunk) -> Any:
        put.append(chunk)
        return READY

    emitter = ToolEmitter(keep)
    with pytest.raises(TypeError, match="media type"):
        emitter.emit(b"bytes")  # type: ignore[arg-type]
    assert put == []


@pytest.mark.parametrize("on_loop", [True, False])
@pytest.mark.parametrize(
    ("speak", "problem"),
    [
        (lambda emitter: emitter.request_stop("x", generate_reason="nope"), "ToolStop with the generate_reason 'nope'"),
        (lambda emitter: emitter.request_stop(1), "type int as its reason"),
        (lambda emitter: emitter.emit(ToolText(1)), "type int as its text"),  # type: ignore[arg-type]
    ],
)
def test_b7_81_saying_what_no_event_can_be_made_of_fails_the_call(speak: Any, problem: str, on_loop: bool):
    def work(emitter: ToolEmitter):
        emitter.emit("before")
        speak(emitter)

    async def work_on_loop(emitter: ToolEmitter):
        work(emitter)

    chunks = run(work_on_loop if on_loop else work)
    assert chunks[0] == ToolText("before", progress=True)
    assert problem in texts(chunks)[0]
    assert state(chunks) == "error"


def test_what_is_emitted_can_be_encoded():
    def work(emitter: ToolEmitter):
        emitter.emit("\udcff")
        emitter.request_stop("\udcff")

    assert run(work) == [ToolText("\ufffd", progress=True), ToolStop("\ufffd"), SUCCESS]


def test_progress_after_the_end_is_dropped_on_the_loop():
    async def main() -> None:
        kept: list[ToolEmitter] = []

        async def work(emitter: ToolEmitter):
            kept.append(emitter)

        await collect(work)
        await kept[0].emit("late")

    asyncio.run(main())
