"""Several calls wait at once: each gets its own answer, none is asked about twice, all kinds of tools look alike."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from agentscope_rx import (
    AgentEvent,
    ConfirmResult,
    ExternalExecutionResultEvent,
    ExternalTool,
    PermissionContext,
    ReActAgent,
    RequireExternalExecutionEvent,
    RequireUserConfirmEvent,
    RuntimeContext,
    TextBlock,
    Tool,
    ToolEmitter,
    ToolResultBlock,
    ToolSchema,
    UserConfirmResultEvent,
)
from agentscope_rx.testing import ScriptedModel, text, tool_call

from .shapes import collect, run, types
from .test_hitl import outside_tool, parked, require, results, yes


def outputs(events: list[AgentEvent]) -> dict[str, str]:
    message = events[-2].result  # type: ignore[union-attr]
    return {block.id: block.output[0].text for block in message.get_content_blocks(ToolResultBlock)}  # type: ignore[union-attr]


def test_b3_26_two_pauses_of_one_tool_answered_in_reverse_get_each_its_own_answer() -> None:
    agent, _, outbox = parked(tool_call("send", {"to": "ann"}), tool_call("send", {"to": "bob"}))
    event = require(run(collect(agent, "go")))
    ann, bob = event.tool_calls
    answer = UserConfirmResultEvent(
        reply_id=event.reply_id,
        confirm_results=(
            ConfirmResult(confirmed=False, tool_call=bob, reason="not bob"),
            ConfirmResult(confirmed=True, tool_call=ann),
        ),
    )
    said = outputs(run(collect(agent, answer)))
    assert outbox.sent == ["ann"]
    assert said == {ann.id: "sent to ann", bob.id: "The user denied the tool call: not bob"}


def test_b3_26_results_from_outside_in_reverse_go_each_to_its_own_call() -> None:
    agent, _, _ = parked(tool_call("pay", {"sum": 1}), tool_call("pay", {"sum": 2}), tools=[outside_tool()])
    [event] = [e for e in run(collect(agent, "go")) if isinstance(e, RequireExternalExecutionEvent)]
    brought = [
        ToolResultBlock(id=call.id, name="pay", output=(TextBlock(f"paid {call.input['sum']}"),))
        for call in reversed(event.tool_calls)
    ]
    for result in brought:
        last = run(collect(agent, ExternalExecutionResultEvent(reply_id=event.reply_id, tool_results=(result,))))
    assert outputs(last) == {"call_1": "paid 1", "call_2": "paid 2"}


def test_b3_27_what_was_answered_is_not_asked_again() -> None:
    agent, _, _ = parked(tool_call("send", {"to": "ann"}), tool_call("send", {"to": "bob"}))
    event = require(run(collect(agent, "go")))
    after = run(collect(agent, yes(event, "call_1")))
    assert [call.id for call in require(after).tool_calls] == ["call_2"]
    assert results(after) == [("call_1", "success")]
    last = run(collect(agent, yes(require(after))))
    assert results(last) == [("call_2", "success")]


class Remote(Tool):
    """A tool of a kind of its own, as one of a tool server is."""

    name, description = "act", "Act."

    def schema(self, context: RuntimeContext) -> ToolSchema:
        return ToolSchema(self.name, self.description, {"type": "object", "properties": {}})

    def bind(self, arguments: dict[str, Any], context: RuntimeContext, emitter: ToolEmitter) -> Callable[[], Any]:
        async def act() -> str:
            return "done"

        return act


def act() -> str:
    """Act."""
    return "done"


KINDS: dict[str, Any] = {
    "a function": act,
    "a tool of its own kind": Remote(),
    "a tool that is run elsewhere": ExternalTool("act", "Act.", {"type": "object", "properties": {}}),
}


@pytest.mark.parametrize("kind", KINDS)
def test_b3_36_the_same_question_looks_the_same_for_every_kind_of_tool(kind: str) -> None:
    model = ScriptedModel([[tool_call("act")], [text("ok")]])
    agent = ReActAgent("friday", model, tools=[KINDS[kind]], permission=PermissionContext())
    before = run(collect(agent, "go"))
    assert types(before)[-4:] == ["MODEL_CALL_END", "REQUIRE_USER_CONFIRM", "AGENT_RESULT", "AGENT_END"]
    [call] = require(before).tool_calls
    assert (call.name, call.state.value, call.input) == ("act", "asking", {})
    [rule] = call.suggested_rules
    assert (rule.tool_name, rule.rule_content, rule.source) == ("act", None, "suggested")

    no = UserConfirmResultEvent(
        reply_id=require(before).reply_id,
        confirm_results=(ConfirmResult(confirmed=False, tool_call=call, reason="no"),),
    )
    after = run(collect(agent, no))
    assert types(after)[1:6] == [
        "USER_CONFIRM_RESULT", "TOOL_RESULT_START", "TOOL_RESULT_TEXT_DELTA", "TOOL_RESULT_END", "ALL_TOOLS_DENIED",
    ]  # fmt: skip
    assert not [event for event in after if isinstance(event, RequireUserConfirmEvent)]
