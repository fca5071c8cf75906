"""Laws L1, L2, L3, L7 and L8 on an agent: random models and tools, in every way that a stream is consumed."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterable, Mapping
from contextlib import suppress
from typing import Any

from hypothesis import given, strategies as st

from agentscope_rx import (
    AgentEndEvent,
    AgentStartEvent,
    AssistantMessage,
    ExceedMaxItersEvent,
    FinishReason,
    GenerateReason,
    MiddlewareError,
    ModelCallEndEvent,
    ModelCallStartEvent,
    ModelError,
    Msg,
    ReActAgent,
    SystemMessage,
    ToolCallStartEvent,
    ToolResultEndEvent,
    ToolResultState,
    ToolUseBlock,
    UserMessage,
    decode,
    encode,
)
from agentscope_rx.middleware.chain import HOOKS
from agentscope_rx.model import ModelChunk, ModelRequest
from agentscope_rx.operators import Stage, hook, stage
from agentscope_rx.testing import ScriptedModel, assert_valid_stream
from tests.virtual_time import in_virtual_time

from .consuming import CONSUMERS, LEAVERS, Way, rest
from .playing import Play, Run, fold, played, runs_of
from .rewriting import REWRITES, Rewrite
from .scenarios import Scenario, scenarios
from .workshop import PERMISSION, TOOLS, outcomes

WAYS = st.sampled_from(CONSUMERS)


def heard(runs: list[Run]) -> list[Any]:
    return [event for run in runs for event in run.events]


# ------------------------------------------------------------------------------------------- L1, one reply, one id


@given(scenarios())
def test_l1_a_reply_has_one_id_and_its_parts_have_ids_of_their_own_across_pauses(scenario: Scenario) -> None:
    _, runs = played(scenario)
    events = heard(runs)
    assert {event.reply_id for event in events if hasattr(event, "reply_id")} == {runs[-1].message.id}
    assert [event.seq for event in events] == list(range(1, len(events) + 1))
    assert len({event.id for event in events}) == len(events)
    for kind in ("TEXT_BLOCK", "THINKING_BLOCK", "DATA_BLOCK", "TOOL_CALL", "TOOL_RESULT", "MODEL_CALL"):
        starts = [event for event in events if event.type == f"{kind}_START"]
        ids = {next(value for key, value in event if key in KEYS) for event in starts}
        assert len(ids) == len(starts)


KEYS = ("block_id", "tool_call_id", "model_call_id")


class ByQuestion:
    """A model that is another one for each question."""

    model_name = "scripted"

    def __init__(self, models: Mapping[str, ScriptedModel]) -> None:
        self._models = models

    def stream(self, request: ModelRequest) -> AsyncIterator[ModelChunk]:
        [*_, question] = (message for message in request.messages if isinstance(message, UserMessage))
        return self._models[question.get_text_content()].stream(request)


@given(scenarios(), scenarios(), st.sampled_from(LEAVERS), st.integers(1, 60), WAYS)
def test_l1_two_subscribers_have_replies_of_their_own_and_know_nothing_of_each_other(
    scenario: Scenario, other: Scenario, leave: Way, when: int, way: Way
) -> None:
    """One of them leaves; the other hears what it would have heard alone."""
    leaver, stayer = Play(scenario), Play(other)
    leaver.agent = stayer.agent = ReActAgent(
        "friday",
        ByQuestion({"bye": leaver.model, "go": stayer.model}),
        tools=TOOLS,
        permission=PERMISSION,
        max_iters=other.max_iters,
    )
    leaver.context.session_id, stayer.context.session_id = "a", "b"
    left: list[Any] = []

    async def go() -> None:
        with suppress(ModelError):
            await leave(leaver.agent.stream_events("bye", leaver.context), left, when)

    async def main() -> list[Run]:
        async with asyncio.TaskGroup() as group:
            group.create_task(go())
            runs = await runs_of(stayer, way)
        await rest()
        return runs

    stayed = in_virtual_time(main, reported=ModelError)
    _, alone = played(other, way)
    assert [content_of(run) for run in stayed] == [content_of(run) for run in alone]
    for key in ("id", "reply_id", "block_id"):
        assert not ids_of(left, key) & ids_of(heard(stayed), key)


def ids_of(events: Iterable[Any], key: str) -> set[str]:
    return {getattr(event, key) for event in events if hasattr(event, key)}


def content_of(run: Run) -> Any:
    """What a run came to, without ids and in any order: parallel calls end as they may."""
    blocks = [str(without_ids(block.model_dump())) for block in run.message.content]
    return run.reason, type(run.error), sorted(blocks)


def without_ids(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: without_ids(item) for key, item in value.items() if key != "id"}
    return [without_ids(item) for item in value] if isinstance(value, list | tuple) else value


# --------------------------------------------------------------------------------- L2, everything opened is closed


@given(scenarios(), WAYS)
def test_l2_every_run_ends_once_and_closes_what_it_opened(scenario: Scenario, way: Way) -> None:
    play, runs = played(scenario, way)
    for run in runs:
        assert_valid_stream(run.events)
        assert isinstance(run.events[0], AgentStartEvent)
        assert [event for event in run.events if isinstance(event, AgentEndEvent)] == [run.events[-1]]
    assert play.is_at_rest()


# ------------------------------------------------------------------------------------------------------ L3, the fold


@given(scenarios(), WAYS)
def test_l3_what_is_stored_is_the_fold_of_what_was_heard_and_of_its_json(scenario: Scenario, way: Way) -> None:
    play, runs = played(scenario, way)
    message = fold(heard(runs))
    assert message == fold(runs[-1].events) == runs[-1].message
    assert message == fold(decode(encode(event)) for event in heard(runs))
    assert message == remembered(play) or not message.content


def remembered(play: Play) -> Msg:
    """The reply that is stored; one that says nothing is not."""
    state = play.state()
    return state.history[-1] if state.paused is None else state.paused.message


# ---------------------------------------------------------------------------------------------------- L7, one truth


@given(scenarios(), st.sampled_from(REWRITES), st.data())
def test_l7_what_is_seen_stored_and_sent_is_one_message(
    scenario: Scenario, rewrite: Rewrite, data: st.DataObject
) -> None:
    place = data.draw(st.sampled_from(rewrite.places))
    play, runs = played(scenario, middlewares=[hook(**{place: rewrite.operator})])
    seen = heard(runs)
    message = fold(seen)
    assert rewrite.holds_of(message)
    assert message == runs[-1].message
    assert message == remembered(play) or not message.content
    calls = [at for at, event in enumerate(seen) if isinstance(event, ModelCallStartEvent)]
    for at, request in zip(calls, play.model.requests, strict=True):
        so_far = fold(seen[:at])
        given = [SystemMessage("system", "Be brief."), UserMessage("go"), *([so_far] if so_far.content else [])]
        assert [spoken(message) for message in request.messages] == [spoken(message) for message in given]


def spoken(message: Msg) -> Any:
    """A message without the id and time of its own that a prompt and a question have."""
    return message if isinstance(message, AssistantMessage) else (message.role, message.name, message.content)


# ------------------------------------------------------------------------------------------------ L8, nothing silent


@given(scenarios(), WAYS)
def test_l8_an_expected_failure_is_an_event(scenario: Scenario, way: Way) -> None:
    """Of a tool, a person, a rule, a limit or a model that refuses: the stream completes, and says how it was."""
    play, runs = played(scenario, way)
    events = heard(runs)
    ends = [event for event in events if isinstance(event, ModelCallEndEvent)]
    for turn, end in zip(scenario.turns, ends, strict=False):
        assert end.finish_reason is turn.finish_reason or turn.finish_reason is None
    limited = any(isinstance(event, ExceedMaxItersEvent) for event in events)
    assert limited == (runs[-1].reason is GenerateReason.MAX_ITERATIONS) or runs[-1].error is not None
    results = {event.tool_call_id: event.state for event in events if isinstance(event, ToolResultEndEvent)}
    refused = calls_not_run(events)
    for call in fold(events).get_content_blocks(ToolUseBlock):
        expected = (ToolResultState.ERROR,) if call.id in refused else outcomes(call)
        assert results.get(call.id) in expected or (play.state().paused is not None and call.id not in results)


NOT_RUN = (FinishReason.LENGTH, FinishReason.ERROR)


def calls_not_run(events: Iterable[Any]) -> set[str]:
    """The calls of a model call that failed, was cut off or was to sum up."""
    refused, calls, summary = set[str](), list[str](), False
    for event in events:
        if isinstance(event, ModelCallStartEvent):
            calls = []
        elif isinstance(event, ToolCallStartEvent):
            calls.append(event.tool_call_id)
        elif isinstance(event, ExceedMaxItersEvent):
            summary = True
        elif isinstance(event, ModelCallEndEvent):
            refused.update(calls if summary or event.finish_reason in NOT_RUN else ())
    return refused


@given(scenarios(), WAYS)
def test_l8_a_model_that_fails_is_a_typed_error_after_the_closing_events(scenario: Scenario, way: Way) -> None:
    play, runs = played(scenario, way)
    for run in runs[:-1]:
        check_failure(run, None)
    check_failure(runs[-1], play.model.raised)
    assert isinstance(runs[-1].error, ModelError | None)


def check_failure(run: Run, *raised: Exception | None) -> None:
    """The run has failed if and only if something was raised; in order, and with a typed error without a secret."""
    assert_valid_stream(run.events)
    end = run.events[-1]
    assert isinstance(end, AgentEndEvent)
    if not any(raised):
        assert (run.error, end.error) == (None, None)
        assert end.generate_reason is not GenerateReason.ERROR
        return
    assert run.error is not None
    assert run.error in raised or run.error.__cause__ in raised
    assert "SECRET" not in str(run.error)
    assert end.generate_reason is GenerateReason.ERROR
    assert end.error is not None
    assert (end.error.type, end.error.message) == (type(run.error).__name__, str(run.error))


class Broken(Stage[Any, Any]):
    """Has a bug that shows at the n-th event."""

    def __init__(self, number: int, raised: list[Exception]) -> None:
        self._left = number
        self._raised = raised

    def on_next(self, event: Any, /) -> list[Any]:
        self._left -= 1
        if not self._left:
            self._raised.append(ZeroDivisionError("SECRET"))
            raise self._raised[-1]
        return [event]


@given(scenarios(), st.sampled_from(HOOKS), st.integers(1, 12))
def test_l8_a_bug_in_a_middleware_is_a_typed_error_after_the_closing_events(
    scenario: Scenario, place: str, number: int
) -> None:
    raised = list[Exception]()
    play, runs = played(scenario, middlewares=[hook(**{place: stage(lambda: Broken(number, raised))})])
    check_failure(runs[-1], *raised, play.model.raised)
    assert isinstance(runs[-1].error, MiddlewareError | ModelError | None)
