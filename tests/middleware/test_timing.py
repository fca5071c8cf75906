"""`Timing`: the seconds of each stage, by a clock of the test's own."""

from __future__ import annotations

from itertools import count

from agentscope_rx import CustomEvent, ReActAgent, Timing
from agentscope_rx.testing import ScriptedModel, text, tool_call

from ..agent.shapes import collect, run


def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


def test_every_stage_is_timed_after_its_end() -> None:
    ticks = count()
    timing = Timing(clock=lambda: float(next(ticks)))
    model = ScriptedModel([[tool_call("add", {"a": 1, "b": 2})], [text("3")]])
    events = run(collect(ReActAgent("friday", model, tools=[add], middlewares=[timing]), "go"))
    assert [event.value for event in events if isinstance(event, CustomEvent)] == [
        {"stage": "model_call", "seconds": 1.0},
        {"stage": "tool_call", "tool_call_id": "call_1", "tool_name": "add", "seconds": 1.0},
        {"stage": "acting", "seconds": 3.0},
        {"stage": "model_call", "seconds": 1.0},
    ]
    kinds = [event.type for event in events]
    assert [kinds[index - 1] for index, event in enumerate(events) if event.type == "CUSTOM"] == [
        "MODEL_CALL_END",
        "TOOL_RESULT_END",
        "CUSTOM",
        "MODEL_CALL_END",
    ]
