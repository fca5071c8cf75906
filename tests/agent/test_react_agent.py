"""The agent: what a call emits, what it leaves in the history, and how it ends."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator
from typing import Any

import pytest
from reactivex import operators as ops

from agentscope_rx import (
    AgentEndEvent,
    AgentResultEvent,
    AgentStartEvent,
    AssistantMessage,
    ConfigurationError,
    ExceedMaxItersEvent,
    FinishReason,
    GenerateReason,
    HintBlock,
    HintBlockEvent,
    MessageBuilder,
    ModelCallEndEvent,
    ModelCallStartEvent,
    ModelChunk,
    ModelError,
    ModelHTTPError,
    ModelOptions,
    ModelRequest,
    ModelTruncatedError,
    Msg,
    ReActAgent,
    RequestStopEvent,
    RuntimeContext,
    StaleAnswerError,
    SystemMessage,
    TextBlock,
    TextBlockDeltaEvent,
    TextBlockEndEvent,
    ToolCallEndEvent,
    ToolCallState,
    ToolEmitter,
    ToolResultBlock,
    ToolResultEndEvent,
    ToolResultMessage,
    ToolResultStartEvent,
    ToolResultState,
    ToolResultTextDeltaEvent,
    ToolUseBlock,
    UnsupportedContentError,
    UserConfirmResultEvent,
    UserInterruptEvent,
    UserMessage,
    decode,
    encode,
    tool,
)
from agentscope_rx.model import TextPiece, UsagePiece
from agentscope_rx.operators import of_type, to_message
from agentscope_rx.testing import (
    ScriptedModel,
    delay,
    error,
    finish,
    text,
    thinking,
    tool_call,
    truncate,
    usage,
)

from .shapes import collect, collect_failing, run, types

START, RESULT, END = "AGENT_START", "AGENT_RESULT", "AGENT_END"
MODEL_START, MODEL_END = "MODEL_CALL_START", "MODEL_CALL_END"
TEXT = ["TEXT_BLOCK_START", "TEXT_BLOCK_DELTA", "TEXT_BLOCK_END"]
CALL = ["TOOL_CALL_START", "TOOL_CALL_DELTA", "TOOL_CALL_END"]
TOOL_RESULT = ["TOOL_RESULT_START", "TOOL_RESULT_TEXT_DELTA", "TOOL_RESULT_END"]


def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


def scripted(*turns: Any, tools: Any = (), **settings: Any) -> tuple[ReActAgent, ScriptedModel]:
    model = ScriptedModel(turns)
    return ReActAgent("friday", model, tools=tools, **settings), model


def text_of(messages: Any) -> list[tuple[str, str]]:
    return [(message.role.value, message.get_text_content()) for message in messages]


# ---------------------------------------------------------------------------------------------------- the stream


def test_a_text_answer() -> None:
    agent, model = scripted([text("Hel"), text("lo"), usage(3, 2)], sys_prompt="Be brief.")
    events = run(collect(agent, "hi"))
    assert types(events) == [START, MODEL_START, *TEXT, MODEL_END, RESULT, END]
    assert [event.seq for event in events] == list(range(1, len(events) + 1))
    start, end, result = events[0], events[-1], events[-2]
    assert isinstance(start, AgentStartEvent)
    assert (start.name, start.role, start.session_id, start.resumed) == ("friday", "assistant", "friday", False)
    assert isinstance(end, AgentEndEvent)
    assert (end.generate_reason, end.error) == (GenerateReason.MODEL_STOP, None)
    assert isinstance(result, AgentResultEvent)
    assert result.result.get_text_content() == "Hello"
    assert result.result.usage is not None
    assert (result.result.usage.input_tokens, result.result.usage.total_tokens) == (3, 5)
    [request] = model.requests
    assert text_of(request.messages) == [("system", "Be brief."), ("user", "hi")]
    assert isinstance(request.messages[0], SystemMessage)


def test_a_tool_turn_and_an_answer() -> None:
    agent, model = scripted([tool_call("add", {"a": 17, "b": 25}, pieces=3)], [text("It is 42.")], tools=[add])
    events = run(collect(agent, "What is 17 plus 25?"))
    assert types(events) == [
        START, MODEL_START, *CALL, MODEL_END, *TOOL_RESULT, MODEL_START, *TEXT, MODEL_END, RESULT, END,
    ]  # fmt: skip
    message = events[-2].result  # type: ignore[union-attr]
    call, result, answer = message.content
    assert (call.id, call.name, call.input, call.state) == ("call_1", "add", {"a": 17, "b": 25}, ToolCallState.FINISHED)
    assert (result.id, result.output, result.state) == ("call_1", (TextBlock("42"),), ToolResultState.SUCCESS)
    assert answer.text == "It is 42."
    assert [event.iteration for event in events if isinstance(event, ModelCallStartEvent)] == [1, 2]
    assert [schema.name for schema in model.requests[0].tools] == ["add"]
    assert model.requests[1].messages[-1].content == message.content[:2]


def test_l1_one_reply_one_id() -> None:
    agent, _ = scripted([thinking("hm"), tool_call("add", {"a": 1, "b": 2})], [text("3")], tools=[add])
    events = run(collect(agent, "1+2?"))
    assert {event.reply_id for event in events} == {events[0].reply_id}  # type: ignore[union-attr]
    assert len({event.id for event in events}) == len(events)


def test_l3_the_live_message_is_the_fold_of_the_events_and_of_their_json() -> None:
    agent, _ = scripted(
        [thinking("hm", signature="s"), tool_call("add", {"a": 1, "b": 2}), usage(5, 2)], [text("3"), usage(9, 1)],
        tools=[add],
    )  # fmt: skip
    events = run(collect(agent, "1+2?"))
    folded, again = MessageBuilder(), MessageBuilder()
    for event in events:
        folded.apply(event)
        again.apply(decode(encode(event)))
    live = events[-2].result  # type: ignore[union-attr]
    assert folded.message() == live
    assert again.message() == live
    history = run(_history_of(agent))
    assert history[-2] == live


async def _history_of(agent: ReActAgent) -> list[Msg]:
    """What the next request shows of the history."""
    model = ScriptedModel([[text("ok")]])
    agent._settings = type(agent._settings)(  # type: ignore[misc]
        **{**{name: getattr(agent._settings, name) for name in agent._settings.__slots__}, "model": model}
    )
    await agent.call("next")
    return list(model.requests[0].messages)


def test_b1_1_every_end_comes_before_the_next_start() -> None:
    agent, _ = scripted(
        [thinking("a"), thinking("b"), text("c"), text("d"), tool_call("add", {"a": 1, "b": 2})], [text("3")],
        tools=[add],
    )  # fmt: skip
    kinds = types(run(collect(agent, "go")))
    assert kinds[2:12] == [
        "THINKING_BLOCK_START", "THINKING_BLOCK_DELTA", "THINKING_BLOCK_END", *TEXT, *CALL, MODEL_END,
    ]  # fmt: skip
    assert kinds[-1] == END


def test_b1_6_a_plain_function_tool_gives_one_delta() -> None:
    def ping() -> str:
        """Say ok."""
        return "ok"

    agent, _ = scripted([tool_call("ping")], [text("done")], tools=[ping])
    events = run(collect(agent, "ping"))
    shown = [event for event in events if event.type.startswith("TOOL_RESULT")]
    assert [type(event) for event in shown] == [ToolResultStartEvent, ToolResultTextDeltaEvent, ToolResultEndEvent]
    assert shown[1].delta == "ok"  # type: ignore[union-attr]
    assert shown[2].state is ToolResultState.SUCCESS  # type: ignore[union-attr]


def test_options_of_the_agent_go_into_every_request() -> None:
    agent, model = scripted([text("a")], options=ModelOptions(temperature=0.5))
    run(collect(agent, "hi"))
    assert model.requests[0].options.temperature == 0.5


# ---------------------------------------------------------------------------------------------------- tools


def test_parallel_calls_stream_as_they_come_and_stay_in_call_order() -> None:
    order: list[str] = []

    async def slow() -> AsyncIterator[str]:
        """Be slow."""
        yield "s1"
        while "fast" not in order:  # noqa: ASYNC110
            await asyncio.sleep(0.001)
        yield "s2"

    async def fast() -> str:
        """Be fast."""
        order.append("fast")
        return "f"

    agent, _ = scripted([tool_call("slow"), tool_call("fast")], [text("done")], tools=[slow, fast])
    events = run(collect(agent, "go"))
    shown = [(event.type, event.tool_call_id) for event in events if event.type.startswith("TOOL_RESULT")]  # type: ignore[union-attr]
    assert shown[:2] == [("TOOL_RESULT_START", "call_1"), ("TOOL_RESULT_START", "call_2")]
    assert shown.index(("TOOL_RESULT_END", "call_2")) < shown.index(("TOOL_RESULT_END", "call_1"))
    results = events[-2].result.get_content_blocks(ToolResultBlock)  # type: ignore[union-attr]
    assert [(block.id, block.output[0].text) for block in results] == [("call_1", "s1s2"), ("call_2", "f")]


def test_b4_51_results_are_paired_by_id_not_by_finish_order() -> None:
    async def wait(name: str, seconds: float) -> str:
        """Wait."""
        await asyncio.sleep(seconds)
        return name

    agent, model = scripted(
        [tool_call("wait", {"name": "slow", "seconds": 0.02}), tool_call("wait", {"name": "fast", "seconds": 0})],
        [text("done")],
        tools=[wait],
    )
    run(collect(agent, "go"))
    blocks = model.requests[1].messages[-1].content
    assert [(type(block), block.id) for block in blocks] == [  # type: ignore[union-attr]
        (ToolUseBlock, "call_1"), (ToolUseBlock, "call_2"), (ToolResultBlock, "call_1"), (ToolResultBlock, "call_2"),
    ]  # fmt: skip
    assert [block.output[0].text for block in blocks[2:]] == ["slow", "fast"]  # type: ignore[union-attr]


def test_an_unsafe_call_starts_when_every_earlier_one_has_a_result() -> None:
    running: list[str] = []

    @tool(concurrency_safe=False)
    async def write(what: str) -> str:
        """Write."""
        running.append(f"+{what}")
        await asyncio.sleep(0.005)
        running.append(f"-{what}")
        return what

    async def read(what: str) -> str:
        """Read."""
        running.append(f"+{what}")
        await asyncio.sleep(0.005)
        running.append(f"-{what}")
        return what

    calls = [tool_call("read", {"what": "a"}), tool_call("read", {"what": "b"}), tool_call("write", {"what": "c"}),
             tool_call("read", {"what": "d"})]  # fmt: skip
    agent, _ = scripted(calls, [text("done")], tools=[write, read])
    run(collect(agent, "go"))
    assert running[:2] == ["+a", "+b"]
    assert running[4:] == ["+c", "-c", "+d", "-d"]


def test_b7_81_one_failing_tool_loses_no_other_result() -> None:
    def good(n: int) -> int:
        """Give n."""
        return n

    def bad() -> None:
        """Fail."""
        raise ValueError("no")

    agent, model = scripted(
        [tool_call("good", {"n": 1}), tool_call("bad"), tool_call("good", {"n": 3})], [text("done")], tools=[good, bad]
    )
    run(collect(agent, "go"))
    results = model.requests[1].messages[-1].get_content_blocks(ToolResultBlock)
    assert [block.state.value for block in results] == ["success", "error", "success"]
    assert "no" in results[1].output[0].text  # type: ignore[union-attr]


def test_b7_74_a_tool_that_cancels_itself_ends_its_call_and_nothing_else() -> None:
    async def odd() -> str:
        """Be odd."""
        raise asyncio.CancelledError

    agent, _ = scripted([tool_call("odd")], [text("went on")], tools=[odd])
    events = run(collect(agent, "go"))
    assert [event.state.value for event in events if isinstance(event, ToolResultEndEvent)] == ["interrupted"]
    assert events[-2].result.get_text_content() == "went on"  # type: ignore[union-attr]


@pytest.mark.parametrize("raw", ["", "  ", "null", "{}"])
def test_b4_47_no_arguments_are_the_empty_object(raw: str) -> None:
    def ping() -> str:
        """Say ok."""
        return "ok"

    agent, _ = scripted([tool_call("ping", raw)], [text("done")], tools=[ping])
    events = run(collect(agent, "go"))
    [call] = events[-2].result.get_content_blocks(ToolUseBlock)  # type: ignore[union-attr]
    assert (call.input, call.raw_input) == ({}, raw)
    assert [event.state.value for event in events if isinstance(event, ToolResultEndEvent)] == ["success"]


def test_b4_47_arguments_that_do_not_parse_are_an_error_for_the_model() -> None:
    ran = []

    def ask(q: str) -> str:
        """Ask."""
        ran.append(q)
        return q

    agent, model = scripted([tool_call("ask", '{"q"')], [text("sorry")], tools=[ask])
    run(collect(agent, "go"))
    call, result = model.requests[1].messages[-1].content
    assert not ran
    assert (call.input, call.raw_input) == ({}, '{"q"')  # type: ignore[union-attr]
    assert result.state is ToolResultState.ERROR  # type: ignore[union-attr]
    assert "not valid JSON" in result.output[0].text  # type: ignore[union-attr]


def test_progress_is_seen_and_is_no_part_of_the_result() -> None:
    def work(emitter: ToolEmitter) -> str:
        """Work."""
        emitter.emit("half way")
        return "done"

    agent, model = scripted([tool_call("work")], [text("ok")], tools=[work])
    events = run(collect(agent, "go"))
    deltas = [(event.delta, event.metadata) for event in events if isinstance(event, ToolResultTextDeltaEvent)]
    assert deltas == [("half way", {"progress": True}), ("done", None)]
    assert model.requests[0].tools[0].parameters.get("properties", {}) == {}
    [result] = model.requests[1].messages[-1].get_content_blocks(ToolResultBlock)
    assert result.output == (TextBlock("done"),)


def test_a_tool_may_ask_the_reply_to_stop_after_its_batch() -> None:
    def stop(emitter: ToolEmitter) -> str:
        """Stop."""
        emitter.request_stop("enough", generate_reason=GenerateReason.ACTING_STOP_REQUESTED)
        return "stopping"

    agent, _ = scripted([tool_call("stop"), tool_call("add", {"a": 1, "b": 2})], tools=[stop, add])
    events = run(collect(agent, "go"))
    assert [event.reason for event in events if isinstance(event, RequestStopEvent)] == ["enough"]
    assert events[-1].generate_reason is GenerateReason.ACTING_STOP_REQUESTED  # type: ignore[union-attr]
    results = events[-2].result.get_content_blocks(ToolResultBlock)  # type: ignore[union-attr]
    assert [block.output[0].text for block in results] == ["stopping", "3"]


def test_tools_are_handed_what_the_context_holds() -> None:
    class Database:
        name = "db"

    def which(database: Database, context: RuntimeContext) -> str:
        """Say which."""
        return f"{database.name} of {context.user_id}"

    agent, model = scripted([tool_call("which")], [text("ok")], tools=[which])
    context = RuntimeContext("s", "ann").put(Database())
    run(collect(agent, "go", context))
    assert model.requests[1].messages[-1].content[1].output == (TextBlock("db of ann"),)  # type: ignore[union-attr]


def test_an_unknown_tool_is_an_error_for_the_model() -> None:
    agent, _ = scripted([tool_call("nope")], [text("ok")])
    events = run(collect(agent, "go"))
    assert [event.state.value for event in events if isinstance(event, ToolResultEndEvent)] == ["error"]


def test_the_same_provider_id_in_two_turns_makes_two_calls() -> None:
    turn = [tool_call("add", {"a": 1, "b": 2}, id="call_0")]
    agent, _ = scripted(turn, turn, [text("ok")], tools=[add])
    events = run(collect(agent, "go"))
    calls = [event.tool_call_id for event in events if isinstance(event, ToolCallEndEvent)]
    assert calls == ["call_0", "call_0~2"]
    assert len(events[-2].result.get_content_blocks(ToolResultBlock)) == 2  # type: ignore[union-attr]


# ---------------------------------------------------------------------------------------------------- iterations


def test_after_max_iters_the_reply_sums_up_without_tools() -> None:
    turn = [tool_call("add", {"a": 1, "b": 2})]
    agent, model = scripted(turn, turn, [text("summary")], tools=[add], max_iters=2)
    events = run(collect(agent, "go"))
    kinds = types(events)
    assert kinds.count(MODEL_START) == 3
    assert kinds[-9:] == ["EXCEED_MAX_ITERS", "HINT_BLOCK", MODEL_START, *TEXT, MODEL_END, RESULT, END]
    [exceeded] = [event for event in events if isinstance(event, ExceedMaxItersEvent)]
    assert (exceeded.max_iters, exceeded.current_iter) == (2, 2)
    assert model.requests[2].tools == ()
    assert isinstance(model.requests[2].messages[-1].content[-1], HintBlock)
    assert events[-1].generate_reason is GenerateReason.MAX_ITERATIONS  # type: ignore[union-attr]


def test_calls_in_the_summary_are_not_run_and_still_get_a_result() -> None:
    turn = [tool_call("add", {"a": 1, "b": 2})]
    agent, _ = scripted(turn, turn, tools=[add], max_iters=1)
    events = run(collect(agent, "go"))
    assert [event.state.value for event in events if isinstance(event, ToolResultEndEvent)] == ["success", "error"]
    assert events[-1].generate_reason is GenerateReason.MAX_ITERATIONS  # type: ignore[union-attr]


@pytest.mark.parametrize("empty", [[thinking("hm")], [text("  \n")], []])
def test_an_empty_answer_is_asked_for_again_once(empty: list[Any]) -> None:
    agent, model = scripted(empty, [text("there")])
    events = run(collect(agent, "go"))
    [hint] = [event for event in events if isinstance(event, HintBlockEvent)]
    assert hint.hint_source == "empty_response"
    assert model.requests[1].messages[-1].content[-1] == HintBlock(
        id=hint.block_id, hint=hint.hint, source="empty_response"
    )
    assert events[-2].result.get_text_content().strip() == "there"  # type: ignore[union-attr]


def test_an_empty_answer_in_the_last_iteration_leaves_the_asking_to_the_summary() -> None:
    agent, _ = scripted([thinking("hm")], [text("there")], max_iters=1)
    events = run(collect(agent, "go"))
    assert [event.hint_source for event in events if isinstance(event, HintBlockEvent)] == ["max_iterations"]
    assert events[-1].generate_reason is GenerateReason.MAX_ITERATIONS  # type: ignore[union-attr]


def test_a_second_empty_answer_is_the_answer() -> None:
    agent, model = scripted([thinking("hm")], [thinking("hm")])
    events = run(collect(agent, "go"))
    assert len(model.requests) == 2
    assert events[-1].generate_reason is GenerateReason.MODEL_STOP  # type: ignore[union-attr]


def test_a_refusal_is_not_asked_for_again() -> None:
    agent, model = scripted([finish("refusal")])
    run(collect(agent, "go"))
    assert len(model.requests) == 1


def test_b5_55_calls_run_whatever_the_finish_reason_says() -> None:
    agent, _ = scripted([tool_call("add", {"a": 1, "b": 2}), finish("stop")], [text("3")], tools=[add])
    events = run(collect(agent, "go"))
    assert [event.state.value for event in events if isinstance(event, ToolResultEndEvent)] == ["success"]


def test_b5_55_calls_that_were_cut_off_are_not_run() -> None:
    agent, model = scripted([tool_call("add", {"a": 1, "b": 2}), finish("length")], [text("again")], tools=[add])
    events = run(collect(agent, "go"))
    assert [event.state.value for event in events if isinstance(event, ToolResultEndEvent)] == ["error"]
    assert "cut off" in model.requests[1].messages[-1].content[1].output[0].text  # type: ignore[union-attr]


def test_b5_58_usage_of_two_model_calls_is_summed_and_unknown_stays_unknown() -> None:
    agent, _ = scripted([tool_call("add", {"a": 1, "b": 2}), usage(10, 5)], [text("3"), usage(20)], tools=[add])
    message = run(_answer(agent))
    assert message.usage is not None
    assert (message.usage.input_tokens, message.usage.output_tokens, message.usage.reasoning_tokens) == (30, 5, None)


async def _answer(agent: ReActAgent, *args: Any) -> Msg:
    return await agent.call(*(args or ("go",)))


# ---------------------------------------------------------------------------------------------------- errors


def test_l8_a_model_error_comes_after_the_closing_events() -> None:
    agent, _ = scripted([text("par"), text("tial"), error(ModelHTTPError("429", status=429, kind="rate_limit"))])
    events, failure = run(collect_failing(agent, "hi"))
    assert types(events) == [START, MODEL_START, *TEXT, MODEL_END, RESULT, END]
    assert isinstance(failure, ModelHTTPError)
    end = events[-1]
    assert isinstance(end, AgentEndEvent)
    assert (end.generate_reason, end.error.type) == (GenerateReason.ERROR, "ModelHTTPError")  # type: ignore[union-attr]
    assert events[-2].result.get_text_content() == "partial"  # type: ignore[union-attr]
    assert [event.finish_reason for event in events if isinstance(event, ModelCallEndEvent)] == [FinishReason.ERROR]


def test_b6_69_a_cut_inside_the_arguments_runs_nothing_and_leaves_no_call_unanswered() -> None:
    ran: list[int] = []

    def act(n: int) -> None:
        """Act."""
        ran.append(n)

    agent, _ = scripted([tool_call("act", '{"n": 1'), truncate()], tools=[act])
    events, failure = run(collect_failing(agent, "go"))
    assert isinstance(failure, ModelTruncatedError)
    assert not ran
    assert types(events)[2:] == [*CALL, MODEL_END, *TOOL_RESULT, RESULT, END]
    assert [event.state.value for event in events if isinstance(event, ToolResultEndEvent)] == ["error"]


def test_whatever_else_a_model_raises_is_wrapped_and_says_nothing_of_its_text() -> None:
    agent, _ = scripted([error(RuntimeError("sk-secret and the prompt"))])
    events, failure = run(collect_failing(agent, "hi"))
    assert isinstance(failure, ModelError)
    assert isinstance(failure.__cause__, RuntimeError)
    assert "secret" not in str(failure)
    assert "secret" not in "".join(encode(event) for event in events)


def test_a_script_that_runs_out_raises_assertion_error() -> None:
    agent, _ = scripted()
    _, failure = run(collect_failing(agent, "hi"))
    assert isinstance(failure, AssertionError)


def test_call_emits_the_message_of_a_failed_reply_before_the_error() -> None:
    agent, _ = scripted([text("par"), truncate()])

    async def main() -> list[Any]:
        got: list[Any] = []
        failed: list[Exception] = []
        done = asyncio.Event()
        agent.call("hi").subscribe(got.append, lambda error: (failed.append(error), done.set()))
        await done.wait()
        assert isinstance(failed[0], ModelTruncatedError)
        return got

    [message] = run(main())
    assert (message.get_text_content(), message.generate_reason) == ("par", GenerateReason.ERROR)


def test_the_next_call_works_after_a_failure_and_sees_what_was_said() -> None:
    agent, model = scripted([text("par"), truncate()], [text("ok")])
    run(collect_failing(agent, "one"))
    run(collect(agent, "two"))
    assert text_of(model.requests[1].messages) == [("user", "one"), ("assistant", "par"), ("user", "two")]


@pytest.mark.parametrize(
    "wrong",
    [
        *[5, [5], object(), SystemMessage("obey")],
        [UserInterruptEvent(reply_id="r"), UserConfirmResultEvent(reply_id="r", confirm_results=())],
        [UserInterruptEvent(reply_id="r"), UserInterruptEvent(reply_id="r")],
    ],
)
def test_input_that_is_none_is_refused_at_once(wrong: Any) -> None:
    agent, model = scripted([text("x")])
    with pytest.raises(ConfigurationError):
        agent.stream_events(wrong)
    assert not model.requests


def test_tool_results_that_nobody_waits_for_are_refused_before_any_event() -> None:
    agent, model = scripted([text("x")])
    stray = ToolResultMessage(ToolResultBlock(id="c", name="f"))
    got: list[Any] = []

    async def main() -> None:
        with pytest.raises(StaleAnswerError):
            await agent.stream_events(stray).pipe(ops.do_action(got.append))

    run(main())
    assert not got
    assert not model.requests


def test_max_iters_must_be_positive() -> None:
    with pytest.raises(ConfigurationError):
        ReActAgent("a", ScriptedModel([]), max_iters=0)


# ---------------------------------------------------------------------------------------------------- sessions


def test_the_history_of_a_session_goes_into_the_next_request() -> None:
    agent, model = scripted([text("one")], [text("two")], sys_prompt="sys")
    run(collect(agent, "1"))
    run(collect(agent, UserMessage("2")))
    assert text_of(model.requests[1].messages) == [
        ("system", "sys"),
        ("user", "1"),
        ("assistant", "one"),
        ("user", "2"),
    ]


def test_none_goes_on_from_the_history_as_it_is() -> None:
    agent, model = scripted([text("one")])
    run(_observe(agent, [UserMessage("noted"), AssistantMessage("bob", "hello")]))
    run(collect(agent))
    assert text_of(model.requests[0].messages) == [("user", "noted"), ("assistant", "hello")]


def test_what_is_said_again_is_in_the_history_under_an_id_of_its_own() -> None:
    agent, model = scripted([text("one")], [text("two")], [text("three")])
    again = UserMessage("again")
    stream = agent.stream_events([again, again])
    for _ in range(2):
        run(_drain(stream))
    run(_observe(agent, again))
    assert (
        text_of(model.requests[1].messages)
        == [("user", "again")] * 2 + [("assistant", "one")] + [("user", "again")] * 2
    )
    history = agent.get_state().run().history
    assert [message.role for message in history] == ["user", "user", "assistant"] * 2 + ["user"]
    assert len({message.id for message in history}) == len(history)
    assert history[0] is again


async def _drain(stream: Any) -> None:
    await stream


async def _observe(agent: ReActAgent, messages: Any) -> None:
    assert await agent.observe(messages) is None


def test_sessions_are_apart() -> None:
    agent, model = scripted([text("a1")], [text("b1")], [text("a2")])
    a, b = RuntimeContext("a"), RuntimeContext("b")
    run(collect(agent, "a?", a))
    run(collect(agent, "b?", b))
    events = run(collect(agent, "a??", a))
    assert text_of(model.requests[1].messages) == [("user", "b?")]
    assert text_of(model.requests[2].messages) == [("user", "a?"), ("assistant", "a1"), ("user", "a??")]
    assert events[0].session_id == "a"  # type: ignore[union-attr]


def test_calls_of_one_session_wait_for_each_other_in_order() -> None:
    agent, model = scripted([text("1"), delay(0.01), text("!")], [text("2")], [text("3")], default_session_id="home")

    async def main() -> list[str]:
        answers = await asyncio.gather(*(agent.call(f"q{n}") for n in (1, 2, 3)))
        return [answer.get_text_content() for answer in answers]

    assert run(main()) == ["1!", "2", "3"]
    assert len(model.requests[2].messages) == 5


def test_each_subscription_is_a_call_of_its_own() -> None:
    agent, model = scripted([text("1")], [text("2")])
    stream = agent.stream_events("hi")
    assert not model.requests

    async def main() -> None:
        first, second = await asyncio.gather(stream.pipe(to_message()), stream.pipe(to_message()))
        assert (first.get_text_content(), second.get_text_content()) == ("1", "2")
        assert first.id != second.id

    run(main())


def test_a_hint_comes_before_the_next_model_call_and_is_sent() -> None:
    agent, model = scripted([text("ok")])
    agent.hint("be nice", source="boss")
    events = run(collect(agent, "hi"))
    assert types(events)[:3] == [START, "HINT_BLOCK", MODEL_START]
    [hint] = [event for event in events if isinstance(event, HintBlockEvent)]
    assert (hint.hint, hint.hint_source) == ("be nice", "boss")
    assert isinstance(model.requests[0].messages[-1].content[0], HintBlock)


def test_a_hint_from_a_tool_reaches_the_reply_that_runs() -> None:
    def steer() -> str:
        """Steer."""
        agent.hint("now in French")
        return "ok"

    agent, _ = scripted([tool_call("steer")], [text("oui")], tools=[steer])
    kinds = types(run(collect(agent, "hi")))
    assert kinds[kinds.index("HINT_BLOCK") + 1] == MODEL_START


# ---------------------------------------------------------------------------------------------------- leaving early


def _everything(model_turns: int = 2) -> tuple[ReActAgent, ScriptedModel]:
    """An agent whose reply has thinking, text, two parallel calls, results and an answer."""
    turns = [
        [thinking("t1"), thinking("t2"), text("a"), text("b"), tool_call("add", {"a": 1, "b": 2}, pieces=3),
         tool_call("nap", {"n": 1}), usage(3, 2)],
        [text("c"), delay(0), text("d")],
    ]  # fmt: skip

    async def nap(n: int) -> AsyncIterator[str]:
        """Nap."""
        yield "zz"
        await asyncio.sleep(0)
        yield str(n)

    model = ScriptedModel([*turns, [text("next")]])
    return ReActAgent("friday", model, tools=[add, nap]), model


def test_l6_disposing_after_any_event_leaves_a_history_that_the_next_call_can_use() -> None:
    async def whole() -> int:
        agent, _ = _everything()
        return len(await collect(agent, "go"))

    async def leave_after(count: int) -> None:
        agent, model = _everything()
        got = await agent.stream_events("go").pipe(ops.take(count), ops.to_list())
        assert len(got) == count
        seen = len(model.requests)
        model._turns[seen] = (text("next"),)
        await collect(agent, "again")
        before = list(model.requests[-1].messages)
        assert text_of(before[:1]) == [("user", "go")]
        calls = [block.id for message in before for block in message.get_content_blocks(ToolUseBlock)]
        results = [block.id for message in before for block in message.get_content_blocks(ToolResultBlock)]
        assert sorted(calls) == sorted(results)
        for message in before:
            for block in message.get_content_blocks(ToolUseBlock):
                assert block.state is ToolCallState.FINISHED

    total = run(whole())
    for count in range(1, total):
        run(leave_after(count))


def test_b7_72_nothing_comes_after_a_dispose_and_the_tool_is_cancelled() -> None:
    cancelled = []

    async def hang() -> str:
        """Hang."""
        try:
            await asyncio.sleep(60)
        except asyncio.CancelledError:
            cancelled.append(True)
            raise
        return "never"

    agent, _ = scripted([tool_call("hang")], tools=[hang])

    async def main() -> None:
        got: list[Any] = []
        before = asyncio.all_tasks()
        subscription = agent.stream_events("go").subscribe(got.append)
        while not any(isinstance(event, ToolResultStartEvent) for event in got):  # noqa: ASYNC110
            await asyncio.sleep(0.001)
        count = len(got)
        subscription.dispose()
        while asyncio.all_tasks() != before:  # noqa: ASYNC110
            await asyncio.sleep(0.001)
        assert len(got) == count

    run(main())
    assert cancelled


def test_a_timeout_around_a_call_raises_timeout_error() -> None:
    agent, model = scripted([text("a"), delay(60)], [text("ok")])

    async def main() -> None:
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.02):
                await agent.call("hi")
        await collect(agent, "next")

    run(main())
    assert text_of(model.requests[1].messages) == [("user", "hi"), ("assistant", "a"), ("user", "next")]


def test_a_waiter_that_leaves_does_not_let_two_in() -> None:
    asked: list[int] = []

    async def main() -> None:
        release = asyncio.Event()

        class Held:
            model_name = "held"

            async def stream(self, request: ModelRequest) -> AsyncIterator[ModelChunk]:
                asked.append(len(request.messages))
                if len(asked) == 1:
                    await release.wait()
                yield ModelChunk(TextPiece("ok"))

        agent = ReActAgent("a", Held())
        first = asyncio.ensure_future(_answer(agent))
        while not asked:  # noqa: ASYNC110
            await asyncio.sleep(0)
        second, third = asyncio.ensure_future(_answer(agent)), asyncio.ensure_future(_answer(agent))
        for _ in range(5):
            await asyncio.sleep(0)
        second.cancel()
        for _ in range(20):
            await asyncio.sleep(0)
        assert asked == [1]
        release.set()
        await asyncio.wait([first, second, third])
        assert second.cancelled()

    run(main())
    assert asked == [1, 3]


# ---------------------------------------------------------------------------------------------------- anywhere


def test_one_agent_by_await_by_run_and_in_a_second_thread() -> None:
    agent, model = scripted(*([text(str(n))] for n in range(5)))

    async def inside() -> str:
        awaited = await agent.call("a")
        nested = agent.call("b").run()
        return awaited.get_text_content() + nested.get_text_content()

    answers = [agent.call("x").run().get_text_content(), run(inside())]
    thread = threading.Thread(target=lambda: answers.append(agent.call("y").run().get_text_content()))
    thread.start()
    thread.join(10)
    got: list[Any] = []
    done = threading.Event()
    agent.stream_events("z").pipe(of_type(TextBlockDeltaEvent)).subscribe(got.append, on_completed=done.set)
    assert done.wait(10)
    assert answers == ["0", "12", "3"]
    assert [event.delta for event in got] == ["4"]
    assert len(model.requests[4].messages) == 9


def test_a_model_of_ones_own_is_two_members() -> None:
    class Echo:
        model_name = "echo"

        async def stream(self, request: ModelRequest) -> AsyncIterator[ModelChunk]:

            yield ModelChunk(TextPiece(request.messages[-1].get_text_content().upper()))

    agent = ReActAgent("echo", Echo())
    assert run(_answer(agent, "hi")).get_text_content() == "HI"


def test_text_blocks_end_before_the_model_call_does() -> None:
    agent, _ = scripted([text("a")])
    events = run(collect(agent, "hi"))
    assert [type(event) for event in events[-5:-2]] == [TextBlockDeltaEvent, TextBlockEndEvent, ModelCallEndEvent]


def test_b1_11_a_run_that_fails_before_the_first_token_has_one_start_and_one_end() -> None:
    agent, _ = scripted([error(UnsupportedContentError("this model cannot be sent audio"))])
    events, failure = run(collect_failing(agent, "hi"))
    assert types(events) == [START, MODEL_START, MODEL_END, RESULT, END]
    assert isinstance(failure, UnsupportedContentError)
    assert events[-1].error.message == "this model cannot be sent audio"  # type: ignore[union-attr]


def test_l5_a_slow_consumer_slows_the_model() -> None:
    said = 0

    class Endless:
        model_name = "endless"

        async def stream(self, request: ModelRequest) -> AsyncIterator[ModelChunk]:
            nonlocal said
            while True:
                said += 1
                yield ModelChunk(TextPiece("x"))

    async def main() -> None:
        async with ReActAgent("a", Endless()).stream_events("hi").iterate(buffer=16) as events:
            heard = 0
            async for _ in events:
                heard += 1
                await asyncio.sleep(0)
                assert said - heard <= 16 + 32
                if heard == 2000:
                    break
            statistics = events.statistics()
            assert statistics.limit == 16
            assert statistics.peak <= 16 + 32

    run(main())


class Broken:
    """A model whose chunk has a piece that cannot be read."""

    model_name = "broken"

    def __init__(self, *pieces: Any) -> None:
        self._pieces = pieces

    async def stream(self, request: ModelRequest) -> AsyncIterator[ModelChunk]:
        yield ModelChunk(TextPiece("fine"), *self._pieces)


@pytest.mark.parametrize("piece", [TextPiece(3), UsagePiece("a"), object()])  # type: ignore[arg-type]
def test_a_piece_that_cannot_be_read_is_the_models_failure_and_nothing_before_it_is_lost(piece: Any) -> None:
    events, failure = run(collect_failing(ReActAgent("a", Broken(piece)), "go"))
    assert isinstance(failure, ModelError)
    assert events[-2].result.get_text_content() == "fine"  # type: ignore[union-attr]


def test_a_hint_that_was_not_seen_is_not_lost() -> None:
    agent, model = scripted([text("ok")])
    agent.hint("one")
    agent.hint("two")

    async def main() -> None:
        await agent.stream_events("go").pipe(of_type(HintBlockEvent), ops.take(1))

    run(main())
    events = run(collect(agent, "again"))
    assert [event.hint for event in events if isinstance(event, HintBlockEvent)] == ["two"]
    assert len(model.requests) == 1


EVERY_CLASS = sorted({type(event) for event in run(collect(scripted([tool_call("add", {"a": 1, "b": 2})], [text("3")],
                     tools=[add])[0], "go"))}, key=lambda cls: cls.__name__)  # fmt: skip


@pytest.mark.parametrize("cls", EVERY_CLASS)
@pytest.mark.parametrize("last", [text("3"), error(ModelHTTPError("down"))])
def test_a_consumer_that_raises_ends_the_stream_with_its_error_wherever_it_does(cls: Any, last: Any) -> None:
    def refuse(event: Any) -> Any:
        if isinstance(event, cls):
            raise ZeroDivisionError
        return event

    agent, _ = scripted([tool_call("add", {"a": 1, "b": 2})], [last], tools=[add])

    async def main() -> None:
        with pytest.raises((ZeroDivisionError, ModelHTTPError)):
            await agent.stream_events("go").pipe(ops.map(refuse))

    run(main())


def test_a_hint_given_in_the_last_round_reaches_the_summary() -> None:
    def steer() -> str:
        """Steer."""
        agent.hint("be brief")
        return "ok"

    agent, model = scripted([tool_call("steer")], [text("sum")], tools=[steer], max_iters=1)
    run(collect(agent, "go"))
    hints = model.requests[1].messages[-1].get_content_blocks(HintBlock)
    assert "be brief" in [hint.hint for hint in hints]
