"""Streams of AgentScope Java, as it writes them, are read as lawful streams that fold to what happened."""

from __future__ import annotations

from typing import Any

from agentscope_rx.event import (
    AgentEndEvent,
    AgentStartEvent,
    CustomEvent,
    EventReader,
    ExceedMaxItersEvent,
    ModelCallEndEvent,
    ModelCallStartEvent,
    RequestStopEvent,
    RequireExternalExecutionEvent,
    RequireUserConfirmEvent,
    ToolResultDataDeltaEvent,
    ToolResultEndEvent,
    UserConfirmResultEvent,
)
from agentscope_rx.message import Base64Source, ChatUsage, GenerateReason, ToolUseBlock
from tests.counting import steps_of

from .foreign import content, fold, java, outline, read

USAGE = {"inputTokens": 7, "outputTokens": 5, "cachedTokens": 2, "time": 0.5, "totalTokens": 12}


def message(reason: str = "MODEL_STOP", *blocks: dict[str, Any], **metadata: Any) -> dict[str, Any]:
    return {
        "id": "0f8a-4c",
        "name": "Friday",
        "role": "ASSISTANT",
        "content": list(blocks),
        "metadata": {"agentscope_generate_reason": reason, **metadata},
        "timestamp": "2026-05-06 12:00:00.000",
        "usage": None,
    }


def says(text: str) -> dict[str, Any]:
    return {"type": "text", "text": text}


def use(id: str, name: str = "search", **fields: Any) -> dict[str, Any]:
    call = {"type": "tool_use", "id": id, "name": name, "input": {"q": "x"}, "content": '{"q": "x"}', "metadata": {}}
    return {**call, "state": "pending", **fields}


def found(id: str, text: str, state: str = "success") -> dict[str, Any]:
    return {"type": "tool_result", "id": id, "name": "search", "output": [says(text)], "metadata": {}, "state": state}


def calls(model: str, *ids: str, name: str = "search") -> list[tuple[Any, ...]]:
    """A model call that makes tool calls and says nothing."""
    rows: list[tuple[Any, ...]] = [("MODEL_CALL_START", model)]
    for id in ids:
        rows += [("TOOL_CALL_START", model, id, name), ("TOOL_CALL_DELTA", model, id, name, '{"q": "x"}')]
    rows += [("TOOL_CALL_END", model, id, name) for id in ids]
    return [*rows, ("MODEL_CALL_END", model, USAGE)]


def speaks(model: str, text: str) -> list[tuple[Any, ...]]:
    """A model call that answers."""
    return [
        ("MODEL_CALL_START", model),
        ("TEXT_BLOCK_START", model, "text"),
        ("TEXT_BLOCK_DELTA", model, "text", text),
        ("TEXT_BLOCK_END", model, "text"),
        ("MODEL_CALL_END", model, USAGE),
    ]


def ends(reply: str, text: str, reason: str = "MODEL_STOP") -> list[tuple[Any, ...]]:
    return [("AGENT_RESULT", message(reason, says(text))), ("AGENT_END", reply)]


# ------------------------------------------------------------------------------------------------ 3.1 plain text


def test_3_1_plain_text() -> None:
    stream = java(("AGENT_START", "A"), *speaks("M1", "Hello"), *ends("A", "Hello"))
    told = read("java", stream)
    assert outline(told) == [
        "AGENT_START",
        "MODEL_CALL_START M1",
        "TEXT_BLOCK_START text",
        "TEXT_BLOCK_DELTA text=Hello",
        "TEXT_BLOCK_END text",
        "MODEL_CALL_END M1",
        "AGENT_RESULT",
        "AGENT_END=MODEL_STOP",
    ]
    assert [event.seq for event in told] == list(range(1, 9))
    assert {event.reply_id for event in told} == {"A"}  # type: ignore[union-attr]
    reply = fold(told)
    assert (reply.id, reply.name, reply.get_text_content()) == ("A", "Friday", "Hello")
    assert reply.generate_reason is GenerateReason.MODEL_STOP
    assert reply.usage == ChatUsage(
        input_tokens=7, output_tokens=5, cached_input_tokens=2, total_tokens=12, time=reply.usage and reply.usage.time
    )


def test_3_1_a_blank_answer_and_the_next_model_call() -> None:
    stream = java(
        ("AGENT_START", "A"),
        ("MODEL_CALL_START", "M1"),
        ("MODEL_CALL_END", "M1"),
        *speaks("M2", "Hello"),
        *ends("A", "Hello"),
    )
    told = read("java", stream)
    assert [event.iteration for event in told if isinstance(event, ModelCallStartEvent)] == [1, 2]
    assert [event.input_tokens for event in told if isinstance(event, ModelCallEndEvent)] == [None, 7]
    assert content(fold(told)) == ["Hello"]


def test_the_events_of_a_reply_come_as_they_can_be_told() -> None:
    reader = EventReader("java")
    counts = [len(reader.read(fields)) for fields in java(("AGENT_START", "A"), *speaks("M1", "Hi"), *ends("A", "Hi"))]
    assert counts == [0, 2, 1, 1, 1, 1, 0, 2]


# ------------------------------------------------------------------------------------------------ 3.2 thinking


def test_3_2_thinking_then_text() -> None:
    stream = java(
        ("AGENT_START", "A"),
        ("MODEL_CALL_START", "M1"),
        ("THINKING_BLOCK_START", "M1", "thinking"),
        ("THINKING_BLOCK_DELTA", "M1", "thinking", "hm"),
        ("THINKING_BLOCK_END", "M1", "thinking"),
        ("TEXT_BLOCK_START", "M1", "text"),
        ("TEXT_BLOCK_DELTA", "M1", "text", "Hi"),
        ("TEXT_BLOCK_END", "M1", "text"),
        ("MODEL_CALL_END", "M1"),
        *ends("A", "Hi"),
    )
    assert content(fold(read("java", stream))) == [("thinking", "hm"), "Hi"]


def test_3_2_thinking_does_not_close_text() -> None:
    stream = java(
        ("AGENT_START", "A"),
        ("MODEL_CALL_START", "M1"),
        ("TEXT_BLOCK_START", "M1", "text"),
        ("TEXT_BLOCK_DELTA", "M1", "text", "a"),
        ("THINKING_BLOCK_START", "M1", "thinking"),
        ("THINKING_BLOCK_DELTA", "M1", "thinking", "hm"),
        ("THINKING_BLOCK_END", "M1", "thinking"),
        ("TEXT_BLOCK_DELTA", "M1", "text", "b"),
        ("TEXT_BLOCK_END", "M1", "text"),
        ("MODEL_CALL_END", "M1"),
        *ends("A", "ab"),
    )
    assert content(fold(read("java", stream))) == ["ab", ("thinking", "hm")]


# ------------------------------------------------------------------------------------------------ 3.3 text, tool, text


def test_3_3_text_tool_text_in_one_model_call() -> None:
    stream = java(
        ("AGENT_START", "A"),
        ("MODEL_CALL_START", "M1"),
        ("TEXT_BLOCK_START", "M1", "text"),
        ("TEXT_BLOCK_DELTA", "M1", "text", "before"),
        ("TEXT_BLOCK_END", "M1", "text"),
        ("TOOL_CALL_START", "M1", "c1", "search"),
        ("TOOL_CALL_DELTA", "M1", "c1", "search", '{"q": '),
        ("TOOL_CALL_DELTA", "M1", "c1", "__fragment__", '"x"}'),
        ("TEXT_BLOCK_START", "M1", "text"),
        ("TEXT_BLOCK_DELTA", "M1", "text", "after"),
        ("TEXT_BLOCK_END", "M1", "text"),
        ("TOOL_CALL_END", "M1", "c1", "search"),
        ("MODEL_CALL_END", "M1"),
        ("TOOL_RESULT_START", "T1", "c1", "search"),
        ("TOOL_RESULT_TEXT_DELTA", "T1", "c1", "search", "ok"),
        ("TOOL_RESULT_END", "T1", "c1", "search", "success"),
        *speaks("M2", "done"),
        *ends("A", "done"),
    )
    told = read("java", stream)
    starts = [word for word in outline(told) if word.startswith("TEXT_BLOCK_START")]
    assert starts == ["TEXT_BLOCK_START text", "TEXT_BLOCK_START text~2", "TEXT_BLOCK_START text~3"]
    assert content(fold(told)) == [
        "before",
        ("call", "c1", "search", '{"q": "x"}', "finished"),
        "after",
        ("result", "c1", "success", "ok"),
        "done",
    ]


# ------------------------------------------------------------------------------------------------ 3.4 data


def test_3_4_data_blocks_of_somebody_elses_making() -> None:
    """AgentScope Java has the events and no code that writes them; an application may."""
    stream = java(
        ("AGENT_START", "A"),
        ("MODEL_CALL_START", "M1"),
        ("DATA_BLOCK_START", "M1", "data"),
        ("DATA_BLOCK_DELTA", "M1", "data", "YWI="),
        ("DATA_BLOCK_DELTA", "M1", "data", "Yw=="),
        ("DATA_BLOCK_END", "M1", "data"),
        ("DATA_BLOCK_DELTA", "M1", "data", "ZA=="),
        ("MODEL_CALL_END", "M1"),
        *ends("A", ""),
    )
    blocks: Any = fold(read("java", stream)).content
    assert [(block.id, block.source.media_type, block.source.data) for block in blocks] == [
        ("data", "application/octet-stream", "YWJj"),
        ("data~2", "application/octet-stream", "ZA=="),
    ]


# ------------------------------------------------------------------------------------------------ 3.5 parallel calls


def test_3_5_all_results_start_at_once_and_end_in_a_batch() -> None:
    stream = java(
        ("AGENT_START", "A"),
        *calls("M1", "c1", "c2", "c3"),
        ("TOOL_RESULT_START", "T1", "c3", "search"),
        ("TOOL_RESULT_TEXT_DELTA", "T1", "c3", "search", "Permission denied by rules"),
        ("TOOL_RESULT_END", "T1", "c3", "search", "denied"),
        ("TOOL_RESULT_START", "T1", "c1", "search"),
        ("TOOL_RESULT_START", "T1", "c2", "search"),
        ("TOOL_RESULT_TEXT_DELTA", "T1", "c2", "search", "two"),
        ("TOOL_RESULT_TEXT_DELTA", "T1", "c1", "search", "one"),
        ("TOOL_RESULT_END", "T1", "c1", "search", "success"),
        ("TOOL_RESULT_END", "T1", "c2", "search", "error"),
        *speaks("M2", "done"),
        *ends("A", "done"),
    )
    reply = fold(read("java", stream))
    assert sorted(content(reply)[:-1]) == [
        ("call", "c1", "search", '{"q": "x"}', "finished"),
        ("call", "c2", "search", '{"q": "x"}', "finished"),
        ("call", "c3", "search", '{"q": "x"}', "finished"),
        ("result", "c1", "success", "one"),
        ("result", "c2", "error", "two"),
        ("result", "c3", "denied", "Permission denied by rules"),
    ]


def test_b1_5_a_call_that_is_taken_up_again_is_one_call() -> None:
    """Another call in between ends it; its next piece starts it anew, under the same id."""
    stream = java(
        ("AGENT_START", "A"),
        ("MODEL_CALL_START", "M1"),
        ("TOOL_CALL_START", "M1", "c1", "search"),
        ("TOOL_CALL_DELTA", "M1", "c1", "search", '{"a"'),
        ("TOOL_CALL_END", "M1", "c1", "search"),
        ("TOOL_CALL_START", "M1", "c2", "search"),
        ("TOOL_CALL_DELTA", "M1", "c2", "search", "{}"),
        ("TOOL_CALL_END", "M1", "c2", "search"),
        ("TOOL_CALL_START", "M1", "c1", "search"),
        ("TOOL_CALL_DELTA", "M1", "c1", "search", ": 1}"),
        ("TOOL_CALL_END", "M1", "c1", "search"),
        ("MODEL_CALL_END", "M1"),
    )
    told = read("java", stream)
    assert [word for word in outline(told) if word.startswith("TOOL_CALL_END")] == [
        "TOOL_CALL_END c1",
        "TOOL_CALL_END c2",
    ]
    assert [call.raw_input for call in fold(told).get_content_blocks(ToolUseBlock)] == ['{"a": 1}', "{}"]


# ------------------------------------------------------------------------------------------------ 3.6 tool output


def test_3_6_streamed_output_with_the_metadata_of_its_chunks() -> None:
    data = {"type": "data", "source": {"type": "base64", "media_type": "audio/wav", "data": "YWI="}, "id": "d"}
    picture = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "Yw=="}}
    stream = java(
        ("AGENT_START", "A"),
        *calls("M1", "c1"),
        ("TOOL_RESULT_START", "T1", "c1", "search"),
        ("TOOL_RESULT_TEXT_DELTA", "T1", "c1", "search", "p1 ", {"metadata": {"n": 1}}),
        ("TOOL_RESULT_TEXT_DELTA", "T1", "c1", "search", "p2", {"metadata": {"n": 2}}),
        ("TOOL_RESULT_DATA_DELTA", "T1", "c1", "search", data),
        ("TOOL_RESULT_DATA_DELTA", "T1", "c1", "search", picture),
        ("TOOL_RESULT_END", "T1", "c1", "search", "success", {"metadata": {"rows": 3}}),
        *speaks("M2", "done"),
        *ends("A", "done"),
    )
    told = read("java", stream)
    _, result, _ = content(fold(told))
    assert result == (
        *("result", "c1", "success", "p1 p2"),
        Base64Source(media_type="audio/wav", data="YWI="),
        Base64Source(media_type="image/png", data="Yw=="),
    )
    assert [event.metadata for event in told if isinstance(event, ToolResultEndEvent)] == [{"rows": 3}]
    assert len([event for event in told if isinstance(event, ToolResultDataDeltaEvent)]) == 2


# ------------------------------------------------------------------------------------------------ 3.7 max iterations


def test_3_7_pending_calls_get_results_before_the_summary() -> None:
    stream = java(
        ("AGENT_START", "A"),
        *calls("M1", "c1"),
        ("TOOL_RESULT_START", "T1", "c1", "search"),
        ("TOOL_RESULT_END", "T1", "c1", "search", "success"),
        *calls("M2", "c2", "c3"),
        ("EXCEED_MAX_ITERS", "", 2, 2),
        *speaks("M3", "All in all, nothing."),
        *ends("A", "All in all, nothing.", "MAX_ITERATIONS"),
    )
    told = read("java", stream)
    reply = fold(told)
    assert reply.generate_reason is GenerateReason.MAX_ITERATIONS
    assert [block for block in content(reply) if block[0] == "result"] == [
        ("result", "c1", "success"),
        ("result", "c2", "error", "The tool call has no result."),
        ("result", "c3", "error", "The tool call has no result."),
    ]
    (exceeded,) = [event for event in told if isinstance(event, ExceedMaxItersEvent)]
    assert (exceeded.reply_id, exceeded.max_iters, exceeded.current_iter) == ("A", 2, 2)


def test_3_7_a_summary_that_failed_is_said_by_the_result_alone() -> None:
    notice = "Maximum iterations (1) reached. Error generating summary: timeout"
    stream = java(
        ("AGENT_START", "A"),
        *speaks("M1", "first"),
        ("EXCEED_MAX_ITERS", "", 1, 1),
        ("MODEL_CALL_START", "M2"),
        *ends("A", notice),
    )
    assert content(fold(read("java", stream))) == ["first", notice]


# ------------------------------------------------------------------------------------------------ 3.8 model error


def test_3_8_an_error_in_the_middle_leaves_everything_open() -> None:
    stream = java(
        ("AGENT_START", "A"),
        ("MODEL_CALL_START", "M1"),
        ("TOOL_CALL_START", "M1", "c1", "search"),
        ("TOOL_CALL_DELTA", "M1", "c1", "search", '{"q'),
        ("TEXT_BLOCK_START", "M1", "text"),
        ("TEXT_BLOCK_DELTA", "M1", "text", "Hel"),
    )
    told = read("java", stream)
    assert outline(told)[-8:] == [
        "TOOL_CALL_END c1",
        "TEXT_BLOCK_END text",
        "MODEL_CALL_END M1",
        "TOOL_RESULT_START c1",
        "TOOL_RESULT_TEXT_DELTA c1=The tool call has no result, because the reply failed.",
        "TOOL_RESULT_END c1=error",
        "AGENT_RESULT",
        "AGENT_END=ERROR",
    ]
    end = told[-1]
    assert isinstance(end, AgentEndEvent)
    assert end.error is not None
    assert end.error.message == "the stream ended before the reply did"
    assert content(fold(told))[1] == "Hel"


def test_3_8_the_next_reply_ends_the_one_that_broke() -> None:
    broken = java(("AGENT_START", "A"), ("MODEL_CALL_START", "M1"), ("TEXT_BLOCK_START", "M1", "text"))
    told = read("java", broken, java(("AGENT_START", "B"), *speaks("M2", "again"), *ends("B", "again")))
    assert [event.generate_reason for event in told if isinstance(event, AgentEndEvent)] == ["ERROR", "MODEL_STOP"]
    assert [event.reply_id for event in told if isinstance(event, AgentStartEvent)] == ["A", "B"]


# ------------------------------------------------------------------------------------------------ 3.9 interruption


def test_3_9_an_interruption_leaves_blocks_open_and_speaks_in_the_result() -> None:
    notice = "I noticed that you have interrupted me. What can I do for you?"
    stream = java(
        ("AGENT_START", "A"),
        ("MODEL_CALL_START", "M1"),
        ("TEXT_BLOCK_START", "M1", "text"),
        ("TEXT_BLOCK_DELTA", "M1", "text", "Once upon"),
        *ends("A", notice, "INTERRUPTED"),
    )
    told = read("java", stream)
    assert outline(told)[4:6] == ["TEXT_BLOCK_END text", "MODEL_CALL_END M1"]
    assert [event.finish_reason for event in told if isinstance(event, ModelCallEndEvent)] == ["interrupted"]
    assert content(fold(told)) == ["Once upon", notice]
    assert fold(told).generate_reason is GenerateReason.INTERRUPTED


def test_3_9_calls_that_never_ran_are_interrupted() -> None:
    stream = java(("AGENT_START", "A"), *calls("M1", "c1"), *ends("A", "I noticed.", "INTERRUPTED"))
    assert content(fold(read("java", stream)))[1:] == [
        ("result", "c1", "interrupted", "The tool call was interrupted."),
        "I noticed.",
    ]


# ------------------------------------------------------------------------------------------------ 3.10 structured


def test_3_10_structured_output_comes_with_the_result() -> None:
    result = message("MODEL_STOP", says('{"answer": 42}'), _structured_output={"answer": 42})
    stream = java(
        ("AGENT_START", "A"),
        *calls("M1", "c1", name="generate_response"),
        ("TOOL_RESULT_START", "T1", "c1", "generate_response"),
        ("TOOL_RESULT_TEXT_DELTA", "T1", "c1", "generate_response", "Successfully generated response."),
        ("TOOL_RESULT_END", "T1", "c1", "generate_response", "success"),
        ("AGENT_RESULT", result),
        ("AGENT_END", "A"),
    )
    told = read("java", stream)
    end = told[-1]
    assert isinstance(end, AgentEndEvent)
    assert end.structured_output == fold(told).structured_output == {"answer": 42}
    assert len(fold(told).content) == 2


# ------------------------------------------------------------------------------------------------ 3.11 confirmation

ASKED = [
    ("AGENT_START", "A"),
    *calls("M1", "c1", "c2"),
    ("REQUIRE_USER_CONFIRM", "T1", [use("c1"), use("c2")]),
    ("REQUEST_STOP", "permission asking", "PERMISSION_ASKING"),
    (
        "AGENT_RESULT",
        message("PERMISSION_ASKING", use("c1", state="asking"), agentscope_confirm_request_reply_id="T1"),
    ),
    ("AGENT_END", "A"),
]


def answer(id: str, confirmed: bool, **fields: Any) -> dict[str, Any]:
    return {"confirmed": confirmed, "toolCall": use(id, state="asking", **fields), "rules": None}


def test_3_11_a_pause_is_said_by_the_end() -> None:
    told = read("java", java(*ASKED))
    assert outline(told)[-3:] == ["REQUIRE_USER_CONFIRM", "AGENT_RESULT", "AGENT_END=PERMISSION_ASKING"]
    assert not any(isinstance(event, RequestStopEvent) for event in told)
    (asked,) = [event for event in told if isinstance(event, RequireUserConfirmEvent)]
    assert asked.reply_id == "A"
    assert [call.state for call in asked.tool_calls] == ["asking", "asking"]
    assert [block[-1] for block in content(fold(told))] == ["asking", "asking"]


def test_3_11_allowed_and_denied_in_one_reply() -> None:
    resumed = java(
        ("AGENT_START", "A2"),
        ("USER_CONFIRM_RESULT", "T1", [answer("c1", True, input={"q": "y"}), answer("c2", False)]),
        ("TOOL_RESULT_START", "T2", "c1", "search"),
        ("TOOL_RESULT_TEXT_DELTA", "T2", "c1", "search", "ok"),
        ("TOOL_RESULT_END", "T2", "c1", "search", "success"),
        *speaks("M2", "done"),
        *ends("A2", "done"),
    )
    told = read("java", java(*ASKED), resumed)
    assert {event.reply_id for event in told} == {"A"}  # type: ignore[union-attr]
    starts = [event for event in told if isinstance(event, AgentStartEvent)]
    assert [start.resumed for start in starts] == [False, True]
    assert starts[1].message is not None
    assert starts[1].message.generate_reason is GenerateReason.PERMISSION_ASKING
    assert content(fold(told)) == [
        ("call", "c1", "search", '{"q":"y"}', "finished"),
        ("call", "c2", "search", '{"q": "x"}', "finished"),
        ("result", "c1", "success", "ok"),
        ("result", "c2", "denied", "The tool call was denied by the user."),
        "done",
    ]
    assert [event.seq for event in told] == list(range(1, len(told) + 1))


def test_3_11_a_resumed_stream_folds_on_its_own() -> None:
    """The pause was in another stream: what it answers is all that is known of it."""
    told = read(
        "java",
        java(
            ("AGENT_START", "A2"),
            ("USER_CONFIRM_RESULT", "T1", [answer("c1", True)]),
            ("TOOL_RESULT_START", "T2", "c1", "search"),
            ("TOOL_RESULT_END", "T2", "c1", "search", "success"),
            *speaks("M2", "done"),
            *ends("A2", "done"),
        ),
    )
    assert outline(told)[:3] == ["AGENT_START resumed", "USER_CONFIRM_RESULT", "TOOL_RESULT_START c1"]
    assert content(fold(told)) == [
        ("call", "c1", "search", '{"q": "x"}', "finished"),
        ("result", "c1", "success"),
        "done",
    ]


def test_3_11_partly_confirmed_asks_again() -> None:
    again = java(
        ("AGENT_START", "A2"),
        ("USER_CONFIRM_RESULT", "T1", [answer("c1", True)]),
        ("REQUIRE_USER_CONFIRM", "T2", [use("c2")]),
        ("REQUEST_STOP", "permission asking", "PERMISSION_ASKING"),
        ("AGENT_RESULT", message("PERMISSION_ASKING", use("c1", state="allowed"), use("c2", state="asking"))),
        ("AGENT_END", "A2"),
    )
    last = java(
        ("AGENT_START", "A3"),
        ("USER_CONFIRM_RESULT", "T2", [answer("c2", True)]),
        ("TOOL_RESULT_START", "T3", "c1", "search"),
        ("TOOL_RESULT_START", "T3", "c2", "search"),
        ("TOOL_RESULT_END", "T3", "c1", "search", "success"),
        ("TOOL_RESULT_END", "T3", "c2", "search", "success"),
        *speaks("M2", "done"),
        *ends("A3", "done"),
    )
    told = read("java", java(*ASKED), again, last)
    assert [event.generate_reason for event in told if isinstance(event, AgentEndEvent)] == [
        *("PERMISSION_ASKING", "PERMISSION_ASKING", "MODEL_STOP")
    ]
    assert [block[0] for block in content(fold(told))[:-1]] == ["call", "call", "result", "result"]


def test_3_11_a_stop_that_is_resumed_without_an_answer_goes_on() -> None:
    stopped = [("REQUEST_STOP", "enough", "MIDDLEWARE_STOP_REQUESTED")]
    first = java(
        ("AGENT_START", "A"),
        *calls("M1", "c1"),
        *stopped,
        ("AGENT_RESULT", message("MIDDLEWARE_STOP_REQUESTED", use("c1"))),
        ("AGENT_END", "A"),
    )
    second = java(
        ("AGENT_START", "A2"),
        ("TOOL_RESULT_START", "T1", "c1", "search"),
        ("TOOL_RESULT_END", "T1", "c1", "search", "success"),
        *speaks("M2", "done"),
        *ends("A2", "done"),
    )
    told = read("java", first, second)
    assert {event.reply_id for event in told if hasattr(event, "reply_id")} == {"A"}
    assert len([event for event in told if isinstance(event, RequestStopEvent)]) == 1


def test_a_new_question_after_a_pause_is_a_new_reply() -> None:
    told = read("java", java(*ASKED), java(("AGENT_START", "B"), *speaks("M2", "Hi"), *ends("B", "Hi")))
    assert [(event.reply_id, event.resumed) for event in told if isinstance(event, AgentStartEvent)] == [
        *(("A", False), ("B", False))
    ]


# ------------------------------------------------------------------------------------------------ 3.13 external

SUSPENDED = [
    ("AGENT_START", "A"),
    *calls("M1", "c1"),
    ("TOOL_RESULT_START", "T1", "c1", "search"),
    (
        *("TOOL_RESULT_TEXT_DELTA", "T1", "c1", "search", "[Awaiting external execution]"),
        {"metadata": {"agentscope_suspended": True}},
    ),
    ("TOOL_RESULT_END", "T1", "c1", "search", "running", {"metadata": {"agentscope_suspended": True}}),
    ("REQUIRE_EXTERNAL_EXECUTION", "T1", [use("c1")]),
    ("AGENT_RESULT", message("TOOL_SUSPENDED", use("c1"), found("c1", "[Awaiting external execution]", "running"))),
    ("AGENT_END", "A"),
]


def test_3_13_a_parked_call_has_no_result() -> None:
    told = read("java", java(*SUSPENDED))
    assert outline(told)[-4:] == [
        "MODEL_CALL_END M1",
        "REQUIRE_EXTERNAL_EXECUTION",
        "AGENT_RESULT",
        "AGENT_END=TOOL_SUSPENDED",
    ]
    (required,) = [event for event in told if isinstance(event, RequireExternalExecutionEvent)]
    assert [call.state for call in required.tool_calls] == ["submitted"]
    assert content(fold(told)) == [("call", "c1", "search", '{"q": "x"}', "submitted")]


def test_3_13_the_answer_becomes_the_result() -> None:
    resumed = java(
        ("AGENT_START", "A2"),
        ("EXTERNAL_EXECUTION_RESULT", "T1", [found("c1", "42")]),
        *speaks("M2", "done"),
        *ends("A2", "done"),
    )
    told = read("java", java(*SUSPENDED), resumed)
    words = outline(told)
    assert words[words.index("AGENT_START resumed") :][:5] == [
        "AGENT_START resumed",
        "EXTERNAL_EXECUTION_RESULT",
        "TOOL_RESULT_START c1",
        "TOOL_RESULT_TEXT_DELTA c1=42",
        "TOOL_RESULT_END c1=success",
    ]
    assert content(fold(told))[1:] == [("result", "c1", "success", "42"), "done"]
    alone = read("java", resumed)
    assert content(fold(alone)) == [
        ("call", "c1", "search", "", "finished"),
        ("result", "c1", "success", "42"),
        "done",
    ]


def test_3_13_asking_external_and_allowed_in_one_turn() -> None:
    first = java(
        ("AGENT_START", "A"),
        *calls("M1", "c1", "c2", "c3"),
        ("REQUIRE_USER_CONFIRM", "T1", [use("c1")]),
        ("REQUEST_STOP", "permission asking", "PERMISSION_ASKING"),
        ("AGENT_RESULT", message("PERMISSION_ASKING")),
        ("AGENT_END", "A"),
    )
    second = java(
        ("AGENT_START", "A2"),
        ("USER_CONFIRM_RESULT", "T1", [answer("c1", True)]),
        ("TOOL_RESULT_START", "T2", "c1", "search"),
        ("TOOL_RESULT_START", "T2", "c2", "search"),
        ("TOOL_RESULT_START", "T2", "c3", "search"),
        ("TOOL_RESULT_END", "T2", "c1", "search", "success"),
        ("TOOL_RESULT_END", "T2", "c2", "search", "running"),
        ("TOOL_RESULT_END", "T2", "c3", "search", "success"),
        ("REQUIRE_EXTERNAL_EXECUTION", "T2", [use("c2")]),
        ("AGENT_RESULT", message("TOOL_SUSPENDED")),
        ("AGENT_END", "A2"),
    )
    third = java(
        ("AGENT_START", "A3"),
        ("EXTERNAL_EXECUTION_RESULT", "T2", [found("c2", "42")]),
        *speaks("M2", "done"),
        *ends("A3", "done"),
    )
    reply = fold(read("java", first, second, third))
    assert content(reply)[3:] == [
        ("result", "c1", "success"),
        ("result", "c3", "success"),
        ("result", "c2", "success", "42"),
        "done",
    ]


# ------------------------------------------------------------------------------------------------ 3.14 sub-agents


def test_3_14_a_child_without_ids_is_a_reply_of_its_own() -> None:
    path = {"source": "main/researcher"}
    stream = java(
        ("AGENT_START", "A"),
        *calls("M1", "c1", name="agent_spawn"),
        ("TOOL_RESULT_START", "T1", "c1", "agent_spawn"),
        ("SUBAGENT_EXPOSED", "a1", "researcher", "sub-1", "Ann"),
        ("AGENT_START", None, {**path, "sessionId": "sub-1", "name": "researcher"}),
        *((*row, path) for row in speaks("M9", "found it")),
        ("AGENT_END", None, path),
        ("TOOL_RESULT_TEXT_DELTA", "T1", "c1", "agent_spawn", "status: ok"),
        ("TOOL_RESULT_END", "T1", "c1", "agent_spawn", "success"),
        *speaks("M2", "done"),
        *ends("A", "done"),
    )
    told = read("java", stream)
    child = fold(told, "main/researcher")
    assert (child.name, child.get_text_content()) == ("researcher", "found it")
    assert child.id != "A"
    assert content(fold(told)) == [
        ("call", "c1", "agent_spawn", '{"q": "x"}', "finished"),
        ("result", "c1", "success", "status: ok"),
        "done",
    ]
    inside = [event.source for event in told]
    assert (inside[0], inside[-1]) == (None, None)
    assert [event.seq for event in told if event.source is None] == list(range(1, inside.count(None) + 1))


def test_3_14_a_child_that_never_ends_is_ended_before_its_parent() -> None:
    path = {"source": "main/researcher"}
    stream = java(("AGENT_START", "A"), ("AGENT_START", None, path), ("MODEL_CALL_START", "M9", path))
    told = read("java", stream)
    assert [(event.source, event.generate_reason) for event in told if isinstance(event, AgentEndEvent)] == [
        *(("main/researcher", "ERROR"), (None, "ERROR"))
    ]


# ------------------------------------------------------------------------------------------------ bugs


def test_j1_ids_of_all_kinds_become_one() -> None:
    stream = java(
        ("AGENT_START", "A"),
        ("HINT_BLOCK", "elsewhere", "h1", "inbox", "be short"),
        *speaks("M1", "Hi"),
        ("EXCEED_MAX_ITERS", "", 1, 1),
        *ends("A", "Hi"),
    )
    told = read("java", stream)
    assert {event.reply_id for event in told if hasattr(event, "reply_id")} == {"A"}
    assert content(fold(told)) == [("hint", "be short", "inbox"), "Hi"]


def test_j6_constant_block_ids_are_told_apart() -> None:
    stream = java(("AGENT_START", "A"), *speaks("M1", "one"), *speaks("M2", "two"), *ends("A", "two"))
    reply: Any = fold(read("java", stream))
    assert [(block.id, block.text) for block in reply.content] == [("text", "one"), ("text~2", "two")]


def test_j20_a_retry_that_starts_over_is_another_block() -> None:
    stream = java(
        ("AGENT_START", "A"),
        ("MODEL_CALL_START", "M1"),
        ("TEXT_BLOCK_START", "M1", "text"),
        ("TEXT_BLOCK_DELTA", "M1", "text", "Hel"),
        ("TEXT_BLOCK_START", "M1", "text"),
        ("TEXT_BLOCK_DELTA", "M1", "text", "Hello"),
        ("TEXT_BLOCK_END", "M1", "text"),
        ("MODEL_CALL_END", "M1"),
        *ends("A", "HelHello"),
    )
    assert content(fold(read("java", stream))) == ["Hel", "Hello"]


def test_j26_ids_that_change_belong_to_the_call_of_the_same_name() -> None:
    stream = java(
        ("AGENT_START", "A"),
        *calls("M1", "tool_call_1717", name="search"),
        ("TOOL_RESULT_START", "T1", "tool_call_1718", "search"),
        ("TOOL_RESULT_TEXT_DELTA", "T1", "tool_call_1718", "search", "ok"),
        ("TOOL_RESULT_END", "T1", "tool_call_1718", "search", "success"),
        *speaks("M2", "done"),
        *ends("A", "done"),
    )
    assert content(fold(read("java", stream))) == [
        ("call", "tool_call_1717", "search", '{"q": "x"}', "finished"),
        ("result", "tool_call_1717", "success", "ok"),
        "done",
    ]


def test_j26_a_fragment_without_an_id_goes_on_with_the_last_call() -> None:
    stream = java(
        ("AGENT_START", "A"),
        ("MODEL_CALL_START", "M1"),
        ("TOOL_CALL_START", "M1", "c1", "search"),
        ("TOOL_CALL_DELTA", "M1", "c1", "search", "{"),
        ("TOOL_CALL_DELTA", "M1", "", "__fragment__", "}"),
        ("TOOL_CALL_END", "M1", "c1", "search"),
        ("MODEL_CALL_END", "M1"),
    )
    (call,) = fold(read("java", stream)).get_content_blocks(ToolUseBlock)
    assert call.raw_input == "{}"


def test_j31_a_tool_whose_start_is_hidden_is_seen() -> None:
    stream = java(
        ("AGENT_START", "A"),
        ("MODEL_CALL_START", "M1"),
        ("TOOL_CALL_DELTA", "M1", "c1", "__secret", "{}"),
        ("MODEL_CALL_END", "M1"),
        ("TOOL_RESULT_START", "T1", "c1", "__secret"),
        ("TOOL_RESULT_END", "T1", "c1", "__secret", "success"),
        *speaks("M2", "done"),
        *ends("A", "done"),
    )
    assert content(fold(read("java", stream)))[:2] == [
        ("call", "c1", "__secret", "{}", "finished"),
        ("result", "c1", "success"),
    ]


def test_j36_an_id_that_is_used_again_is_another_call() -> None:
    def turn(model: str, batch: str) -> list[tuple[Any, ...]]:
        return [
            *calls(model, "call_1"),
            ("TOOL_RESULT_START", batch, "call_1", "search"),
            ("TOOL_RESULT_TEXT_DELTA", batch, "call_1", "search", batch),
            ("TOOL_RESULT_END", batch, "call_1", "search", "success"),
        ]

    stream = java(("AGENT_START", "A"), *turn("M1", "T1"), *turn("M2", "T2"), *speaks("M3", "done"), *ends("A", "done"))
    assert [block[:2] for block in content(fold(read("java", stream)))[:-1]] == [
        *(("call", "call_1"), ("result", "call_1"), ("call", "call_1~2"), ("result", "call_1~2"))
    ]


def test_an_edited_answer_names_the_call_it_is_about() -> None:
    told = read(
        "java",
        java(*ASKED),
        java(("AGENT_START", "A2"), ("USER_CONFIRM_RESULT", "T1", [answer("c1", True, input={"q": "edited"})])),
    )
    (confirmed,) = [event for event in told if isinstance(event, UserConfirmResultEvent)]
    assert confirmed.reply_id == "A"
    assert confirmed.confirm_results[0].tool_call.raw_input == '{"q":"edited"}'


# ------------------------------------------------------------------------------------------------ the reader itself


def test_repeats_are_dropped_by_id() -> None:
    stream = java(("AGENT_START", "A"), *speaks("M1", "Hello"), *ends("A", "Hello"))
    assert outline(read("java", stream, stream)) == outline(read("java", stream))


def test_only_the_last_4096_ids_are_remembered() -> None:
    reader = EventReader("java")
    events = java(*[("CUSTOM", "tick", {"n": n}) for n in range(4_097)])
    assert sum(len(reader.read(event)) for event in events) == 4_097
    assert reader.read(events[1]) == []
    assert len(reader.read(events[0])) == 1


def test_events_outside_a_reply_are_numbered_where_they_come() -> None:
    custom = ("CUSTOM", "state_updated", {})
    stream = java(custom, ("AGENT_START", "A"), custom, *speaks("M1", "Hi"), *ends("A", "Hi"), custom)
    told = read("java", stream)
    assert [event.seq for event in told if isinstance(event, CustomEvent)] == [1, 2, 10]


def test_what_comes_after_the_end_is_too_late() -> None:
    late = java(("TEXT_BLOCK_DELTA", "M1", "text", "late"), ("AGENT_END", "A"))
    stream = java(("AGENT_START", "A"), *speaks("M1", "Hello"), *ends("A", "Hello"))
    assert outline(read("java", stream, late)) == outline(read("java", stream))


def test_a_stream_that_is_joined_in_the_middle_begins_there() -> None:
    told = read(
        "java", java(("TEXT_BLOCK_DELTA", "M1", "text", "lo"), ("MODEL_CALL_END", "M1", USAGE), *ends("A", "lo"))
    )
    assert content(fold(told)) == ["lo"]
    assert isinstance(told[0], AgentStartEvent)


def test_l4_many_calls_that_are_open_at_once_cost_no_more_each() -> None:
    def steps(count: int) -> int:
        ids = [f"c{number}" for number in range(count)]
        rows = [("TOOL_CALL_START", "m", id, "search") for id in ids]
        rows += [("TOOL_CALL_DELTA", "m", id, "search", "{}") for id in ids]
        events = java(("AGENT_START",), ("MODEL_CALL_START", "m"), *rows)
        reader = EventReader("java")
        return steps_of(lambda: [reader.read(event) for event in events])

    steps(1)  # what is made only once
    assert steps(160) < 4.8 * steps(40)
