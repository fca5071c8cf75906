"""`ScriptedModel`: says what it is told to say, and remembers what it was asked."""

from __future__ import annotations

import asyncio
import base64
from typing import Any

import pytest

from agentscope_rx import FinishReason, ReActAgent, ToolUseBlock, UserMessage
from agentscope_rx.errors import ConfigurationError, ModelError, ModelTruncatedError
from agentscope_rx.model import (
    ChatModel,
    DataPiece,
    FinishPiece,
    ModelChunk,
    ModelRequest,
    TextPiece,
    ThinkingPiece,
    ToolCallPiece,
    UsagePiece,
)
from agentscope_rx.testing import (
    ScriptedModel,
    chunk,
    data,
    delay,
    error,
    finish,
    text,
    thinking,
    tool_call,
    truncate,
    usage,
)

REQUEST = ModelRequest([UserMessage("hi")])
STOP = ModelChunk(FinishPiece(FinishReason.STOP, "stop"))
CALLS = ModelChunk(FinishPiece(FinishReason.TOOL_CALLS, "tool_calls"))


def play(model: ScriptedModel, request: ModelRequest = REQUEST) -> tuple[list[ModelChunk], BaseException | None]:
    """What one call of the model says, and how it fails."""
    chunks: list[ModelChunk] = []

    async def main() -> None:
        async for said_once in model.stream(request):
            chunks.append(said_once)  # noqa: PERF401 - what came before a failure counts

    try:
        asyncio.run(main())
    except BaseException as failure:
        return chunks, failure
    return chunks, None


def said(*turn: Any) -> list[ModelChunk]:
    chunks, failure = play(ScriptedModel([turn]))
    assert failure is None
    return chunks


def test_is_a_chat_model() -> None:
    assert isinstance(ScriptedModel([]), ChatModel)
    assert ScriptedModel([]).model_name == "scripted"
    assert ScriptedModel([], model_name="m").model_name == "m"


def test_every_item_is_one_chunk_in_order() -> None:
    chunks = said(
        thinking("hm"),
        thinking("", signature="sig", redacted_data="gAAAA"),
        text("Hello"),
        data("image/png", b"\x00png"),
        tool_call("search", {"q": "é"}),
        usage(input_tokens=3, output_tokens=1),
        usage(cached_input_tokens=2, reasoning_tokens=0),
        finish("length"),
    )
    assert chunks == [
        ModelChunk(ThinkingPiece("hm")),
        ModelChunk(ThinkingPiece("", "sig", "gAAAA")),
        ModelChunk(TextPiece("Hello")),
        ModelChunk(DataPiece("image/png", base64.b64encode(b"\x00png").decode())),
        ModelChunk(ToolCallPiece(1, id="call_1", name="search", arguments='{"q": "é"}')),
        ModelChunk(UsagePiece(3, 1)),
        ModelChunk(UsagePiece(cached_input_tokens=2, reasoning_tokens=0)),
        ModelChunk(FinishPiece(FinishReason.LENGTH, "length")),
    ]


def test_a_chunk_holds_several_items() -> None:
    chunks = said(chunk(thinking("hm"), text("Hello"), tool_call("f", "{}", pieces=2)), text("!"))
    together = [ThinkingPiece("hm"), TextPiece("Hello")]
    call = [ToolCallPiece(1, id="call_1", name="f", arguments="{"), ToolCallPiece(1, arguments="}")]
    assert chunks == [ModelChunk(*together, *call), ModelChunk(TextPiece("!")), CALLS]
    assert said(chunk()) == [ModelChunk(), STOP]


@pytest.mark.parametrize("item", [delay(0), truncate(), error(ValueError()), chunk()])
def test_a_chunk_holds_only_what_is_said(item: Any) -> None:
    with pytest.raises(ConfigurationError, match="chunk"):
        chunk(text("a"), item)


@pytest.mark.parametrize(
    ("turn", "end"),
    [([], STOP), ([text("a")], STOP), ([tool_call("f")], CALLS), ([chunk(text("a"), tool_call("f"))], CALLS)],
)
def test_the_finish_that_was_not_written(turn: list[Any], end: ModelChunk) -> None:
    assert said(*turn)[-1] == end


def test_a_finish_that_was_written_stands_alone() -> None:
    chunks = said(tool_call("f"), finish("stop"), usage(1, 2))
    assert chunks[1:] == [STOP, ModelChunk(UsagePiece(1, 2))]
    assert said(chunk(text("a"), finish(FinishReason.REFUSAL))) == [
        ModelChunk(TextPiece("a"), FinishPiece(FinishReason.REFUSAL, "refusal"))
    ]


@pytest.mark.parametrize("pieces", [1, 2, 3, 4, 7, 15, 40])
def test_arguments_come_in_nearly_equal_pieces(pieces: int) -> None:
    raw = '{"q": "weather"}'
    *chunks, end = said(tool_call("f", raw, pieces=pieces))
    parts = [piece for said_once in chunks for piece in said_once.pieces]
    assert len(parts) == len(chunks) == pieces
    assert "".join(part.arguments for part in parts) == raw
    lengths = {len(part.arguments) for part in parts}
    assert max(lengths) - min(lengths) <= 1
    assert [(part.id, part.name) for part in parts] == [("call_1", "f"), *[(None, None)] * (pieces - 1)]
    assert end == CALLS


def test_arguments_come_in_one_piece_at_least() -> None:
    with pytest.raises(ConfigurationError, match="at least 1"):
        tool_call("f", "{}", pieces=0)


def test_raw_arguments_are_sent_as_they_are() -> None:
    for raw in ("", '{"q"', "null"):
        assert said(tool_call("f", raw))[0].pieces[0] == ToolCallPiece(1, id="call_1", name="f", arguments=raw)


def test_omitted_ids_are_counted_over_the_life_of_the_model() -> None:
    model = ScriptedModel([[tool_call("f"), tool_call("g", id="mine"), tool_call("h")], [tool_call("f")], [text("x")]])
    ids = [piece.id for _ in range(3) for said_once in play(model)[0] for piece in _calls(said_once)]
    assert ids == ["call_1", "mine", "call_2", "call_3"]


def test_calls_of_one_turn_are_told_apart() -> None:
    chunks = said(tool_call("f", "{}", id="same", pieces=2), tool_call("f", "{}", id="same", pieces=2))
    keys = [piece.key for said_once in chunks for piece in _calls(said_once)]
    assert keys == [1, 1, 2, 2]


def _calls(said_once: ModelChunk) -> list[ToolCallPiece]:
    return [piece for piece in said_once.pieces if isinstance(piece, ToolCallPiece)]


def test_truncate_breaks_off_without_a_finish() -> None:
    chunks, failure = play(ScriptedModel([[text("Hel"), truncate(), text("lo")]]))
    assert chunks == [ModelChunk(TextPiece("Hel"))]
    assert isinstance(failure, ModelTruncatedError)


def test_an_error_is_raised_as_it_is() -> None:
    broken = ModelError("overloaded")
    chunks, failure = play(ScriptedModel([[text("Hel"), error(broken)]]))
    assert chunks == [ModelChunk(TextPiece("Hel"))]
    assert failure is broken


def test_delay_gives_way_to_others() -> None:
    order: list[str] = []

    async def main() -> None:
        async def listen() -> None:
            async for said_once in ScriptedModel([[text("a"), delay(0), text("b"), delay(0.01), text("c")]]).stream(
                REQUEST
            ):
                order.extend(piece.text for piece in said_once.pieces if isinstance(piece, TextPiece))

        listening = asyncio.create_task(listen())
        await asyncio.sleep(0)
        order.append("other")
        await listening

    asyncio.run(main())
    assert order == ["a", "other", "b", "c"]


def test_remembers_what_it_was_sent() -> None:
    model = ScriptedModel([[text("a")], [text("b")]])
    second = ModelRequest([UserMessage("again")])
    for request in (REQUEST, second):
        play(model, request)
    assert model.requests == [REQUEST, second]


def test_a_turn_too_many() -> None:
    model = ScriptedModel([[text("a")]])
    play(model)
    chunks, failure = play(model)
    assert chunks == []
    assert isinstance(failure, AssertionError)
    assert str(failure) == "the script has 1 turns; this is model call 2"
    assert len(model.requests) == 2


def test_a_turn_too_many_ends_the_reply_of_an_agent() -> None:
    agent = ReActAgent("a", ScriptedModel([[text("one")]]))
    assert agent.call("hi").run().get_text_content() == "one"
    with pytest.raises(AssertionError, match="model call 2"):
        agent.call("hi").run()


def test_an_agent_is_told_the_same_ids_that_it_is_asked_for() -> None:
    def search(q: str) -> str:
        """Search."""
        return q

    model = ScriptedModel([[tool_call("search", {"q": "x"}, pieces=3)], [text("found")]])
    message = ReActAgent("a", model, tools=[search]).call("hi").run()
    (call,) = message.get_content_blocks(ToolUseBlock)
    assert (call.id, call.input, call.raw_input) == ("call_1", {"q": "x"}, '{"q": "x"}')
    assert [len(request.messages) for request in model.requests] == [1, 2]
