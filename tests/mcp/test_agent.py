"""Agents with servers: what they answer, what they ask, and what they say when a server is not there."""

from __future__ import annotations

import asyncio
import json
import os
from typing import Any

import pytest

from agentscope_rx import (
    DataBlock,
    GenerateReason,
    McpServers,
    MessageBuilder,
    Msg,
    PermissionContext,
    ReActAgent,
    ToolGroup,
)
from agentscope_rx.message import ToolResultBlock
from agentscope_rx.testing import ScriptedModel, assert_valid_stream, text, tool_call

from ..tools.test_source import events_of, offered, results, told
from .serving import answer, crashing, found, mute, page, plain, text_of, until
from .websites import website


def states(message: Msg) -> list[str]:
    return [block.state.value for block in message.get_content_blocks(ToolResultBlock)]


def test_with_a_live_a_hanging_and_a_crashed_server_it_answers_and_says_which_tools_are_missing(
    caplog: pytest.LogCaptureFixture,
) -> None:
    model = ScriptedModel(
        [
            [tool_call(f"mcp__{server}__whoami", {}) for server in ("plain", "hanging", "crashed")],
            [text("Only one of three has answered.")],
        ]
    )
    with McpServers(plain(), crashing(), patience=60) as servers, McpServers(mute(), patience=0.2) as others:
        agent = ReActAgent("friday", model, tools=[servers, others])
        events = events_of(agent)
    message = events[-2].result
    reasons, hint = told(events)
    assert reasons == ["it has ended", "it has not answered yet"]
    assert hint.splitlines()[1:] == [
        "- those of the MCP server 'crashed': it has ended",
        "- those of the MCP server 'hanging': it has not answered yet",
    ]
    assert {name.split("__")[1] for name in offered(model)[0]} == {"plain"}
    assert "the tools of the MCP server 'crashed' are missing" in caplog.text
    assert message.generate_reason is GenerateReason.MODEL_STOP
    assert message.get_text_content() == "Only one of three has answered."
    assert states(message) == ["success", "error", "error"]
    assert ["'hanging'" in result for result in results(message)] == [False, True, False]


def test_a_call_of_a_missing_tool_is_told_which_server_is_not_there() -> None:
    model = ScriptedModel([[tool_call("mcp__plain__whoami", {}), tool_call("mcp__crashed__x", {})], [text("Half.")]])
    with McpServers(plain(), crashing(), patience=60) as servers:
        message = ReActAgent("friday", model, tools=[servers]).call("go").run()
    assert message.get_text_content() == "Half."
    assert states(message) == ["success", "error"]
    assert results(message)[1] == (
        "ToolError: The MCP server 'crashed' is not there: it has ended. Its tools cannot be called now."
    )


def test_a_server_that_crashes_during_a_reply_is_back_at_the_next_model_call() -> None:
    model = ScriptedModel(
        [[tool_call("mcp__plain__crash", {})], [tool_call("mcp__plain__whoami", {})], [text("It came back.")]]
    )
    with McpServers(plain(), patience=60) as servers:
        message = ReActAgent("friday", model, tools=[servers]).call("go").run()
    assert states(message) == ["error", "success"]
    assert "broke during the call" in results(message)[0]


def test_a_list_that_changes_is_picked_up_at_the_next_model_call() -> None:
    model = ScriptedModel([[tool_call("mcp__plain__swap", {})], [tool_call("mcp__plain__who", {})], [text("done")]])
    with McpServers(plain(), patience=60) as servers:
        message = ReActAgent("friday", model, tools=[servers]).call("go").run()
    assert [names[0] for names in offered(model)] == ["mcp__plain__whoami", "mcp__plain__who", "mcp__plain__who"]
    assert states(message) == ["success", "success"]


def test_progress_is_shown_and_is_no_part_of_the_result() -> None:
    model = ScriptedModel([[tool_call("mcp__plain__count", {})], [text("done")]])
    with McpServers(plain(), patience=60) as servers:
        events = events_of(ReActAgent("friday", model, tools=[servers]))
    shown = [event.delta for event in events if (event.metadata or {}).get("progress")]
    assert shown == ["1/3\n", "2/3\n", "3/3\n"]
    assert results(events[-2].result) == ["three"]


@pytest.mark.parametrize("how", ["interrupt", "dispose"])
def test_stopping_a_reply_reaches_the_server(how: str) -> None:
    model = ScriptedModel([[tool_call("mcp__plain__wait", {})], [text("never")]])

    async def stop(agent: ReActAgent) -> None:
        async def listen() -> None:
            async for event in agent.stream_events("go"):
                if event.type == "TOOL_RESULT_TEXT_DELTA" and event.delta == "waiting (0)\n":
                    if how == "dispose":
                        return
                    agent.interrupt()

        await listen()

    with McpServers(plain(), patience=60) as servers:
        asyncio.run(stop(ReActAgent("friday", model, tools=[servers])))
        until(lambda: json.loads(text_of(answer(servers, "mcp__plain__heard"))) == ["cancelled"])


def test_hints_decide_who_is_asked() -> None:
    calls = [tool_call("mcp__everything__add", {"a": 1, "b": 2}), tool_call("mcp__everything__erase", {"path": "x"})]
    with website("everything") as url, McpServers(page(url), patience=60) as servers:
        agent = ReActAgent("friday", ScriptedModel([calls]), tools=[servers], permission=PermissionContext())
        paused = agent.call("go").run()
        assert results(paused) == ["3"]
        (asked,) = [call for call in paused.content if getattr(call, "state", None) == "asking"]
        assert asked.name == "mcp__everything__erase"


def test_pictures_are_in_the_message_that_the_events_fold_to() -> None:
    model = ScriptedModel([[tool_call("mcp__everything__album", {})], [text("nice")]])
    with website("everything") as url, McpServers(page(url), patience=60) as servers:
        events = events_of(ReActAgent("friday", model, tools=[servers]))
    assert_valid_stream(events)
    builder = MessageBuilder()
    for event in events:
        builder.apply(event)
    (result,) = builder.message().get_content_blocks(ToolResultBlock)
    media = [block.source.media_type for block in result.output if isinstance(block, DataBlock)]
    assert media == ["image/png", "audio/wav"]
    assert builder.message() == events[-2].result


def test_one_agent_works_in_loops_and_out_of_them() -> None:
    turns: list[Any] = [[tool_call("mcp__plain__whoami", {})], [text("done")]] * 3
    with McpServers(plain(), patience=60) as servers:
        agent = ReActAgent("friday", ScriptedModel(turns), tools=[servers])

        async def main() -> list[Msg]:
            return [await agent.call("go"), agent.call("go").run()]

        messages = [*asyncio.run(main()), agent.call("go").run()]
    pids = {results(message)[0] for message in messages}
    assert len(pids) == 1
    assert str(os.getpid()) not in pids


def test_the_program_of_a_group_that_nobody_has_activated_is_not_started() -> None:
    turns: list[Any] = [[tool_call("reset_tools", {"more": True})], [tool_call("mcp__plain__whoami", {})], [text("ok")]]
    model = ScriptedModel([[text("no need")], *turns])
    with McpServers(plain(), patience=60) as servers:
        agent = ReActAgent("friday", model, tools=[ToolGroup("more", [servers], "More tools.")])
        agent.call("go").run()
        assert "not connected yet" in text_of(answer(servers, "mcp__plain__whoami"))
        message = agent.call("go").run()
        assert states(message) == ["success", "success"]
        assert found(servers).tools
