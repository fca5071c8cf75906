"""What AgentScope's own tests expect of an agent, as far as no other test here shows it; see docs/behaviours.md."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from reactivex import Observable, operators as ops

from agentscope_rx import (
    AgentEndEvent,
    AgentEvent,
    AgentState,
    ConfirmResult,
    ExternalExecutionResultEvent,
    GenerateReason,
    InMemoryStateStore,
    Middleware,
    MiddlewareError,
    ModelOptions,
    PermissionBehavior,
    PermissionContext,
    PermissionMode,
    PermissionRule,
    ReActAgent,
    RuntimeContext,
    ToolCallState,
    ToolResultBlock,
    ToolResultTextDeltaEvent,
    ToolUseBlock,
    UserConfirmResultEvent,
    UserInterruptEvent,
)
from agentscope_rx.operators import hook
from agentscope_rx.testing import ScriptedModel, text, tool_call

from .shapes import collect, collect_failing, run, types
from .test_hitl import RESULT, outside_tool, parked, require, results, yes

# ------------------------------------------------------------------------------------------------ around a tool


def doubling(*middlewares: Any) -> tuple[ReActAgent, list[int]]:
    seen: list[int] = []

    async def double(n: int) -> str:
        """Double."""
        seen.append(n)
        return str(2 * n)

    model = ScriptedModel([[tool_call("double", {"n": 1})], [text("done")]])
    return ReActAgent("friday", model, tools=[double], middlewares=middlewares), seen


def output(events: list[AgentEvent]) -> str:
    [block] = events[-2].result.get_content_blocks(ToolResultBlock)  # type: ignore[union-attr]
    return "".join(part.text for part in block.output)  # type: ignore[union-attr]


class Around(Middleware):
    """Says when it goes in and comes out."""

    def __init__(self, name: str, log: list[str]) -> None:
        self.name, self.log = name, log

    def on_tool_call(self, agent: Any, context: Any, input: Any, next: Any) -> Observable[AgentEvent]:
        self.log.append(f"{self.name} in")
        return next(input).pipe(ops.do_action(on_completed=lambda: self.log.append(f"{self.name} out")))


def test_11_3_53_tool_hooks_are_an_onion() -> None:
    log: list[str] = []
    agent, _ = doubling(Around("outer", log), Around("inner", log))
    run(collect(agent, "go"))
    assert log == ["outer in", "inner in", "inner out", "outer out"]


def test_11_3_53_a_tool_hook_may_change_the_arguments() -> None:
    class Seven(Middleware):
        def on_tool_call(self, agent: Any, context: Any, input: Any, next: Any) -> Observable[AgentEvent]:
            changed = {"input": {"n": 7}, "raw_input": '{"n": 7}'}
            return next(replace(input, tool_call=input.tool_call.model_copy(update=changed)))

    agent, seen = doubling(Seven())
    assert output(run(collect(agent, "go"))) == "14"
    assert seen == [7]


def test_11_3_53_a_tool_hook_may_change_what_the_tool_says() -> None:
    def loud(event: Any) -> Any:
        return event.model_copy(update={"delta": "!"}) if isinstance(event, ToolResultTextDeltaEvent) else event

    agent, _ = doubling(hook(on_tool_call=ops.map(loud)))
    assert output(run(collect(agent, "go"))) == "!"


def test_11_3_53_a_tool_hook_that_raises_fails_the_reply_and_the_tool_does_not_run() -> None:
    class Broken(Middleware):
        def on_tool_call(self, agent: Any, context: Any, input: Any, next: Any) -> Observable[AgentEvent]:
            raise ValueError("no")

    agent, seen = doubling(Broken())
    events, failure = run(collect_failing(agent, "go"))
    assert isinstance(failure, MiddlewareError)
    assert isinstance(failure.__cause__, ValueError)
    assert results(events) == [("call_1", "error")]
    assert seen == []


def test_11_3_45_a_tool_that_gives_nothing_has_an_empty_result() -> None:
    def nothing() -> None:
        """Nothing."""

    agent = ReActAgent("friday", ScriptedModel([[tool_call("nothing")], [text("done")]]), tools=[nothing])
    events = run(collect(agent, "go"))
    assert results(events) == [("call_1", "success")]
    assert output(events) == ""


# ------------------------------------------------------------------------------------------------ around the rest


def test_11_3_91_a_dropped_agent_end_is_put_back_and_forces_no_other_round() -> None:
    agent = ReActAgent(
        "friday",
        ScriptedModel([[text("hi")]]),
        middlewares=[hook(on_agent=ops.filter(lambda event: not isinstance(event, AgentEndEvent)))],
    )
    events = run(collect(agent, "go"))
    assert types(events).count("AGENT_START") == types(events).count("AGENT_END") == 1
    assert types(events)[-2:] == ["AGENT_RESULT", "AGENT_END"]
    assert events[-1].generate_reason is GenerateReason.MODEL_STOP  # type: ignore[union-attr]


def test_11_3_92_a_reasoning_hook_may_change_the_options_and_keeps_the_rest() -> None:
    class Quiet(Middleware):
        def on_reasoning(self, agent: Any, context: Any, input: Any, next: Any) -> Observable[AgentEvent]:
            return next(replace(input, options=input.options.merged(ModelOptions(tool_choice="none"))))

    model = ScriptedModel([[text("hi")]])
    agent = ReActAgent("friday", model, middlewares=[Quiet()], options=ModelOptions(temperature=0.5))
    run(collect(agent, "go"))
    [request] = model.requests
    assert (request.options.tool_choice, request.options.temperature) == ("none", 0.5)
    assert [message.get_text_content() for message in request.messages] == ["go"]


# ------------------------------------------------------------------------------------------------ people


def test_11_3_56_the_rule_that_is_suggested_for_a_plain_tool() -> None:
    agent, _, _ = parked(tool_call("send", {"to": "ann"}), permission=PermissionContext())
    [call] = require(run(collect(agent, "go"))).tool_calls
    assert call.state is ToolCallState.ASKING
    assert call.suggested_rules == (
        PermissionRule(tool_name="send", rule_content=None, behavior=PermissionBehavior.ALLOW, source="suggested"),
    )


def test_11_3_71_the_message_of_a_call_says_what_is_to_be_answered() -> None:
    agent, _, outbox = parked(tool_call("send", {"to": "ann"}))

    async def main() -> str:
        message = await agent.call("go")
        assert message.generate_reason is GenerateReason.PERMISSION_ASKING
        [call] = [call for call in message.get_content_blocks(ToolUseBlock) if call.state is ToolCallState.ASKING]
        yes_to_it = (ConfirmResult(confirmed=True, tool_call=call),)
        return (
            await agent.call(UserConfirmResultEvent(reply_id=message.id, confirm_results=yes_to_it))
        ).get_text_content()

    assert run(main()) == "done"
    assert outbox.sent == ["ann"]


def confirmed(event: Any) -> Any:
    return yes(event)


def brought(event: Any) -> Any:
    return ExternalExecutionResultEvent(
        reply_id=event.reply_id, tool_results=(ToolResultBlock(id="call_2", name="pay"),)
    )


@pytest.mark.parametrize(
    ("first", "left"), [(confirmed, "call_2"), (brought, "call_1")], ids=["after confirming", "after bringing a result"]
)
def test_11_3_79_a_reply_that_was_answered_in_part_can_be_interrupted(first: Callable[[Any], Any], left: str) -> None:
    agent, model, _ = parked(tool_call("send", {"to": "ann"}), tool_call("pay", {"sum": 5}), tools=[outside_tool()])
    event = require(run(collect(agent, "go")))
    run(collect(agent, first(event)))
    after = run(collect(agent, UserInterruptEvent(reply_id=event.reply_id)))
    assert types(after) == ["AGENT_START", "USER_INTERRUPT", *RESULT, "AGENT_RESULT", "AGENT_END"]
    assert results(after) == [(left, "interrupted")]
    message = after[-2].result  # type: ignore[union-attr]
    states = {block.id: block.state.value for block in message.get_content_blocks(ToolResultBlock)}
    assert states == {"call_1": "success", "call_2": "success", left: "interrupted"}
    run(collect(agent, "and now?"))
    assert len(model.requests) == 2


# ------------------------------------------------------------------------------------------------ sessions


@pytest.mark.parametrize("store", [None, InMemoryStateStore()], ids=["no store", "a store"])
def test_11_3_84_clearing_forgets_what_was_said_and_keeps_rules_and_values(store: Any) -> None:
    def note(state: AgentState) -> str:
        """Note."""
        state.values["seen"] = True
        return "noted"

    model = ScriptedModel([[tool_call("note")], [text("done")], [text("fresh")]])
    rules = PermissionContext(mode=PermissionMode.BYPASS)
    agent = ReActAgent("friday", model, tools=[note], permission=rules, state_store=store)

    async def main() -> None:
        await agent.call("go")
        await agent.clear_context()
        state = await agent.get_state()
        assert (state.history, state.paused) == ((), None)
        assert (state.permission, state.values) == (rules, {"seen": True})
        await agent.call("again")
        assert [message.get_text_content() for message in model.requests[-1].messages] == ["again"]

    run(main())


def test_11_3_84_clearing_a_paused_reply_gives_it_up() -> None:
    agent, model, outbox = parked(tool_call("send", {"to": "ann"}))

    async def main() -> None:
        await agent.call("go")
        await agent.clear_context()
        await agent.call("again")
        assert [message.role.value for message in model.requests[-1].messages] == ["user"]

    run(main())
    assert outbox.sent == []


def test_11_3_84_clearing_a_session_that_nobody_knows_is_no_error() -> None:
    agent, _, _ = parked(text("hi"))
    agent.clear_context(RuntimeContext("nobody")).run()
    assert agent.get_state(RuntimeContext("nobody")).run().history == ()


def test_11_3_85_the_rules_of_one_session_are_changed_in_its_state() -> None:
    store = InMemoryStateStore()
    agent, _, outbox = parked(*[tool_call("send", {"to": "ann"})], store=store)
    strict, free = RuntimeContext("strict"), RuntimeContext("free")

    async def main() -> None:
        state = await agent.get_state(free)
        state.permission = PermissionContext(mode=PermissionMode.BYPASS)
        await store.save(state, 0)
        assert (await agent.call("go", free)).generate_reason is GenerateReason.MODEL_STOP
        assert (await agent.get_state(strict)).permission != state.permission

    run(main())
    assert outbox.sent == ["ann"]


def test_11_3_88_who_waits_loads_what_the_one_before_has_saved() -> None:
    class Slow(InMemoryStateStore):
        async def save(self, state: AgentState, version: int) -> int:
            await asyncio.sleep(0.02)
            return await super().save(state, version)

    model = ScriptedModel([[text("one")], [text("two")]])
    agent = ReActAgent("friday", model, state_store=Slow())

    async def main() -> None:
        await asyncio.gather(agent.call("a"), agent.call("b"))
        assert [message.get_text_content() for message in model.requests[1].messages] == ["a", "one", "b"]

    run(main())
