"""`resume_with`: a pause is asked about, and the stream goes on."""

from __future__ import annotations

import asyncio
from typing import Any, ClassVar

import pytest
import reactivex as rx
from reactivex import operators as ops

from agentscope_rx import (
    AgentEndEvent,
    AgentEvent,
    AgentScopeError,
    AgentStartEvent,
    ConfigurationError,
    ConfirmResult,
    ExternalExecutionResultEvent,
    ExternalTool,
    GenerateReason,
    PermissionContext,
    PermissionRule,
    ReActAgent,
    RequestStopEvent,
    ResumeError,
    RuntimeContext,
    TextBlock,
    ToolResultBlock,
    UserConfirmResultEvent,
    UserInterruptEvent,
)
from agentscope_rx.operators import hook, resume_with, to_message
from agentscope_rx.testing import ScriptedModel, assert_valid_stream, text, tool_call

from ..agent.shapes import run
from .contract import OperatorContract
from .script import answer


class Never:
    """An agent that must not be asked to go on."""

    def stream_events(self, input: Any = None, context: Any = None) -> Any:
        raise AssertionError("nothing has paused")


class TestContract(OperatorContract):
    operator: ClassVar = staticmethod(lambda: resume_with(Never(), lambda question: True))
    events: ClassVar = answer("Hello")
    expected: ClassVar = list(enumerate(events, 1))


SENT: list[str] = []
ASK = PermissionContext(ask_rules=(PermissionRule(tool_name="send", behavior="ask"),), mode="bypass")


def send(to: str) -> str:
    """Send."""
    SENT.append(to)
    return f"sent to {to}"


@pytest.fixture(autouse=True)
def _nothing_sent() -> None:
    SENT.clear()


def agent_of(*turns: Any) -> ReActAgent:
    """An agent that asks before it sends, and has work done elsewhere."""
    build = ExternalTool("build", "Build.", {"type": "object", "properties": {}})
    return ReActAgent("friday", ScriptedModel([*turns, [text("done")]]), tools=[send, build], permission=ASK)


def asking() -> ReActAgent:
    return agent_of([tool_call("send", {"to": "ann"})])


async def followed(agent: ReActAgent, handler: Any, context: RuntimeContext | None = None) -> list[AgentEvent]:
    events = [event async for event in agent.stream_events("go", context).pipe(resume_with(agent, handler, context))]
    assert_valid_stream(events)
    return events


def reasons(events: list[AgentEvent]) -> list[str]:
    return [event.generate_reason.value.lower() for event in events if isinstance(event, AgentEndEvent)]


def built(call: Any) -> ToolResultBlock:
    return ToolResultBlock(id=call.id, name=call.name, output=[TextBlock("green")])


def test_yes_runs_the_call_and_the_pause_stays_in_the_stream() -> None:
    events = run(followed(asking(), lambda question: True))
    assert reasons(events) == ["permission_asking", "model_stop"]
    assert [event.resumed for event in events if isinstance(event, AgentStartEvent)] == [False, True]
    assert [event.seq for event in events] == list(range(1, len(events) + 1))
    assert SENT == ["ann"]


def test_no_is_told_to_the_model() -> None:
    events = run(followed(asking(), lambda question: False))
    assert reasons(events) == ["permission_asking", "model_stop"]
    assert "ALL_TOOLS_DENIED" in [event.type for event in events]
    assert SENT == []


def test_a_coroutine_is_awaited_and_single_calls_are_answered_with_edits() -> None:
    async def edit(question: Any) -> list[ConfirmResult]:
        await asyncio.sleep(0)
        return [
            ConfirmResult(confirmed=True, tool_call=call.model_copy(update={"input": {"to": "bob"}}))
            for call in question.tool_calls
        ]

    assert reasons(run(followed(asking(), edit)))[-1] == "model_stop"
    assert SENT == ["bob"]


@pytest.mark.parametrize("shape", ["block", "list", "event"])
def test_results_come_from_outside(shape: str) -> None:
    def handler(question: Any) -> Any:
        [call] = question.tool_calls
        result = built(call)
        event = ExternalExecutionResultEvent(reply_id=question.reply_id, tool_results=[result])
        return {"block": result, "list": [result], "event": event}[shape]

    events = run(followed(agent_of([tool_call("build")]), handler))
    assert reasons(events) == ["tool_suspended", "model_stop"]


def test_both_kinds_are_asked_at_once_as_a_tuple() -> None:
    asked: list[Any] = []

    def handler(question: Any) -> Any:
        asked.append(question)
        confirm, external = question
        return [ConfirmResult(confirmed=True, tool_call=confirm.tool_calls[0]), built(external.tool_calls[0])]

    events = run(followed(agent_of([tool_call("send", {"to": "ann"}), tool_call("build")]), handler))
    assert reasons(events) == ["permission_asking", "model_stop"]
    assert len(asked) == 1
    assert SENT == ["ann"]


def test_what_an_answer_leaves_open_is_asked_again() -> None:
    def handler(question: Any) -> Any:
        return True if isinstance(question, tuple) else built(question.tool_calls[0])

    events = run(followed(agent_of([tool_call("send", {"to": "ann"}), tool_call("build")]), handler))
    assert reasons(events) == ["permission_asking", "tool_suspended", "model_stop"]


def test_any_number_of_pauses() -> None:
    agent = agent_of(*([tool_call("send", {"to": name})] for name in ("ann", "bob", "cy")))
    assert reasons(run(followed(agent, lambda question: True))) == ["permission_asking"] * 3 + ["model_stop"]
    assert SENT == ["ann", "bob", "cy"]


@pytest.mark.parametrize("nothing", [None, []])
def test_without_an_answer_the_reply_stays_paused(nothing: Any) -> None:
    agent = asking()
    assert reasons(run(followed(agent, lambda question: nothing))) == ["permission_asking"]
    assert agent.get_state().run().paused is not None


def test_a_reply_that_a_middleware_has_stopped_is_not_asked_about() -> None:
    stop = hook(on_acting=ops.concat(rx.of(RequestStopEvent(reason="enough"))))
    model = ScriptedModel([[tool_call("send", {"to": "ann"})]])
    agent = ReActAgent("friday", model, tools=[send], permission=ASK, middlewares=[stop])

    def handler(question: Any) -> bool:
        raise AssertionError("it was stopped")

    assert reasons(run(followed(agent, handler))) == ["middleware_stop_requested"]


def test_the_reply_can_be_stopped() -> None:
    events = run(followed(asking(), lambda question: UserInterruptEvent(reply_id=question.reply_id)))
    assert reasons(events) == ["permission_asking", "interrupted"]


def test_the_answer_goes_to_the_session_of_the_call() -> None:
    events = run(followed(asking(), lambda question: True, RuntimeContext("ours", "ann")))
    assert {event.session_id for event in events if isinstance(event, AgentStartEvent)} == {"ours"}
    assert reasons(events)[-1] == "model_stop"


def test_the_message_is_whole() -> None:
    agent = asking()
    message = agent.stream_events("go").pipe(resume_with(agent, lambda question: True), to_message()).run()
    assert message.get_text_content() == "done"
    assert message.generate_reason is GenerateReason.MODEL_STOP


@pytest.mark.parametrize("pending", ["build", "send"])
@pytest.mark.parametrize("answer", [1, "yes", [True]])
def test_an_answer_of_another_kind_is_an_error(answer: Any, pending: str) -> None:
    agent = agent_of([tool_call(pending, {"to": "ann"} if pending == "send" else {})])
    with pytest.raises(ConfigurationError, match="resume_with"):
        run(followed(agent, lambda question: answer))


def test_yes_is_no_result_of_an_external_tool() -> None:
    with pytest.raises(ConfigurationError, match="ToolResultBlocks"):
        run(followed(agent_of([tool_call("build")]), lambda question: True))


def test_what_the_handler_raises_is_the_error_of_the_stream() -> None:
    def broken(question: Any) -> bool:
        raise ZeroDivisionError

    async def broken_later(question: Any) -> bool:
        raise ZeroDivisionError

    for handler in (broken, broken_later):
        agent = asking()
        with pytest.raises(ZeroDivisionError):
            run(followed(agent, handler))
        assert agent.get_state().run().paused is not None


def test_an_answer_that_does_not_fit_is_the_error_of_the_stream() -> None:
    def other(question: Any) -> UserConfirmResultEvent:
        return UserConfirmResultEvent(reply_id="another", confirm_results=[])

    with pytest.raises(ResumeError) as caught:
        run(followed(asking(), other))
    assert isinstance(caught.value, AgentScopeError)


def test_every_subscription_is_asked() -> None:
    model = ScriptedModel([turn for to in ("ann", "bob") for turn in ([tool_call("send", {"to": to})], [text("done")])])
    agent = ReActAgent("friday", model, tools=[send], permission=ASK)
    asked: list[str] = []

    def handler(question: Any) -> bool:
        asked.append(question.tool_calls[0].input["to"])
        return True

    stream = agent.stream_events("go").pipe(resume_with(agent, handler))
    for _ in range(2):
        assert reasons(stream.pipe(ops.to_list()).run())[-1] == "model_stop"
    assert asked == SENT == ["ann", "bob"]


def test_disposing_while_the_handler_waits_cancels_it_and_leaves_the_reply_paused() -> None:
    agent = asking()
    heard: list[str] = []

    async def wait(question: Any) -> bool:
        heard.append("asked")
        try:
            await asyncio.sleep(60)
        except asyncio.CancelledError:
            heard.append("cancelled")
            raise
        return True

    async def main() -> None:
        task = asyncio.ensure_future(followed(agent, wait))
        while not heard:  # noqa: ASYNC110
            await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    run(main())
    assert heard == ["asked", "cancelled"]
    assert agent.get_state().run().paused is not None
    assert SENT == []


def test_a_slow_consumer_slows_the_resumed_run_too() -> None:
    said = [text(f"{number} ") for number in range(500)]
    agent = ReActAgent(
        "friday",
        ScriptedModel([[tool_call("send", {"to": "ann"})], said]),
        tools=[send],
        permission=ASK,
    )

    async def main() -> int:
        stream = agent.stream_events("go").pipe(resume_with(agent, lambda question: True))
        items = stream.iterate(buffer=4)
        async with items:
            async for _ in items:
                await asyncio.sleep(0)
        return items.statistics().peak

    assert run(main()) < 40


def test_a_pause_of_a_child_is_not_ours() -> None:
    child = [
        event.model_copy(update={"source": "main/child"}) for event in run(followed(asking(), lambda question: None))
    ]
    kept = rx.from_iterable(child).pipe(resume_with(Never(), lambda question: True), ops.to_list()).run()
    assert kept == child
