"""One process of a conversation: `python -m tests.state.parked DATABASE go` pauses, `... DATABASE yes` goes on.

Prints the message that the events of this process alone fold to.
"""

from __future__ import annotations

import asyncio
import sys
from contextlib import closing
from pathlib import Path

from agentscope_rx import (
    AgentInput,
    ConfirmResult,
    MessageBuilder,
    PermissionContext,
    PermissionRule,
    ReActAgent,
    SqliteStateStore,
    UserConfirmResultEvent,
    encode_message,
)
from agentscope_rx.message import ToolCallState, ToolUseBlock
from agentscope_rx.testing import ScriptedModel, text, thinking, tool_call

from ..agent.shapes import collect

CALL = [thinking("ann should know"), text("I will write."), tool_call("send", {"to": "ann"}, id="c1")]
ASK = PermissionContext(ask_rules=(PermissionRule(tool_name="send", behavior="ask"),))


def send(to: str) -> str:
    """Send a letter."""
    return f"sent to {to}"


def agent_with(store: SqliteStateStore, resumed: bool, permission: PermissionContext = ASK) -> ReActAgent:
    """The agent of one process: its model says what comes next."""
    turns = [[text("Done.")]] if resumed else [CALL, [text("Done.")]]
    return ReActAgent("friday", ScriptedModel(turns), tools=[send], permission=permission, state_store=store)


async def take_part(store: SqliteStateStore, said: str) -> str:
    agent = agent_with(store, resumed=said == "yes")
    given: AgentInput = said
    builder = MessageBuilder()
    if said == "yes":
        state = await agent.get_state()
        assert state.paused is not None
        waiting = [
            call for call in state.paused.message.get_content_blocks(ToolUseBlock) if call.state is ToolCallState.ASKING
        ]
        given = UserConfirmResultEvent(
            reply_id=state.paused.message.id,
            confirm_results=[ConfirmResult(confirmed=True, tool_call=call) for call in waiting],
        )
    for event in await collect(agent, given):
        builder.apply(event)
    return encode_message(builder.message())


if __name__ == "__main__":
    with closing(SqliteStateStore(Path(sys.argv[1]))) as opened:
        sys.stdout.write(asyncio.run(take_part(opened, sys.argv[2])))
