"""The assembler: which events the chunks of a model call become."""

from __future__ import annotations

import base64
from collections.abc import Iterable
from typing import Any

import pytest

from agentscope_rx.agent.assembler import Assembler
from agentscope_rx.event import (
    AgentEvent,
    DataBlockDeltaEvent,
    FinishReason,
    ModelCallEndEvent,
    ModelCallResetEvent,
    ThinkingBlockEndEvent,
    ToolCallDeltaEvent,
    ToolCallEndEvent,
    ToolCallStartEvent,
)
from agentscope_rx.model import (
    DataPiece,
    FinishPiece,
    ModelChunk,
    ResetPiece,
    TextPiece,
    ThinkingPiece,
    ToolCallPiece,
    UsagePiece,
)

STOP = ModelChunk(FinishPiece(FinishReason.STOP, "stop"))


def text(text: str) -> ModelChunk:
    return ModelChunk(TextPiece(text))


def think(text: str = "", **fields: Any) -> ModelChunk:
    return ModelChunk(ThinkingPiece(text, **fields))


def call(key: int, arguments: str = "", **fields: Any) -> ModelChunk:
    return ModelChunk(ToolCallPiece(key, arguments=arguments, **fields))


def data(media_type: str, content: bytes, **fields: Any) -> ModelChunk:
    return ModelChunk(DataPiece(media_type, base64.b64encode(content).decode(), **fields))


def assemble(chunks: Iterable[ModelChunk], taken: Iterable[str] = ()) -> list[AgentEvent]:
    assembler = Assembler("r", "m", set(taken))
    events = [event for chunk in chunks for event in assembler.feed(chunk)]
    return events + assembler.finish()


def shape(events: Iterable[AgentEvent]) -> list[str]:
    """Events in short: `+text`, `text he`, `-text`, with calls named by their id."""
    short = []
    for event in events:
        kind = event.type.lower().replace("_block", "").replace("tool_call", "call")
        name, _, phase = kind.rpartition("_")
        key = getattr(event, "tool_call_id", "")
        label = f"{name} {key}".strip()
        delta = getattr(event, "delta", None) or getattr(event, "data", None) or ""
        short.append({"start": f"+{label}", "end": f"-{label}", "delta": f"{label} {delta}", "reset": "reset"}[phase])
    return short


def again(attempt: int) -> ModelChunk:
    return ModelChunk(ResetPiece(attempt, "broke"))


CASES: dict[str, tuple[list[ModelChunk], list[str]]] = {
    "text": ([text("a"), text("b"), STOP], ["+text", "text a", "text b", "-text", "-model_call"]),
    "nothing at all": ([STOP], ["-model_call"]),
    "empty deltas are not emitted": (
        [text(""), think(""), text("a"), text("")],
        ["+text", "text a", "-text", "-model_call"],
    ),
    "text closes thinking": (
        [think("t"), text("a")],
        ["+thinking", "thinking t", "-thinking", "+text", "text a", "-text", "-model_call"],
    ),
    "thinking closes text": (
        [text("a"), think("t"), text("b")],
        ["+text", "text a", "-text", "+thinking", "thinking t", "-thinking", "+text", "text b", "-text", "-model_call"],
    ),
    "a tool call closes text": (
        [text("a"), call(0, "{}", id="c", name="f"), text("b")],
        ["+text", "text a", "-text", "+call c", "call c {}", "+text", "text b", "-call c", "-text", "-model_call"],
    ),
    "a tool call closes thinking": (
        [think("t"), call(0, id="c", name="f")],
        ["+thinking", "thinking t", "-thinking", "+call c", "-call c", "-model_call"],
    ),
    "data closes nothing": (
        [text("a"), data("audio/pcm", b"1"), text("b"), data("audio/pcm", b"2")],
        ["+text", "text a", "+data", "data MQ==", "text b", "data Mg==", "-text", "-data", "-model_call"],
    ),
    "usage and empty chunks close nothing": (
        [text("a"), ModelChunk(UsagePiece(1, 2)), ModelChunk(), text("b")],
        ["+text", "text a", "text b", "-text", "-model_call"],
    ),
    "a finish-only chunk closes nothing": (
        [text("a"), STOP, text("b")],
        ["+text", "text a", "text b", "-text", "-model_call"],
    ),
    "a complete call ends at once": (
        [call(0, "{}", id="c", name="f", complete=True), text("a")],
        ["+call c", "call c {}", "-call c", "+text", "text a", "-text", "-model_call"],
    ),
    "a complete call is never reopened": (
        [call(0, "{}", id="c", name="f", complete=True), call(0, "{}", id="c", name="f")],
        ["+call c", "call c {}", "-call c", "-model_call"],
    ),
    "one frame in its own order": (
        [ModelChunk(ThinkingPiece("t"), TextPiece("a"), ToolCallPiece(0, "c", "f", "{}"))],
        ["+thinking", "thinking t", "-thinking", "+text", "text a", "-text", "+call c", "call c {}", "-call c",
         "-model_call"],
    ),
    "ends come in order of start": (
        [call(1, "{", id="b", name="f"), data("x/y", b"1"), call(0, "{", id="a", name="f"), text("t")],
        ["+call b", "call b {", "+data", "data MQ==", "+call a", "call a {", "+text", "text t",
         "-call b", "-data", "-call a", "-text", "-model_call"],
    ),
    "complete text ends at once": (
        [text("a"), ModelChunk(TextPiece(complete=True)), text("b"), ModelChunk(TextPiece("c", complete=True))],
        ["+text", "text a", "-text", "+text", "text b", "text c", "-text", "-model_call"],
    ),
    "complete thinking ends at once": (
        [think("a", complete=True), think("b"), think(complete=True), think("c")],
        ["+thinking", "thinking a", "-thinking", "+thinking", "thinking b", "-thinking", "+thinking", "thinking c",
         "-thinking", "-model_call"],
    ),
    "what is not open is not completed": (
        [ModelChunk(TextPiece(complete=True)), think(complete=True), ModelChunk(TextPiece(metadata={"k": 1}))],
        ["-model_call"],
    ),
    "thinking of nothing but metadata is a block": (
        [text("a"), think(metadata={"k": 1}), text("b")],
        ["+text", "text a", "-text", "+thinking", "-thinking", "+text", "text b", "-text", "-model_call"],
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_blocks_open_and_close_by_the_rules(case: str) -> None:
    chunks, expected = CASES[case]
    assert shape(assemble(chunks)) == expected


def test_b1_2_thinking_ends_before_text_starts_also_within_one_chunk() -> None:
    events = shape(assemble([think("A"), text("B"), ModelChunk(ThinkingPiece("C"), TextPiece("D"))]))
    assert events == [
        "+thinking", "thinking A", "-thinking", "+text", "text B", "-text",
        "+thinking", "thinking C", "-thinking", "+text", "text D", "-text", "-model_call",
    ]  # fmt: skip


def test_b1_3_a_single_final_chunk_is_an_answer() -> None:
    assert shape(assemble([ModelChunk(TextPiece("whole"), FinishPiece(FinishReason.STOP))])) == [
        "+text", "text whole", "-text", "-model_call",
    ]  # fmt: skip


def test_b1_5_interleaved_arguments_make_one_start_and_one_end_each() -> None:
    events = assemble(
        [call(0, '{"a"', id="c1", name="f"), call(1, '{"b"', id="c2", name="g"), call(0, ":1}"), call(1, ":2}")]
    )
    assert shape(events) == [
        "+call c1", 'call c1 {"a"', "+call c2", 'call c2 {"b"', "call c1 :1}", "call c2 :2}",
        "-call c1", "-call c2", "-model_call",
    ]  # fmt: skip


def test_b4_41_a_call_without_an_id_gets_one_that_stays() -> None:
    events = assemble([call(0, "{", name="f"), call(0, "}", id="late")])
    ids = {event.tool_call_id for event in events if isinstance(event, ToolCallStartEvent | ToolCallDeltaEvent)}
    assert len(ids) == 1
    assert ids.pop().startswith("call_")


def test_b4_48_arguments_before_the_name_wait_for_it() -> None:
    events = assemble([call(0, '{"a"', id="c"), call(0, ":1}"), call(0, name="f"), call(0, " ")])
    assert shape(events) == ["+call c", 'call c {"a":1}', "call c  ", "-call c", "-model_call"]


def test_a_call_that_never_gets_a_name_is_still_seen() -> None:
    events = assemble([call(0, "{}")])
    start = events[0]
    assert isinstance(start, ToolCallStartEvent)
    assert start.tool_call_name == ""
    assert [type(event) for event in events[1:]] == [ToolCallDeltaEvent, ToolCallEndEvent, ModelCallEndEvent]


def test_an_id_that_was_used_before_gets_a_suffix() -> None:
    events = assemble(
        [call(0, id="c", name="f"), call(1, id="c", name="f"), call(2, id="d", name="f")], taken=["c", "d", "d~2"]
    )
    starts = [event.tool_call_id for event in events if isinstance(event, ToolCallStartEvent)]
    assert starts == ["c~2", "c~3", "d~3"]
    assert [event.tool_call_id for event in events if isinstance(event, ToolCallEndEvent)] == starts


def test_a_signature_ends_its_thinking_block() -> None:
    events = assemble([think("a"), think(signature="sig"), think("b"), think(redacted_data="xx")])
    ends = [(event.signature, event.redacted_data) for event in events if isinstance(event, ThinkingBlockEndEvent)]
    assert ends == [("sig", None), (None, "xx")]
    assert len({event.block_id for event in events if isinstance(event, ThinkingBlockEndEvent)}) == 2


def test_the_signature_of_a_call_comes_with_its_end() -> None:
    events = assemble([call(0, "{}", id="c", name="f", signature="s")])
    assert [event.signature for event in events if isinstance(event, ToolCallEndEvent)] == ["s"]


def test_what_else_is_said_about_a_block_comes_with_its_end() -> None:
    chunks = [
        ModelChunk(TextPiece("a", metadata={"of": "text"})),
        think("b", metadata={"of": "thinking"}),
        call(0, id="c", name="f", metadata={"of": "call, early"}),
        call(0, "{}", metadata={"of": "call"}),
        ModelChunk(DataPiece("x/y", "MQ==", metadata={"of": "data"})),
        data("x/y", b"2"),
    ]
    ends = [event for event in assemble(chunks) if event.type.endswith("_END")]
    assert [event.metadata and event.metadata["of"] for event in ends] == ["text", "thinking", "call", "data", None]


def test_data_blocks_are_told_apart_by_id_and_else_by_media_type() -> None:
    events = assemble([data("x/a", b"1"), data("x/b", b"2"), data("x/a", b"3"), data("x/a", b"4", id="own")])
    deltas = [event for event in events if isinstance(event, DataBlockDeltaEvent)]
    assert [event.block_id for event in deltas].count(deltas[0].block_id) == 2
    assert len({event.block_id for event in deltas}) == 3


def test_data_may_be_a_link() -> None:
    events = assemble([ModelChunk(DataPiece("image/png", url="https://example.org/a.png"))])
    assert [event.url for event in events if isinstance(event, DataBlockDeltaEvent)] == ["https://example.org/a.png"]


def test_b5_58_usage_is_absolute_and_the_last_word_on_each_figure_counts() -> None:
    chunks = [ModelChunk(UsagePiece(10, 1)), ModelChunk(UsagePiece(output_tokens=15, cached_input_tokens=3)), STOP]
    end = assemble(chunks)[-1]
    assert isinstance(end, ModelCallEndEvent)
    assert (end.input_tokens, end.output_tokens, end.cached_input_tokens, end.reasoning_tokens) == (10, 15, 3, None)
    assert (end.finish_reason, end.raw_finish_reason) == (FinishReason.STOP, "stop")


def test_b8_89_a_reset_ends_what_is_open_and_the_call_begins_anew() -> None:
    said = [think("t"), text("a"), call(0, '{"a"', id="c", name="f"), data("x/y", b"1"), call(1, id="d")]
    events = shape(assemble([*said, again(1), *said, again(2), text("b"), STOP]))
    assert [event for event in events if event[0] in "+-r"] == [
        "+thinking", "-thinking", "+text", "-text", "+call c", "+data", "-call c", "-data", "reset",
        "+thinking", "-thinking", "+text", "-text", "+call c~2", "+data", "-call c~2", "-data", "reset",
        "+text", "-text", "-model_call",
    ]  # fmt: skip


def test_b8_89_a_reset_of_an_attempt_that_has_shown_nothing_is_silent() -> None:
    events = assemble([again(1), ModelChunk(UsagePiece(10, 0)), again(2), text("a"), again(3), again(4), text("b")])
    resets = [event for event in events if isinstance(event, ModelCallResetEvent)]
    assert [(event.model_call_id, event.attempt, event.reason) for event in resets] == [("m", 3, "broke")]


def test_b8_89_usage_counts_all_attempts() -> None:
    chunks = [
        *(ModelChunk(UsagePiece(10, 1)), text("a"), ModelChunk(UsagePiece(output_tokens=5)), again(1)),
        again(2),
        *(text("b"), ModelChunk(UsagePiece(10, 7, 4)), STOP),
    ]
    end = assemble(chunks)[-1]
    assert isinstance(end, ModelCallEndEvent)
    assert (end.input_tokens, end.output_tokens, end.cached_input_tokens, end.reasoning_tokens) == (20, 12, 4, None)


def test_b8_89_a_finish_that_was_withdrawn_is_none() -> None:
    end = assemble([text("a"), ModelChunk(FinishPiece(FinishReason.LENGTH, "length")), again(1), text("b")])[-1]
    assert isinstance(end, ModelCallEndEvent)
    assert (end.finish_reason, end.raw_finish_reason) == (FinishReason.UNKNOWN, None)


def test_no_finish_is_unknown_and_a_failure_names_its_own() -> None:
    assert assemble([text("a")])[-1].finish_reason is FinishReason.UNKNOWN  # type: ignore[union-attr]
    end = Assembler("r", "m").finish(FinishReason.ERROR)[-1]
    assert isinstance(end, ModelCallEndEvent)
    assert end.finish_reason is FinishReason.ERROR


def test_events_are_fresh_for_publication_to_number() -> None:
    assert {event.seq for event in assemble([text("a"), call(0, id="c", name="f"), data("x/y", b"1"), think("t")])} == {
        0
    }
