"""What a stream adds up to: a naive fold of model chunks, for tests."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from agentscope_rx.errors import ModelError
from agentscope_rx.event import FinishReason
from agentscope_rx.model import (
    FinishPiece,
    ModelChunk,
    ResetPiece,
    TextPiece,
    ThinkingPiece,
    ToolCallPiece,
    UsagePiece,
)


@dataclass
class Call:
    id: str | None = None
    name: str | None = None
    arguments: str = ""


@dataclass
class Outcome:
    text: str = ""
    thinking: str = ""
    proofs: list[str] = field(default_factory=list)
    """Signatures and encrypted thinking, in order."""
    calls: list[Call] = field(default_factory=list)
    finish: FinishReason | None = None
    raw_finish: str | None = None
    usage: UsagePiece | None = None
    error: ModelError | None = None

    @classmethod
    def of(cls, chunks: Iterable[ModelChunk], error: ModelError | None = None) -> Outcome:
        outcome, calls = cls(error=error), {}
        for chunk in chunks:
            assert chunk.pieces, "no chunk is empty"
            for piece in chunk.pieces:
                match piece:
                    case TextPiece(text):
                        outcome.text += text
                    case ThinkingPiece(text, signature, encrypted):
                        outcome.thinking += text
                        outcome.proofs += [proof for proof in (signature, encrypted) if proof is not None]
                    case ToolCallPiece(key, call_id, name, arguments):
                        call = calls.setdefault(key, Call())
                        call.id, call.name = call.id or call_id, call.name or name
                        call.arguments += arguments
                    case ResetPiece():
                        outcome, calls = cls(error=error), {}
                    case UsagePiece():
                        outcome.usage = piece
                    case FinishPiece(reason, raw):
                        assert outcome.finish is None, "a stream finishes once"
                        outcome.finish, outcome.raw_finish = reason, raw
        outcome.calls = list(calls.values())
        return outcome
