"""Law L6 on an agent: whenever somebody leaves or interrupts, nothing is left behind, and the history works."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

from hypothesis import given, strategies as st
from reactivex import operators as ops

from agentscope_rx import (
    AgentEvent,
    AgentState,
    GenerateReason,
    ModelCallEndEvent,
    ModelError,
    Msg,
    ToolCallState,
    ToolResultBlock,
    ToolResultState,
    ToolUseBlock,
    UserInterruptEvent,
    UserMessage,
)
from agentscope_rx.model import ModelRequest
from agentscope_rx.model.anthropic.request import encode_request as anthropic_request
from agentscope_rx.model.openai_chat.request import encode_request as chat_request
from agentscope_rx.model.openai_responses.request import encode_request as responses_request
from agentscope_rx.testing import assert_valid_stream, delay, text
from tests.model.rules import ANTHROPIC, CHAT, RESPONSES, violations
from tests.reference import reference_arguments
from tests.virtual_time import in_virtual_time, other_tasks

from .consuming import LEAVERS, LEAVERS_AT_TIMES, Way, breaking, disposing, disposing_later, iterating, rest
from .playing import PAUSES, Play, fold, run_of
from .scenarios import Scenario, Turn, scenarios

TIMES = (0.0, 0.0005, 0.01, 0.5, 1.5, 2.5, 500.0, 1_000.5, 5_000.0)
"""Seconds: before, in and after what the tools of a scenario do."""

MOMENTS = st.tuples(st.sampled_from(LEAVERS), st.integers(1, 60)) | st.tuples(
    st.sampled_from(LEAVERS_AT_TIMES), st.sampled_from(TIMES)
)


def check_history(play: Play) -> AgentState:
    """Return what is stored: every call of what is stored has its result, and everything is JSON."""
    state = play.state()
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
    for question in ("again", "and again"):
        while True:
            run = await run_of(play, iterating, await play.next_input(question))
            assert_valid_stream(run.events)
            if run.error is None and run.reason not in PAUSES:
                break
    check_request(play.model.requests[-1])


def check_closed(stored: Msg, heard: Sequence[AgentEvent]) -> None:
    """What was heard is kept as it was, and calls without a result have one that says why."""
    failed = any(isinstance(event, ModelCallEndEvent) and event.finish_reason == "error" for event in heard)
    closed = (ToolResultState.INTERRUPTED, ToolResultState.ERROR) if failed else (ToolResultState.INTERRUPTED,)
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
            ending = {"state": kept.state, "output": kept.output}
            assert kept.state in closed
            assert kept.output[: len(block.output) - 1] == block.output[:-1]
        assert kept == block.model_copy(update=ending)
    for result in stored.content[len(said) :]:
        assert isinstance(result, ToolResultBlock)
        assert result.state in closed


@given(scenarios(), MOMENTS, st.integers(0, 1))
def test_l6_leaving_at_any_moment_leaves_nothing_behind_and_a_history_that_works(
    scenario: Scenario, leaving: tuple[Way, float], earlier: int
) -> None:
    play, (leave, when) = Play(scenario), leaving

    async def main() -> None:
        for _ in range(earlier):
            await run_of(play, iterating)
        given = await play.next_input("go on")
        heard: list[AgentEvent] = []
        with suppress(ModelError):
            await leave(play.agent.stream_events(given, play.context), heard, when)
        until_then = list(heard)
        if leave in (disposing, disposing_later):
            await rest()
        assert not other_tasks()
        assert play.is_at_rest()
        await asyncio.sleep(1_000_000)
        assert heard == until_then
        state = check_history(play)
        # The buffer of an iteration held what was not heard; a reply that said nothing is not kept.
        if leave is not breaking and state.paused is None and heard and fold(heard).content:
            check_closed(state.history[-1], heard)
        await go_on(play)
        check_history(play)

    # Whoever leaves when the model has just failed is not told of it, and so the loop is.
    in_virtual_time(main, reported=ModelError)


@given(scenarios(), st.integers(1, 60) | st.sampled_from(TIMES), st.sampled_from(("stop", None)))
def test_l6_an_interrupt_at_any_moment_ends_the_reply_in_order(
    scenario: Scenario, when: float, said: str | None
) -> None:
    play, heard = Play(scenario), list[Any]()

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
    play = Play(Scenario((Turn((text("a"), delay(1), text("b"))),) * len(patience)))

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
    began = [message.get_text_content() for message in play.state().history if isinstance(message, UserMessage)]
    assert began == sorted(began)
    assert set(asked) <= set(began)
    check_history(play)
