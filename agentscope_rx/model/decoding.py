"""What the decoders of all protocols have in common: what is a frame, what is an error, and how a stream ends.

| what came | outcome |
|---|---|
| the protocol's finish, with or without its last frame or `[DONE]` | normal |
| `[DONE]` without a finish, after content | normal, the reason is unknown |
| neither | ModelTruncatedError |
| an error object or error frame anywhere | ModelStreamError with the provider's kind |
| no event at all, a web page, an error as plain JSON | ModelStreamError |
| a whole answer as plain JSON, from a server that does not stream | normal: the answer in one chunk |
| a finish to call tools, and no call | ModelStreamError |

A field that is missing, or that is not understood, is passed over.
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any, ClassVar, Generic, NoReturn, TypeVar

from ..errors import ModelStreamError, ModelTruncatedError
from ..event import FinishReason
from ..stream import ServerSentEvent
from .characters import CharacterJoiner
from .failures import Failure, Mask, read_failure
from .frames import FrameParser
from .types import FinishPiece, ModelChunk

__all__ = ["FrameDecoder", "Parts", "count_at"]

T = TypeVar("T")


class FrameDecoder:
    """Decodes one stream of JSON frames; a protocol adds how one frame is read.

    Args:
        mask: makes the provider's text fit to be shown.
    """

    api: ClassVar[str]
    """What the base URL should be that of, for people."""

    def __init__(self, mask: Mask = str) -> None:
        self.finished = False
        """Whether the model has said why it stopped; from there on only usage is read."""
        self.done = False
        """Whether the last frame has come; from there on nothing is read."""
        self._mask = mask
        self._frames = FrameParser()
        self._characters = CharacterJoiner()
        self._reason: FinishReason | None = None
        self._started = False
        self._spoke = False

    def feed(self, event: ServerSentEvent) -> list[ModelChunk]:
        """Return what one event says: one chunk, or none.

        Raises:
            ModelStreamError: it says that something went wrong, or it is not JSON.
        """
        data, name = event.data, event.event
        if self.done or not data or data.isspace() or name == "ping":
            return []
        self._started = True
        if data.strip() == "[DONE]":
            self.finished = self.done = True
            return []
        if name == "error":
            self._fail(self._failure_of_error_event(event))
        frame = self._frames.parse(event)
        if not isinstance(frame, dict):
            return []
        if (frame.get("error") or frame.get("type") == "error") and (failure := read_failure(frame)):
            self._fail(failure)
        return self._whole(self._read(frame, name))

    def close(self, stray: str = "") -> list[ModelChunk]:
        """Say that the body has ended, and return what is left.

        Args:
            stray: the text of the body that was part of no event.

        Raises:
            ModelTruncatedError: the stream ended before the model said that it was done.
            ModelStreamError: it was no event stream, or ended in a way that makes no sense.
        """
        chunks = [] if self.finished else self._read_stray(stray)
        self._settle()
        if not self.finished:
            if not self._started:
                raise ModelStreamError(
                    f"the server answered with {_kind_of_text(stray)}, not with an event stream; {self._check}",
                    malformed=not stray.strip(),
                )
            raise ModelTruncatedError(
                "the model's answer broke off: the stream ended without a finish reason; what came before stands"
            )
        if self._reason is None:
            if not self._spoke:
                raise ModelStreamError(f"the stream ended before the model said anything; {self._check}")
            chunks.append(ModelChunk(FinishPiece(FinishReason.UNKNOWN)))
        elif self._reason is FinishReason.TOOL_CALLS and not self._has_calls():
            raise ModelStreamError("the model stopped to call tools, but the stream holds no tool call")
        return self._whole(chunks)

    # ------------------------------------------------------------------------------------------- for a protocol

    def _read(self, frame: dict[str, Any], name: str) -> list[ModelChunk]:
        """Return what a frame says that is no error, given the name of its event."""
        raise NotImplementedError

    def _read_document(self, document: dict[str, Any]) -> list[ModelChunk]:
        """Return what a whole answer says, and set `finished`; [] when it is none."""
        raise NotImplementedError

    def _has_calls(self) -> bool:
        """Whether there was a call with a name."""
        raise NotImplementedError

    def _settle(self) -> None:
        """Take note that nothing more comes."""

    def _fail(self, failure: Failure) -> NoReturn:
        failure = failure.masked(self._mask)
        described = failure.describe()
        raise ModelStreamError(
            "the model's stream carried an error" + (f": {described}" if described else ""),
            kind=failure.kind,
            code=failure.code,
        )

    def _failure_of_error_event(self, event: ServerSentEvent) -> Failure:
        try:
            body = self._frames.parse(event)
        except ModelStreamError:
            body = None
        return read_failure(body) or Failure(event.data, kind="error")

    def _whole(self, chunks: list[ModelChunk]) -> list[ModelChunk]:
        return self._characters.join(chunks) if self._frames.torn else chunks

    # ------------------------------------------------------------------------------------------- the end

    def _read_stray(self, text: str) -> list[ModelChunk]:
        """Read JSON that is part of no event: an error, or the answer of a server that does not stream."""
        for part in (text, *text.split("\n")):
            if not part.lstrip().startswith(("{", "[")):
                continue
            document = self._frames.parse(ServerSentEvent(part, terminated=False))
            if failure := read_failure(document):
                self._fail(failure)
            if isinstance(document, dict) and not self._started and (chunks := self._read_document(document)):
                return chunks
        return []

    @property
    def _check(self) -> str:
        return f"check that the base URL is that of {self.api} and that the model exists"


def _kind_of_text(text: str) -> str:
    text = text.lstrip()
    if not text:
        return "an empty body"
    return "a web page" if text.startswith("<") else "other text"


class Parts(Generic[T]):
    """The parts of one stream, by what its frames call them.

    Servers leave out ids and indices, and count them wrong. A frame that names no part, or one that never began, is
    about the part that began last.
    """

    def __init__(self) -> None:
        self._named: dict[Hashable, T] = {}
        self._last: T | None = None

    def begin(self, part: T, *names: Hashable) -> T:
        """Take up a part under its names, None for those that it lacks, and return it."""
        self._named.update((name, part) for name in names if name is not None)
        self._last = part
        return part

    def named(self, *names: Hashable) -> T | None:
        """Return the part that the first known one of these names belongs to, None when none is known."""
        for name in names:
            if (part := self._named.get(name)) is not None:
                return part
        return None

    def find(self, *names: Hashable) -> T | None:
        """Return the part that these names mean, None only when there is none yet."""
        return self.named(*names) or self._last


def count_at(value: Any, *path: str) -> int | None:
    """Return the number at a path of keys, None when there is none."""
    for name in path:
        value = value.get(name) if isinstance(value, dict) else None
    return value if isinstance(value, int) else None
