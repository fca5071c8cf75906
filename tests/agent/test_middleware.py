"""Middleware around the agent: one truth for what is seen, stored and sent (law L7)."""

from __future__ import annotations

import asyncio
from typing import Any, ClassVar

import pytest
import reactivex as rx
from reactivex import Observable, operators as ops

from agentscope_rx import (
    ActingInput,
    AgentEndEvent,
    AgentEvent,
    AllToolsDeniedEvent,
    CustomEvent,
    GenerateReason,
    LocalProtocolError,
    LoopScheduler,
    Middleware,
    MiddlewareError,
    ModelCallEndEvent,
    ModelCallInput,
    ModelCallStartEvent,
    ModelHTTPError,
    ModelStreamError,
    PermissionContext,
    PermissionRule,
    ReActAgent,
    RequestStopEvent,
    RequireUserConfirmEvent,
    TextBlockDeltaEvent,
    ToolResultBlock,
    UserMessage,
    tool,
)
from agentscope_rx.message import ToolUseBlock
from agentscope_rx.operators import hook
from agentscope_rx.stream import using_async
from agentscope_rx.testing import ScriptedModel, error, text, tool_call, usage

from .shapes import collect, collect_failing, run, types
from .test_hitl import no

HOOKS = ("on_agent", "on_reasoning", "on_model_call", "on_acting", "on_tool_call")


def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


def agent_with(*middlewares: Any, turns: Any = None, **settings: Any) -> tuple[ReActAgent, ScriptedModel]:
    model = ScriptedModel(turns or [[text("so"), tool_call("add", {"a": 1, "b": 2})], [text("it is 3")]])
    return ReActAgent("friday", model, tools=[add], middlewares=middlewares, **settings), model


class Noting(Middleware):
    """Notes when its hooks are entered, and puts a note into the stream of each."""

    def __init__(self, name: str, order: int = 1) -> None:
        self.name = name
        self.order = order  # type: ignore[misc]
        self.entered: list[str] = []

    def _note(self, hook: str, next: Any, input: Any) -> Observable[AgentEvent]:
        self.entered.append(hook)
        return next(input).pipe(ops.concat(rx.of(CustomEvent(name=f"{self.name}.{hook}"))))

    def on_agent(self, agent: Any, context: Any, input: Any, next: Any) -> Observable[AgentEvent]:
        self.entered.append("on_agent")
        return next(input).pipe(ops.start_with(CustomEvent(name=f"{self.name}.on_agent")))

    def on_reasoning(self, agent: Any, context: Any, input: Any, next: Any) -> Observable[AgentEvent]:
        return self._note("on_reasoning", next, input)

    def on_model_call(self, agent: Any, context: Any, input: Any, next: Any) -> Observable[AgentEvent]:
        return self._note("on_model_call", next, input)

    def on_acting(self, agent: Any, context: Any, input: Any, next: Any) -> Observable[AgentEvent]:
        return self._note("on_acting", next, input)

    def on_tool_call(self, agent: Any, context: Any, input: Any, next: Any) -> Observable[AgentEvent]:
        return self._note("on_tool_call", next, input)


def names(events: list[AgentEvent]) -> list[str]:
    return [event.name for event in events if isinstance(event, CustomEvent)]


async def plain(agent: ReActAgent, *args: Any) -> list[AgentEvent]:
    """Every event of a call; a note before AGENT_START makes it no lawful stream."""
    return [event async for event in agent.stream_events(*args)]


def test_b8_82_what_each_hook_adds_is_seen_once() -> None:
    noting = Noting("m")
    agent, _ = agent_with(noting)
    seen = names(run(plain(agent, "go")))
    assert sorted(seen) == sorted(
        ["m.on_agent", "m.on_reasoning", "m.on_reasoning", "m.on_model_call", "m.on_model_call", "m.on_acting",
         "m.on_tool_call"]
    )  # fmt: skip
    assert seen.index("m.on_model_call") < seen.index("m.on_reasoning")
    assert seen.index("m.on_tool_call") < seen.index("m.on_acting")


def test_b8_83_call_and_stream_run_the_same_chain() -> None:
    entered = []
    for use in (lambda agent: plain(agent, "go"), lambda agent: _call(agent)):
        noting = Noting("m")
        agent, _ = agent_with(noting)
        run(use(agent))
        entered.append(noting.entered)
    assert entered[0] == entered[1]


async def _call(agent: ReActAgent) -> list[AgentEvent]:
    await agent.call("go")
    return []


def test_higher_orders_are_further_out_and_equals_keep_theirs() -> None:
    agent, _ = agent_with(Noting("a"), Noting("b"), Noting("outer", order=9), Noting("inner", order=-1))
    seen = [name for name in names(run(plain(agent, "go"))) if name.endswith("on_acting")]
    assert seen == ["inner.on_acting", "b.on_acting", "a.on_acting", "outer.on_acting"]


def test_b2_22_l7_a_rewritten_delta_is_what_is_seen_stored_and_sent() -> None:
    def upper(event: Any) -> Any:
        if isinstance(event, TextBlockDeltaEvent):
            return event.model_copy(update={"delta": event.delta.upper()})
        return event

    for where in ("on_model_call", "on_reasoning", "on_agent"):
        agent, model = agent_with(hook(**{where: ops.map(upper)}))
        events = run(collect(agent, "go"))
        assert [event.delta for event in events if isinstance(event, TextBlockDeltaEvent)] == ["SO", "IT IS 3"]
        assert events[-2].result.get_text_content() == "SO\nIT IS 3"  # type: ignore[union-attr]
        assert model.requests[1].messages[-1].get_text_content() == "SO"
        assert agent.get_state().run().history[-1].get_text_content() == "SO\nIT IS 3"


def test_what_is_dropped_is_neither_seen_nor_stored() -> None:
    def visible(event: Any) -> bool:
        return not event.type.startswith("TEXT_BLOCK")

    turns = [[text("x"), tool_call("add", {"a": 1, "b": 2})], [text("y")], [text("z")]]
    agent, _ = agent_with(hook(on_model_call=ops.filter(visible)), turns=turns)
    events = run(collect(agent, "go"))
    assert not any(event.type.startswith("TEXT_BLOCK") for event in events)
    assert events[-2].result.get_text_content() == ""  # type: ignore[union-attr]


def test_another_input_reaches_the_model_and_the_tool() -> None:
    class Other(Middleware):
        def on_model_call(self, agent: Any, context: Any, input: ModelCallInput, next: Any) -> Observable[AgentEvent]:
            return next(
                ModelCallInput((*input.messages, UserMessage("psst")), (), input.options, input.iteration, input.model)
            )

    agent, model = agent_with(Other(), turns=[[text("ok")]])
    run(collect(agent, "go"))
    assert model.requests[0].messages[-1].get_text_content() == "psst"
    assert model.requests[0].tools == ()


def test_a_stage_may_be_answered_without_going_in() -> None:
    class Cached(Middleware):
        def on_acting(self, agent: Any, context: Any, input: ActingInput, next: Any) -> Observable[AgentEvent]:
            from agentscope_rx.agent.closing import result_events
            from agentscope_rx.message import ToolResultState

            [call] = input.tool_calls
            reply_id = self.reply_id
            return rx.from_iterable(list(result_events(reply_id, call, "cached", ToolResultState.SUCCESS)))

        def on_agent(self, agent: Any, context: Any, input: Any, next: Any) -> Observable[AgentEvent]:
            def look(event: Any) -> None:
                self.reply_id = getattr(event, "reply_id", "")

            return next(input).pipe(ops.do_action(look))

    agent, model = agent_with(Cached())
    run(collect(agent, "go"))
    [result] = model.requests[1].messages[-1].get_content_blocks(ToolResultBlock)
    assert result.output[0].text == "cached"  # type: ignore[union-attr]


def test_the_system_prompt_is_changed_once_for_each_reply() -> None:
    asked: list[str] = []

    class Prompt(Middleware):
        def on_system_prompt(self, agent: Any, context: Any, prompt: str) -> str:
            asked.append(prompt)
            return f"{prompt} You are {agent.name}."

    agent, model = agent_with(Prompt(), sys_prompt="Hi.")
    run(collect(agent, "go"))
    assert asked == ["Hi."]
    assert [request.messages[0].get_text_content() for request in model.requests] == ["Hi. You are friday."] * 2


def test_asynchronous_operators_on_the_inner_stages_lose_nothing() -> None:
    late = ops.delay(0.005)
    for where in ("on_reasoning", "on_model_call", "on_acting", "on_tool_call"):
        agent, model = agent_with(hook(**{where: late}))
        events = run(collect(agent, "go"))
        assert events[-2].result.get_text_content() == "so\nit is 3"  # type: ignore[union-attr]
        assert len(model.requests) == 2


def test_an_asynchronous_on_agent_is_refused_by_name() -> None:
    agent, _ = agent_with(hook(on_agent=ops.delay(0.005)))
    _, failure = run(collect_failing(agent, "go"))
    assert isinstance(failure, LocalProtocolError)
    assert "Hook.on_agent" in str(failure)


def test_events_of_its_own_may_come_at_any_time_on_agent() -> None:
    async def main() -> list[str]:
        beat = rx.interval(0.002, scheduler=LoopScheduler(asyncio.get_running_loop())).pipe(
            ops.map(lambda n: CustomEvent(name="beat")), ops.take(3)
        )

        async def nap() -> str:
            """Nap."""
            await asyncio.sleep(0.02)
            return "ok"

        model = ScriptedModel([[tool_call("nap")], [text("done")]])

        def beating(source: Observable[AgentEvent]) -> Observable[AgentEvent]:
            return source.pipe(ops.merge(beat))

        agent = ReActAgent("friday", model, tools=[nap], middlewares=[hook(on_agent=beating)])
        return names([event async for event in agent.stream_events("go")])

    assert run(main()) == ["beat"] * 3


def test_a_raising_hook_is_a_middleware_error_with_its_cause() -> None:
    for where in HOOKS:
        broken = type("Broken", (Middleware,), {where: lambda *_: 1 / 0})()
        agent, _ = agent_with(broken)
        events, failure = run(collect_failing(agent, "go"))
        assert isinstance(failure, MiddlewareError), where
        assert isinstance(failure.__cause__, ZeroDivisionError)
        assert f"Broken.{where}" in str(failure)
        assert types(events)[0] == "AGENT_START"
        assert types(events)[-1] == "AGENT_END"


def test_a_raising_operator_is_a_middleware_error_too() -> None:
    agent, _ = agent_with(hook(on_reasoning=ops.map(lambda event: event.nope)))
    _, failure = run(collect_failing(agent, "go"))
    assert isinstance(failure, MiddlewareError)
    assert isinstance(failure.__cause__, AttributeError)


def test_l8_an_operator_on_agent_that_fails_is_a_middleware_error_that_repeats_nothing() -> None:
    for broken in (ops.map(lambda event: {}["hunter2"]), ops.concat(rx.throw(KeyError("hunter2")))):
        agent, _ = agent_with(hook(on_agent=broken))  # type: ignore[arg-type]
        events, failure = run(collect_failing(agent, "go"))
        assert isinstance(failure, MiddlewareError)
        assert isinstance(failure.__cause__, KeyError)
        assert "hunter2" not in f"{failure}{events}"


@pytest.mark.parametrize("where", HOOKS)
@pytest.mark.parametrize("broken", [ops.map(lambda event: None), ops.concat(rx.of(5)), ops.start_with("hunter2")])
def test_l8_what_is_no_event_is_refused(where: str, broken: Any) -> None:
    agent, _ = agent_with(hook(**{where: broken}))
    _, failure = run(collect_failing(agent, "go"))
    assert isinstance(failure, LocalProtocolError)
    assert "a middleware emits events: got " in str(failure)
    assert "hunter2" not in str(failure)


def test_l1_an_event_of_another_reply_is_refused() -> None:
    foreign = TextBlockDeltaEvent(reply_id="another", block_id="b", delta="hunter2")
    agent, _ = agent_with(hook(on_reasoning=ops.concat(rx.of(foreign))))
    _, failure = run(collect_failing(agent, "go"))
    assert isinstance(failure, LocalProtocolError)
    assert "of 'another'" in str(failure)


def test_l2_an_end_amid_the_reply_is_refused() -> None:
    def ending(event: AgentEvent) -> Observable[AgentEvent]:
        early = [AgentEndEvent(reply_id=event.reply_id)] if isinstance(event, TextBlockDeltaEvent) else []
        return rx.of(event, *early)

    agent, _ = agent_with(hook(on_reasoning=ops.concat_map(ending)))
    events, failure = run(collect_failing(agent, "go"))
    assert isinstance(failure, LocalProtocolError)
    assert types(events)[-5:] == [
        *["TEXT_BLOCK_DELTA", "TEXT_BLOCK_END", "MODEL_CALL_END", "AGENT_RESULT", "AGENT_END"]
    ]


def test_b8_gate_a_failure_frees_the_session() -> None:
    first = [True]

    class Once(Middleware):
        def on_reasoning(self, agent: Any, context: Any, input: Any, next: Any) -> Observable[AgentEvent]:
            if first:
                first.clear()
                raise ValueError("once")
            return next(input)

    agent, _ = agent_with(Once(), turns=[[text("ok")]])
    run(collect_failing(agent, "go"))
    assert run(collect(agent, "go"))[-2].result.get_text_content() == "ok"  # type: ignore[union-attr]


def test_an_end_that_is_dropped_is_refused_by_name() -> None:
    agent, _ = agent_with(hook(on_model_call=ops.filter(lambda event: event.type != "TEXT_BLOCK_END")))

    async def main() -> None:
        with pytest.raises(LocalProtocolError, match=r"Hook\.on_model_call"):
            await agent.stream_events("go")

    run(main())


def test_results_that_are_dropped_are_refused_by_name() -> None:
    agent, _ = agent_with(hook(on_acting=ops.filter(lambda event: not event.type.startswith("TOOL_RESULT"))))
    _, failure = run(collect_failing(agent, "go"))
    assert isinstance(failure, LocalProtocolError)
    assert "Hook.on_acting" in str(failure)


# ---------------------------------------------------------------------------------------------------- stopping


def stopping(where: str) -> Any:
    return hook(**{where: ops.concat(rx.of(RequestStopEvent(reason="enough")))})


def test_a_stop_after_reasoning_leaves_the_calls_pending_and_none_runs_them() -> None:
    agent, model = agent_with(stopping("on_reasoning"), turns=[[tool_call("add", {"a": 1, "b": 2})], [text("3")]])
    events = run(collect(agent, "go"))
    assert events[-1].generate_reason is GenerateReason.MIDDLEWARE_STOP_REQUESTED  # type: ignore[union-attr]
    assert len(model.requests) == 1
    after = run(collect(agent, None))
    assert after[0].resumed  # type: ignore[union-attr]
    assert after[0].reply_id == events[0].reply_id  # type: ignore[union-attr]
    assert types(after)[1:4] == ["TOOL_RESULT_START", "TOOL_RESULT_TEXT_DELTA", "TOOL_RESULT_END"]


def test_a_new_message_gives_the_pending_calls_interrupted_results() -> None:
    agent, model = agent_with(stopping("on_reasoning"), turns=[[tool_call("add", {"a": 1, "b": 2})], [text("ok")]])
    run(collect(agent, "go"))
    run(collect(agent, "something else"))
    shown = model.requests[1].messages
    assert [message.role.value for message in shown] == ["user", "assistant", "user"]
    [result] = shown[1].get_content_blocks(ToolResultBlock)
    assert result.state.value == "interrupted"
    assert shown[1].get_content_blocks(ToolUseBlock)[0].state.value == "finished"


def test_a_stop_in_acting_keeps_the_results() -> None:
    agent, model = agent_with(stopping("on_acting"))
    events = run(collect(agent, "go"))
    assert events[-1].generate_reason is GenerateReason.MIDDLEWARE_STOP_REQUESTED  # type: ignore[union-attr]
    assert len(model.requests) == 1
    assert agent.get_state().run().history[-1].has_content_blocks(ToolResultBlock)


def test_stop_when_everything_was_denied() -> None:
    def stop_on_denial(source: Observable[AgentEvent]) -> Observable[AgentEvent]:
        stop = RequestStopEvent(reason="denied", generate_reason=GenerateReason.ALL_TOOLS_DENIED)

        def react(event: AgentEvent) -> Observable[AgentEvent]:
            return rx.of(event, stop) if isinstance(event, AllToolsDeniedEvent) else rx.of(event)

        return source.pipe(ops.concat_map(react))

    ask = PermissionContext(ask_rules=(PermissionRule(tool_name="add", behavior="ask"),), mode="bypass")
    agent, model = agent_with(
        hook(on_acting=stop_on_denial), turns=[[tool_call("add", {"a": 1, "b": 2})]], permission=ask
    )
    [event] = [event for event in run(collect(agent, "go")) if isinstance(event, RequireUserConfirmEvent)]
    after = run(collect(agent, no(event)))
    assert after[-1].generate_reason is GenerateReason.ALL_TOOLS_DENIED  # type: ignore[union-attr]
    assert len(model.requests) == 1


# ---------------------------------------------------------------------------------------------------- fallback


def test_a_fallback_model_answers_in_the_same_iteration() -> None:
    first = ScriptedModel([[error(ModelHTTPError("down", status=503))]], model_name="first")
    second = ScriptedModel([[text("ok"), usage(3, 1)]], model_name="second")
    agent = ReActAgent("friday", first, fallback_model=second)
    events = run(collect(agent, "go"))
    starts = [event for event in events if isinstance(event, ModelCallStartEvent)]
    assert [(event.model_name, event.iteration) for event in starts] == [("first", 1), ("second", 1)]
    assert "MODEL_CALL_RESET" not in types(events)
    ends = [event.finish_reason.value for event in events if isinstance(event, ModelCallEndEvent)]
    assert ends == ["error", "stop"]
    assert events[-2].result.get_text_content() == "ok"  # type: ignore[union-attr]


def test_what_the_failed_model_had_shown_is_withdrawn() -> None:
    first = ScriptedModel([[text("wro"), error(ModelStreamError("broke"))]])
    second = ScriptedModel([[text("right")]])
    agent = ReActAgent("friday", first, fallback_model=second)
    events = run(collect(agent, "go"))
    kinds = types(events)
    assert kinds[kinds.index("MODEL_CALL_RESET") - 1 : kinds.index("MODEL_CALL_RESET") + 2] == [
        "TEXT_BLOCK_END", "MODEL_CALL_RESET", "MODEL_CALL_END",
    ]  # fmt: skip
    assert events[-2].result.get_text_content() == "right"  # type: ignore[union-attr]


def test_a_middleware_sees_the_calls_of_both_models() -> None:
    noting = Noting("m")
    first, second = ScriptedModel([[error(ModelStreamError("broke"))]]), ScriptedModel([[text("right")]])
    agent = ReActAgent("friday", first, fallback_model=second, middlewares=[noting])
    run(plain(agent, "go"))
    assert noting.entered.count("on_model_call") == 1


def test_what_is_no_middleware_is_refused() -> None:
    from agentscope_rx import ConfigurationError

    with pytest.raises(ConfigurationError):
        agent_with(ops.map(lambda event: event))


class Pass(Middleware):
    """Passes everything on."""

    order: ClassVar[int] = 1

    def on_agent(self, agent: Any, context: Any, input: Any, next: Any) -> Observable[AgentEvent]:
        return next(input)


def test_hooks_that_pass_the_stage_on_add_nothing_to_it() -> None:
    from agentscope_rx.middleware import Chain

    stage = rx.never()
    chain = Chain([Pass() for _ in range(5)])
    assert chain.around("on_agent", None, None, lambda input: stage)(None) is stage  # type: ignore[arg-type]
    assert chain.around("on_acting", None, None, len) is len  # type: ignore[arg-type]


def test_a_tool_call_hook_is_around_one_call() -> None:
    spans: list[list[str]] = []

    def watch(source: Observable[AgentEvent]) -> Observable[AgentEvent]:
        span: list[str] = []
        spans.append(span)
        return source.pipe(ops.do_action(lambda event: span.append(str(event.type))))

    @tool
    def twice(n: int) -> int:
        """Double."""
        return 2 * n

    model = ScriptedModel([[tool_call("twice", {"n": 1}), tool_call("twice", {"n": 2})], [text("ok")]])
    agent = ReActAgent("friday", model, tools=[twice], middlewares=[hook(on_tool_call=watch)])
    run(collect(agent, "go"))
    assert spans == [["TOOL_RESULT_START", "TOOL_RESULT_TEXT_DELTA", "TOOL_RESULT_END"]] * 2


def test_a_call_that_is_answered_without_going_in_holds_up_no_other() -> None:
    from agentscope_rx.agent.closing import result_events
    from agentscope_rx.message import ToolResultState

    class Cached(Middleware):
        def on_tool_call(self, agent: Any, context: Any, input: Any, next: Any) -> Observable[AgentEvent]:
            if input.tool_call.id == "call_1":
                events = result_events(self.reply_id, input.tool_call, "cached", ToolResultState.SUCCESS)
                return rx.from_iterable(list(events)).pipe(ops.delay(0.03))
            return next(input)

        def on_agent(self, agent: Any, context: Any, input: Any, next: Any) -> Observable[AgentEvent]:
            def look(event: Any) -> None:
                self.reply_id = getattr(event, "reply_id", "")

            return next(input).pipe(ops.do_action(look))

    calls = [tool_call("add", {"a": 1, "b": 2}), tool_call("add", {"a": 3, "b": 4})]
    agent, model = agent_with(Cached(), turns=[calls, [text("ok")]])
    run(collect(agent, "go"))
    results = model.requests[1].messages[-1].get_content_blocks(ToolResultBlock)
    assert sorted(block.output[0].text for block in results) == ["7", "cached"]  # type: ignore[union-attr]


def test_b7_a_middleware_that_lets_one_call_run_at_a_time_does_not_hang() -> None:
    class OneAtATime(Middleware):
        def __init__(self) -> None:
            self.running = self.most = 0
            self.lock = asyncio.Lock()

        def on_tool_call(self, agent: Any, context: Any, input: Any, next: Any) -> Observable[AgentEvent]:
            def count(event: AgentEvent) -> None:
                self.running += {"TOOL_RESULT_START": 1, "TOOL_RESULT_END": -1}.get(event.type, 0)
                self.most = max(self.most, self.running)

            return using_async(lambda: self.lock, lambda _: next(input).pipe(ops.do_action(count)))

    calls = [tool_call("add", {"a": 1, "b": number}) for number in range(3)]
    one_at_a_time = OneAtATime()
    agent, model = agent_with(one_at_a_time, turns=[calls, [text("ok")]])
    run(collect(agent, "go"))
    results = model.requests[1].messages[-1].get_content_blocks(ToolResultBlock)
    assert [block.output[0].text for block in results] == ["1", "2", "3"]  # type: ignore[union-attr]
    assert one_at_a_time.most == 1


def test_b7_a_middleware_that_runs_a_call_twice_does_not_hang() -> None:
    calls = [tool_call("add", {"a": 1, "b": 2}), tool_call("add", {"a": 3, "b": 4})]
    agent, _ = agent_with(hook(on_tool_call=lambda source: rx.merge(source, source)), turns=[calls, [text("ok")]])
    _, failure = run(collect_failing(agent, "go"))
    assert isinstance(failure, LocalProtocolError)
