"""`Budget`: a run stops when it has spent what it may."""

from __future__ import annotations

from typing import Any

import pytest

from agentscope_rx import AgentEndEvent, Budget, ConfigurationError, ReActAgent, RequestStopEvent
from agentscope_rx.testing import ScriptedModel, text, tool_call, usage

from ..agent.shapes import collect, run


def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


def agent_with(budget: Budget) -> tuple[ReActAgent, ScriptedModel]:
    call = tool_call("add", {"a": 1, "b": 2})
    model = ScriptedModel([[call, usage(10, 5)], [call, usage(20, 5)], [text("3"), usage(30, 5)]])
    return ReActAgent("friday", model, tools=[add], middlewares=[budget]), model


@pytest.mark.parametrize(
    ("budget", "calls", "said"),
    [
        (Budget(model_calls=2), 2, "the budget of 2 model calls is spent: 2 used"),
        (Budget(tokens=40), 2, "the budget of 40 tokens is spent: 40 used"),
        (Budget(tokens=15, model_calls=9), 1, "the budget of 15 tokens is spent: 15 used"),
    ],
)
def test_the_run_stops_after_the_call_that_spends_the_last(budget: Budget, calls: int, said: str) -> None:
    agent, model = agent_with(budget)
    events = run(collect(agent, "go"))
    assert len(model.requests) == calls
    assert [event.reason for event in events if isinstance(event, RequestStopEvent)] == [said]
    [end] = [event for event in events if isinstance(event, AgentEndEvent)]
    assert end.generate_reason.value.lower() == "middleware_stop_requested"


def test_every_run_has_a_budget_of_its_own_and_goes_on_where_the_last_one_stopped() -> None:
    agent, model = agent_with(Budget(model_calls=2))
    run(collect(agent, "go"))
    events = run(collect(agent))
    assert len(model.requests) == 3
    assert not [event for event in events if isinstance(event, RequestStopEvent)]


@pytest.mark.parametrize("limits", [{}, {"tokens": 0}, {"tokens": 5, "model_calls": -1}])
def test_a_budget_of_nothing_is_refused(limits: dict[str, Any]) -> None:
    with pytest.raises(ConfigurationError, match="at least 1"):
        Budget(**limits)
