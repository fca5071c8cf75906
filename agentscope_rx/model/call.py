"""One model call over HTTP: request, retries, watchdog, framing, decoder; the same for every provider."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncGenerator, Callable
from itertools import count
from typing import Protocol

from ..errors import ModelError, ModelStallError, ModelTruncatedError
from ..stream import ServerSentEvent, SSEParser
from .http import HttpClient, HttpRequest, post
from .retry import RetryPolicy
from .stall import StallWatchdog
from .types import FinishPiece, ModelChunk, ResetPiece, UsagePiece

__all__ = ["Decoder", "Framing", "stream_call"]

_GRACE = 2.0
"""Seconds that a server has, after it said why the model stopped, to add the usage and end the stream."""
_DRAIN = 0.05
"""Seconds that a server has to end the body after its last frame; only then can the connection be used again."""
_NO_CONTENT = (UsagePiece, FinishPiece)


class Framing(Protocol):
    """Finds the frames of one stream in its bytes. Pure; where the network cuts the bytes makes no difference."""

    @property
    def stray(self) -> str:
        """The text so far that is part of no frame."""
        ...

    def feed(self, chunk: bytes) -> list[ServerSentEvent]:
        """Return the frames that the next bytes complete, each as the event that it is or stands for.

        Raises:
            ModelStreamError: a frame is larger than the limit.
        """
        ...

    def flush(self) -> list[ServerSentEvent]:
        """Say that the body has ended, and return the last frame if nothing ended it."""
        ...


class Decoder(Protocol):
    """The half of an adapter that reads one stream. Pure: it waits for nothing and knows no socket."""

    @property
    def finished(self) -> bool:
        """Whether the model has said why it stopped; what still comes is usage at best."""
        ...

    @property
    def done(self) -> bool:
        """Whether the provider's last frame has come."""
        ...

    def feed(self, event: ServerSentEvent) -> list[ModelChunk]:
        """Return what one event says.

        Raises:
            ModelStreamError: it says that something went wrong, or nothing that makes sense.
        """
        ...

    def close(self, stray: str = "") -> list[ModelChunk]:
        """Say that the body has ended, and return what is left.

        Args:
            stray: the text of the body that was part of no event.

        Raises:
            ModelTruncatedError: the stream ended before the model said that it was done.
            ModelStreamError: it was no event stream, or ended in a way that makes no sense.
        """
        ...


async def stream_call(
    request: HttpRequest,
    new_decoder: Callable[[], Decoder],
    *,
    framing: Callable[[], Framing] = SSEParser,
    retry: RetryPolicy,
    stall_timeout: float,
    client: HttpClient | None = None,
) -> AsyncGenerator[ModelChunk, None]:
    """Make a model call and yield its chunks; closing the generator closes the connection.

    A failure that may pass is tried again, as the policy says. A `ResetPiece` comes before every new attempt.

    Args:
        request: what to send.
        new_decoder: makes the decoder of one attempt.
        framing: makes what finds the frames of one attempt.
        retry: how often and how patiently to try again.
        stall_timeout: seconds without content after which the call fails.
        client: the HTTP client; None takes the one of the running loop.

    Raises:
        ModelError: the last attempt failed; what was yielded before stands.
    """
    for attempt in count(1):
        watchdog = StallWatchdog(stall_timeout)
        try:
            async with contextlib.aclosing(_attempt(request, framing(), new_decoder(), watchdog, client)) as chunks:
                async for chunk in chunks:
                    yield chunk
            return
        except ModelError as error:
            delay = retry.delay(error, attempt, spoke=watchdog.progressed)
            if delay is None:
                raise
            reset = ResetPiece(attempt, str(error))
        yield ModelChunk(reset)
        await retry.sleep(delay)


async def _attempt(
    request: HttpRequest, parser: Framing, decoder: Decoder, watchdog: StallWatchdog, client: HttpClient | None
) -> AsyncGenerator[ModelChunk, None]:
    async with contextlib.aclosing(watchdog.watch(post(request, client))) as body:
        try:
            async for data in body:
                for event in parser.feed(data):
                    for chunk in decoder.feed(event):
                        watchdog.pause(progress=_has_content(chunk))
                        yield chunk
                        watchdog.resume()
                if decoder.done:
                    await _drain(body)
                    break
                if decoder.finished:
                    watchdog.hurry(_GRACE)
        except (ModelTruncatedError, ModelStallError):
            if not decoder.finished:
                raise
    for event in parser.flush():
        for chunk in decoder.feed(event):
            watchdog.pause(progress=_has_content(chunk))
            yield chunk
    for chunk in decoder.close(parser.stray):
        yield chunk


def _has_content(chunk: ModelChunk) -> bool:
    return not isinstance(chunk.pieces[0], _NO_CONTENT)  # content comes first in a chunk


async def _drain(body: AsyncGenerator[bytes, None]) -> None:
    with contextlib.suppress(ModelError, TimeoutError):
        async with asyncio.timeout(_DRAIN):
            async for _ in body:
                pass
