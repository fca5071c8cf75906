"""Server-sent events, from bytes to events: a pure parser of the WHATWG rules.

Bytes go in as the network cuts them, events come out as soon as they are whole, and where the cuts fall makes no
difference: a line ends at LF, CRLF or CR and nowhere else, and is decoded only when it is whole. The work is linear in
the bytes, and no more is held than the unfinished event, which has a size limit.

Two things go beyond the rules, because model servers do:

* Many servers leave out the last blank line, or even the last line end. The rules throw such an event away. `flush`
  hands it out, marked `terminated=False`, and the caller judges whether it was cut.
* A server that answers with a JSON error or a web page sends lines that are no field of any event. The rules ignore
  them. They are kept in `stray`, so that the caller can tell its user what came instead of a stream.
"""

from __future__ import annotations

from typing import NamedTuple

from ..errors import ModelStreamError

__all__ = ["MAX_EVENT_BYTES", "SSEParser", "ServerSentEvent"]

MAX_EVENT_BYTES = 32 * 1024 * 1024
"""The default limit of one event: room for a large image in base64."""

_BOM = b"\xef\xbb\xbf"
_LINE_ENDS = b"\r\n"
_MAX_RETRY_DIGITS = 15
_new_tuple = tuple.__new__


class ServerSentEvent(NamedTuple):
    """One event of an event stream."""

    data: str
    r"""The data lines, joined with `\n`."""
    event: str = "message"
    """The type of the event."""
    id: str = ""
    """The last event id that the stream has named so far, "" when none."""
    retry: int | None = None
    """The reconnection time that this event asks for, in milliseconds, None when it does not."""
    terminated: bool = True
    """Whether the blank line that ends an event came; False only for the last event of a stream that stopped short."""


class SSEParser:
    """Parses one event stream. Feed it the bytes in order, then flush it once.

    Args:
        max_event_bytes: the most that one event, or one line, may hold.
    """

    def __init__(self, max_event_bytes: int = MAX_EVENT_BYTES) -> None:
        self.last_event_id = ""
        """The last event id that the stream has named, "" when none."""
        self.retry: int | None = None
        """The last reconnection time that the stream has asked for, in milliseconds."""
        self._limit = max_event_bytes
        self._first_line = True
        self._after_cr = False
        self._tail: list[bytes] = []
        self._tail_size = 0
        self._data: list[bytes] = []
        self._event = b""
        self._retry: int | None = None
        self._size = 0
        self._stray: list[bytes] = []
        self._stray_size = 0
        self._failure: ModelStreamError | None = None

    @property
    def stray(self) -> str:
        """The lines so far that are no field of an event, in order; at most as many bytes as an event may hold."""
        return b"\n".join(self._stray).decode("utf-8", "replace")

    def feed(self, chunk: bytes) -> list[ServerSentEvent]:
        """Take the next bytes and return the events that they complete.

        Raises:
            ModelStreamError: an event is larger than the limit; the events before it have been returned.
        """
        if self._failure is not None:
            raise self._failure
        if (data := self._only_data(chunk)) is not None:
            return [self._event_of(data)]
        if self._after_cr and chunk:
            self._after_cr = False
            if chunk.startswith(b"\n"):
                chunk = chunk[1:]
        if not chunk:
            return []
        lines = chunk.splitlines()  # of bytes: at LF, CRLF and CR only
        tail = b""
        if chunk[-1] in _LINE_ENDS:
            self._after_cr = chunk[-1] == _LINE_ENDS[0]
        else:
            tail = lines.pop()
        events: list[ServerSentEvent] = []
        try:
            if lines and self._tail:
                lines[0] = self._take_tail(lines[0])
            for line in lines:
                if line:
                    self._field(line)
                elif self._data:
                    events.append(self._dispatch(terminated=True))
                else:
                    self._reset()
            if tail:
                self._tail.append(tail)
                self._tail_size += len(tail)
                self._check_size(self._tail_size)
        except ModelStreamError as error:
            self._failure = error
            if not events:
                raise
        return events

    def flush(self) -> list[ServerSentEvent]:
        """Say that the stream has ended, and return the last event if its final blank line, or line end, is missing.

        Raises:
            ModelStreamError: an event was larger than the limit.
        """
        if self._failure is not None:
            raise self._failure
        if self._tail:
            self._field(self._take_tail(b""))
        return [self._dispatch(terminated=False)] if self._data else []

    def _only_data(self, chunk: bytes) -> bytes | None:
        """Return the data of a chunk that is one event of one line; None for any other.

        It saves half the parsing: most servers send each event so, in a chunk of its own.
        """
        if not (chunk.startswith(b"data: ") and chunk.endswith(b"\n\n")) or self._size or self._tail or self._after_cr:
            return None
        data = chunk[6:-2]
        if data.find(b"\n") >= 0 or data.find(b"\r") >= 0 or len(chunk) > self._limit:
            return None
        self._first_line = False
        return data

    def _take_tail(self, rest: bytes) -> bytes:
        line = b"".join((*self._tail, rest))
        self._tail.clear()
        self._tail_size = 0
        return line

    def _field(self, line: bytes) -> None:
        self._check_size(len(line))
        if self._first_line:
            self._first_line = False
            line = line.removeprefix(_BOM)
        name, _, value = line.partition(b":")
        value = value.removeprefix(b" ")
        if name == b"data":
            self._data.append(value)
        elif name == b"event":
            self._event = value
        elif name == b"id":
            if b"\0" not in value:
                self.last_event_id = value.decode("utf-8", "replace")
        elif name == b"retry":
            if value.isdigit() and len(value) <= _MAX_RETRY_DIGITS:
                self.retry = self._retry = int(value)
        else:
            if name:
                self._keep_stray(line)
            return
        self._size += len(line)

    def _dispatch(self, *, terminated: bool) -> ServerSentEvent:
        event = self._event_of(self._data[0] if len(self._data) == 1 else b"\n".join(self._data), terminated)
        self._reset()
        return event

    def _event_of(self, data: bytes, terminated: bool = True) -> ServerSentEvent:
        text = data.decode("utf-8", "replace")
        name = self._event.decode("utf-8", "replace") if self._event else "message"
        # A call of the class would run Python code, which takes as long as the rest.
        return _new_tuple(ServerSentEvent, (text, name, self.last_event_id, self._retry, terminated))

    def _reset(self) -> None:
        self._first_line = False
        self._data.clear()
        self._event = b""
        self._retry = None
        self._size = 0

    def _keep_stray(self, line: bytes) -> None:
        self._stray_size += len(line)
        if self._stray_size <= self._limit:
            self._stray.append(line)

    def _check_size(self, more: int) -> None:
        if self._size + more > self._limit:
            raise ModelStreamError(
                f"one event of the stream is larger than the limit of {self._limit} bytes; "
                "check that the URL is that of an event stream"
            )
