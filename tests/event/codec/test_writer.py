"""The writer: what a dialect repeats from event to event."""

from __future__ import annotations

import json
from typing import Any

import pytest

from agentscope_rx.event import (
    AgentEndEvent,
    AgentResultEvent,
    AgentStartEvent,
    EventReader,
    EventWriter,
    ExceedMaxItersEvent,
    ModelCallEndEvent,
    ModelCallStartEvent,
    RequireExternalExecutionEvent,
    ToolCallDeltaEvent,
    ToolCallEndEvent,
    ToolCallStartEvent,
    ToolResultDataDeltaEvent,
    ToolResultEndEvent,
    ToolResultStartEvent,
    ToolResultTextDeltaEvent,
    encode,
)
from agentscope_rx.message import AssistantMessage, GenerateReason, ToolResultState, ToolUseBlock
from agentscope_rx.testing import assert_valid_stream

from .samples import EVENTS

CALL: dict[str, Any] = {"reply_id": "r", "tool_call_id": "c"}


def write(writer: EventWriter, *events: Any) -> list[dict[str, Any]]:
    return [json.loads(line) for event in events for line in writer.write(event)]


def test_java_repeats_the_name_of_the_tool() -> None:
    writer = EventWriter("java")
    written = write(
        writer,
        AgentStartEvent(reply_id="r", name="x"),
        ToolCallStartEvent(**CALL, tool_call_name="search"),
        ToolCallDeltaEvent(**CALL, delta="{}"),
        ToolCallEndEvent(**CALL),
        ToolResultTextDeltaEvent(**CALL, delta="ok"),
        ToolResultDataDeltaEvent(**CALL, block_id="d", media_type="x/y", data="YQ=="),
        ToolResultEndEvent(**CALL, state=ToolResultState.SUCCESS),
    )
    assert [event.get("toolCallName") for event in written[1:]] == ["search"] * 6
    renamed = write(writer, ToolResultStartEvent(**CALL, tool_call_name="other"), ToolCallEndEvent(**CALL))
    assert renamed[1]["toolCallName"] == "other"


def test_the_calls_of_two_replies_are_kept_apart() -> None:
    writer = EventWriter("java")
    starts = [ToolCallStartEvent(reply_id=id, tool_call_id="c", tool_call_name=f"tool-{id}") for id in ("a", "b")]
    write(writer, *starts)
    ends = write(writer, *(ToolCallEndEvent(reply_id=id, tool_call_id="c") for id in ("a", "b", "nobody")))
    assert [end.get("toolCallName") for end in ends] == ["tool-a", "tool-b", None]


def test_what_a_reply_told_is_forgotten_when_it_ends() -> None:
    writer = EventWriter("java")
    write(writer, ToolCallStartEvent(**CALL, tool_call_name="search"), AgentEndEvent(reply_id="r"))
    assert "toolCallName" not in write(writer, ToolCallEndEvent(**CALL))[0]


def test_python_repeats_the_session_and_the_name_of_the_agent() -> None:
    start = AgentStartEvent(reply_id="r", session_id="s", name="Friday")
    exceeded = ExceedMaxItersEvent(reply_id="r", max_iters=2, current_iter=2)
    written = write(EventWriter("python"), start, exceeded, AgentEndEvent(reply_id="r"))
    assert written[1]["name"] == "Friday"
    assert written[2]["session_id"] == "s"


def test_java_is_told_of_a_permission_pause_by_a_stop() -> None:
    def result(reason: GenerateReason) -> AgentResultEvent:
        return AgentResultEvent(reply_id="r", result=AssistantMessage(id="r", generate_reason=reason))

    pause = result(GenerateReason.PERMISSION_ASKING)
    for _ in range(2):
        stop, told = write(EventWriter("java"), pause)
        assert (stop["type"], stop["generateReason"]) == ("REQUEST_STOP", "PERMISSION_ASKING")
        assert (stop["id"], told["type"]) == (f"{pause.id}-stop", "AGENT_RESULT")
    assert len(write(EventWriter("java"), result(GenerateReason.TOOL_SUSPENDED))) == 1
    assert len(write(EventWriter("python"), pause)) == len(write(EventWriter(), pause)) == 1


@pytest.mark.parametrize("dialect", ["native", "java", "python"])
@pytest.mark.parametrize("event", EVENTS, ids=lambda event: event.type)
def test_all_else_is_written_as_encode_does(event: Any, dialect: Any) -> None:
    repeated = {"toolCallName", "session_id", "name"}
    *_, written = write(EventWriter(dialect), event)
    plain = json.loads(encode(event, dialect))
    assert {key: value for key, value in written.items() if plain.get(key) != value}.keys() <= repeated
    assert plain.keys() <= written.keys()


def test_python_starts_external_results_before_it_pauses() -> None:
    reply: dict[str, Any] = {"reply_id": "r"}
    required = RequireExternalExecutionEvent(**reply, tool_calls=(ToolUseBlock(id="c", name="search"),))
    events = [
        AgentStartEvent(**reply, name="x"),
        ModelCallStartEvent(**reply, model_call_id="m", model_name="q"),
        ToolCallStartEvent(**CALL, tool_call_name="search"),
        ToolCallEndEvent(**CALL),
        ModelCallEndEvent(**reply, model_call_id="m"),
        required,
        required.model_copy(update={"id": "again"}),
        AgentEndEvent(**reply, generate_reason=GenerateReason.TOOL_SUSPENDED),
        AgentStartEvent(**reply, name="x", resumed=True),
        ToolResultStartEvent(**CALL, tool_call_name="search"),
        ToolResultTextDeltaEvent(**CALL, delta="ok"),
        ToolResultEndEvent(**CALL, state=ToolResultState.SUCCESS),
        AgentEndEvent(**reply),
    ]
    for numbered in (True, False):
        numbers = range(1, len(events) + 1) if numbered else [None] * len(events)
        stream = [event.model_copy(update={"seq": seq}) for event, seq in zip(events, numbers, strict=True)]
        written = write(EventWriter("python"), *stream)
        assert [event.get("name") or event["type"] for event in written[5:11]] == [
            *("TOOL_RESULT_START", "REQUIRE_EXTERNAL_EXECUTION", "REQUIRE_EXTERNAL_EXECUTION"),
            *("agentscope_rx.AGENT_END", "x", "agentscope_rx.TOOL_RESULT_START"),
        ]
        reader = EventReader("python")
        told = [told for fields in written for told in reader.read(fields)] + reader.close()
        if not numbered:
            assert_valid_stream(told)
        starts = [event for event in told if isinstance(event, ToolResultStartEvent)]
        assert [event.id for event in starts] == [events[9].id]
