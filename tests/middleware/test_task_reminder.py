"""`TaskReminder`: the list is in the state, and the model is reminded of what is open."""

from __future__ import annotations

import pytest

from agentscope_rx import ConfigurationError, HintBlock, HintBlockEvent, ReActAgent, TaskReminder
from agentscope_rx.testing import ScriptedModel, text, tool_call

from ..agent.shapes import collect, run


def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


PLAN = tool_call(
    "write_todos",
    {"todos": [{"content": "buy", "status": "completed"}, {"content": "cook", "status": "in_progress"}]},
)
WORK = tool_call("add", {"a": 1, "b": 2})


def agent_of(*turns: object, every: int = 2) -> tuple[ReActAgent, ScriptedModel]:
    reminder = TaskReminder(every)
    model = ScriptedModel([[turn] for turn in turns])  # type: ignore[list-item]
    return ReActAgent("friday", model, tools=[add, reminder.write_todos], middlewares=[reminder]), model


def test_the_list_is_in_the_state_and_the_model_does_not_see_how() -> None:
    agent, model = agent_of(PLAN, text("done"))
    run(collect(agent, "go"))
    assert [todo["content"] for todo in agent.get_state().run().values["todos"]] == ["buy", "cook"]
    [schema] = [tool for tool in model.requests[0].tools if tool.name == "write_todos"]
    assert list(schema.parameters["properties"]) == ["todos"]


def test_after_some_rounds_the_model_is_reminded_of_what_is_open_and_the_message_has_it() -> None:
    agent, model = agent_of(PLAN, WORK, WORK, WORK, WORK, text("done"))
    events = run(collect(agent, "go"))
    hints = [event for event in events if isinstance(event, HintBlockEvent)]
    assert {event.hint for event in hints} == {"These tasks are still open:\n- cook (in_progress)"}
    sent = [len(request.messages[-1].get_content_blocks(HintBlock)) for request in model.requests]
    assert sent == [0, 0, 0, 1, 1, 2]
    assert len(events[-2].result.get_content_blocks(HintBlock)) == 2  # type: ignore[union-attr]


def test_a_model_may_begin_a_conversation() -> None:
    agent, _ = agent_of(text("hello"))
    assert run(collect(agent))[-2].result.get_text_content() == "hello"  # type: ignore[union-attr]


def test_nothing_is_said_when_nothing_is_open() -> None:
    done = tool_call("write_todos", {"todos": [{"content": "buy", "status": "completed"}]})
    agent, _ = agent_of(done, WORK, WORK, WORK, text("done"))
    assert not [event for event in run(collect(agent, "go")) if isinstance(event, HintBlockEvent)]


def test_a_reminder_after_no_round_is_refused() -> None:
    with pytest.raises(ConfigurationError, match="at least 1 round"):
        TaskReminder(0)
