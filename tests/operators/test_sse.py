"""`encode_sse` and `decode_sse`: a stream as bytes and back, however the bytes are cut."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import pytest
import reactivex as rx
from hypothesis import given, strategies as st
from reactivex import operators as ops

from agentscope_rx.errors import ConfigurationError, LocalProtocolError, RemoteProtocolError
from agentscope_rx.event import AgentEvent, CustomEvent, encode
from agentscope_rx.operators import decode_sse, encode_sse, to_message
from agentscope_rx.testing import assert_valid_stream

from ..strategies import streams
from .contract import OperatorContract
from .script import answer

EVENTS = answer("Hello")


def written(events: Sequence[AgentEvent], *args: Any, **options: Any) -> bytes:
    return b"".join(rx.from_iterable(list(events)).pipe(encode_sse(*args, **options), ops.to_list()).run())


def read(body: bytes, *args: Any, size: int = 7) -> list[AgentEvent]:
    pieces = [body[at : at + size] for at in range(0, len(body), size)]
    return list(rx.from_iterable(pieces).pipe(decode_sse(*args), ops.to_list()).run())


class TestEncodeContract(OperatorContract):
    operator: ClassVar = staticmethod(encode_sse)
    events: ClassVar = EVENTS
    expected: ClassVar = [
        (index, f"id: {event.seq}\ndata: {encode(event)}\n\n".encode()) for index, event in enumerate(EVENTS, 1)
    ]


class TestDecodeContract(OperatorContract):
    operator: ClassVar = staticmethod(decode_sse)
    events: ClassVar = [f"data: {encode(event)}\n\n".encode() for event in EVENTS]
    expected: ClassVar = list(enumerate(EVENTS, 1))


@given(streams(), st.integers(1, 40))
def test_a_native_stream_comes_back_as_it_was(stream: list[AgentEvent], size: int) -> None:
    assert read(written(stream), size=size) == stream


@pytest.mark.parametrize("dialect", ["java", "python"])
@given(stream=streams(pauses=False, children=0))
def test_a_foreign_stream_comes_back_lawful(dialect: Any, stream: list[AgentEvent]) -> None:
    back = read(written(stream, dialect), dialect, size=4096)
    assert_valid_stream(back)


@pytest.mark.parametrize("dialect", ["java", "python"])
def test_the_message_survives_another_dialect(dialect: Any) -> None:
    back = rx.from_iterable(read(written(EVENTS, dialect), dialect)).pipe(to_message()).run()
    assert back.get_text_content() == "Hello"


def test_what_a_stream_left_open_is_closed_before_its_end_and_before_its_error() -> None:
    cut = written(EVENTS[:5], "java")
    assert_valid_stream(read(cut, "java"))
    got: list[Any] = []
    rx.concat(rx.of(cut), rx.throw(ConnectionError("gone"))).pipe(decode_sse("java")).subscribe(got.append, got.append)
    assert_valid_stream(got[:-1])
    assert isinstance(got[-1], ConnectionError)


def test_keep_alives_comments_and_line_ends_do_not_matter() -> None:
    body = b": ping\r\n\r\n" + written(EVENTS).replace(b"\n", b"\r\n") + b"\r\n: ping\r\n\r\ndata\r\n\r\n"
    assert read(body, size=1) == EVENTS


def test_cursors_are_the_servers_to_give() -> None:
    body = written(EVENTS[:2], cursor=lambda event: f"log-{event.seq}" if event.seq == 2 else None)
    assert body.startswith(b"data: ")
    assert b"\n\nid: log-2\ndata: " in body


def test_a_frame_that_is_no_event_is_an_error_after_the_events_before_it() -> None:
    got: list[Any] = []
    body = written(EVENTS[:2]) + b"data: {nope\n\n" + written(EVENTS[2:])
    rx.of(body).pipe(decode_sse()).subscribe(got.append, got.append)
    assert got[:-1] == EVENTS[:2]
    assert isinstance(got[-1], RemoteProtocolError)


def test_an_event_that_json_cannot_hold_is_an_error() -> None:
    got: list[Any] = []
    rx.of(CustomEvent(name="x", value={"a": object()})).pipe(encode_sse()).subscribe(got.append, got.append)
    assert isinstance(got[-1], LocalProtocolError)


@pytest.mark.parametrize("operator", [encode_sse, decode_sse])
def test_an_unknown_dialect_is_refused_at_once(operator: Any) -> None:
    with pytest.raises(ConfigurationError):
        operator("klingon")
