"""NDJSON, from bytes to lines: each line that holds an object is a frame of the stream.

Bytes go in as the network cuts them, and where the cuts fall makes no difference: a line ends at LF, with or without a
CR before it, and nowhere else, and is decoded only when it is whole. The work is linear in the bytes, and no more is
held than the unfinished line, which has a size limit.

The last line may lack its end; `flush` hands it out, marked `terminated=False`, and the caller judges whether it was
cut. A line that begins no object, as those of a web page do, is part of no frame and kept in `stray`.
"""

from __future__ import annotations

from ...errors import ModelStreamError
from ...stream import ServerSentEvent
from ...stream.sse import MAX_EVENT_BYTES

__all__ = ["LineParser"]

_BOM = b"\xef\xbb\xbf"


class LineParser:
    """Parses one stream of lines. Feed it the bytes in order, then flush it once.

    Args:
        max_line_bytes: the most that one line may hold.
    """

    def __init__(self, max_line_bytes: int = MAX_EVENT_BYTES) -> None:
        self._limit = max_line_bytes
        self._first = True
        self._tail: list[bytes] = []
        self._tail_size = 0
        self._stray: list[bytes] = []
        self._stray_size = 0
        self._failure: ModelStreamError | None = None

    @property
    def stray(self) -> str:
        """The lines so far that hold no object, in order; at most as many bytes as a line may hold."""
        return b"\n".join(self._stray).decode("utf-8", "replace")

    def feed(self, chunk: bytes) -> list[ServerSentEvent]:
        """Take the next bytes and return the objects that they complete, each as an event.

        Raises:
            ModelStreamError: a line is larger than the limit; the lines before it have been returned.
        """
        if self._failure is not None:
            raise self._failure
        *lines, tail = chunk.split(b"\n")
        frames: list[ServerSentEvent] = []
        try:
            for line in lines:
                self._hold(line)
                frames += self._line(terminated=True)
            self._hold(tail)
        except ModelStreamError as error:
            self._failure = error
            if not frames:
                raise
        return frames

    def flush(self) -> list[ServerSentEvent]:
        """Say that the stream has ended, and return the last object if its line has no end.

        Raises:
            ModelStreamError: a line was larger than the limit.
        """
        if self._failure is not None:
            raise self._failure
        return self._line(terminated=False)

    def _hold(self, part: bytes) -> None:
        if not part:
            return
        self._tail.append(part)
        self._tail_size += len(part)
        if self._tail_size > self._limit:
            raise ModelStreamError(
                f"one line of the stream is larger than the limit of {self._limit} bytes; "
                "check that the URL is that of a stream of JSON lines"
            )

    def _line(self, *, terminated: bool) -> list[ServerSentEvent]:
        line = b"".join(self._tail).strip()
        self._tail.clear()
        self._tail_size = 0
        if self._first and line:
            self._first = False
            line = line.removeprefix(_BOM)
        if line.startswith(b"{"):
            return [ServerSentEvent(line.decode("utf-8", "replace"), terminated=terminated)]
        if line:
            self._stray_size += len(line)
            if self._stray_size <= self._limit:
                self._stray.append(line)
        return []
