"""Streams of AgentScope Python, as it writes them, are read as lawful streams that fold to what happened."""

from __future__ import annotations

from typing import Any

import pytest

from agentscope_rx.errors import RemoteProtocolError
from agentscope_rx.event import (
    AgentEndEvent,
    AgentStartEvent,
    CustomEvent,
    EventReader,
    ExceedMaxItersEvent,
    HintBlockEvent,
    ModelCallEndEvent,
    ModelCallStartEvent,
    RequireUserConfirmEvent,
)
from agentscope_rx.message import Base64Source, ChatUsage, DataBlock, GenerateReason, URLSource

from .foreign import content, fold, outline, python, read

RULE = {"tool_name": "search", "rule_content": None, "behavior": "allow", "source": "suggested"}


def use(id: str, state: str, **fields: Any) -> dict[str, Any]:
    return {
        "type": "tool_call",
        "id": id,
        "name": "search",
        "input": "{}",
        "state": state,
        "suggested_rules": [],
        "created_at": "2026-05-06T12:00:00",
        "finished_at": None,
        **fields,
    }


def calls(*ids: str, name: str = "search") -> list[tuple[Any, ...]]:
    """A model call that makes tool calls and says nothing."""
    rows: list[tuple[Any, ...]] = [("MODEL_CALL_START", "r", "qwen")]
    for id in ids:
        rows += [("TOOL_CALL_START", "r", id, name), ("TOOL_CALL_DELTA", "r", id, "{}")]
    rows += [("TOOL_CALL_END", "r", id) for id in ids]
    return [*rows, ("MODEL_CALL_END", "r", 7, 5)]


def speaks(block: str, text: str) -> list[tuple[Any, ...]]:
    """A model call that answers."""
    return [
        ("MODEL_CALL_START", "r", "qwen"),
        ("TEXT_BLOCK_START", "r", block),
        ("TEXT_BLOCK_DELTA", "r", block, text),
        ("TEXT_BLOCK_END", "r", block),
        ("MODEL_CALL_END", "r", 7, 5),
    ]


def result(id: str, text: str, state: str = "success") -> list[tuple[Any, ...]]:
    return [
        ("TOOL_RESULT_START", "r", id, "search"),
        ("TOOL_RESULT_TEXT_DELTA", "r", id, text),
        ("TOOL_RESULT_END", "r", id, state),
    ]


START = ("REPLY_START", "r")
END = ("REPLY_END", "r", "completed")


# ------------------------------------------------------------------------------------------------ 3.1 plain text


def test_3_1_plain_text() -> None:
    told = read("python", python(START, *speaks("b1", "Hello"), END))
    assert outline(told) == [
        "AGENT_START",
        "MODEL_CALL_START r",
        "TEXT_BLOCK_START b1",
        "TEXT_BLOCK_DELTA b1=Hello",
        "TEXT_BLOCK_END b1",
        "MODEL_CALL_END r",
        "AGENT_RESULT",
        "AGENT_END=MODEL_STOP",
    ]
    assert [event.seq for event in told] == list(range(1, 9))
    reply = fold(told)
    assert (reply.id, reply.name, reply.get_text_content()) == ("r", "Friday", "Hello")
    assert reply.usage is not None
    assert reply.usage.model_copy(update={"time": None}) == ChatUsage(
        input_tokens=7, output_tokens=5, cached_input_tokens=0, total_tokens=12
    )


def test_3_1_a_model_that_says_nothing() -> None:
    told = read("python", python(START, ("MODEL_CALL_START", "r", "qwen"), ("MODEL_CALL_END", "r"), END))
    assert fold(told).content == ()
    assert [event.input_tokens for event in told if isinstance(event, ModelCallEndEvent)] == [None]


# ------------------------------------------------------------------------------------------------ 3.2 thinking


def test_3_2_thinking_and_text_in_one_chunk_end_the_wrong_way_round() -> None:
    stream = python(
        START,
        ("MODEL_CALL_START", "r", "qwen"),
        ("THINKING_BLOCK_START", "r", "t1"),
        ("THINKING_BLOCK_DELTA", "r", "t1", "hm"),
        ("TEXT_BLOCK_START", "r", "b1"),
        ("TEXT_BLOCK_DELTA", "r", "b1", "Hi"),
        ("TEXT_BLOCK_END", "r", "b1"),
        ("THINKING_BLOCK_END", "r", "t1"),
        ("MODEL_CALL_END", "r"),
        END,
    )
    assert content(fold(read("python", stream))) == [("thinking", "hm"), "Hi"]


def test_3_2_text_thinking_text() -> None:
    stream = python(
        START,
        ("MODEL_CALL_START", "r", "qwen"),
        ("TEXT_BLOCK_START", "r", "b1"),
        ("TEXT_BLOCK_DELTA", "r", "b1", "a"),
        ("THINKING_BLOCK_START", "r", "t1"),
        ("THINKING_BLOCK_DELTA", "r", "t1", "hm"),
        ("TEXT_BLOCK_END", "r", "b1"),
        ("THINKING_BLOCK_END", "r", "t1"),
        ("TEXT_BLOCK_START", "r", "b2"),
        ("TEXT_BLOCK_DELTA", "r", "b2", "b"),
        ("TEXT_BLOCK_END", "r", "b2"),
        ("MODEL_CALL_END", "r"),
        END,
    )
    assert content(fold(read("python", stream))) == ["a", ("thinking", "hm"), "b"]


def test_3_2_a_thinking_only_answer_is_another_iteration() -> None:
    stream = python(
        START,
        ("MODEL_CALL_START", "r", "qwen"),
        ("THINKING_BLOCK_START", "r", "t1"),
        ("THINKING_BLOCK_DELTA", "r", "t1", "hm"),
        ("THINKING_BLOCK_END", "r", "t1"),
        ("MODEL_CALL_END", "r"),
        *speaks("b1", "Hi"),
        END,
    )
    told = read("python", stream)
    assert [(event.model_call_id, event.iteration) for event in told if isinstance(event, ModelCallStartEvent)] == [
        *(("r", 1), ("r~2", 2))
    ]


# ------------------------------------------------------------------------------------------------ 3.3 text, tool, text


def test_3_3_text_opens_before_the_call_has_ended() -> None:
    stream = python(
        START,
        ("MODEL_CALL_START", "r", "qwen"),
        ("TEXT_BLOCK_START", "r", "b1"),
        ("TEXT_BLOCK_DELTA", "r", "b1", "before"),
        ("TEXT_BLOCK_END", "r", "b1"),
        ("TOOL_CALL_START", "r", "c1", "search"),
        ("TOOL_CALL_DELTA", "r", "c1", "{"),
        ("TOOL_CALL_DELTA", "r", "c1", "}"),
        ("TEXT_BLOCK_START", "r", "b2"),
        ("TEXT_BLOCK_DELTA", "r", "b2", "after"),
        ("TOOL_CALL_END", "r", "c1"),
        ("TEXT_BLOCK_END", "r", "b2"),
        ("MODEL_CALL_END", "r"),
        *result("c1", "ok"),
        *speaks("b3", "done"),
        END,
    )
    assert content(fold(read("python", stream))) == [
        "before",
        ("call", "c1", "search", "{}", "finished"),
        "after",
        ("result", "c1", "success", "ok"),
        "done",
    ]


# ------------------------------------------------------------------------------------------------ 3.4 data


def test_3_4_sound_between_text() -> None:
    stream = python(
        START,
        ("MODEL_CALL_START", "r", "qwen"),
        ("TEXT_BLOCK_START", "r", "b1"),
        ("TEXT_BLOCK_DELTA", "r", "b1", "a"),
        ("DATA_BLOCK_START", "r", "d1", "audio/pcm"),
        ("DATA_BLOCK_DELTA", "r", "d1", "audio/pcm", "YWI="),
        ("TEXT_BLOCK_DELTA", "r", "b1", "b"),
        ("DATA_BLOCK_DELTA", "r", "d1", "audio/pcm", "Yw=="),
        ("TEXT_BLOCK_END", "r", "b1"),
        ("DATA_BLOCK_END", "r", "d1"),
        ("MODEL_CALL_END", "r"),
        END,
    )
    assert content(fold(read("python", stream))) == [
        "ab",
        DataBlock(Base64Source(media_type="audio/pcm", data="YWJj"), id="d1"),
    ]


# ------------------------------------------------------------------------------------------------ 3.5 parallel calls


def test_3_5_results_in_the_order_in_which_they_complete() -> None:
    stream = python(
        START,
        *calls("c1", "c2"),
        ("TOOL_RESULT_START", "r", "c1", "search"),
        ("TOOL_RESULT_START", "r", "c2", "search"),
        ("TOOL_RESULT_TEXT_DELTA", "r", "c2", "two"),
        ("TOOL_RESULT_END", "r", "c2", "success"),
        ("TOOL_RESULT_TEXT_DELTA", "r", "c1", "one"),
        ("TOOL_RESULT_END", "r", "c1", "error"),
        *speaks("b1", "done"),
        END,
    )
    assert content(fold(read("python", stream)))[2:] == [
        ("result", "c1", "error", "one"),
        ("result", "c2", "success", "two"),
        "done",
    ]


def test_b1_5_a_call_that_a_chunk_left_out_is_one_call() -> None:
    stream = python(
        START,
        ("MODEL_CALL_START", "r", "qwen"),
        ("TOOL_CALL_START", "r", "c1", "search"),
        ("TOOL_CALL_DELTA", "r", "c1", '{"a"'),
        ("TOOL_CALL_START", "r", "c2", "search"),
        ("TOOL_CALL_DELTA", "r", "c2", "{}"),
        ("TOOL_CALL_END", "r", "c1"),
        ("TOOL_CALL_START", "r", "c1", "search"),
        ("TOOL_CALL_DELTA", "r", "c1", ": 1}"),
        ("TOOL_CALL_END", "r", "c2"),
        ("TOOL_CALL_END", "r", "c1"),
        ("MODEL_CALL_END", "r"),
        *result("c1", "one"),
        *result("c2", "two"),
        END,
    )
    told = read("python", stream)
    assert content(fold(told))[:2] == [
        ("call", "c1", "search", '{"a": 1}', "finished"),
        ("call", "c2", "search", "{}", "finished"),
    ]
    assert [word for word in outline(told) if word.startswith("TOOL_CALL_END")] == [
        *("TOOL_CALL_END c1", "TOOL_CALL_END c2")
    ]


# ------------------------------------------------------------------------------------------------ 3.6 tool output


def test_3_6_streamed_output() -> None:
    stream = python(
        START,
        *calls("c1"),
        ("TOOL_RESULT_START", "r", "c1", "search"),
        ("TOOL_RESULT_TEXT_DELTA", "r", "c1", "p1 "),
        ("TOOL_RESULT_TEXT_DELTA", "r", "c1", "p2"),
        ("TOOL_RESULT_DATA_DELTA", "r", "c1", "d1", "audio/wav", "aGVsbG8=", None),
        ("TOOL_RESULT_DATA_DELTA", "r", "c1", "d1", "audio/wav", "d29ybGQ=", None),
        ("TOOL_RESULT_DATA_DELTA", "r", "c1", "d2", "image/png", None, "https://example.org/a.png"),
        ("TOOL_RESULT_END", "r", "c1", "success", {"metadata": {"rows": 3}}),
        END,
    )
    told = read("python", stream)
    assert content(fold(told))[1] == (
        *("result", "c1", "success", "p1 p2"),
        Base64Source(media_type="audio/wav", data="aGVsbG93b3JsZA=="),
        URLSource(url="https://example.org/a.png", media_type="image/png"),
    )
    assert fold(told).content[1].metadata == {"rows": 3}  # type: ignore[union-attr]


# ------------------------------------------------------------------------------------------------ 3.7 max iterations


def test_3_7_the_iterations_are_counted() -> None:
    stream = python(
        START,
        *calls("c1"),
        *result("c1", "ok"),
        *calls("c2"),
        *result("c2", "ok"),
        ("EXCEED_MAX_ITERS", "r", "Friday"),
        ("REPLY_END", "r", "exceed_max_iters"),
    )
    told = read("python", stream)
    (exceeded,) = [event for event in told if isinstance(event, ExceedMaxItersEvent)]
    assert (exceeded.max_iters, exceeded.current_iter) == (2, 2)
    assert fold(told).generate_reason is GenerateReason.MAX_ITERATIONS


# ------------------------------------------------------------------------------------------------ 3.8 model error


def test_3_8_an_exception_leaves_everything_open() -> None:
    stream = python(
        START,
        ("MODEL_CALL_START", "r", "qwen"),
        ("TEXT_BLOCK_START", "r", "b1"),
        ("TEXT_BLOCK_DELTA", "r", "b1", "Hel"),
    )
    told = read("python", stream)
    assert outline(told)[4:] == ["TEXT_BLOCK_END b1", "MODEL_CALL_END r", "AGENT_RESULT", "AGENT_END=ERROR"]
    assert content(fold(told)) == ["Hel"]


def test_3_8_the_service_says_what_went_wrong() -> None:
    error = {"error": {"type": "rate_limit", "message": "Too many requests."}}
    for rows in ([], [("MODEL_CALL_START", "r", "qwen"), ("TOOL_CALL_START", "r", "c1", "search")]):
        told = read("python", python(START, *rows, ("REPLY_END", "r", "error", error)))
        end = told[-1]
        assert isinstance(end, AgentEndEvent)
        assert end.generate_reason is GenerateReason.ERROR
        assert end.error is not None
        assert (end.error.type, end.error.message) == ("rate_limit", "Too many requests.")


# ------------------------------------------------------------------------------------------------ 3.9 interruption

REMINDER = "<system-reminder>The tool call has been interrupted by the user.</system-reminder>"


def test_3_9_interrupted_while_the_model_speaks() -> None:
    stream = python(
        START,
        ("MODEL_CALL_START", "r", "qwen"),
        ("TEXT_BLOCK_START", "r", "b1"),
        ("TEXT_BLOCK_DELTA", "r", "b1", "Once"),
        ("TOOL_CALL_START", "r", "c1", "search"),
        ("TOOL_CALL_DELTA", "r", "c1", '{"q'),
        ("TEXT_BLOCK_END", "r", "b1"),
        ("TOOL_CALL_END", "r", "c1"),
        ("MODEL_CALL_END", "r", {"finished_reason": "interrupted"}),
        *result("c1", REMINDER, "interrupted"),
        ("REPLY_END", "r", "interrupted"),
    )
    told = read("python", stream)
    assert [event.finish_reason for event in told if isinstance(event, ModelCallEndEvent)] == ["interrupted"]
    assert content(fold(told)) == [
        "Once",
        ("call", "c1", "search", '{"q', "finished"),
        ("result", "c1", "interrupted", REMINDER),
    ]
    assert fold(told).generate_reason is GenerateReason.INTERRUPTED


def test_3_9_interrupted_while_tools_run() -> None:
    stream = python(
        START,
        *calls("c1", "c2", "c3"),
        ("TOOL_RESULT_START", "r", "c1", "search"),
        ("TOOL_RESULT_START", "r", "c2", "search"),
        *[row for id in ("c1", "c2") for row in result(id, REMINDER, "interrupted")[1:]],
        *result("c3", REMINDER, "interrupted"),
        ("REPLY_END", "r", "interrupted"),
    )
    assert [block[:3] for block in content(fold(read("python", stream)))[3:]] == [
        ("result", id, "interrupted") for id in ("c1", "c2", "c3")
    ]


def test_3_9_a_result_without_a_start_is_started() -> None:
    """An allowed call that has not run yet is closed as if it had."""
    stream = python(START, *calls("c1"), *result("c1", REMINDER, "interrupted")[1:], ("REPLY_END", "r", "interrupted"))
    assert content(fold(read("python", stream)))[1] == ("result", "c1", "interrupted", REMINDER)


# ------------------------------------------------------------------------------------------------ 3.10 structured


def test_3_10_structured_output_is_a_tool_call_like_any_other() -> None:
    said = "Structured output generated successfully."
    rows = calls("c1", name="GenerateStructuredOutput")
    assert content(fold(read("python", python(START, *rows, *result("c1", said), END))))[1] == (
        *("result", "c1", "success", said),
    )


# ------------------------------------------------------------------------------------------------ 3.11 confirmation

ASKED = [START, *calls("c1"), ("REQUIRE_USER_CONFIRM", "r", [use("c1", "asking", suggested_rules=[RULE])])]
CONFIRMED = {"confirmed": True, "tool_call": use("c1", "asking"), "rules": None}


def test_3_11_a_silent_pause_is_an_end() -> None:
    reader = EventReader("python")
    told = [told for fields in python(*ASKED) for told in reader.read(fields)]
    assert outline(told)[-3:] == ["REQUIRE_USER_CONFIRM", "AGENT_RESULT", "AGENT_END=PERMISSION_ASKING"]
    assert reader.close() == []
    (call,) = fold(told).content
    assert [rule.tool_name for rule in call.suggested_rules] == ["search"]  # type: ignore[union-attr]


RESUMED = [*result("c1", "ok"), *speaks("b1", "done"), END]
AFTER = ["call", "result", "done"]


@pytest.mark.parametrize(
    "frame",
    [
        [],
        [("USER_CONFIRM_RESULT", "r", [CONFIRMED])],
        [("USER_CONFIRM_RESULT", "r", [CONFIRMED]), START],
        [START],
    ],
    ids=["the agent alone", "the answer", "the answer and a start (3.12)", "a start alone"],
)
def test_3_11_and_3_12_a_reply_goes_on_under_its_id(frame: list[Any]) -> None:
    told = read("python", python(*ASKED), python(*frame, *RESUMED))
    starts = [event for event in told if isinstance(event, AgentStartEvent)]
    assert [(start.reply_id, start.name, start.resumed) for start in starts] == [
        *(("r", "Friday", False), ("r", "Friday", True))
    ]
    assert starts[1].message is not None
    assert [block if isinstance(block, str) else block[0] for block in content(fold(told))] == AFTER
    assert [event.seq for event in told] == list(range(1, len(told) + 1))


def test_3_12_a_resumed_stream_folds_on_its_own() -> None:
    told = read("python", python(("USER_CONFIRM_RESULT", "r", [CONFIRMED]), START, *RESUMED))
    assert outline(told)[:3] == ["AGENT_START resumed", "USER_CONFIRM_RESULT", "TOOL_RESULT_START c1"]
    assert [block if isinstance(block, str) else block[0] for block in content(fold(told))] == AFTER


def test_3_11_denied() -> None:
    denied = '<system-reminder>The execution of tool "search" is denied by user!</system-reminder>'
    told = read("python", python(*ASKED), python(*result("c1", denied, "denied"), *speaks("b1", "I see."), END))
    assert content(fold(told))[1:] == [("result", "c1", "denied", denied), "I see."]


def test_3_11_two_calls_ask_one_by_one_and_are_answered_one_by_one() -> None:
    told = read(
        "python",
        python(START, *calls("c1", "c2")),
        python(*[("REQUIRE_USER_CONFIRM", "r", [use(id, "asking")]) for id in ("c1", "c2")]),
        python(("USER_CONFIRM_RESULT", "r", [CONFIRMED]), START, *result("c1", "one")),
        python(*result("c2", "two"), *speaks("b1", "done"), END),
    )
    ends = [event.generate_reason for event in told if isinstance(event, AgentEndEvent)]
    assert ends == ["PERMISSION_ASKING", "PERMISSION_ASKING", "MODEL_STOP"]
    assert len([event for event in told if isinstance(event, RequireUserConfirmEvent)]) == 2
    assert [block[0] for block in content(fold(told))[:-1]] == ["call", "call", "result", "result"]


def test_3_11_a_pause_with_calls_that_nobody_asked_for_ends_with_the_stream() -> None:
    """Of calls that run one after the other only the first asks; the rest are pending."""
    told = read("python", python(START, *calls("c1", "c2"), ("REQUIRE_USER_CONFIRM", "r", [use("c1", "asking")])))
    assert outline(told)[-2:] == ["AGENT_RESULT", "AGENT_END=PERMISSION_ASKING"]
    assert [block[-1] for block in content(fold(told))] == ["asking", "pending"]


def test_3_9_a_parked_reply_is_interrupted() -> None:
    told = read(
        "python",
        python(*ASKED),
        python(("USER_INTERRUPT", "r"), *result("c1", REMINDER, "interrupted"), ("REPLY_END", "r", "interrupted")),
    )
    assert [event.generate_reason for event in told if isinstance(event, AgentEndEvent)] == [
        *("PERMISSION_ASKING", "INTERRUPTED")
    ]
    assert content(fold(told))[1] == ("result", "c1", "interrupted", REMINDER)


# ------------------------------------------------------------------------------------------------ 3.13 external

SUBMITTED = [
    START,
    *calls("c1"),
    ("TOOL_RESULT_START", "r", "c1", "search"),
    ("REQUIRE_EXTERNAL_EXECUTION", "r", [use("c1", "submitted")]),
]


def test_3_13_the_start_of_a_parked_result_is_held() -> None:
    told = read("python", python(*SUBMITTED))
    assert outline(told)[-3:] == ["REQUIRE_EXTERNAL_EXECUTION", "AGENT_RESULT", "AGENT_END=TOOL_SUSPENDED"]
    assert content(fold(told)) == [("call", "c1", "search", "{}", "submitted")]


def test_3_13_the_result_goes_on_without_another_start() -> None:
    answer = {"type": "tool_result", "id": "c1", "name": "search", "output": "42", "state": "success", "metadata": {}}
    frames: list[list[Any]] = [[], [("EXTERNAL_EXECUTION_RESULT", "r", [answer]), START]]
    for frame in frames:
        told = read("python", python(*SUBMITTED), python(*frame, *result("c1", "42")[1:], *speaks("b1", "done"), END))
        assert content(fold(told))[1:] == [("result", "c1", "success", "42"), "done"]
        assert [word for word in outline(told) if word.startswith("TOOL_RESULT_START")] == ["TOOL_RESULT_START c1"]


def test_3_13_an_answer_that_the_stream_ends_with_is_the_result() -> None:
    answer = {"type": "tool_result", "id": "c1", "name": "search", "output": [{"text": "42"}], "state": "success"}
    told = read("python", python(*SUBMITTED), python(("EXTERNAL_EXECUTION_RESULT", "r", [answer]), END))
    assert content(fold(told))[1:] == [("result", "c1", "success", "42")]


def test_3_13_asking_external_and_allowed_in_one_turn() -> None:
    first = python(
        START,
        *calls("c1", "c2", "c3"),
        ("REQUIRE_USER_CONFIRM", "r", [use("c1", "asking")]),
        ("TOOL_RESULT_START", "r", "c2", "search"),
        ("REQUIRE_EXTERNAL_EXECUTION", "r", [use("c2", "submitted")]),
        *result("c3", "three"),
    )
    told = read("python", first)
    assert outline(told)[-1] == "AGENT_END=PERMISSION_ASKING"
    told = read(
        "python",
        first,
        python(*result("c2", "two")[1:]),
        python(*result("c1", "one"), *speaks("b1", "done"), END),
    )
    assert content(fold(told))[3:] == [
        ("result", "c3", "success", "three"),
        ("result", "c2", "success", "two"),
        ("result", "c1", "success", "one"),
        "done",
    ]


def test_b1_7_two_result_starts_for_an_external_call_interrupted_while_parked() -> None:
    interrupted = [*result("c1", REMINDER, "interrupted"), ("REPLY_END", "r", "interrupted")]
    told = read("python", python(*SUBMITTED), python(*interrupted))
    assert [word for word in outline(told) if word.startswith("TOOL_RESULT_START")] == ["TOOL_RESULT_START c1"]
    assert content(fold(told))[1:] == [("result", "c1", "interrupted", REMINDER)]


# ------------------------------------------------------------------------------------------------ 3.14 sub-agents


def test_3_14_cards_of_other_sessions_pass_through() -> None:
    card = ("CUSTOM", "subagent_require_user_confirm", {"worker_session_id": "w", "reply_id": "r9"})
    told = read("python", python(START, card, *speaks("b1", "Hi"), END, card))
    assert [event.seq for event in told if isinstance(event, CustomEvent)] == [2, 10]


def test_two_replies_in_one_stream_are_kept_apart() -> None:
    def other(rows: list[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
        return [(row[0], "r2", *row[2:]) for row in rows]

    one, two = python(START, *speaks("b1", "one"), END), python(*other([START, *speaks("b1", "two"), END]))
    told = [told for pair in zip(one, two, strict=True) for fields in pair for told in (fields,)]
    reader = EventReader("python")
    events = [event for fields in told for event in reader.read(fields)]
    for reply_id, text in (("r", "one"), ("r2", "two")):
        own = [event for event in events if event.reply_id == reply_id]  # type: ignore[union-attr]
        assert content(fold(own)) == [text]
        assert [event.seq for event in own] == list(range(1, 9))


# ------------------------------------------------------------------------------------------------ bugs


def test_p4_a_custom_event_is_of_no_reply() -> None:
    told = read("python", python(START, ("CUSTOM", "state_updated", {"n": 1}), *speaks("b1", "Hi"), END))
    assert content(fold(told)) == ["Hi"]


def test_p5_events_after_the_end_and_repeats_change_nothing() -> None:
    stream = python(START, *speaks("b1", "Hello"), END)
    late = python(("TEXT_BLOCK_DELTA", "r", "b1", "late"))
    assert outline(read("python", stream, late, stream)) == outline(read("python", stream))


def test_p8_what_an_exception_left_open_is_closed_when_the_stream_is() -> None:
    told = read("python", python(START, *calls("c1"), ("TOOL_RESULT_START", "r", "c1", "search")))
    assert content(fold(told))[1] == (
        *("result", "c1", "error", "The tool call has no result, because the reply failed."),
    )


def test_p10_a_call_that_never_ran_has_a_result_before_the_next_model_call() -> None:
    told = read("python", python(START, *calls("c1"), *speaks("b1", "done"), END))
    assert content(fold(told))[1:] == [("result", "c1", "error", "The tool call has no result."), "done"]


def test_empty_deltas_say_nothing() -> None:
    rows = [
        ("MODEL_CALL_START", "r", "q"),
        ("TOOL_CALL_START", "r", "c1", "search"),
        ("TOOL_CALL_DELTA", "r", "c1", ""),
    ]
    told = read("python", python(START, *rows, ("TOOL_CALL_END", "r", "c1"), ("MODEL_CALL_END", "r")))
    assert not [word for word in outline(told) if word.startswith("TOOL_CALL_DELTA")]


def test_hints_are_part_of_the_reply() -> None:
    hint = ("HINT_BLOCK", "r", "h1", '{"label": "System"}', [{"type": "text", "text": "now", "id": "t"}])
    told = read("python", python(START, hint, *speaks("b1", "Hi"), END))
    (event,) = [event for event in told if isinstance(event, HintBlockEvent)]
    assert event.hint_source == '{"label": "System"}'
    assert len(fold(told).content) == 2


def test_a_result_of_an_unknown_call_has_a_call_made_for_it() -> None:
    told = read("python", python(START, *result("c9", "ok"), *speaks("b1", "done"), END))
    assert outline(told)[1:7] == [
        "MODEL_CALL_START r",
        "TOOL_CALL_START c9",
        "TOOL_CALL_END c9",
        "MODEL_CALL_END r",
        "TOOL_RESULT_START c9",
        "TOOL_RESULT_TEXT_DELTA c9=ok",
    ]
    assert content(fold(told))[0] == ("call", "c9", "search", "", "finished")


# ------------------------------------------------------------------------------------------------ the reader itself


def test_a_bad_event_changes_nothing() -> None:
    reader = EventReader("python")
    stream = python(START, *speaks("b1", "Hello"), END)
    told: list[Any] = []
    for fields in stream:
        for bad in ("nonsense", "[]", {"type": "TEXT_BLOCK_DELTA", "reply_id": "r"}, {"type": 5}):
            with pytest.raises(RemoteProtocolError):
                reader.read(bad)  # type: ignore[arg-type]
        told += reader.read(fields)
    assert outline(told) == outline(read("python", stream))


def test_data_that_is_not_base64_is_a_typed_error_and_the_stream_goes_on() -> None:
    reader = EventReader("python")
    rows = [
        ("MODEL_CALL_START", "r", "q"),
        ("DATA_BLOCK_DELTA", "r", "d1", "x/y", "not base64"),
        ("DATA_BLOCK_DELTA", "r", "d1", "x/y", "YQ=="),
        END,
    ]
    told: list[Any] = []
    failed = 0
    for fields in python(START, *rows):
        try:
            told += reader.read(fields)
        except RemoteProtocolError:
            failed += 1
    assert failed == 1
    assert [event.seq for event in told] == list(range(1, len(told) + 1))
    (block,) = fold(told).content
    assert block.source.data == "YQ=="  # type: ignore[union-attr]


def test_the_dialect_is_found_out_from_the_first_event() -> None:
    stream = python(START, *speaks("b1", "Hello"), END)
    assert outline(read(None, stream)) == outline(read("python", stream))
