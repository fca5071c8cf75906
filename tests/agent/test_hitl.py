"""Human in the loop: a reply pauses, is answered, and goes on under the same id."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from reactivex import operators as ops

from agentscope_rx import (
    AgentStartEvent,
    AllToolsDeniedEvent,
    ConfirmResult,
    ExternalExecutionResultEvent,
    ExternalTool,
    GenerateReason,
    InMemoryStateStore,
    MessageBuilder,
    PendingToolCallsError,
    PermissionContext,
    PermissionRule,
    ReActAgent,
    RequireExternalExecutionEvent,
    RequireUserConfirmEvent,
    ResumeError,
    StaleAnswerError,
    StateStore,
    TextBlock,
    ToolCallState,
    ToolResultBlock,
    ToolResultEndEvent,
    ToolResultMessage,
    ToolResultState,
    ToolSuspend,
    ToolUseBlock,
    UnknownToolCallError,
    UserConfirmResultEvent,
    UserInterruptEvent,
    UserMessage,
    encode_message,
    tool,
)
from agentscope_rx.event import AgentEvent
from agentscope_rx.testing import ScriptedModel, assert_valid_stream, text, tool_call

from .shapes import collect, run, types

ASK = PermissionContext(ask_rules=(PermissionRule(tool_name="send", behavior="ask"),), mode="bypass")
CALL = ["TOOL_CALL_START", "TOOL_CALL_DELTA", "TOOL_CALL_END"]
RESULT = ["TOOL_RESULT_START", "TOOL_RESULT_TEXT_DELTA", "TOOL_RESULT_END"]
END = ["AGENT_RESULT", "AGENT_END"]


class Outbox:
    """What the tools of a test did."""

    def __init__(self) -> None:
        self.sent: list[str] = []

    def send(self, to: str) -> str:
        """Send."""
        self.sent.append(to)
        return f"sent to {to}"

    def look(self, what: str) -> str:
        """Look."""
        self.sent.append(f"look {what}")
        return f"saw {what}"


def parked(*turn: Any, tools: Any = (), store: StateStore | None = None, permission: Any = ASK, **settings: Any):
    """An agent that is asked to make these calls and then says done; with its model and outbox."""
    outbox = Outbox()
    model = ScriptedModel([list(turn), [text("done")], [text("next")]])
    agent = ReActAgent(
        "friday", model, tools=[outbox.send, outbox.look, *tools], permission=permission, state_store=store, **settings
    )
    return agent, model, outbox


def require(events: list[AgentEvent]) -> RequireUserConfirmEvent:
    [event] = [event for event in events if isinstance(event, RequireUserConfirmEvent)]
    return event


def yes(event: RequireUserConfirmEvent, *ids: str, **fields: Any) -> UserConfirmResultEvent:
    calls = [call for call in event.tool_calls if not ids or call.id in ids]
    return UserConfirmResultEvent(
        reply_id=event.reply_id,
        confirm_results=[ConfirmResult(confirmed=True, tool_call=call, **fields) for call in calls],
    )


def no(event: RequireUserConfirmEvent, reason: str | None = None) -> UserConfirmResultEvent:
    return UserConfirmResultEvent(
        reply_id=event.reply_id,
        confirm_results=[ConfirmResult(confirmed=False, tool_call=call, reason=reason) for call in event.tool_calls],
    )


def results(events: list[AgentEvent]) -> list[tuple[str, str]]:
    return [(event.tool_call_id, event.state.value) for event in events if isinstance(event, ToolResultEndEvent)]


# ---------------------------------------------------------------------------------------------------- confirmation


def test_a_call_that_must_be_confirmed_pauses_the_reply() -> None:
    agent, model, outbox = parked(tool_call("send", {"to": "ann"}))
    events = run(collect(agent, "go"))
    assert types(events) == [
        "AGENT_START", "MODEL_CALL_START", *CALL, "MODEL_CALL_END", "REQUIRE_USER_CONFIRM", *END,
    ]  # fmt: skip
    [call] = require(events).tool_calls
    assert (call.state, call.input) == (ToolCallState.ASKING, {"to": "ann"})
    assert events[-1].generate_reason is GenerateReason.PERMISSION_ASKING  # type: ignore[union-attr]
    [stored] = events[-2].result.get_content_blocks(ToolUseBlock)  # type: ignore[union-attr]
    assert stored.state is ToolCallState.ASKING
    assert not outbox.sent
    assert len(model.requests) == 1


def test_a_confirmed_call_runs_and_the_reply_goes_on_under_its_id() -> None:
    agent, _, outbox = parked(tool_call("send", {"to": "ann"}))
    before = run(collect(agent, "go"))
    after = run(collect(agent, yes(require(before))))
    assert types(after) == [
        "AGENT_START", "USER_CONFIRM_RESULT", *RESULT, "MODEL_CALL_START",
        "TEXT_BLOCK_START", "TEXT_BLOCK_DELTA", "TEXT_BLOCK_END", "MODEL_CALL_END", *END,
    ]  # fmt: skip
    start = after[0]
    assert isinstance(start, AgentStartEvent)
    assert (start.resumed, start.reply_id) == (True, before[0].reply_id)  # type: ignore[union-attr]
    assert start.message == before[-2].result  # type: ignore[union-attr]
    assert [event.seq for event in after] == list(range(len(before) + 1, len(before) + len(after) + 1))
    assert outbox.sent == ["ann"]


def test_l3_every_stream_of_a_paused_reply_folds_to_the_whole_message() -> None:
    agent, _, _ = parked(tool_call("send", {"to": "ann"}))
    before = run(collect(agent, "go"))
    after = run(collect(agent, yes(require(before))))
    alone, whole = MessageBuilder(), MessageBuilder()
    for event in after:
        alone.apply(event)
    for event in (*before, *after):
        whole.apply(event)
    assert alone.message() == whole.message() == after[-2].result  # type: ignore[union-attr]
    assert_valid_stream([*before, *after])


def test_b3_28_a_denial_is_a_result_with_its_reason_and_the_model_reads_it() -> None:
    agent, model, outbox = parked(tool_call("send", {"to": "ann"}))
    before = run(collect(agent, "go"))
    after = run(collect(agent, no(require(before), "not today")))
    assert types(after)[:6] == ["AGENT_START", "USER_CONFIRM_RESULT", *RESULT, "ALL_TOOLS_DENIED"]
    assert results(after) == [("call_1", "denied")]
    [result] = model.requests[1].messages[-1].get_content_blocks(ToolResultBlock)
    assert "not today" in result.output[0].text  # type: ignore[union-attr]
    assert not outbox.sent
    [denied] = [event for event in after if isinstance(event, AllToolsDeniedEvent)]
    assert [call.id for call in denied.denied_tool_calls] == ["call_1"]


def test_b3_28_a_denial_by_a_rule_has_the_same_shape() -> None:
    deny = PermissionContext(deny_rules=(PermissionRule(tool_name="send", behavior="deny"),), mode="bypass")
    agent, _, outbox = parked(tool_call("send", {"to": "ann"}), permission=deny)
    events = run(collect(agent, "go"))
    assert types(events)[6:9] == RESULT
    assert results(events) == [("call_1", "denied")]
    assert "ALL_TOOLS_DENIED" not in types(events)
    assert not outbox.sent


def test_p4_an_edited_input_is_what_runs_and_what_is_stored() -> None:
    agent, _, outbox = parked(tool_call("send", {"to": "ann"}))
    event = require(run(collect(agent, "go")))
    [call] = event.tool_calls
    edited = call.model_copy(update={"input": {"to": "bob"}, "raw_input": ""})
    answer = UserConfirmResultEvent(
        reply_id=event.reply_id, confirm_results=[ConfirmResult(confirmed=True, tool_call=edited)]
    )
    after = run(collect(agent, answer))
    assert outbox.sent == ["bob"]
    [stored] = after[-2].result.get_content_blocks(ToolUseBlock)  # type: ignore[union-attr]
    assert (stored.input, stored.raw_input) == ({"to": "bob"}, '{"to": "bob"}')


def test_an_edited_input_that_does_not_fit_is_refused_and_nothing_changes() -> None:
    agent, _, outbox = parked(tool_call("send", {"to": "ann"}))
    event = require(run(collect(agent, "go")))
    [call] = event.tool_calls
    wrong = ConfirmResult(confirmed=True, tool_call=call.model_copy(update={"input": {"who": "bob"}}))
    run(_refused(agent, UserConfirmResultEvent(reply_id=event.reply_id, confirm_results=[wrong]), ResumeError))
    run(collect(agent, yes(event)))
    assert outbox.sent == ["ann"]


def test_b3_24_a_partial_answer_runs_what_was_answered_and_asks_for_the_rest_again() -> None:
    calls = [tool_call("send", {"to": name}) for name in ("ann", "bob", "cy")]
    agent, model, outbox = parked(*calls)
    event = require(run(collect(agent, "go")))
    assert [call.id for call in event.tool_calls] == ["call_1", "call_2", "call_3"]
    second = run(collect(agent, yes(event, "call_2")))
    assert outbox.sent == ["bob"]
    assert [call.id for call in require(second).tool_calls] == ["call_1", "call_3"]
    assert second[-1].generate_reason is GenerateReason.PERMISSION_ASKING  # type: ignore[union-attr]
    assert len(model.requests) == 1
    third = run(collect(agent, yes(require(second))))
    assert outbox.sent == ["bob", "ann", "cy"]
    assert len(model.requests) == 2
    ids = [block.id for block in third[-2].result.get_content_blocks(ToolResultBlock)]  # type: ignore[union-attr]
    assert ids == ["call_2", "call_1", "call_3"]


def test_b3_31_a_free_call_runs_once_and_the_model_sees_both_results() -> None:
    agent, model, outbox = parked(tool_call("look", {"what": "sky"}), tool_call("send", {"to": "ann"}))
    before = run(collect(agent, "go"))
    assert outbox.sent == ["look sky"]
    assert types(before)[-6:] == [*RESULT, "REQUIRE_USER_CONFIRM", *END]
    run(collect(agent, yes(require(before))))
    assert outbox.sent == ["look sky", "ann"]
    assert len(model.requests[1].messages[-1].get_content_blocks(ToolResultBlock)) == 2


def test_b3_32_a_decided_call_is_not_judged_again() -> None:
    judged: list[str] = []

    def judge(arguments: Any) -> None:
        judged.append(arguments["to"])

    outbox: list[str] = []

    @tool(check_permission=judge)
    def post(to: str) -> str:
        """Post."""
        outbox.append(to)
        return "ok"

    asks = PermissionContext()
    agent, _, _ = parked(tool_call("post", {"to": "ann"}), tools=[post], permission=asks)
    event = require(run(collect(agent, "go")))
    run(collect(agent, yes(event)))
    assert outbox == ["ann"]
    assert judged == ["ann"]


def test_an_accepted_rule_releases_the_other_call_and_later_ones() -> None:
    agent, _, outbox = parked(
        tool_call("send", {"to": "ann"}), tool_call("send", {"to": "bob"}), permission=PermissionContext()
    )
    event = require(run(collect(agent, "go")))
    rules = event.tool_calls[0].suggested_rules
    assert rules
    after = run(collect(agent, yes(event, "call_1", rules=rules)))
    assert outbox.sent == ["ann", "bob"]
    assert "REQUIRE_USER_CONFIRM" not in types(after)
    state = agent.get_state().run()
    assert state.permission is not None
    assert rules[0].tool_name in {rule.tool_name for rule in state.permission.allow_rules}


def test_an_unsafe_call_waits_unasked_behind_one_that_waits_for_an_answer() -> None:
    done: list[str] = []

    @tool(concurrency_safe=False)
    def write(what: str) -> str:
        """Write."""
        done.append(what)
        return what

    rules = PermissionContext(ask_rules=(PermissionRule(tool_name="write", behavior="ask"),), mode="bypass")
    agent, _, _ = parked(
        tool_call("write", {"what": "a"}), tool_call("write", {"what": "b"}), tools=[write], permission=rules
    )
    first = require(run(collect(agent, "go")))
    assert [call.id for call in first.tool_calls] == ["call_1"]
    second = require(run(collect(agent, yes(first))))
    assert done == ["a"]
    assert [call.id for call in second.tool_calls] == ["call_2"]
    run(collect(agent, yes(second)))
    assert done == ["a", "b"]


# ---------------------------------------------------------------------------------------------------- outside


def outside_tool() -> ExternalTool:
    return ExternalTool("pay", "Pay.", {"type": "object", "properties": {"sum": {"type": "integer"}}})


def suspending() -> Any:
    @tool(suspends=True)  # a thread may be late on a busy machine
    def pay(sum: int) -> str:
        """Pay."""
        raise ToolSuspend("the bank is asked")

    return pay


@tool(external=True)
def pay(sum: int) -> str:
    """Pay."""
    raise AssertionError("an external tool is not run here")


@pytest.mark.parametrize("make", [outside_tool, suspending, lambda: pay])
def test_b3_29_an_external_call_pauses_without_any_result(make: Callable[[], Any]) -> None:
    agent, model, _ = parked(tool_call("pay", {"sum": 5}), tools=[make()])
    before = run(collect(agent, "go"))
    assert types(before)[-4:] == ["MODEL_CALL_END", "REQUIRE_EXTERNAL_EXECUTION", *END]
    assert before[-1].generate_reason is GenerateReason.TOOL_SUSPENDED  # type: ignore[union-attr]
    [event] = [event for event in before if isinstance(event, RequireExternalExecutionEvent)]
    [call] = event.tool_calls
    assert call.state is ToolCallState.SUBMITTED
    answer = ExternalExecutionResultEvent(
        reply_id=event.reply_id,
        tool_results=[ToolResultBlock(id=call.id, name="pay", output=(TextBlock("paid"),), metadata={"ref": 1})],
    )
    after = run(collect(agent, answer))
    assert types(after)[:5] == ["AGENT_START", "EXTERNAL_EXECUTION_RESULT", *RESULT]
    [result] = model.requests[1].messages[-1].get_content_blocks(ToolResultBlock)
    assert (result.output, result.state, result.metadata) == ((TextBlock("paid"),), ToolResultState.SUCCESS, {"ref": 1})


def test_a_suspended_call_says_why() -> None:
    agent, _, _ = parked(tool_call("pay", {"sum": 5}), tools=[suspending()])
    [event] = [e for e in run(collect(agent, "go")) if isinstance(e, RequireExternalExecutionEvent)]
    assert event.tool_calls[0].metadata == {"reason": "the bank is asked"}


def test_mixed_pauses_are_answered_in_either_order() -> None:
    calls = [tool_call("send", {"to": "ann"}), tool_call("pay", {"sum": 5}), tool_call("look", {"what": "sky"})]
    for first in ("confirm", "external"):
        agent, model, outbox = parked(*calls, tools=[outside_tool()])
        before = run(collect(agent, "go"))
        assert types(before)[-7:] == [*RESULT, "REQUIRE_USER_CONFIRM", "REQUIRE_EXTERNAL_EXECUTION", *END]
        assert before[-1].generate_reason is GenerateReason.PERMISSION_ASKING  # type: ignore[union-attr]
        confirm = yes(require(before))
        external = ExternalExecutionResultEvent(
            reply_id=confirm.reply_id, tool_results=[ToolResultBlock(id="call_2", name="pay")]
        )
        order = [confirm, external] if first == "confirm" else [external, confirm]
        middle = run(collect(agent, order[0]))
        assert len(model.requests) == 1
        assert middle[-1].generate_reason is (  # type: ignore[union-attr]
            GenerateReason.TOOL_SUSPENDED if first == "confirm" else GenerateReason.PERMISSION_ASKING
        )
        run(collect(agent, order[1]))
        assert len(model.requests) == 2
        assert outbox.sent == ["look sky", "ann"]


def test_both_answers_at_once() -> None:
    agent, model, _ = parked(tool_call("send", {"to": "ann"}), tool_call("pay", {"sum": 5}), tools=[outside_tool()])
    before = run(collect(agent, "go"))
    confirm = yes(require(before))
    external = ExternalExecutionResultEvent(
        reply_id=confirm.reply_id, tool_results=[ToolResultBlock(id="call_2", name="pay")]
    )
    after = run(collect(agent, [confirm, external]))
    assert types(after)[1:3] == ["USER_CONFIRM_RESULT", "EXTERNAL_EXECUTION_RESULT"]
    assert len(model.requests) == 2


# ---------------------------------------------------------------------------------------------------- other forms


def java_answer(event: RequireUserConfirmEvent) -> UserMessage:
    [call] = event.tool_calls
    tool_use = {"type": "tool_use", "id": call.id, "name": call.name, "input": call.input, "content": call.raw_input,
                "metadata": {}, "state": "asking"}  # fmt: skip
    return UserMessage(
        content="ok",
        metadata={"agentscope_confirm_results": [{"confirmed": True, "toolCall": tool_use, "rules": None}]},
    )


def python_answer(event: RequireUserConfirmEvent) -> UserMessage:
    [call] = event.tool_calls
    tool = {"type": "tool_call", "id": call.id, "name": call.name, "input": call.raw_input, "state": "asking"}
    return UserMessage(
        content="ok",
        metadata={"agentscope_confirm_results": [{"confirmed": True, "tool_call": tool, "rules": []}]},
    )


def object_answer(event: RequireUserConfirmEvent) -> UserMessage:
    return UserMessage(content="ok", metadata={"agentscope_confirm_results": list(yes(event).confirm_results)})


@pytest.mark.parametrize("answer", [yes, java_answer, python_answer, object_answer])
def test_an_answer_may_be_an_event_or_a_message_in_any_form(answer: Callable[[Any], Any]) -> None:
    agent, _, outbox = parked(tool_call("send", {"to": "ann"}))
    event = require(run(collect(agent, "go")))
    run(collect(agent, answer(event)))
    assert outbox.sent == ["ann"]


def test_j15_an_edited_input_in_json_is_what_runs_and_what_is_kept() -> None:
    edits = {
        "java": {"toolCall": {"type": "tool_use", "input": {"to": "bob"}, "content": '{"to": "ann"}'}},
        "python": {"tool_call": {"type": "tool_call", "input": '{"to": "bob"}'}},
        "native": {"tool_call": {"type": "tool_use", "input": {"to": "bob"}, "raw_input": '{"to": "bob"}'}},
    }
    for form, edit in edits.items():
        agent, _, outbox = parked(tool_call("send", {"to": "ann"}))
        [call] = require(run(collect(agent, "go"))).tool_calls
        [(key, fields)] = edit.items()
        answer = {"confirmed": True, key: {"id": call.id, "name": call.name, **fields}}
        events = run(collect(agent, UserMessage(content="ok", metadata={"agentscope_confirm_results": [answer]})))
        assert outbox.sent == ["bob"], form
        [kept] = events[-2].result.get_content_blocks(ToolUseBlock)  # type: ignore[union-attr]
        assert (kept.input, json.loads(kept.raw_input)) == ({"to": "bob"}, {"to": "bob"}), form


def test_j14_answers_survive_json() -> None:
    agent, _, outbox = parked(tool_call("send", {"to": "ann"}))
    event = require(run(collect(agent, "go")))
    again = UserMessage.model_validate_json(encode_message(object_answer(event)))
    run(collect(agent, again))
    assert outbox.sent == ["ann"]


def test_a_message_of_tool_results_answers_external_calls() -> None:
    agent, model, _ = parked(tool_call("pay", {"sum": 5}), tools=[outside_tool()])
    run(collect(agent, "go"))
    run(collect(agent, ToolResultMessage(ToolResultBlock(id="call_1", name="pay", output=(TextBlock("paid"),)))))
    assert len(model.requests) == 2


def test_another_agent_with_the_same_store_goes_on() -> None:
    store = InMemoryStateStore()
    agent, _, _ = parked(tool_call("send", {"to": "ann"}), store=store)
    event = require(run(collect(agent, "go")))
    outbox = Outbox()
    other = ReActAgent(
        "friday", ScriptedModel([[text("done")]]), tools=[outbox.send, outbox.look], permission=ASK, state_store=store
    )
    after = run(collect(other, yes(event)))
    assert outbox.sent == ["ann"]
    assert after[-2].result.get_text_content() == "done"  # type: ignore[union-attr]


def test_state_shows_what_is_paused_and_then_what_is_finished() -> None:
    agent, _, _ = parked(tool_call("send", {"to": "ann"}))
    event = require(run(collect(agent, "go")))
    paused = agent.get_state().run()
    assert paused.paused is not None
    assert paused.paused.message.id == event.reply_id
    assert [message.role.value for message in paused.history] == ["user"]
    after = run(collect(agent, yes(event)))
    state = agent.get_state().run()
    assert state.paused is None
    assert state.history[-1] == after[-2].result  # type: ignore[union-attr]


# ---------------------------------------------------------------------------------------------------- what does not fit


async def _refused(agent: ReActAgent, answer: Any, error: type[Exception]) -> None:
    before = await agent.get_state()
    got: list[AgentEvent] = []
    stream = agent.stream_events(answer).pipe(ops.do_action(got.append))
    with pytest.raises(error):
        await stream
    assert not got
    assert await agent.get_state() == before


def _changed(event: RequireUserConfirmEvent, **update: Any) -> UserConfirmResultEvent:
    [call] = event.tool_calls
    confirm = ConfirmResult(confirmed=True, tool_call=call.model_copy(update=update))
    return UserConfirmResultEvent(reply_id=event.reply_id, confirm_results=[confirm])


WRONG: dict[str, tuple[Callable[[RequireUserConfirmEvent], Any], type[Exception]]] = {
    "a new message": (lambda event: "something else", PendingToolCallsError),
    "nothing": (lambda event: None, PendingToolCallsError),
    "an unknown call": (lambda event: _changed(event, id="nope"), UnknownToolCallError),
    "another reply": (lambda event: yes(event).model_copy(update={"reply_id": "other"}), StaleAnswerError),
    "another tool": (lambda event: _changed(event, name="look"), ResumeError),
    "twice at once": (
        lambda event: yes(event).model_copy(update={"confirm_results": yes(event).confirm_results * 2}),
        StaleAnswerError,
    ),
    "a result for a call that asks": (
        lambda event: ToolResultMessage(ToolResultBlock(id="call_1", name="send")),
        StaleAnswerError,
    ),
}


@pytest.mark.parametrize("case", WRONG)
def test_an_answer_that_does_not_fit_is_a_typed_error_before_any_event(case: str) -> None:
    make, error = WRONG[case]
    agent, _, outbox = parked(tool_call("send", {"to": "ann"}))
    event = require(run(collect(agent, "go")))
    run(_refused(agent, make(event), error))
    run(collect(agent, yes(event)))
    assert outbox.sent == ["ann"]


@pytest.mark.parametrize("malformed", [7, [7], [{"confirmed": True}], [{"tool_call": {"id": "call_1"}}]])
def test_a_malformed_answer_in_a_message_is_refused_at_once(malformed: Any) -> None:
    agent, _, _ = parked(tool_call("send", {"to": "ann"}))
    run(collect(agent, "go"))
    with pytest.raises(ResumeError):
        agent.stream_events(UserMessage(content="x", metadata={"agentscope_confirm_results": malformed}))


def test_an_answer_that_comes_again_is_stale() -> None:
    agent, _, outbox = parked(tool_call("send", {"to": "ann"}))
    event = require(run(collect(agent, "go")))
    run(collect(agent, yes(event)))
    run(_refused(agent, yes(event), StaleAnswerError))
    assert outbox.sent == ["ann"]


# ---------------------------------------------------------------------------------------------------- giving up


def test_b1_7_a_paused_reply_can_be_interrupted() -> None:
    agent, model, _ = parked(tool_call("send", {"to": "ann"}), tool_call("pay", {"sum": 5}), tools=[outside_tool()])
    event = require(run(collect(agent, "go")))
    after = run(collect(agent, UserInterruptEvent(reply_id=event.reply_id, message="never mind")))
    assert types(after) == ["AGENT_START", "USER_INTERRUPT", *RESULT, *RESULT, *END]
    assert results(after) == [("call_1", "interrupted"), ("call_2", "interrupted")]
    assert after[-1].generate_reason is GenerateReason.INTERRUPTED  # type: ignore[union-attr]
    assert len(model.requests) == 1
    run(collect(agent, "and now?"))
    assert len(model.requests) == 2


def test_there_is_nothing_to_interrupt_in_an_idle_session() -> None:
    agent, _, _ = parked(text("hi"))
    run(_refused(agent, UserInterruptEvent(reply_id="r"), ResumeError))
