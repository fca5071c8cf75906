"""What an agent asks of a model, and what a model says: the seam between the agent and every provider.

A provider's stream is a sequence of frames. An adapter turns each frame into one `ModelChunk`: the pieces that the
frame carried, in the frame's own order, or in the order thinking, text, tool calls, data when it has none. Pieces
are small and carry only what is new. What they add up to is the agent's business, not the adapter's.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Protocol, TypeAlias, runtime_checkable

from ..event import FinishReason
from ..message import Msg
from ..tools.schema import ToolSchema

__all__ = [
    "ChatModel",
    "DataPiece",
    "FinishPiece",
    "ModelChunk",
    "ModelOptions",
    "ModelRequest",
    "OutputFormat",
    "OutputSupport",
    "Piece",
    "ResetPiece",
    "TextPiece",
    "ThinkingPiece",
    "ToolCallPiece",
    "ToolSchema",
    "UsagePiece",
]


@dataclass(slots=True)
class TextPiece:
    """A piece of the answer."""

    text: str = ""
    """The new text."""
    complete: bool = False
    """Whether the block has now been said whole; what follows is another block."""
    metadata: dict[str, Any] | None = None
    """What else the provider says about the block; completes it."""


@dataclass(slots=True)
class ThinkingPiece:
    """A piece of the thinking; one of metadata alone is a block: work of the provider itself, such as a search."""

    text: str = ""
    """The new text."""
    signature: str | None = None
    """The provider's proof of the whole block; completes it."""
    redacted_data: str | None = None
    """Encrypted thinking, in place of text; completes the block."""
    complete: bool = False
    """Whether the block has now been said whole; what follows is another block."""
    metadata: dict[str, Any] | None = None
    """What else the provider says about the block; completes it."""


@dataclass(slots=True)
class ToolCallPiece:
    """A piece of one tool call. The adapter has already worked out which call it belongs to."""

    key: int | str
    """Tells the calls of one model call apart; every piece of a call has the same key."""
    id: str | None = None
    """The provider's id, on any piece; None when it never gives one."""
    name: str | None = None
    """The tool's name, on any piece; only the first one counts."""
    arguments: str = ""
    """The new part of the JSON arguments."""
    complete: bool = False
    """Whether the call has now been said whole."""
    signature: str | None = None
    """The provider's proof of the call."""
    metadata: dict[str, Any] | None = None
    """What else the provider says about the call, on any piece; the last one counts."""


@dataclass(slots=True)
class DataPiece:
    """A piece of binary content: exactly one of `data` and `url`."""

    media_type: str
    """MIME type."""
    data: str | None = None
    """The new bytes in base64, padded on their own."""
    url: str | None = None
    """Where the content is."""
    id: str | None = None
    """Tells the data blocks of one model call apart; pieces without one of the same media type are one block."""
    metadata: dict[str, Any] | None = None
    """What else the provider says about the content, on any piece; the last one counts."""


@dataclass(slots=True)
class UsagePiece:
    """What the call has cost so far: absolute figures, None where unknown; the last word on each field counts."""

    input_tokens: int | None = None
    """Tokens of the prompt, cached ones included."""
    output_tokens: int | None = None
    """Tokens written, reasoning included."""
    cached_input_tokens: int | None = None
    """Those of `input_tokens` that came from a cache."""
    reasoning_tokens: int | None = None
    """Those of `output_tokens` that were reasoning."""


@dataclass(slots=True)
class FinishPiece:
    """The model says why it stopped."""

    reason: FinishReason
    """The reason, in this package's terms."""
    raw: str | None = None
    """The provider's own word."""


@dataclass(slots=True)
class ResetPiece:
    """The call is made again: what it has said so far is withdrawn, and what it has cost counts."""

    attempt: int
    """The attempt that failed, from 1."""
    reason: str = ""
    """Why it failed, for people."""


Piece: TypeAlias = TextPiece | ThinkingPiece | ToolCallPiece | DataPiece | UsagePiece | FinishPiece | ResetPiece
"""Any piece of a chunk."""


class ModelChunk:
    """What one provider frame said: its pieces, in order."""

    __slots__ = ("pieces",)

    def __init__(self, *pieces: Piece) -> None:
        self.pieces = pieces

    def __repr__(self) -> str:
        return f"ModelChunk({', '.join(map(repr, self.pieces))})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ModelChunk) and self.pieces == other.pieces

    __hash__ = None  # type: ignore[assignment]


@dataclass(frozen=True, slots=True)
class OutputFormat:
    """The object that an answer must be, as JSON and nothing else."""

    name: str
    """What it is called."""
    json_schema: dict[str, Any]
    """Its JSON schema: that of an object."""


class OutputSupport(StrEnum):
    """Whether a provider makes a model keep to an `OutputFormat`."""

    NONE = "none"
    """It does not; the object is asked for as the arguments of a tool."""
    ALONE = "alone"
    """It does, when the request has no tools."""
    BESIDE_TOOLS = "beside_tools"
    """It does, and the model may call tools before."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelOptions:
    """How a model should answer. None leaves the choice to the provider."""

    temperature: float | None = None
    """Sampling temperature."""
    max_tokens: int | None = None
    """The most tokens that the answer may have, reasoning included."""
    tool_choice: str | None = None
    """`auto`, `none`, `required`, or the name of the tool to call."""
    reasoning_effort: str | None = None
    """How hard to think, in the provider's terms: `low`, `medium`, `high`."""
    output: OutputFormat | None = None
    """What the answer must be; a model whose provider cannot see to it does not look at this."""
    extra_body: dict[str, Any] = field(default_factory=dict)
    """More fields of the provider's request, merged in last."""

    def merged(self, other: ModelOptions | None) -> ModelOptions:
        """Return these options with every field that `other` sets put over them; extra bodies are joined."""
        if other is None:
            return self
        names = ("temperature", "max_tokens", "tool_choice", "reasoning_effort", "output")
        chosen = {
            name: mine if (theirs := getattr(other, name)) is None else theirs
            for name in names
            for mine in (getattr(self, name),)
        }
        return ModelOptions(**chosen, extra_body={**self.extra_body, **other.extra_body})


@dataclass(frozen=True, slots=True)
class ModelRequest:
    """One model call: the conversation, the tools and the options."""

    messages: Sequence[Msg]
    """The conversation, a system message first if there is one. Assistant messages are whole replies."""
    tools: Sequence[ToolSchema] = ()
    """The tools that the model may call."""
    options: ModelOptions = field(default_factory=ModelOptions)
    """How to answer, over the model's own options."""


@runtime_checkable
class ChatModel(Protocol):
    """A model that answers in a stream. Implement these two members to plug in your own."""

    @property
    def model_name(self) -> str:
        """The name that MODEL_CALL_START carries."""
        ...

    def stream(self, request: ModelRequest) -> AsyncIterator[ModelChunk]:
        """Answer one request, chunk by chunk; closing the iterator cancels the call.

        Raises:
            ModelError: the call failed; what was yielded before stands.
        """
        ...
