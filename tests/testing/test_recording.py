"""`record` and `replay`: a stream in a file, and back."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
import reactivex as rx
from hypothesis import HealthCheck, given, settings
from reactivex import Observable, operators as ops
from reactivex.disposable import Disposable
from reactivex.subject import Subject

from agentscope_rx import ReActAgent, UnknownEvent, encode
from agentscope_rx.errors import LocalProtocolError, RemoteProtocolError
from agentscope_rx.event import AgentEvent, CustomEvent
from agentscope_rx.stream import Stream, from_async_iterable
from agentscope_rx.testing import ScriptedModel, record, replay, text

from ..operators.script import answer
from ..strategies import streams

EVENTS = answer("Hello\u2028\n🌍")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "stream.jsonl"


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """Every file that is opened by a path."""
    files: list[Any] = []
    plain = Path.open

    def keep(self: Path, *args: Any, **kwargs: Any) -> Any:
        files.append(plain(self, *args, **kwargs))
        return files[-1]

    monkeypatch.setattr(Path, "open", keep)
    return files


def recorded(path: Path) -> list[AgentEvent]:
    events: list[AgentEvent] = replay(path).pipe(ops.to_list()).run()
    return events


# ------------------------------------------------------------------------------------------------------- recording


def test_records_what_it_passes_on(path: Path, opened: list[Any]) -> None:
    passed = rx.from_iterable(EVENTS).pipe(record(path), ops.to_list()).run()
    assert passed == EVENTS
    assert [file.closed for file in opened] == [True]
    assert path.read_text("utf-8") == "".join(encode(event) + "\n" for event in EVENTS)
    assert recorded(path) == EVENTS


def test_records_a_reply_of_an_agent(path: Path) -> None:
    agent = ReActAgent("a", ScriptedModel([[text("Hel"), text("lo")]]))

    async def main() -> list[AgentEvent]:
        return [event async for event in agent.stream_events("hi").pipe(record(str(path)))]

    seen = asyncio.run(main())
    assert seen == recorded(path)


def test_an_event_is_written_before_it_is_seen(path: Path, opened: list[Any]) -> None:
    source: Subject[AgentEvent] = Subject()
    written: list[int] = []

    def count(_: AgentEvent) -> None:
        opened[0].flush()
        written.append(len(path.read_text("utf-8").splitlines()))

    source.pipe(record(path)).subscribe(count)
    for event in EVENTS[:3]:
        source.on_next(event)
    source.on_completed()
    assert written == [1, 2, 3]


def test_dispose_midway_closes_the_file_and_keeps_what_was_emitted(path: Path, opened: list[Any]) -> None:
    source: Subject[AgentEvent] = Subject()
    subscription = source.pipe(record(path)).subscribe()
    for event in EVENTS[:3]:
        source.on_next(event)
    assert not opened[0].closed
    subscription.dispose()
    assert opened[0].closed
    assert not source.observers
    assert recorded(path) == EVENTS[:3]


def test_take_midway_closes_the_file(path: Path, opened: list[Any]) -> None:
    rx.from_iterable(EVENTS).pipe(record(path), ops.take(2)).subscribe()
    assert opened[0].closed
    assert recorded(path) == EVENTS[:2]


def test_an_error_closes_the_file_first(path: Path, opened: list[Any]) -> None:
    error = ValueError("the source broke")
    told: list[Any] = []
    rx.concat(rx.of(EVENTS[0]), rx.throw(error)).pipe(record(path)).subscribe(
        on_error=lambda failure: told.append((failure, opened[0].closed))
    )
    assert told == [(error, True)]
    assert recorded(path) == EVENTS[:1]


def test_the_file_is_complete_when_completion_is_told(path: Path) -> None:
    told: list[Any] = []
    rx.from_iterable(EVENTS).pipe(record(path)).subscribe(on_completed=lambda: told.append(recorded(path)))
    assert told == [EVENTS]


def test_every_subscription_writes_the_file_anew(path: Path) -> None:
    stream = rx.from_iterable(EVENTS).pipe(record(path))
    for _ in range(2):
        stream.subscribe()
        assert recorded(path) == EVENTS
    stream.pipe(ops.take(1)).subscribe()
    assert recorded(path) == EVENTS[:1]


def test_nothing_is_opened_before_it_is_subscribed_to(path: Path) -> None:
    rx.from_iterable(EVENTS).pipe(record(path))
    assert not path.exists()


def test_a_file_that_cannot_be_written_is_an_error(tmp_path: Path) -> None:
    told: list[Any] = []
    rx.from_iterable(EVENTS).pipe(record(tmp_path / "none" / "stream.jsonl")).subscribe(on_error=told.append)
    assert [type(error) for error in told] == [FileNotFoundError]


def test_an_event_that_json_cannot_carry_is_an_error_and_is_not_passed_on(path: Path, opened: list[Any]) -> None:
    odd = CustomEvent(name="odd", value={"object": object()})
    passed: list[Any] = []
    told: list[Any] = []
    rx.of(EVENTS[0], odd).pipe(record(path)).subscribe(passed.append, told.append)
    assert passed == EVENTS[:1]
    assert [type(error) for error in told] == [LocalProtocolError]
    assert opened[0].closed
    assert recorded(path) == EVENTS[:1]


def test_record_forwards_the_scheduler(path: Path) -> None:
    seen: list[Any] = []

    def source(observer: Any, scheduler: Any = None) -> Disposable:
        seen.append(scheduler)
        return Disposable()

    scheduler = rx.scheduler.ImmediateScheduler()
    Observable(source).pipe(record(path)).subscribe(scheduler=scheduler).dispose()
    assert seen == [scheduler]


# -------------------------------------------------------------------------------------------------------- replaying


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(stream=streams())
def test_what_was_recorded_is_replayed(path: Path, stream: list[AgentEvent]) -> None:
    rx.from_iterable(stream).pipe(record(path)).subscribe()
    assert recorded(path) == stream


def test_every_subscription_reads_the_file_afresh(path: Path) -> None:
    rx.from_iterable(EVENTS).pipe(record(path)).subscribe()
    stream = replay(path)
    assert isinstance(stream, Stream)
    assert stream.pipe(ops.to_list()).run() == stream.pipe(ops.to_list()).run() == EVENTS
    rx.from_iterable(EVENTS[:2]).pipe(record(path)).subscribe()
    assert stream.pipe(ops.to_list()).run() == EVENTS[:2]


def test_blank_lines_are_skipped_and_unknown_events_are_kept(path: Path) -> None:
    path.write_text(f'\n{encode(EVENTS[0])}\r\n  \n{{"type": "TELEPATHY", "thought": 1}}', "utf-8")
    first, unknown = recorded(path)
    assert first == EVENTS[0]
    assert isinstance(unknown, UnknownEvent)
    assert unknown.raw["thought"] == 1


@pytest.mark.parametrize(
    "bad",
    [b"not json", b"[]", b'{"type": "AGENT_START"}', b"\xff\xfe", b'{"type":', b'{"no": "type"}'],
)
def test_a_bad_line_is_named_and_what_came_before_it_stands(path: Path, opened: list[Any], bad: bytes) -> None:
    good = encode(EVENTS[0]).encode()
    path.write_bytes(b"\n".join((good, b"", bad, good)))
    opened.clear()
    seen: list[AgentEvent] = []
    with pytest.raises(RemoteProtocolError, match=r"line 3 of stream\.jsonl: "):
        replay(path).pipe(ops.do_action(seen.append)).run()
    assert seen == EVENTS[:1]
    assert [file.closed for file in opened] == [True]


def test_a_bad_line_is_not_quoted(path: Path) -> None:
    path.write_text(json.dumps({"type": "TEXT_BLOCK_DELTA", "delta": "the secret"}), "utf-8")
    with pytest.raises(RemoteProtocolError) as failure:
        replay(path).run()
    assert "secret" not in str(failure.value)


def test_a_file_that_cannot_be_read_is_an_error(path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        replay(path).run()


def test_the_file_is_closed_when_the_stream_is_left(path: Path, opened: list[Any]) -> None:
    rx.from_iterable(EVENTS).pipe(record(path)).subscribe()
    opened.clear()
    assert replay(path).pipe(ops.take(2), ops.to_list()).run() == EVENTS[:2]
    assert [file.closed for file in opened] == [True]

    async def main() -> None:
        async with replay(path).iterate() as events:
            async for _ in events:
                break

    asyncio.run(main())
    assert [file.closed for file in opened] == [True, True]


def test_replay_pulls_no_more_than_is_asked_for(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lines = 1_000
    path.write_text(f"{encode(EVENTS[0])}\n" * lines, "utf-8")
    read = 0

    def counted(line: bytes) -> AgentEvent:
        nonlocal read
        read += 1
        return EVENTS[0]

    monkeypatch.setattr("agentscope_rx.testing.recording.decode", counted)
    replay(path).pipe(ops.take(3)).run()
    assert read == 3

    async def main() -> None:
        nonlocal read
        read = 0
        async with replay(path).iterate(buffer=4) as events:
            for taken in range(1, 20):
                await anext(events)
                await asyncio.sleep(0)
                assert read <= taken + 4
            assert events.statistics().peak <= 4

    asyncio.run(main())


def test_a_slow_reader_of_a_recording_gets_everything(path: Path) -> None:
    async def events() -> AsyncIterator[AgentEvent]:
        for event in EVENTS * 20:
            yield event

    async def main() -> list[AgentEvent]:
        seen = []
        async with from_async_iterable(events).pipe(record(path)).iterate(buffer=2) as recording:
            async for event in recording:
                await asyncio.sleep(0)
                seen.append(event)
        return seen

    assert asyncio.run(main()) == EVENTS * 20 == recorded(path)
