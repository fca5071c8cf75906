"""L7: what a middleware makes of an event is what is seen, stored, run and sent, wherever it stands."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from reactivex import operators as ops

from agentscope_rx import (
    AgentEvent,
    ReActAgent,
    ThinkingBlock,
    ThinkingBlockDeltaEvent,
    ToolCallDeltaEvent,
    ToolCallEndEvent,
    ToolCallStartEvent,
    ToolResultBlock,
    ToolResultEndEvent,
    ToolResultState,
    ToolResultTextDeltaEvent,
    ToolUseBlock,
)
from agentscope_rx.message import Msg
from agentscope_rx.operators import Stage, hook, stage
from agentscope_rx.testing import ScriptedModel, text, thinking, tool_call

from .shapes import collect, run

REASONING = ("on_model_call", "on_reasoning", "on_agent")
ACTING = ("on_tool_call", "on_acting", "on_agent")

around_reasoning = pytest.mark.parametrize("where", REASONING)
around_acting = pytest.mark.parametrize("where", ACTING)


class Story:
    """One reply under a hook: what was seen, stored, run and sent."""

    def __init__(self, where: str, operator: Callable[[Any], Any]) -> None:
        self.ran: list[str] = []

        async def send(to: str) -> str:
            """Send."""
            self.ran.append(to)
            return f"sent to {to}"

        model = ScriptedModel([[thinking("hm"), tool_call("send", {"to": "ann"}, id="c1")], [text("done")]])
        agent = ReActAgent("friday", model, tools=[send], middlewares=[hook(**{where: operator})])
        self.events = run(collect(agent, "go"))
        self.stored: Msg = agent.get_state().run().history[-1]
        self.sent = model.requests[-1].messages[-1]
        assert self.events[-2].result == self.stored  # type: ignore[union-attr]

    def calls(self) -> list[tuple[str, dict[str, Any]]]:
        """The calls, which must be the same in what is stored and in what is sent."""
        stored = [(call.id, call.input) for call in self.stored.get_content_blocks(ToolUseBlock)]
        assert [(call.id, call.input) for call in self.sent.get_content_blocks(ToolUseBlock)] == stored
        return stored

    def results(self) -> list[tuple[str, str, str]]:
        """The results, which must be the same in what is stored and in what is sent."""
        stored = [_result(block) for block in self.stored.get_content_blocks(ToolResultBlock)]
        assert [_result(block) for block in self.sent.get_content_blocks(ToolResultBlock)] == stored
        return stored


def _result(block: ToolResultBlock) -> tuple[str, str, str]:
    return block.id, "".join(part.text for part in block.output), block.state.value  # type: ignore[union-attr]


def rewritten(cls: type[AgentEvent], **changes: Any) -> Callable[[Any], Any]:
    def change(event: Any) -> Any:
        return event.model_copy(update=changes) if isinstance(event, cls) else event

    return ops.map(change)


@around_reasoning
def test_l7_rewritten_arguments_are_what_runs(where: str) -> None:
    story = Story(where, rewritten(ToolCallDeltaEvent, delta='{"to": "bob"}'))
    assert story.ran == ["bob"]
    assert story.calls() == [("c1", {"to": "bob"})]


@around_reasoning
def test_l7_a_dropped_call_does_not_run(where: str) -> None:
    dropped = (ToolCallStartEvent, ToolCallDeltaEvent, ToolCallEndEvent)
    story = Story(where, ops.filter(lambda event: not isinstance(event, dropped)))
    assert story.ran == []
    assert story.stored.get_content_blocks(ToolUseBlock) == []


@around_reasoning
def test_l7_an_added_call_runs(where: str) -> None:
    class Adding(Stage[AgentEvent, AgentEvent]):
        def on_next(self, event: Any) -> Any:
            yield event
            if isinstance(event, ToolCallEndEvent):
                call = {"reply_id": event.reply_id, "tool_call_id": "mine"}
                yield ToolCallStartEvent(**call, tool_call_name="send")
                yield ToolCallDeltaEvent(**call, delta='{"to": "cy"}')
                yield ToolCallEndEvent(**call)

    story = Story(where, stage(Adding))
    assert story.ran == ["ann", "cy"]
    assert story.calls() == [("c1", {"to": "ann"}), ("mine", {"to": "cy"})]
    assert [id for id, *_ in story.results()] == ["c1", "mine"]


@around_reasoning
def test_l7_rewritten_thinking_is_what_is_stored(where: str) -> None:
    story = Story(where, rewritten(ThinkingBlockDeltaEvent, delta="[thought]"))
    for message in (story.stored, story.sent):
        assert [block.thinking for block in message.get_content_blocks(ThinkingBlock)] == ["[thought]"]


@around_acting
def test_l7_a_rewritten_result_is_what_the_model_is_sent(where: str) -> None:
    story = Story(where, rewritten(ToolResultTextDeltaEvent, delta="[redacted]"))
    assert story.ran == ["ann"]
    assert story.results() == [("c1", "[redacted]", "success")]


@around_acting
def test_l7_a_dropped_piece_of_a_result_is_not_sent(where: str) -> None:
    story = Story(where, ops.filter(lambda event: not isinstance(event, ToolResultTextDeltaEvent)))
    assert story.results() == [("c1", "", "success")]


@around_acting
def test_l7_a_rewritten_state_is_the_state(where: str) -> None:
    story = Story(where, rewritten(ToolResultEndEvent, state=ToolResultState.ERROR))
    assert story.results() == [("c1", "sent to ann", "error")]


@around_acting
def test_l7_an_added_piece_of_a_result_is_sent(where: str) -> None:
    class Signing(Stage[AgentEvent, AgentEvent]):
        def on_next(self, event: Any) -> Any:
            if isinstance(event, ToolResultEndEvent):
                yield ToolResultTextDeltaEvent(
                    reply_id=event.reply_id, tool_call_id=event.tool_call_id, delta=", signed"
                )
            yield event

    assert Story(where, stage(Signing)).results() == [("c1", "sent to ann, signed", "success")]
