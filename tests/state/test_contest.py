"""Several processes talk in one session: who comes second waits or is told, and nothing is lost."""

from __future__ import annotations

import asyncio
import os
import signal
from collections import Counter
from collections.abc import AsyncIterator
from multiprocessing.connection import Connection
from pathlib import Path

import pytest

from agentscope_rx import ModelChunk, ModelRequest, ReActAgent, StateConflictError, StateStore
from agentscope_rx.state import SharedStateStore
from agentscope_rx.testing import ScriptedModel, text

from ..agent.shapes import run
from .processes import processes
from .stores import Opened, Opener

TURNS = 6


class Echo:
    """A model that repeats what the user said last; it keeps nothing."""

    model_name = "echo"

    async def stream(self, request: ModelRequest) -> AsyncIterator[ModelChunk]:
        async for piece in ScriptedModel([[text(f"{request.messages[-1].get_text_content()}!")]]).stream(request):
            yield piece


class Held(Echo):
    """It tells when it is asked, and answers when it is told to."""

    def __init__(self, other: Connection) -> None:
        self._other = other

    async def stream(self, request: ModelRequest) -> AsyncIterator[ModelChunk]:
        self._other.send("asked")
        await asyncio.to_thread(self._other.recv)
        async for piece in super().stream(request):
            yield piece


def with_lease(store: StateStore, seconds: float | None) -> StateStore:
    if isinstance(store, SharedStateStore):
        store._lease = seconds
    return store


async def history_of(store: StateStore) -> list[str]:
    stored = await store.load("friday")
    return [message.get_text_content() for message in stored.state.history] if stored else []


async def say(store: StateStore, said: str) -> str:
    return (await ReActAgent("friday", Echo(), state_store=store).call(said)).get_text_content()


def converse(opener: Opener, folder: Path, lease: float | None, name: str, other: Connection) -> None:
    """Say something a few times, and again if somebody else was first; tell how often that was."""
    agent = ReActAgent("friday", Echo(), state_store=with_lease(opener(folder), lease))

    async def main() -> int:
        conflicts = 0
        for turn in range(TURNS):
            while True:
                try:
                    assert (await agent.call(f"{name}{turn}")).get_text_content() == f"{name}{turn}!"
                    break
                except StateConflictError:
                    conflicts += 1
        return conflicts

    other.recv()
    other.send(asyncio.run(asyncio.wait_for(main(), 60)))


@pytest.mark.parametrize("lease", [30.0, None], ids=["lease", "conflict"])
def test_two_processes_talk_in_one_session_and_nothing_is_lost(
    opener: Opener, lease: float | None, opened: Opened
) -> None:
    pipes = [processes.Pipe() for _ in range(2)]
    started = [
        processes.Process(target=converse, args=(opener, opened.folder, lease, name, theirs))
        for name, (_, theirs) in zip("ab", pipes, strict=True)
    ]
    try:
        for process in started:
            process.start()
        for ours, _ in pipes:
            ours.send("go")
        assert all(ours.poll(60) for ours, _ in pipes)
        conflicts = sum(ours.recv() for ours, _ in pipes)
    finally:
        for process in started:
            process.join(5)
            process.kill()
        for ours, theirs in pipes:
            ours.close()
            theirs.close()
    store = opened(opener)
    said = run(history_of(store))
    assert Counter(said[::2]) == Counter(f"{name}{turn}" for name in "ab" for turn in range(TURNS))
    assert said[1::2] == [f"{question}!" for question in said[::2]]
    for name in "ab":
        assert [question for question in said[::2] if question[0] == name] == [f"{name}{turn}" for turn in range(TURNS)]
    if lease is not None and isinstance(store, SharedStateStore):
        assert conflicts == 0


def hold(opener: Opener, folder: Path, lease: float, other: Connection) -> None:
    """Begin a reply, and tell how it ended."""
    agent = ReActAgent("friday", Held(other), state_store=with_lease(opener(folder), lease))

    async def main() -> str:
        try:
            return (await agent.call("first")).get_text_content()
        except StateConflictError as error:
            return str(error)

    other.send(asyncio.run(main()))


@pytest.mark.parametrize("end", ["dies", "hangs"])
def test_a_process_that_dies_or_hangs_in_a_session_is_taken_over_from(shared: Opener, opened: Opened, end: str) -> None:
    ours, theirs = processes.Pipe()
    process = processes.Process(target=hold, args=(shared, opened.folder, 0.5, theirs))
    process.start()
    try:
        assert ours.poll(60)
        assert ours.recv() == "asked"
        assert process.pid is not None
        os.kill(process.pid, signal.SIGKILL if end == "dies" else signal.SIGSTOP)
        store = opened(shared)
        assert run(say(store, "second")) == "second!"
        if end == "hangs":
            os.kill(process.pid, signal.SIGCONT)
            ours.send("go on")
            assert ours.poll(60)
            assert "session 'friday' is at version 1, and was loaded at version 0" in ours.recv()
        assert run(history_of(store)) == ["second", "second!"]
    finally:
        process.kill()
        process.join(5)
        ours.close()
        theirs.close()
