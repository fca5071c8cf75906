from __future__ import annotations

import re

import pytest
from hypothesis import given, strategies as st

from agentscope_rx.errors import ModelStreamError
from agentscope_rx.stream import ServerSentEvent, SSEParser

from ..feeding import at_random, byte_by_byte, every_way, whole


def parse(pieces: list[bytes], **settings: int) -> list[ServerSentEvent]:
    parser = SSEParser(**settings)
    return [event for piece in pieces for event in parser.feed(piece)] + parser.flush()


def read_until_error(parser: SSEParser, pieces: list[bytes]) -> tuple[list[ServerSentEvent], ModelStreamError | None]:
    events: list[ServerSentEvent] = []
    try:
        for piece in pieces:
            events += parser.feed(piece)
        events += parser.flush()
    except ModelStreamError as error:
        return events, error
    return events, None


def E(data: str, event: str = "message", id: str = "", retry: int | None = None, cut: bool = False) -> ServerSentEvent:
    return ServerSentEvent(data, event, id, retry, terminated=not cut)


STREAMS: dict[str, tuple[bytes, list[ServerSentEvent]]] = {
    "one event": (b"data: hello\n\n", [E("hello")]),
    "lf": (b"data: a\n\ndata: b\n\n", [E("a"), E("b")]),
    "crlf": (b"data: a\r\n\r\ndata: b\r\n\r\n", [E("a"), E("b")]),
    "cr": (b"data: a\r\rdata: b\r\r", [E("a"), E("b")]),
    "mixed line ends": (b"data: a\r\n\ndata: b\n\r\ndata: c\r\r\n", [E("a"), E("b"), E("c")]),
    "lf then cr is two line ends": (b"data: a\n\rdata: b\n\n", [E("a"), E("b")]),
    "bom": (b"\xef\xbb\xbfdata: a\n\n", [E("a")]),
    "bom only at the start": (b"data: a\n\n\xef\xbb\xbfdata: b\n\n", [E("a")]),
    "bom not after a first blank line": (b"\n\xef\xbb\xbfdata: b\n\n", []),
    "bom and nothing else on the line": (b"\xef\xbb\xbf\ndata: b\n\n", [E("b")]),
    "one bom only": (b"\xef\xbb\xbf\xef\xbb\xbfdata: b\n\n", []),
    "comments": (b": PING\n:\n:data: x\ndata: a\n: more\n\n: end\n\n", [E("a")]),
    "multi-line data": (b"data: a\ndata: b\ndata:\ndata:  c\n\n", [E("a\nb\n\n c")]),
    "one leading space goes": (b"data:a\n\ndata:  b \n\ndata:\tc\n\n", [E("a"), E(" b "), E("\tc")]),
    "colons in the value": (b"data: a:b: c\n\n", [E("a:b: c")]),
    "no colon": (b"data\n\ndata\ndata\n\n", [E(""), E("\n")]),
    "event type": (b"event: ping\ndata: a\n\ndata: b\n\n", [E("a", "ping"), E("b")]),
    "last event type counts": (b"event: x\nevent: y\ndata: a\n\nevent: z\nevent\ndata: b\n\n", [E("a", "y"), E("b")]),
    "a type without data is no event": (b"event: ping\n\ndata: a\n\n", [E("a")]),
    "id persists": (
        b"id: 7\ndata: a\n\ndata: b\n\nid: 8\n\ndata: c\n\n",
        [E("a", id="7"), E("b", id="7"), E("c", id="8")],
    ),
    "empty id resets": (b"id: 7\ndata: a\n\nid\ndata: b\n\n", [E("a", id="7"), E("b")]),
    "id with nul is ignored": (b"id: 7\ndata: a\n\nid: 8\x009\ndata: b\n\n", [E("a", id="7"), E("b", id="7")]),
    "retry": (b"retry: 1500\ndata: a\n\ndata: b\n\n", [E("a", retry=1500), E("b")]),
    "retry is digits only": (
        b"retry: 1.5\nretry: -1\nretry: x\nretry:\nretry: 12 \nretry: " + "١٢".encode() + b"\ndata: a\n\n",
        [E("a")],
    ),
    "an endless retry": (b"retry: " + b"9" * 5000 + b"\ndata: a\n\n", [E("a")]),
    "names are exact": (b"Data: a\n data: b\ndata : c\ndatax: d\n\n", []),
    "unknown fields": (b"foo: bar\n{\ndata: a\n\n", [E("a")]),
    "blank lines": (b"\n\n\r\n\rdata: a\n\n\n\n", [E("a")]),
    "characters that only look like line ends": (
        "data: a\u2028b\u2029c\u0085d\x0be\x0cf\x1cg\n\n".encode(),
        [E("a\u2028b\u2029c\u0085d\x0be\x0cf\x1cg")],
    ),
    "utf-8": ("data: 你🌍é\nevent: ñ\nid: ü\n\n".encode(), [E("你🌍é", "ñ", "ü")]),
    "bytes that are no utf-8": (b"data: a\xff\xe4\xbdb\xf0\x9f\x8c\n\n", [E("a\ufffd\ufffdb\ufffd")]),
    "no blank line at the end": (b"data: a\n\ndata: [DONE]\n", [E("a"), E("[DONE]", cut=True)]),
    "no line end at the end": (b"data: a\n\ndata: [DONE]", [E("a"), E("[DONE]", cut=True)]),
    "cr at the very end": (b"data: a\r", [E("a", cut=True)]),
    "cut in the middle of a line": (b'data: a\n\ndata: {"x', [E("a"), E('{"x', cut=True)]),
    "cut in a field name": (b"data: a\n\ndat", [E("a")]),
    "nothing": (b"", []),
    "only comments": (b": a\n\n: b\n\n", []),
    "html": (b"<!DOCTYPE html>\n<html>\n\n</html>\n", []),
}


@pytest.mark.parametrize("name", STREAMS)
def test_every_rule_at_every_cut(name: str) -> None:
    data, expected = STREAMS[name]
    for pieces in every_way(data):
        assert parse(pieces) == expected, pieces


def reference(text: str) -> tuple[list[tuple[str, str, str]], str, int | None]:
    """The rules of the standard, word by word, on a whole text; an unfinished last event is thrown away."""
    events: list[tuple[str, str, str]] = []
    data, event, last_id, retry = "", "", "", None
    lines = re.split("\r\n|\n|\r", text.removeprefix("\ufeff"))
    for line in lines[:-1]:
        if line == "":
            if data != "":
                events.append((data[:-1], event or "message", last_id))
            data, event = "", ""
            continue
        if line.startswith(":"):
            continue
        name, _, value = line.partition(":")
        value = value[1:] if value.startswith(" ") else value
        if name == "event":
            event = value
        elif name == "data":
            data += value + "\n"
        elif name == "id" and "\0" not in value:
            last_id = value
        elif name == "retry" and re.fullmatch("[0-9]+", value):
            retry = int(value)
    return events, last_id, retry


FRAGMENTS = [
    "data",
    "data:",
    "data: ",
    "event",
    "event: x",
    "id: 1",
    "id",
    "retry: 5",
    ":",
    " ",
    "\n",
    "\n\n",
    "\r",
    "\r\n",
]
FRAGMENTS += ["\ufeff", "é", "🌍", "\u2028", "\0", "x", "{", "retry: x"]


@given(st.lists(st.sampled_from(FRAGMENTS), max_size=30), st.integers(0, 1000))
def test_it_agrees_with_the_words_of_the_standard(fragments: list[str], seed: int) -> None:
    text = "".join(fragments)
    events, last_id, retry = reference(text)
    for pieces in (whole(text.encode()), byte_by_byte(text.encode()), at_random(text.encode(), seed, mean=3)):
        parser = SSEParser()
        got = [event for piece in pieces for event in parser.feed(piece)]
        assert [(event.data, event.event, event.id) for event in got] == events
        assert all(event.terminated for event in got)
        complete_id, complete_retry = parser.last_event_id, parser.retry
        assert (complete_id, complete_retry) == (last_id, retry)


def test_b6_61_unicode_line_separators_do_not_split_an_event() -> None:
    data = 'data: {"text":"a\u2028b\u2029c\u0085d"}\n\n'.encode()
    for pieces in every_way(data):
        assert [event.data for event in parse(pieces)] == ['{"text":"a\u2028b\u2029c\u0085d"}']


def test_b6_62_utf8_cut_between_chunks() -> None:
    data = "data: 你🌍\n\ndata: 🌍你\n\n".encode()
    for pieces in every_way(data):
        assert [event.data for event in parse(pieces)] == ["你🌍", "🌍你"]


def test_b6_64_crlf_events_come_as_they_arrive() -> None:
    parser = SSEParser()
    arrived = [len(parser.feed(b"data: %d\r\n\r\n" % number)) for number in range(3)]
    assert arrived == [1, 1, 1]
    parser = SSEParser()
    assert [len(parser.feed(byte)) for byte in byte_by_byte(b"data: a\r\n\r\n")].index(1) == len(b"data: a\r\n")


def test_b6_65_comments_and_lone_fields_are_no_events() -> None:
    data = b": PING\n\n:\n\nevent: x\n\nretry: x\n\n: OPENROUTER PROCESSING\n\n"
    for pieces in every_way(data):
        assert parse(pieces) == []


def test_an_event_is_out_as_soon_as_its_blank_line_is() -> None:
    parser = SSEParser()
    assert parser.feed(b"data: a\r\n\r") == [E("a")]
    assert parser.feed(b"\ndata: b\n") == []
    assert parser.feed(b"\n") == [E("b")]


@pytest.mark.parametrize("line_end", [b"\n", b"\r\n", b"\r"])
def test_an_event_over_the_limit_is_an_error_after_the_events_before_it(line_end: bytes) -> None:
    data = line_end.join([b"data: ok", b"", b"data: 0123", b"data: 0123456789", b"data: x", b"", b"data: late", b""])
    for pieces in every_way(data):
        parser = SSEParser(max_event_bytes=20)
        events, error = read_until_error(parser, pieces)
        assert events == [E("ok")], pieces
        assert "limit of 20 bytes" in str(error)
        with pytest.raises(ModelStreamError):
            parser.feed(b"data: again\n\n")


def test_an_event_in_a_chunk_of_its_own_is_no_exception_to_the_rules() -> None:
    event = b"data: b\n\n"
    for before, expected in {
        b"event: x\n": [E("b", "x")],
        b"id: 7\nretry: 5\n": [E("b", id="7", retry=5)],
        b"data: a\n": [E("a\nb")],
        b"data: a\r": [E("a\nb")],
        b"data: a\r\n\r": [E("a"), E("b")],
        b"data: a": [E("adata: b")],
        b"\xef\xbb\xbf": [E("b")],
    }.items():
        assert parse([before, event]) == expected, before
    assert parse([event, b"\xef\xbb\xbf" + event]) == [E("b")]
    assert parse([event, event], max_event_bytes=9) == [E("b"), E("b")]
    with pytest.raises(ModelStreamError, match="limit of 6 bytes"):
        parse([event], max_event_bytes=6)


def test_a_line_without_end_does_not_grow_without_end() -> None:
    with pytest.raises(ModelStreamError, match="1000 bytes"):
        parse([b"x"] * 2000, max_event_bytes=1000)


def test_stray_text_is_kept_in_order_and_only_so_much_of_it() -> None:
    data = b'{\n  "error": "x"\n}\ndata: a\n\nmore'
    for pieces in every_way(data):
        parser = SSEParser()
        for piece in pieces:
            parser.feed(piece)
        parser.flush()
        assert parser.stray == '{\n  "error": "x"\n}\nmore'
    parser = SSEParser(max_event_bytes=10)
    parser.feed(b"12345678\n90123\n" * 1000)
    assert parser.stray == "12345678"
