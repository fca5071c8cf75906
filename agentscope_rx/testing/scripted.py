"""A test double for a model: it says what it is told to say, and remembers what it was asked."""

from __future__ import annotations

import asyncio
import base64
import json
import threading
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import count, pairwise
from typing import Any, TypeAlias

from ..errors import ConfigurationError, ModelTruncatedError
from ..event import FinishReason
from ..model import (
    DataPiece,
    FinishPiece,
    ModelChunk,
    ModelRequest,
    Piece,
    ResetPiece,
    TextPiece,
    ThinkingPiece,
    ToolCallPiece,
    UsagePiece,
)

__all__ = [
    "ScriptedModel",
    "TurnItem",
    "chunk",
    "data",
    "delay",
    "error",
    "finish",
    "reset",
    "text",
    "thinking",
    "tool_call",
    "truncate",
    "usage",
]


@dataclass(frozen=True, slots=True)
class _Say:
    piece: Piece


@dataclass(frozen=True, slots=True)
class _Call:
    name: str
    arguments: str
    id: str | None
    pieces: int


@dataclass(frozen=True, slots=True)
class _Chunk:
    items: tuple[_Say | _Call, ...]


@dataclass(frozen=True, slots=True)
class _Delay:
    seconds: float


@dataclass(frozen=True, slots=True)
class _Raise:
    error: BaseException


@dataclass(frozen=True, slots=True)
class _Reset:
    reason: str


TurnItem: TypeAlias = _Say | _Call | _Chunk | _Delay | _Raise | _Reset
"""One thing that a scripted turn does; made by the functions of this module."""


def text(text: str) -> TurnItem:
    """Say a piece of the answer."""
    return _Say(TextPiece(text))


def thinking(text: str, signature: str | None = None, redacted_data: str | None = None) -> TurnItem:
    """Think aloud; a signature or redacted data ends the block."""
    return _Say(ThinkingPiece(text, signature, redacted_data))


def tool_call(name: str, arguments: Mapping[str, Any] | str = "", id: str | None = None, pieces: int = 1) -> TurnItem:
    """Call a tool.

    Args:
        name: The tool.
        arguments: The arguments as a mapping, or as raw JSON text, well-formed or not.
        id: The id of the call. Those that are None become `call_1`, `call_2`, ... over the life of the model.
        pieces: Into how many nearly equal deltas the arguments are split, one chunk each.

    Raises:
        ConfigurationError: `pieces` is less than 1.
    """
    if pieces < 1:
        raise ConfigurationError(f"the arguments of a call come in at least 1 piece, got {pieces}")
    raw = arguments if isinstance(arguments, str) else json.dumps(arguments, ensure_ascii=False)
    return _Call(name, raw, id, pieces)


def data(media_type: str, content: bytes) -> TurnItem:
    """Show a piece of binary content."""
    return _Say(DataPiece(media_type, base64.b64encode(content).decode()))


def usage(
    input_tokens: int | None = None,
    output_tokens: int | None = None,
    cached_input_tokens: int | None = None,
    reasoning_tokens: int | None = None,
) -> TurnItem:
    """Say what the call has cost so far."""
    return _Say(UsagePiece(input_tokens, output_tokens, cached_input_tokens, reasoning_tokens))


def finish(reason: FinishReason | str) -> TurnItem:
    """Say why the model stops; without it, `tool_calls` after a call and `stop` otherwise."""
    return _Say(FinishPiece(FinishReason(reason), str(reason)))


def truncate() -> TurnItem:
    """Break off without a finish, as a connection that is cut does."""
    return _Raise(ModelTruncatedError("the scripted stream was cut off"))


def delay(seconds: float) -> TurnItem:
    """Say nothing for some seconds; 0 gives way to other tasks once."""
    return _Delay(seconds)


def error(exception: BaseException) -> TurnItem:
    """Fail."""
    return _Raise(exception)


def reset(reason: str = "the scripted stream was cut off") -> TurnItem:
    """Withdraw what the turn has said so far and begin it anew, as a model does that is allowed to retry."""
    return _Reset(reason)


def chunk(*items: TurnItem) -> TurnItem:
    """Say several things in one chunk.

    Raises:
        ConfigurationError: an item is not said: a chunk, a delay, an error or a reset.
    """
    said = tuple(item for item in items if isinstance(item, _Say | _Call))
    if len(said) < len(items):
        raise ConfigurationError("a chunk holds what a model says: no chunk, delay, error, truncation or reset")
    return _Chunk(said)


class ScriptedModel:
    """A `ChatModel` that plays a script: one turn for each model call, one chunk for each item.

    Args:
        turns: The turns, each a list of what `text`, `thinking`, `tool_call`, `data`, `usage`, `finish`, `truncate`,
            `delay`, `error`, `reset` and `chunk` make.
        model_name: The name in MODEL_CALL_START.
    """

    def __init__(self, turns: Sequence[Sequence[TurnItem]], model_name: str = "scripted") -> None:
        self.model_name = model_name
        """The name in MODEL_CALL_START."""
        self.requests: list[ModelRequest] = []
        """What the model was sent, call by call."""
        self._turns = [tuple(turn) for turn in turns]
        self._ids = count(1)
        self._lock = threading.Lock()

    async def stream(self, request: ModelRequest) -> AsyncIterator[ModelChunk]:
        """Play the next turn.

        Raises:
            AssertionError: there is no turn left.
        """
        with self._lock:
            number = len(self.requests)
            self.requests.append(request)
        if number >= len(self._turns):
            raise AssertionError(f"the script has {len(self._turns)} turns; this is model call {number + 1}")
        keys, attempts = count(1), count(1)
        finished = called = False
        for item in self._turns[number]:
            if isinstance(item, _Delay):
                await asyncio.sleep(item.seconds)
                continue
            if isinstance(item, _Raise):
                raise item.error
            if isinstance(item, _Reset):
                finished = called = False
                yield ModelChunk(ResetPiece(next(attempts), item.reason))
                continue
            for pieces in self._chunks(item, keys):
                finished = finished or any(isinstance(piece, FinishPiece) for piece in pieces)
                called = called or any(isinstance(piece, ToolCallPiece) for piece in pieces)
                yield ModelChunk(*pieces)
        if not finished:
            reason = FinishReason.TOOL_CALLS if called else FinishReason.STOP
            yield ModelChunk(FinishPiece(reason, str(reason)))

    def _chunks(self, item: _Say | _Call | _Chunk, keys: Iterator[int]) -> Iterator[tuple[Piece, ...]]:
        match item:
            case _Say():
                yield (item.piece,)
            case _Call():
                for piece in self._call_pieces(item, next(keys)):
                    yield (piece,)
            case _Chunk():
                yield tuple(piece for part in item.items for pieces in self._chunks(part, keys) for piece in pieces)

    def _call_pieces(self, call: _Call, key: int) -> Iterator[ToolCallPiece]:
        first, *rest = _split(call.arguments, call.pieces)
        id = f"call_{next(self._ids)}" if call.id is None else call.id
        yield ToolCallPiece(key, id=id, name=call.name, arguments=first)
        for delta in rest:
            yield ToolCallPiece(key, arguments=delta)


def _split(text: str, parts: int) -> list[str]:
    """Split into `parts` parts whose lengths differ by one at most."""
    short, longer = divmod(len(text), parts)
    cuts = [0]
    for index in range(parts):
        cuts.append(cuts[-1] + short + (index < longer))
    return [text[start:end] for start, end in pairwise(cuts)]
