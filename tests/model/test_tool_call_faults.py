"""The faults of tool calls, B4, as one table, played to every adapter whose protocol can express them.

A fault is a list of frames, each with pieces of calls; every protocol writes them in its own way, and must make the
same calls of them. What a protocol has no words for, such as an index in Gemini, is left out or not played.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any

import pytest

from agentscope_rx.message import ToolUseBlock
from agentscope_rx.model.tool_calls import RawCall

from . import anthropic, dashscope, gemini, ollama, openai_chat, openai_responses
from .anthropic import decoding as messages
from .dashscope import decoding as dashscope_frames
from .gemini import decoding as gemini_chunks
from .ollama import decoding as ollama_lines
from .openai_chat import decoding as chat
from .openai_responses import decoding as responses
from .replying import reply_of

Frames = Sequence[Sequence[RawCall]]
Calls = list[tuple[str | None, str, dict[str, Any]]]
"""id, name, arguments"""


def C(arguments: Any = None, *, index: int | None = None, id: str | None = None, name: str | None = None) -> RawCall:
    return RawCall(index, id, name, arguments)


def one_by_one(*pieces: RawCall) -> Frames:
    return [[piece] for piece in pieces]


XY: Calls = [("a", "f", {"x": 1}), ("b", "g", {"y": 2})]

FAULTS: dict[str, tuple[Frames, Calls]] = {
    "b4_38 every call has index 0": (
        one_by_one(*(C({"n": n}, index=0, id=f"c{n}", name="f") for n in range(3))),
        [(f"c{n}", "f", {"n": n}) for n in range(3)],
    ),
    "b4_38 every call has index 0, in pieces": (
        one_by_one(
            *(C("", index=0, id="a", name="f"), C('{"x"', index=0), C(":1}", index=0)),
            *(C("", index=0, id="b", name="g"), C('{"y"', index=0), C(":2}", index=0)),
        ),
        XY,
    ),
    "b4_39 index missing": (
        one_by_one(C("", id="a", name="f"), C('{"x"'), C(":1}"), C("", id="b", name="g"), C('{"y"'), C(":2}")),
        XY,
    ),
    "b4_40 the id comes once": (
        one_by_one(C("", index=0, id="a", name="f"), *(C(text, index=0) for text in ("{", '"q"', ":", '"x"', "}"))),
        [("a", "f", {"q": "x"})],
    ),
    "b4_41 index but never an id": (
        one_by_one(C("", index=0, name="f"), C('{"x"', index=0), C(":1}", index=0)),
        [(None, "f", {"x": 1})],
    ),
    "b4_41 whole calls that never have an id": (
        one_by_one(C({"x": 1}, name="f"), C({"x": 1}, name="f")),
        [(None, "f", {"x": 1}), (None, "f", {"x": 1})],
    ),
    "b4_42 empty ids and names": (
        one_by_one(C("", index=0, id="a", name="f"), C('{"x"', index=0, id="", name=""), C(":1}", index=0, id="")),
        [("a", "f", {"x": 1})],
    ),
    "b4_43 id and name on every chunk": (
        one_by_one(*(C(text, index=0, id="a", name="f") for text in ("", "{", '"x"', ":1", "}", ""))),
        [("a", "f", {"x": 1})],
    ),
    "b4_44 the first index is 1, then 3": (
        one_by_one(
            *(C("", index=1, id="a", name="f"), C('{"x":1}', index=1)),
            *(C("", index=3, id="b", name="g"), C('{"y":2}', index=3)),
        ),
        XY,
    ),
    "b4_46 tails with an unknown index": (
        one_by_one(C("", index=0, id="a", name="f"), C('{"x"', index=7), C(":1}", index=7)),
        [("a", "f", {"x": 1})],
    ),
    "b4_46 tails with no open call": (one_by_one(C('{"x"', index=5), C(":1}", index=5)), []),
    "b4_47 empty arguments": (one_by_one(C("", index=0, id="a", name="f")), [("a", "f", {})]),
    "b4_47 no arguments": (one_by_one(C(None, index=0, id="a", name="f")), [("a", "f", {})]),
    "b4_48 arguments before the name": (
        one_by_one(C('{"x"', index=0, id="a"), C(":1", index=0), C("}", index=0, name="f")),
        [("a", "f", {"x": 1})],
    ),
    "b4_50 several calls in one frame, without an index": (
        [[C({"x": 1}, id="a", name="f"), C({"y": 2}, id="b", name="g")]],
        XY,
    ),
    "b4_50 the same call twice in one frame": (
        [[C({"x": 1}, name="f"), C({"x": 1}, name="f")]],
        [(None, "f", {"x": 1}), (None, "f", {"x": 1})],
    ),
}


# --- how each protocol writes it; None when it cannot ---------------------------------------------------------------


def in_chat(frames: Frames) -> bytes:
    written = [
        chat.delta(tool_calls=[chat.call(p.arguments, index=p.index, id=p.id, name=p.name) for p in frame])
        for frame in frames
    ]
    return chat.sse(*written, chat.STOP, chat.DONE)


def in_dashscope(frames: Frames) -> bytes:
    written = [
        dashscope_frames.say(
            tool_calls=[dashscope_frames.call(piece.arguments, piece.id, piece.name, piece.index) for piece in frame]
        )
        for frame in frames
    ]
    return dashscope_frames.events(*written, dashscope_frames.say(finish="stop"))


def in_messages(frames: Frames) -> bytes | None:
    if not _heads_come_first(frames):
        return None
    written: list[dict[str, Any]] = [messages.start()]
    for piece in (piece for frame in frames for piece in frame):
        if piece.name:
            whole = piece.arguments if isinstance(piece.arguments, dict) else {}
            written.append(messages.begin(piece.index, "tool_use", id=piece.id, name=piece.name, input=whole))
        if isinstance(piece.arguments, str):
            written.append(messages.json_piece(piece.arguments, piece.index))
    return messages.sse(*written, messages.finish(), messages.END)


def in_responses(frames: Frames) -> bytes | None:
    if not _heads_come_first(frames):
        return None
    written: list[dict[str, Any]] = []
    for piece in (piece for frame in frames for piece in frame):
        text = piece.arguments
        if piece.name:
            whole = json.dumps(text) if isinstance(text, dict) else ""
            fields = {"call_id": piece.id, "name": piece.name, "arguments": whole}
            written.append(responses.added("function_call", None, piece.index, **fields))
        if isinstance(text, str):
            written.append(responses.arguments(text, None, output_index=piece.index))
    return responses.sse(*written, responses.completed())


def in_gemini(frames: Frames) -> bytes | None:
    if not _are_whole(frames):
        return None
    written = [
        gemini_chunks.chunk(*(gemini_chunks.call(piece.name or "", piece.id, **(piece.arguments or {})) for piece in f))
        for f in frames
    ]
    return chat.sse(*written, gemini_chunks.STOP)


def in_ollama(frames: Frames) -> bytes | None:
    if not _are_whole(frames):
        return None
    written = [
        ollama_lines.say(
            tool_calls=[
                ollama_lines.call(piece.name, piece.arguments, piece.id, **_indexed(piece.index)) for piece in frame
            ]
        )
        for frame in frames
    ]
    return ollama_lines.lines(*written, ollama_lines.done())


def _indexed(index: int | None) -> dict[str, int]:
    return {} if index is None else {"index": index}


def _heads_come_first(frames: Frames) -> bool:
    """Whether a call begins with a piece that has its id and name, and no other piece has any."""
    heads: set[Any] = set()
    for piece in (piece for frame in frames for piece in frame):
        if piece.name:
            if piece.id is not None and piece.id in heads:
                return False
            heads.add(piece.id)
        elif piece.id is not None or piece.name is not None:
            return False
    return True


def _are_whole(frames: Frames) -> bool:
    return all(piece.name and not isinstance(piece.arguments, str) for frame in frames for piece in frame)


ADAPTERS: dict[str, tuple[Callable[[Frames], bytes | None], Any]] = {
    openai_chat.__name__: (in_chat, chat),
    openai_responses.__name__: (in_responses, responses),
    anthropic.__name__: (in_messages, messages),
    gemini.__name__: (in_gemini, gemini_chunks),
    ollama.__name__: (in_ollama, ollama_lines),
    dashscope.__name__: (in_dashscope, dashscope_frames),
}

CASES = [
    pytest.param(adapter, fault, id=f"{adapter.rpartition('.')[2]}: {fault}")
    for adapter, (write, _) in ADAPTERS.items()
    for fault, (frames, _) in FAULTS.items()
    if write(frames) is not None
]


@pytest.mark.parametrize(("adapter", "fault"), CASES)
def test_every_adapter_makes_the_same_calls_of_a_fault(adapter: str, fault: str) -> None:
    write, protocol = ADAPTERS[adapter]
    frames, expected = FAULTS[fault]
    data = write(frames)
    assert data is not None
    chunks, error = protocol.decode_chunks([data])
    assert error is None
    calls = reply_of(chunks).get_content_blocks(ToolUseBlock)
    assert [(call.name, call.input) for call in calls] == [(name, arguments) for _, name, arguments in expected]
    assert len({call.id for call in calls}) == len(calls)
    given = [id for id, _, _ in expected if id is not None]
    assert [call.id for call in calls][: len(given)] == given


def test_every_adapter_has_its_share() -> None:
    for adapter in ADAPTERS:
        assert len([case for case in CASES if case.values[0] == adapter]) >= 5
