"""Text that a server cuts through its characters, in every protocol."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import pytest
from hypothesis import given, strategies as st

from agentscope_rx.errors import ModelStreamError, ModelTruncatedError
from agentscope_rx.event import FinishReason
from agentscope_rx.model import (
    FinishPiece,
    ModelChunk,
    Piece,
    TextPiece,
    ThinkingPiece,
    ToolCallPiece,
    UsagePiece,
)
from agentscope_rx.model.characters import CharacterJoiner, count_characters, whole_characters

from .anthropic import decoding as messages
from .openai_chat import decoding as chat
from .openai_responses import decoding as responses
from .outcome import Outcome

HIGH, LOW = "\ud83c", "\udf0d"


def chat_stream(kind: str, pieces: Iterable[str]) -> Outcome:
    frame: dict[str, Callable[[str], Any]] = {
        "text": lambda piece: chat.delta(content=piece),
        "thinking": lambda piece: chat.delta(reasoning_content=piece),
        "arguments": lambda piece: chat.delta(tool_calls=[chat.call(piece, id="c", name="f")]),
    }
    return chat.decode(chat.sse(*map(frame[kind], pieces), chat.STOP, chat.DONE))


def messages_stream(kind: str, pieces: Iterable[str]) -> Outcome:
    frame = {"text": messages.text, "thinking": messages.think, "arguments": messages.json_piece}[kind]
    block = {
        "text": messages.begin(0, "text", text=""),
        "thinking": messages.begin(0, "thinking", thinking=""),
        "arguments": messages.begin(0, "tool_use", id="c", name="f", input={}),
    }[kind]
    frames = [block, *map(frame, pieces), messages.stop(0), messages.finish(), messages.END]
    return messages.decode(messages.sse(*frames))


def responses_stream(kind: str, pieces: Iterable[str]) -> Outcome:
    frame = {"text": responses.text, "thinking": responses.summary, "arguments": responses.arguments}[kind]
    item = {
        "text": responses.added("message", content=[]),
        "thinking": responses.added("reasoning", summary=[]),
        "arguments": responses.added("function_call", call_id="c", name="f", arguments=""),
    }[kind]
    return responses.decode(responses.sse(item, *map(frame, pieces), responses.completed()))


STREAMS = {"chat": chat_stream, "messages": messages_stream, "responses": responses_stream}
KINDS = ("text", "thinking", "arguments")


def said(outcome: Outcome, kind: str) -> str:
    return outcome.calls[0].arguments if kind == "arguments" else str(getattr(outcome, kind))


def units_of(text: str) -> list[str]:
    """Every UTF-16 unit by itself."""
    data = text.encode("utf-16-le")
    return [data[i : i + 2].decode("utf-16-le", "surrogatepass") for i in range(0, len(data), 2)]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("stream", STREAMS.values(), ids=STREAMS)
def test_an_emoji_over_two_frames_is_one_character(stream: Any, kind: str) -> None:
    outcome = stream(kind, [f"a{HIGH}", f"{LOW}b", HIGH, LOW, f"{HIGH}{LOW}"])
    assert (said(outcome, kind), outcome.error) == ("a🌍b🌍🌍", None)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("stream", STREAMS.values(), ids=STREAMS)
@pytest.mark.parametrize("pieces", [[f"a{HIGH}"], [f"a{HIGH}", ""], [f"a{LOW}"], ["a", HIGH]])
def test_half_a_character_that_stays_alone_is_told_as_such(stream: Any, kind: str, pieces: list[str]) -> None:
    outcome = stream(kind, pieces)
    assert (said(outcome, kind), outcome.error) == ("a\ufffd", None)


@pytest.mark.parametrize("stream", STREAMS.values(), ids=STREAMS)
@given(text=st.text(st.sampled_from("a🌍\U0010ffff\ue000\uffff ü"), min_size=1, max_size=12), data=st.data())
def test_wherever_the_text_is_cut(stream: Any, text: str, data: st.DataObject) -> None:
    units, pieces = units_of(text), list[str]()
    while units:
        size = data.draw(st.integers(1, len(units)))
        pieces.append("".join(units[:size]))
        del units[:size]
    for kind in KINDS:
        assert said(stream(kind, pieces), kind) == text


def test_the_whole_text_at_the_end_adds_nothing_to_one_that_was_cut() -> None:
    frames = responses.message("i", f"a{HIGH}", f"{LOW}b")
    whole = responses.message("i", "a🌍b")[-3:]
    assert responses.decode(responses.sse(*frames[:-3], *whole, responses.completed())).text == "a🌍b"
    rest = responses.message("i", "a🌍bc")[-3:]
    assert responses.decode(responses.sse(*frames[:-3], *rest, responses.completed())).text == "a🌍bc"


def test_the_whole_arguments_at_the_end_are_no_other_call() -> None:
    pieces = ['{"q":"' + HIGH, LOW + '"}', '{"q": "🌍"}']
    frames = [chat.delta(tool_calls=[chat.call(piece, id="c", name="f")]) for piece in pieces]
    [call] = chat.decode(chat.sse(*frames, chat.STOP)).calls
    assert call.arguments == '{"q":"🌍"}'


def test_input_of_the_providers_own_work_is_read_across_the_cut() -> None:
    chunks, error = messages.decode_chunks(
        [
            messages.sse(
                messages.begin(0, "server_tool_use", id="s", name="web_search", input={}),
                messages.json_piece('{"q":"' + HIGH),
                messages.json_piece(LOW + '"}'),
                messages.stop(0),
                messages.finish(),
            )
        ]
    )
    assert error is None
    assert "{'q': '🌍'}" in repr(chunks)


def test_an_error_with_half_a_character_can_be_written() -> None:
    error = chat.decode(chat.sse({"error": {"message": f"no {HIGH}"}})).error
    assert isinstance(error, ModelStreamError)
    assert str(error).endswith("no \ufffd")


def test_a_stream_that_breaks_off_in_a_character_is_truncated_as_any_other() -> None:
    outcome = chat.decode(chat.sse(chat.delta(content=f"a{HIGH}")))
    assert isinstance(outcome.error, ModelTruncatedError)
    assert outcome.text == "a"


# ---------------------------------------------------------------------------------------------- the joiner alone


def joined(*chunks: tuple[Piece, ...]) -> list[ModelChunk]:
    return CharacterJoiner().join(ModelChunk(*pieces) for pieces in chunks)


def test_usage_between_the_halves_goes_by() -> None:
    assert joined((TextPiece(HIGH), UsagePiece(1, 2)), (TextPiece(LOW),)) == [
        ModelChunk(UsagePiece(1, 2)),
        ModelChunk(TextPiece("🌍")),
    ]


def test_halves_of_calls_that_take_turns_stay_apart() -> None:
    pieces = [
        (ToolCallPiece(0, "a", "f", HIGH), ToolCallPiece(1, "b", "f", HIGH)),
        (ToolCallPiece(1, arguments="x"), ToolCallPiece(0, arguments=LOW)),
        (ToolCallPiece(0, arguments=HIGH), ToolCallPiece(1, arguments=HIGH)),
        (ToolCallPiece(1, complete=True), FinishPiece(FinishReason.STOP)),
    ]
    assert joined(*pieces) == [
        ModelChunk(ToolCallPiece(0, "a", "f"), ToolCallPiece(1, "b", "f")),
        ModelChunk(ToolCallPiece(1, arguments="\ufffdx"), ToolCallPiece(0, arguments="🌍")),
        ModelChunk(
            ToolCallPiece(1, arguments="\ufffd", complete=True),
            ToolCallPiece(0, arguments="\ufffd"),
            FinishPiece(FinishReason.STOP),
        ),
    ]


def test_a_half_is_told_before_what_ends_its_block() -> None:
    assert joined((ThinkingPiece(f"a{HIGH}"),), (TextPiece(f"{LOW}b"),)) == [
        ModelChunk(ThinkingPiece("a")),
        ModelChunk(ThinkingPiece("\ufffd"), TextPiece("\ufffdb")),
    ]
    assert joined((ThinkingPiece(HIGH),), (ThinkingPiece(signature="s"),), (ThinkingPiece(LOW),)) == [
        ModelChunk(ThinkingPiece("\ufffd", signature="s")),
        ModelChunk(ThinkingPiece("\ufffd")),
    ]


def test_nothing_of_a_piece_keeps_half_a_character() -> None:
    piece = ToolCallPiece(0, f"c{HIGH}", f"{LOW}f", "", metadata={f"k{HIGH}": [f"v{LOW}", 1, None]})
    assert joined((piece,)) == [
        ModelChunk(ToolCallPiece(0, "c\ufffd", "\ufffdf", "", metadata={"k\ufffd": ["v\ufffd", 1, None]}))
    ]


@given(st.lists(st.text(st.sampled_from(f"a🌍{HIGH}{LOW}"), max_size=4), max_size=6))
def test_pieces_together_are_the_text_together(pieces: list[str]) -> None:
    chunks = joined(*((TextPiece(piece),) for piece in pieces), (FinishPiece(FinishReason.STOP),))
    assert Outcome.of(chunks).text == whole_characters("".join(pieces))


def test_characters_are_counted_where_they_begin() -> None:
    assert [count_characters(text) for text in ("", "ab", f"a{HIGH}", f"{LOW}b", "🌍")] == [0, 2, 2, 1, 1]
