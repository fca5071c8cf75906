"""`hook` in a pipe: operators on the phases of a stream, in place."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterable
from pathlib import Path
from typing import Any, ClassVar

import pytest
import reactivex as rx
from hypothesis import given
from reactivex import Observable, operators as ops
from reactivex.subject import Subject
from reactivex.testing import TestScheduler

from agentscope_rx import ReActAgent, Stream, from_async_iterable, tool
from agentscope_rx.event import (
    AgentEvent,
    CustomEvent,
    ModelCallStartEvent,
    RequestStopEvent,
    TextBlockDeltaEvent,
    ToolResultEndEvent,
    ToolResultStartEvent,
)
from agentscope_rx.operators import Hook, hook
from agentscope_rx.testing import ScriptedModel, record, replay, text, tool_call

from ..strategies import streams
from .contract import STEP, OperatorContract, on_completed, on_next
from .script import answer, call, end, interleaved, model_end, model_start, numbered, result, start, text as text_block

PHASES = ("on_agent", "on_reasoning", "on_model_call", "on_acting", "on_tool_call")


def note(name: str) -> CustomEvent:
    return CustomEvent(id=name, name=name)


def names(events: Iterable[Any]) -> list[str]:
    """Types, and the names of the notes that operators put in between."""
    return [event.name if isinstance(event, CustomEvent) else str(event.type) for event in events]


def framed(source: Observable[AgentEvent]) -> Observable[AgentEvent]:
    """Put a note before and after a phase."""
    return source.pipe(ops.start_with(note("<")), ops.concat(rx.of(note(">"))))


def upper(event: Any) -> Any:
    if isinstance(event, TextBlockDeltaEvent):
        return event.model_copy(update={"delta": event.delta.upper()})
    return event


TURN = numbered(
    [
        start(),
        model_start("m1", iteration=1),
        *text_block("t1", "a"),
        *call("c1", "{}"),
        *call("c2", "{}"),
        model_end("m1"),
        *interleaved(result("c1", "1"), result("c2", "2", "3")),
        model_start("m2", iteration=2),
        *text_block("t2", "b"),
        model_end("m2"),
        end(),
    ]
)
"""Two iterations with two interleaved tool results in between."""


class TestContract(OperatorContract):
    operator: ClassVar = staticmethod(lambda: hook(on_reasoning=ops.map(upper)))
    events: ClassVar = answer("Hello")
    expected: ClassVar = [(index, upper(event)) for index, event in enumerate(events, 1)]


# ------------------------------------------------------------------------------------------ where the phases are


def spans(phase: str, events: Iterable[AgentEvent]) -> list[list[str]]:
    """What each phase of a stream holds."""
    seen: list[list[str]] = []

    def look(source: Observable[AgentEvent]) -> Observable[AgentEvent]:
        span: list[str] = []
        seen.append(span)
        return source.pipe(ops.do_action(lambda event: span.extend(names([event]))))

    out = rx.from_iterable(list(events)).pipe(hook(**{phase: look}), ops.to_list()).run()
    assert out == list(events)
    return seen


def test_on_agent_is_the_whole_run() -> None:
    assert spans("on_agent", TURN) == [names(TURN)]


def test_on_model_call_is_one_model_call() -> None:
    assert [span[0] + " " + span[-1] for span in spans("on_model_call", TURN)] == [
        "MODEL_CALL_START MODEL_CALL_END"
    ] * 2


def test_on_reasoning_is_every_model_call_of_one_iteration() -> None:
    fallback = numbered(
        [start(), model_start("m1", iteration=1), model_end("m1"), model_start("m2", iteration=1), model_end("m2"),
         note("after"), model_start("m3", iteration=2), model_end("m3"), end()]
    )  # fmt: skip
    assert spans("on_reasoning", fallback) == [
        ["MODEL_CALL_START", "MODEL_CALL_END"] * 2,
        ["MODEL_CALL_START", "MODEL_CALL_END"],
    ]


def test_on_acting_is_every_result_of_one_turn_and_what_comes_between_them() -> None:
    child = start("child-reply", source="main/child")
    events = numbered(
        [start(), model_start(), *call("c", "{}"), model_end(), note("before"), *result("c", "1"), note("in"), child,
         RequestStopEvent(reason="x"), end()]
    )  # fmt: skip
    assert spans("on_acting", events) == [
        ["TOOL_RESULT_START", "TOOL_RESULT_TEXT_DELTA", "TOOL_RESULT_END", "in", "AGENT_START", "REQUEST_STOP"]
    ]


def test_on_tool_call_keeps_parallel_calls_apart() -> None:
    assert spans("on_tool_call", TURN) == [
        ["TOOL_RESULT_START", "TOOL_RESULT_TEXT_DELTA", "TOOL_RESULT_END"],
        ["TOOL_RESULT_START", "TOOL_RESULT_TEXT_DELTA", "TOOL_RESULT_TEXT_DELTA", "TOOL_RESULT_END"],
    ]


def test_inner_phases_come_before_outer_ones() -> None:
    def tag(name: str) -> Callable[[Observable[AgentEvent]], Observable[AgentEvent]]:
        return lambda source: source.pipe(ops.start_with(note(f"<{name}")), ops.concat(rx.of(note(f"{name}>"))))

    out = rx.from_iterable(answer()).pipe(
        hook(on_agent=tag("agent"), on_reasoning=tag("reasoning"), on_model_call=tag("call")), ops.to_list()
    )
    assert [name for name in names(out.run()) if name.strip("<>") != name] == [
        "<agent", "<reasoning", "<call", "call>", "reasoning>", "agent>",
    ]  # fmt: skip


def test_a_hook_without_operators_is_the_identity() -> None:
    source = rx.of(1)
    assert hook()(source) is source
    assert isinstance(hook(), Hook)


# -------------------------------------------------------------------------------- every operator, every source


def late(source: Observable[AgentEvent]) -> Observable[AgentEvent]:
    return source.pipe(ops.delay(0.002))


OPERATORS: dict[str, tuple[Callable[[Observable[Any]], Observable[Any]], Callable[[list[str]], list[str]]]] = {
    "map": (ops.map(upper), lambda span: span),
    "filter": (
        ops.filter(lambda event: not event.type.endswith("_DELTA")),
        lambda span: [name for name in span if not name.endswith("_DELTA")],
    ),
    "concat": (lambda source: source.pipe(ops.concat(rx.of(note(">")))), lambda span: [*span, ">"]),
    "start_with": (ops.start_with(note("<")), lambda span: ["<", *span]),
    "merge": (lambda source: source.pipe(ops.merge(rx.of(note("+")))), lambda span: span),  # and a note, anywhere
    "take": (ops.take(2), lambda span: span[:2]),
    "delay": (late, lambda span: span),
}


_RESULTS = {"TOOL_RESULT_START", "TOOL_RESULT_TEXT_DELTA", "TOOL_RESULT_END"}


def expected(all_names: list[str], phase: str, change: Callable[[list[str]], list[str]]) -> list[str]:
    """What comes out of a stream when every phase is changed; sequential phases only."""
    out, position = [], 0
    for begin, stop in _bounds(phase, all_names):
        out += all_names[position:begin] + change(all_names[begin:stop])
        position = stop
    return out + all_names[position:]


def _bounds(phase: str, all_names: list[str]) -> list[tuple[int, int]]:
    if phase == "on_agent":
        return [(0, len(all_names))]
    if phase == "on_acting":
        inside = [index for index, name in enumerate(all_names) if name.startswith("TOOL_RESULT")]
        return [(inside[0], inside[-1] + 1)]
    starts = [index for index, name in enumerate(all_names) if name == "MODEL_CALL_START"]
    return [(begin, all_names.index("MODEL_CALL_END", begin) + 1) for begin in starts]


@tool(concurrency_safe=False)
async def count(to: int) -> AsyncIterator[str]:
    """Count."""
    for number in range(to):
        yield str(number)


@pytest.fixture(params=["from_iterable", "replay", "async", "agent"])
def source(request: pytest.FixtureRequest, tmp_path: Path) -> Observable[AgentEvent]:
    """TURN from somewhere, or an agent at work on one like it, with its calls one after the other."""

    async def one_by_one() -> AsyncIterator[AgentEvent]:
        for event in TURN:
            await asyncio.sleep(0)
            yield event

    match request.param:
        case "agent":
            calls = [tool_call("count", {"to": 1}, id="c1"), tool_call("count", {"to": 2}, id="c2")]
            model = ScriptedModel([[text("a"), *calls], [text("b")]] * 2)
            return ReActAgent("friday", model, tools=[count]).stream_events("go")
        case "async":
            return from_async_iterable(one_by_one)
        case "replay":
            rx.from_iterable(TURN).pipe(record(tmp_path / "turn.jsonl")).run()
            return replay(tmp_path / "turn.jsonl")
    return rx.from_iterable(TURN)


@pytest.mark.parametrize("phase", [phase for phase in PHASES if phase != "on_tool_call"])
@pytest.mark.parametrize("name", OPERATORS)
def test_nothing_is_lost_order_is_kept_and_the_rest_is_untouched(
    source: Observable[AgentEvent], name: str, phase: str
) -> None:
    operator, change = OPERATORS[name]
    bare = names(Stream(source.pipe(ops.to_list())).run())
    got = names(Stream(source.pipe(hook(**{phase: operator}), ops.to_list())).run())
    assert [entry for entry in got if entry != "+"] == expected(bare, phase, change)
    assert got.count("+") == (len(_bounds(phase, bare)) if name == "merge" else 0)


@pytest.mark.parametrize("name", OPERATORS)
def test_the_results_of_each_tool_call_keep_their_own_order(source: Observable[AgentEvent], name: str) -> None:
    def own(events: Iterable[Any], call_id: str) -> list[str]:
        return names(event for event in events if event.type in _RESULTS and event.tool_call_id == call_id)

    operator, change = OPERATORS[name]
    bare = Stream(source.pipe(ops.to_list())).run()
    got = Stream(source.pipe(hook(on_tool_call=operator), ops.to_list())).run()
    for call_id in ("c1", "c2"):
        assert own(got, call_id) == [entry for entry in change(own(bare, call_id)) if entry not in "<>"]
    assert [entry for entry in names(got) if entry not in {*_RESULTS, *"<>+"}] == [
        entry for entry in names(bare) if entry not in _RESULTS
    ]
    assert sum(entry in "<>+" for entry in names(got)) == (2 if name in {"start_with", "concat", "merge"} else 0)


@given(streams())
def test_a_hook_that_changes_nothing_changes_nothing(stream: list[AgentEvent]) -> None:
    every = hook(**{phase: ops.map(lambda event: event) for phase in PHASES})
    assert rx.from_iterable(stream).pipe(every, ops.to_list()).run() == stream


def test_on_a_live_agent() -> None:
    def add(a: int, b: int) -> int:
        """Add."""
        return a + b

    agent = ReActAgent(
        "friday",
        ScriptedModel([[text("let me see"), tool_call("add", {"a": 1, "b": 2})], [text("it is 3")]]),
        tools=[add],
    )
    got = agent.stream_events("1+2?").pipe(hook(on_acting=framed, on_reasoning=ops.map(upper)), ops.to_list()).run()
    shown = names(got)
    assert shown[shown.index("<") + 1] == "TOOL_RESULT_START"
    assert shown[shown.index(">") - 1] == "TOOL_RESULT_END"
    assert shown[shown.index(">") + 1] == "MODEL_CALL_START"
    assert [event.delta for event in got if isinstance(event, TextBlockDeltaEvent)] == ["LET ME SEE", "IT IS 3"]


# ------------------------------------------------------------------------------------------ time


def test_a_phase_is_delayed_in_the_time_of_the_subscription() -> None:
    def at(position: int) -> int:
        return 200 + (position + 1) * STEP

    scheduler, late = TestScheduler(), 15
    first, *of_the_model, last = events = answer("Hello")
    source = [on_next(at(position) - 200, event) for position, event in enumerate(events)]
    xs = scheduler.create_cold_observable(*source, on_completed(at(len(events)) - 200))
    assert scheduler.start(lambda: xs.pipe(hook(on_model_call=ops.delay(late)))).messages == [
        on_next(at(0), first),
        *(on_next(at(position) + late, event) for position, event in enumerate(of_the_model, 1)),
        on_next(at(len(of_the_model)) + late, last),  # it comes earlier, and waits
        on_completed(at(len(events))),
    ]


# ------------------------------------------------------------------------------------------ waiting and failing


def test_what_comes_after_a_phase_waits_for_its_operator_and_the_source_is_paused() -> None:
    pulled = 0
    release = Subject[Any]()

    def held(phase: Observable[AgentEvent]) -> Observable[AgentEvent]:
        return phase.pipe(ops.concat(release))

    async def many() -> Any:
        nonlocal pulled
        for event in [start(), model_start(), model_end(), *(note(str(n)) for n in range(500)), end()]:
            pulled += 1
            yield event

    async def main() -> list[str]:
        got: list[AgentEvent] = []
        done = asyncio.Event()
        stream = from_async_iterable(many).pipe(hook(on_model_call=held))

        async def read() -> None:
            async for event in stream:
                got.append(event)  # noqa: PERF401 - looked at while it grows
            done.set()

        reader = asyncio.ensure_future(read())
        await asyncio.sleep(0.02)
        assert names(got) == ["AGENT_START", "MODEL_CALL_START", "MODEL_CALL_END"]
        assert pulled <= 3 + 64 + 2
        release.on_next(note("released"))
        release.on_completed()
        await asyncio.wait_for(done.wait(), 5)
        await reader
        return names(got)

    assert asyncio.run(main()) == [
        "AGENT_START", "MODEL_CALL_START", "MODEL_CALL_END", "released", *map(str, range(500)), "AGENT_END",
    ]  # fmt: skip


def test_an_operator_that_fails_ends_the_stream() -> None:
    def fail(event: Any) -> Any:
        if isinstance(event, ToolResultEndEvent):
            raise ValueError("no")
        return event

    got: list[Any] = []
    rx.from_iterable(TURN).pipe(hook(on_acting=ops.map(fail))).subscribe(got.append, got.append)
    assert isinstance(got[-1], ValueError)
    assert "TOOL_RESULT_END" not in names(got[:-1])


def test_an_operator_that_raises_when_it_is_applied_ends_the_stream() -> None:
    def broken(source: Any) -> Any:
        raise ValueError("no")

    got: list[Any] = []
    rx.from_iterable(TURN).pipe(hook(on_model_call=broken)).subscribe(got.append, got.append)
    assert names(got[:-1]) == ["AGENT_START"]
    assert isinstance(got[-1], ValueError)


def test_an_error_of_the_source_reaches_the_phase_and_then_ends_the_stream() -> None:
    seen: list[Any] = []

    def watch(source: Observable[AgentEvent]) -> Observable[AgentEvent]:
        return source.pipe(ops.do_action(on_error=seen.append), ops.catch(lambda error, _: rx.of(note("caught"))))

    error = ConnectionError("gone")
    broken = rx.concat(rx.from_iterable(TURN[:4]), rx.throw(error))
    got: list[Any] = []
    broken.pipe(hook(on_model_call=watch)).subscribe(got.append, got.append)
    assert names(got[:-1]) == [*names(TURN[:4]), "caught"]
    assert seen == [error]
    assert got[-1] is error


def test_dispose_inside_a_phase_reaches_its_operator() -> None:
    disposed: list[str] = []

    def watch(source: Observable[AgentEvent]) -> Observable[AgentEvent]:
        return source.pipe(ops.finally_action(lambda: disposed.append("phase")))

    subject = Subject[Any]()
    got: list[Any] = []
    subscription = subject.pipe(hook(on_model_call=watch)).subscribe(got.append)
    for event in TURN[:3]:
        subject.on_next(event)
    subscription.dispose()
    assert disposed == ["phase"]
    assert not subject.observers


def test_a_phase_whose_operator_has_had_enough_is_left_out() -> None:
    got = rx.from_iterable(TURN).pipe(hook(on_tool_call=ops.take(1)), ops.to_list()).run()
    assert [type(event) for event in got if event.type.startswith("TOOL_RESULT")] == [ToolResultStartEvent] * 2
    assert sum(isinstance(event, ModelCallStartEvent) for event in got) == 2
