"""What comes from outside is checked before anything happens: what no message can hold changes nothing."""

from __future__ import annotations

from typing import Any

import pytest

from agentscope_rx import (
    AgentEvent,
    Base64Source,
    ConfirmResult,
    DataBlock,
    ExternalExecutionResultEvent,
    PermissionBehavior,
    PermissionContext,
    PermissionMode,
    PermissionRule,
    ReActAgent,
    RequireExternalExecutionEvent,
    RequireUserConfirmEvent,
    ResumeError,
    TextBlock,
    ToolResultBlock,
    ToolResultDataDeltaEvent,
    ToolUseBlock,
    ToolVerdict,
    UserConfirmResultEvent,
    tool,
)
from agentscope_rx.testing import ScriptedModel, text, tool_call

from .shapes import collect, run, types
from .test_hitl import _refused, outside_tool, parked, pay, require, results, yes

PNG = "iVBORw0KGgo="


def data_block(data: str) -> DataBlock:
    return DataBlock(Base64Source(media_type="image/png", data=data))


def results_of(*output: Any, **fields: Any) -> ExternalExecutionResultEvent:
    result = ToolResultBlock(id="call_1", name="pay", output=output, **fields)
    return ExternalExecutionResultEvent(reply_id="", tool_results=(result,))


def itself() -> dict[str, Any]:
    """A value that holds itself."""
    value: dict[str, Any] = {}
    value["me"] = value
    return value


UNFIT: dict[str, ExternalExecutionResultEvent] = {
    "no base64": results_of(data_block("not base64!")),
    "base64 with line breaks": results_of(data_block("iVBO\nRw0KGgo=")),
    "base64 without its padding": results_of(TextBlock("see"), data_block("iVBORw0KGgo")),
    "half a surrogate pair in a text": results_of(TextBlock("\ud83d")),
    "half a surrogate pair in a media type": results_of(DataBlock(Base64Source(media_type="\udc00", data=PNG))),
    "half a surrogate pair in metadata": results_of(metadata={"a": ["\udfff"]}),
    "metadata that is no JSON": results_of(metadata={"a": object()}),
    "metadata that holds itself": results_of(metadata=itself()),
}


@pytest.mark.parametrize("case", UNFIT)
def test_a_result_that_no_message_can_hold_is_refused_and_nothing_changes(case: str) -> None:
    agent, model, _ = parked(tool_call("pay", {"sum": 5}), tools=[outside_tool()])
    run(collect(agent, "go"))
    run(_refused(agent, UNFIT[case], ResumeError))
    run(collect(agent, results_of(TextBlock("paid"))))
    assert len(model.requests) == 2


def test_data_and_texts_from_outside_come_as_they_are() -> None:
    agent, model, _ = parked(tool_call("pay", {"sum": 5}), tools=[outside_tool()])
    run(collect(agent, "go"))
    events = run(collect(agent, results_of(TextBlock("😀 paid"), data_block(PNG))))
    [piece] = [event for event in events if isinstance(event, ToolResultDataDeltaEvent)]
    assert (piece.data, piece.media_type) == (PNG, "image/png")
    [result] = model.requests[1].messages[-1].get_content_blocks(ToolResultBlock)
    assert result.output[0] == TextBlock("😀 paid")


# ------------------------------------------------------------------------------------------------ what a person says


def edited(event: RequireUserConfirmEvent, **input: Any) -> UserConfirmResultEvent:
    [call] = event.tool_calls
    confirm = ConfirmResult(confirmed=True, tool_call=call.model_copy(update={"input": input}))
    return UserConfirmResultEvent(reply_id=event.reply_id, confirm_results=(confirm,))


UNWRITABLE = {"half a pair": "\ud83d", "not a number": float("nan"), "an object": object(), "itself": itself()}


@pytest.mark.parametrize("value", UNWRITABLE.values(), ids=UNWRITABLE)
def test_an_edit_that_is_no_json_is_refused_and_nothing_changes(value: Any) -> None:
    sent: list[Any] = []

    @tool(check_permission=lambda arguments: ToolVerdict(PermissionBehavior.ASK))
    def send(to: Any) -> str:
        """Send."""
        sent.append(to)
        return "sent"

    agent = ReActAgent("friday", ScriptedModel([[tool_call("send", {"to": "ann"})], [text("done")]]), tools=[send])
    event = require(run(collect(agent, "go")))
    run(_refused(agent, edited(event, to=value), ResumeError))
    run(collect(agent, edited(event, to=("bob", "cy"))))
    assert sent == [["bob", "cy"]]  # as JSON has it, and as it is stored


def test_a_reason_that_no_message_can_hold_is_refused_and_nothing_changes() -> None:
    agent, _, outbox = parked(tool_call("send", {"to": "ann"}))
    event = require(run(collect(agent, "go")))
    [call] = event.tool_calls
    denial = ConfirmResult(confirmed=False, tool_call=call, reason="no \ud83d")
    run(_refused(agent, UserConfirmResultEvent(reply_id=event.reply_id, confirm_results=(denial,)), ResumeError))
    run(collect(agent, yes(event)))
    assert outbox.sent == ["ann"]


ALLOW = PermissionRule(tool_name="send", behavior=PermissionBehavior.ALLOW)


def test_j12_a_rule_that_is_accepted_where_there_are_none_is_refused_and_not_forgotten() -> None:
    @tool(check_permission=lambda arguments: ToolVerdict(PermissionBehavior.ASK, "it costs money"))
    def send(to: str) -> str:
        """Send."""
        return f"sent to {to}"

    model = ScriptedModel([[tool_call("send", {"to": "ann"})], [text("done")]])
    agent = ReActAgent("friday", model, tools=[send])
    event = require(run(collect(agent, "go")))
    assert event.tool_calls[0].suggested_rules == ()
    run(_refused(agent, yes(event, rules=(ALLOW,)), ResumeError))
    run(collect(agent, yes(event)))
    assert len(model.requests) == 2


def test_a_rule_that_says_nothing_is_refused_before_any_event() -> None:
    agent, _, outbox = parked(tool_call("send", {"to": "ann"}))
    event = require(run(collect(agent, "go")))
    nothing = PermissionRule(tool_name="send", behavior=PermissionBehavior.PASSTHROUGH)
    run(_refused(agent, yes(event, rules=(nothing,)), ResumeError))
    run(collect(agent, yes(event, rules=(ALLOW,))))
    assert outbox.sent == ["ann"]


# ------------------------------------------------------------------------------------------------ nobody is asked


def asked(events: list[AgentEvent]) -> list[str]:
    requests = (RequireUserConfirmEvent, RequireExternalExecutionEvent)
    return [call.id for event in events if isinstance(event, requests) for call in event.tool_calls]


BAD_ARGUMENTS = {"missing": {}, "wrong": {"sum": "much"}, "unknown": {"sum": 1, "who": "ann"}, "no JSON": '{"sum": '}


@pytest.mark.parametrize("arguments", BAD_ARGUMENTS.values(), ids=BAD_ARGUMENTS)
@pytest.mark.parametrize("external", [True, False])
def test_j_44_nobody_is_asked_about_a_call_that_its_tool_does_not_take(arguments: Any, external: bool) -> None:
    paid: list[int] = []

    def spend(sum: int) -> str:
        """Spend."""
        paid.append(sum)
        return "spent"

    ask = PermissionContext(mode=PermissionMode.BYPASS if external else PermissionMode.DEFAULT)
    tools = [pay if external else spend]
    name = "pay" if external else "spend"
    agent, model, _ = parked(tool_call(name, arguments), tool_call(name, {"sum": 5}), tools=tools, permission=ask)
    events = run(collect(agent, "go"))
    assert asked(events) == ["call_2"]
    assert results(events) == [("call_1", "error")]
    assert paid == []
    assert len(model.requests) == 1
    [refused] = events[-2].result.get_content_blocks(ToolResultBlock)  # type: ignore[union-attr]
    assert refused.output[0].text.startswith("ToolError: ")  # type: ignore[union-attr]


def test_a_schema_only_tool_is_not_given_arguments_that_are_no_json() -> None:
    agent, model, _ = parked(tool_call("pay", '{"sum": '), tools=[outside_tool()])
    events = run(collect(agent, "go"))
    assert asked(events) == []
    assert results(events) == [("call_1", "error")]
    assert len(model.requests) == 2


def test_a_call_that_a_rule_denies_is_denied_whatever_its_arguments() -> None:
    deny = PermissionContext(deny_rules=(PermissionRule(tool_name="send", behavior=PermissionBehavior.DENY),))
    agent, _, _ = parked(tool_call("send", {}), permission=deny)
    assert results(run(collect(agent, "go"))) == [("call_1", "denied")]


def test_a_context_that_lacks_what_the_tool_needs_is_found_out_before_anybody_is_asked() -> None:
    class Bank:
        pass

    def spend(sum: int, bank: Bank) -> str:
        """Spend."""
        return "spent"

    model = ScriptedModel([[tool_call("spend", {"sum": 5})], [text("done")]])
    agent = ReActAgent("friday", model, tools=[spend], permission=PermissionContext())
    events = run(collect(agent, "go"))
    assert types(events).count("REQUIRE_USER_CONFIRM") == 0
    [call] = events[-2].result.get_content_blocks(ToolUseBlock)  # type: ignore[union-attr]
    assert (call.state.value, results(events)) == ("finished", [("call_1", "error")])
