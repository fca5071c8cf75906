"""The laws, on an agent: random models, tools, consumers and ways to leave."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence
from contextlib import suppress
from typing import Any

import reactivex as rx
from hypothesis import given, strategies as st
from reactivex import operators as ops

from agentscope_rx import (
    AgentEndEvent,
    AgentEvent,
    AgentScopeError,
    AgentStartEvent,
    AgentState,
    AssistantMessage,
    CustomEvent,
    ExceedMaxItersEvent,
    FinishReason,
    GenerateReason,
    ModelCallEndEvent,
    ModelCallStartEvent,
    ModelError,
    Msg,
    RuntimeContext,
    StreamStatistics,
    TextBlockDeltaEvent,
    ThinkingBlockDeltaEvent,
    ToolCallStartEvent,
    ToolCallState,
    ToolResultBlock,
    ToolResultEndEvent,
    ToolResultState,
    ToolResultTextDeltaEvent,
    ToolUseBlock,
    UserInterruptEvent,
    UserMessage,
    decode,
    encode,
    new_id,
)
from agentscope_rx.model import ModelRequest
from agentscope_rx.model.anthropic.request import encode_request as anthropic_request
from agentscope_rx.model.openai_chat.request import encode_request as chat_request
from agentscope_rx.model.openai_responses.request import encode_request as responses_request
from agentscope_rx.operators import hook
from agentscope_rx.testing import assert_valid_stream, delay, text
from tests.model.rules import ANTHROPIC, CHAT, RESPONSES, violations
from tests.reference import reference_arguments
from tests.virtual_time import in_virtual_time, other_tasks

from .consuming import CONSUMERS, LEAVERS, LEAVERS_AT_TIMES, Way, breaking, cancelling, iterating, taking
from .scenarios import OUTCOMES, Play, Scenario, Workshop, fold, scenarios

PAUSES = (GenerateReason.PERMISSION_ASKING, GenerateReason.TOOL_SUSPENDED)
TIMES = (0.0, 0.0005, 0.01, 0.5, 1.5, 2.5, 500.0, 1_000.5, 5_000.0)


class Run:
    """One run of a reply: what was heard of it, and what it failed with."""

    def __init__(self, heard: list[AgentEvent], error: Exception | None) -> None:
        self.events: list[Any] = heard
        self.error = error

    @property
    def message(self) -> AssistantMessage:
        return self.events[-2].result

    @property
    def reason(self) -> GenerateReason:
        return self.events[-1].generate_reason


async def run_of(way: Way, play: Play, given: Any = "go", *more: Any) -> Run:
    heard: list[AgentEvent] = []
    try:
        await way(play.agent.stream_events(given, play.context), heard, *more)
    except AgentScopeError as error:
        return Run(heard, error)
    return Run(heard, None)


async def runs_of(play: Play, way: Way = iterating) -> list[Run]:
    """A whole reply: as often as it pauses, it is given answers."""
    runs = [await run_of(way, play)]
    while runs[-1].reason in PAUSES:
        runs.append(await run_of(way, play, play.answers(runs[-1].message)))
    return runs


def state_of(play: Play) -> AgentState:
    return play.agent.get_state(play.context).run()


def stored_message(play: Play) -> Msg:
    """The reply as it is remembered; one that said nothing is not."""
    state = state_of(play)
    return state.history[-1] if state.paused is None else state.paused.message


def played(scenario: Scenario, way: Way = iterating, **settings: Any) -> tuple[Play, list[Run]]:
    play = scenario.play(**settings)
    return play, in_virtual_time(lambda: runs_of(play, way))


# ------------------------------------------------------------------------------------------- L1, one reply, one id


@given(scenarios())
def test_l1_a_reply_has_one_id_and_its_blocks_have_ids_of_their_own_across_pauses(scenario: Scenario) -> None:
    _, runs = played(scenario)
    events = [event for run in runs for event in run.events]
    assert len({event.reply_id for event in events if hasattr(event, "reply_id")}) == 1
    assert [event.seq for event in events] == list(range(1, len(events) + 1))
    assert len({event.id for event in events}) == len(events)
    for key, ending in (("block_id", "BLOCK_START"), ("tool_call_id", "TOOL_CALL_START"), ("model_call_id", "_START")):
        ids = [getattr(event, key) for event in events if hasattr(event, key) and event.type.endswith(ending)]
        assert len(set(ids)) == len(ids)


@given(scenarios(), st.sampled_from((taking, breaking, cancelling)), st.integers(1, 60), st.booleans())
def test_l1_subscribers_get_replies_of_their_own_and_know_nothing_of_each_other(
    scenario: Scenario, leave: Way, when: int, same_session: bool
) -> None:
    """Two subscribe at once, to one stream or to those of two sessions; one leaves, and the other hears it all."""
    play = scenario.play()
    other = play.context if same_session else RuntimeContext("other").put(Workshop())
    left: list[Any] = []
    stayed: list[Any] = []
    failed: list[Exception] = []

    async def first() -> None:
        with suppress(AgentScopeError):
            await leave(play.agent.stream_events("go", play.context), left, when)

    async def second() -> None:
        try:
            await iterating(play.agent.stream_events("go", other), stayed)
        except AgentScopeError as error:
            failed.append(error)

    async def main() -> None:
        async with asyncio.TaskGroup() as group:
            group.create_task(second() if same_session else first())
            group.create_task(first() if same_session else second())

    in_virtual_time(main, reported=ModelError)
    assert_valid_stream(stayed)
    assert [event.seq for event in stayed] == list(range(1, len(stayed) + 1))
    assert all(isinstance(error, ModelError) for error in failed)
    for key in ("id", "reply_id"):
        assert not {getattr(event, key, None) for event in left if hasattr(event, key)} & {
            getattr(event, key, None) for event in stayed if hasattr(event, key)
        }
    if not same_session:
        stored = play.agent.get_state(other).run()
        reply = stored.paused.message if stored.paused else stored.history[-1]
        assert reply == stayed[-2].result or not stayed[-2].result.content


# --------------------------------------------------------------------------------- L2, everything opened is closed


@given(scenarios(), st.sampled_from(CONSUMERS))
def test_l2_every_run_ends_once_and_closes_what_it_opened_however_it_is_consumed(scenario: Scenario, way: Way) -> None:
    play, runs = played(scenario, way)
    for run in runs:
        assert_valid_stream(run.events)
        assert [event.type for event in run.events].count("AGENT_END") == 1
        assert isinstance(run.events[0], AgentStartEvent)
        assert isinstance(run.events[-1], AgentEndEvent)
    assert play.is_at_rest()


# ------------------------------------------------------------------------------------------------------ L3, the fold


@given(scenarios(), st.sampled_from(CONSUMERS))
def test_l3_what_is_stored_is_the_fold_of_what_was_heard_and_of_its_json(scenario: Scenario, way: Way) -> None:
    play, runs = played(scenario, way)
    events = [event for run in runs for event in run.events]
    message = fold(events)
    assert message == fold([decode(encode(event)) for event in events]) == fold(runs[-1].events) == runs[-1].message
    assert message == stored_message(play) or not message.content


# ------------------------------------------------------------------------------------------------ L5, back-pressure


@given(scenarios(), st.integers(1, 8), st.sampled_from((0, 0.0005, 1)))
def test_l5_a_slow_consumer_slows_the_agent_and_misses_nothing(scenario: Scenario, buffer: int, pause: float) -> None:
    play = scenario.play()
    published: list[Any] = []
    taken: list[Any] = []

    async def consume() -> StreamStatistics:
        stream = play.agent.stream_events("go", play.context).pipe(ops.do_action(published.append))
        async with stream.iterate(buffer) as events:
            with suppress(ModelError):
                async for event in events:
                    taken.append(event)
                    await asyncio.sleep(pause)
                    now = events.statistics()
                    assert now.limit == buffer
                    assert now.buffered == len(published) - len(taken) <= now.peak
                    assert now.gate_closed if now.buffered >= buffer else True
                    assert now.buffered > buffer // 2 if now.gate_closed else True
                    assert play.model.said <= len(published) + scenario.silent + len(play.model.requests)
                    pieces = [event for event in published if isinstance(event, ToolResultTextDeltaEvent)]
                    assert play.workshop.given <= len(pieces) + (TOOL_BUFFER + 1) * calls_at_once(published)
            return events.statistics()

    end = in_virtual_time(consume)
    assert taken == published
    assert_valid_stream(taken)
    # Beyond the limit there is one event of each call that runs, and at a failure what closes everything at once.
    at_once = calls_at_once(taken)
    assert end.peak <= buffer + at_once + (3 * at_once + 2 if play.model.raised else 0)


TOOL_BUFFER = 64


def calls_at_once(events: Iterable[AgentEvent]) -> int:
    """The most calls of one turn; at least 1."""
    most = calls = 1
    for event in events:
        calls = 0 if isinstance(event, ModelCallStartEvent) else calls + isinstance(event, ToolCallStartEvent)
        most = max(most, calls)
    return most


# ------------------------------------------------------------------------------------------ L6, cancelling is total


def check_history(play: Play) -> AgentState:
    """Return what is stored: every call of what is stored has its result, and everything is JSON."""
    state = state_of(play)
    assert AgentState.model_validate_json(state.model_dump_json()) == state
    for message in state.history:
        calls, results = message.get_content_blocks(ToolUseBlock), message.get_content_blocks(ToolResultBlock)
        assert sorted(call.id for call in calls) == sorted(result.id for result in results)
        assert all(call.state is ToolCallState.FINISHED for call in calls)
    return state


def check_request(request: ModelRequest) -> None:
    """Every provider accepts it: all calls are answered, in order, and all arguments are JSON objects."""
    assert violations(ANTHROPIC, anthropic_request("claude-sonnet-4-5", request)) == []
    assert violations(CHAT, chat_request("gpt-5", request)) == []
    assert violations(RESPONSES, responses_request("gpt-5", request)) == []


async def go_on(play: Play) -> None:
    """The session is free, and what it remembers can be sent: it answers, and answers again."""
    for said in ("again", "and again"):
        while True:
            state = await play.agent.get_state(play.context)
            paused = state.paused is not None and play.answers(state.paused.message)
            run = await run_of(iterating, play, paused or said)
            assert_valid_stream(run.events)
            for request in play.model.requests[-1:]:
                check_request(request)
            if run.error is None and run.reason not in PAUSES:
                break


def check_closed(stored: Msg, heard: Sequence[AgentEvent], failed: bool = False) -> None:
    """What was heard is kept as it was, and what was open is closed: as interrupted, or with the model that failed."""
    closed = (ToolResultState.INTERRUPTED, *((ToolResultState.ERROR,) if failed else ()))
    said = fold(heard).content
    assert len(stored.content) >= len(said)
    for kept, block in zip(stored.content, said, strict=False):
        ending: dict[str, Any] = {}
        if isinstance(block, ToolUseBlock):
            ending = {"state": ToolCallState.FINISHED}
            if not block.input:
                ending["input"] = reference_arguments(block.raw_input)
        elif isinstance(block, ToolResultBlock) and block.state is ToolResultState.RUNNING:
            assert isinstance(kept, ToolResultBlock)
            assert kept.state in closed
            ending = {"state": kept.state, "output": kept.output}
            assert kept.output[: len(block.output) - 1] == block.output[:-1]
        assert kept == block.model_copy(update=ending)
    for result in stored.content[len(said) :]:
        assert isinstance(result, ToolResultBlock)
        assert result.state in closed


MOMENTS = st.tuples(st.sampled_from(LEAVERS), st.integers(1, 60)) | st.tuples(
    st.sampled_from(LEAVERS_AT_TIMES), st.sampled_from(TIMES)
)


@given(scenarios(), MOMENTS, st.integers(0, 1))
def test_l6_leaving_at_any_moment_leaves_nothing_behind_and_a_history_that_works(
    scenario: Scenario, leaving: tuple[Way, float], pauses: int
) -> None:
    play, (leave, when) = scenario.play(), leaving

    async def main() -> None:
        given: Any = "go"
        for _ in range(pauses):
            run = await run_of(iterating, play, given)
            given = play.answers(run.message) if run.reason in PAUSES else "go on"
        heard: list[AgentEvent] = []
        with suppress(ModelError):
            await leave(play.agent.stream_events(given, play.context), heard, when)
        until_then = list(heard)
        assert not other_tasks()
        assert play.is_at_rest()
        await asyncio.sleep(1_000_000)
        assert heard == until_then
        state = check_history(play)
        if state.paused is None and heard and leave is not breaking:  # whose buffer held what it had not heard
            failed = play.model.raised is not None
            check_closed(state.history[-1], heard, failed) if fold(heard).content else None
        await go_on(play)
        check_history(play)

    # Whoever leaves when the model has just failed is not told of it, and so the loop is.
    in_virtual_time(main, reported=ModelError)


@given(scenarios(), st.integers(1, 60) | st.sampled_from(TIMES), st.sampled_from(("stop", None)))
def test_l6_an_interrupt_at_any_moment_ends_the_reply_in_order(
    scenario: Scenario, when: float, said: str | None
) -> None:
    play, heard = scenario.play(), list[Any]()

    def interrupt() -> None:
        play.agent.interrupt(play.context, said)

    def on_next(event: AgentEvent) -> None:
        heard.append(event)
        if len(heard) == when:
            interrupt()

    async def main() -> None:
        if isinstance(when, float):
            asyncio.get_running_loop().call_later(when, interrupt)
        with suppress(ModelError):
            await play.agent.stream_events("go", play.context).pipe(ops.do_action(on_next))
        assert not other_tasks()
        assert play.is_at_rest()
        assert_valid_stream(heard)
        for event in heard:
            if isinstance(event, UserInterruptEvent):
                assert event.message == said
                assert heard[-1].generate_reason is GenerateReason.INTERRUPTED
                check_closed(heard[-2].result, heard[: heard.index(event)])
        check_history(play)
        await go_on(play)
        check_history(play)

    in_virtual_time(main, reported=ModelError)


@given(st.lists(st.sampled_from((0.0, 0.5, 1.5, 2.5, None)), min_size=2, max_size=6))
def test_l6_whoever_leaves_the_queue_of_a_session_holds_up_nobody(patience: list[float | None]) -> None:
    """Calls of one session wait for each other; some have had enough before they are answered."""
    play = Scenario(tuple((text("a"), delay(1), text("b")) for _ in patience)).play()

    async def call(number: int) -> None:
        with suppress(TimeoutError):
            async with asyncio.timeout(patience[number]):
                await play.agent.call(str(number), play.context)

    async def main() -> None:
        async with asyncio.TaskGroup() as group:
            for number in range(len(patience)):
                group.create_task(call(number))
                await asyncio.sleep(0)
        assert play.is_at_rest()

    in_virtual_time(main)
    asked = [request.messages[-1].get_text_content() for request in play.model.requests]
    assert asked == sorted(asked)
    assert {str(number) for number, seconds in enumerate(patience) if seconds is None} <= set(asked)
    users = [message for message in state_of(play).history if isinstance(message, UserMessage)]
    remembered = [user.get_text_content() for user in users]  # also of a call that ended before it asked the model
    assert [text for text in remembered if text in asked] == asked
    assert remembered == sorted(remembered)
    check_history(play)


# ---------------------------------------------------------------------------------------------------- L7, one truth


def rewriting(events: Any) -> Any:
    """An operator that rewrites deltas."""
    return events.pipe(
        ops.map(
            lambda event: event.model_copy(update={"delta": event.delta.upper()}) if isinstance(event, _SAID) else event
        )
    )


def dropping(events: Any) -> Any:
    """An operator that drops the thinking."""
    return events.pipe(ops.filter(lambda event: not event.type.startswith("THINKING_BLOCK")))


def repeating(events: Any) -> Any:
    """An operator that gives deltas twice, under numbers and ids of their own."""

    def twice(event: AgentEvent) -> Any:
        return rx.of(event, event.model_copy(update={"id": new_id()})) if isinstance(event, _SAID) else rx.just(event)

    return events.pipe(ops.concat_map(twice))


def adding(events: Any) -> Any:
    """An operator that says something at the end."""

    def say(_: Any) -> Any:
        return rx.just(CustomEvent(name="said", value=1, seq=0))

    return events.pipe(ops.concat(rx.defer(say)))


_SAID = (TextBlockDeltaEvent, ThinkingBlockDeltaEvent, ToolResultTextDeltaEvent)

STAGES = ("on_reasoning", "on_model_call", "on_acting", "on_tool_call")
OPERATORS: tuple[Any, ...] = (rewriting, dropping, repeating, adding)


@given(scenarios(failing=False), st.lists(st.tuples(st.sampled_from(STAGES), st.sampled_from(OPERATORS)), max_size=3))
def test_l7_what_the_model_is_sent_what_is_heard_and_what_is_stored_agree(
    scenario: Scenario, operators: list[tuple[str, Any]]
) -> None:
    made: Any = [hook(**{stage: operator}) for stage, operator in operators]
    play, runs = played(scenario, middlewares=made)
    heard = [event for run in runs for event in run.events]
    assert fold(heard).content == runs[-1].message.content
    assert stored_message(play).content == runs[-1].message.content or not runs[-1].message.content
    calls = [at for at, event in enumerate(heard) if isinstance(event, ModelCallStartEvent)]
    for at, request in zip(calls, play.model.requests, strict=True):
        so_far = fold(heard[:at]).content
        sent = request.messages[-1].content if isinstance(request.messages[-1], AssistantMessage) else ()
        assert sent == so_far
    if ("on_model_call", rewriting) in operators or ("on_reasoning", rewriting) in operators:
        for event in heard:
            if isinstance(event, TextBlockDeltaEvent):
                assert event.delta == event.delta.upper()


# ------------------------------------------------------------------------------------------------ L8, nothing silent


@given(scenarios(), st.sampled_from(CONSUMERS))
def test_l8_what_can_be_expected_is_an_event_and_what_fails_is_a_typed_error_after_the_closing_events(
    scenario: Scenario, way: Way
) -> None:
    play = scenario.play()

    async def main() -> list[Run]:
        return await runs_of(play, way)

    runs = in_virtual_time(main)
    for run in runs:
        assert_valid_stream(run.events)
        end = run.events[-1]
        assert isinstance(end, AgentEndEvent)
        assert (run.error is not None) == (end.error is not None) == (run.reason is GenerateReason.ERROR)
        if run.error is not None:
            assert play.model.raised is not None
            assert isinstance(run.error, ModelError)
            assert end.error is not None
            assert end.error.type == type(run.error).__name__
            assert "SECRET" not in f"{run.error}{end.error}"
        states = {event.tool_call_id: event.state for event in run.events if isinstance(event, ToolResultEndEvent)}
        for call in run.message.get_content_blocks(ToolUseBlock):
            expected = OUTCOMES.get(call.name)
            if expected is not None and run.error is None and states.get(call.id) is not None:
                assert states[call.id] in (expected, ToolResultState.ERROR)
    calls = [end for run in runs for end in run.events if isinstance(end, ModelCallEndEvent)]
    failed = [end for end in calls if end.finish_reason is FinishReason.ERROR]
    assert len(failed) == (play.model.raised is not None)
    limited = [event for run in runs for event in run.events if isinstance(event, ExceedMaxItersEvent)]
    assert (runs[-1].reason is GenerateReason.MAX_ITERATIONS) <= bool(limited)
