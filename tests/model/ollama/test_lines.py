"""The framing: where the bytes are cut makes no difference, and a line is nothing but a line."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from agentscope_rx.errors import ModelStreamError
from agentscope_rx.model.ollama import LineParser
from agentscope_rx.stream import ServerSentEvent

from ...counting import steps_of
from ...feeding import at_random, byte_by_byte, every_way, whole


def parsed(*pieces: bytes) -> tuple[list[ServerSentEvent], str]:
    parser = LineParser()
    frames = [frame for piece in pieces for frame in parser.feed(piece)]
    return frames + parser.flush(), parser.stray


def frames(*texts: str, cut: str | None = None) -> list[ServerSentEvent]:
    last = [] if cut is None else [ServerSentEvent(cut, terminated=False)]
    return [*map(ServerSentEvent, texts), *last]


STREAM = '{"a":"你🌍"}\r\n\n{"b":"\u2028 \u2029 \x85 \x0b"}\n  \n{"c":1}'.encode()


def test_however_the_bytes_are_cut() -> None:
    expected = frames('{"a":"你🌍"}', '{"b":"\u2028 \u2029 \x85 \x0b"}', cut='{"c":1}'), ""
    for pieces in every_way(STREAM):
        assert parsed(*pieces) == expected


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (b"", frames()),
        (b"\n\n \n\r\n", frames()),
        (b"{}\n", frames("{}")),
        (b"{}", frames(cut="{}")),
        (b"{}\r\n", frames("{}")),
        (b'{}\n{"a', frames("{}", cut='{"a')),
        (b"\xef\xbb\xbf{}\n{}\n", frames("{}", "{}")),
        (b"  {}\n\t{} \n", frames("{}", "{}")),
        (b'{"\xff"}\n', frames('{"\ufffd"}')),
    ],
)
def test_lines(data: bytes, expected: list[ServerSentEvent]) -> None:
    assert parsed(data) == (expected, "")


def test_a_line_comes_as_soon_as_it_is_whole() -> None:
    parser = LineParser()
    assert parser.feed(b'{"a":1}') == []
    assert parser.feed(b"\n{") == frames('{"a":1}')
    assert parser.feed(b"}\n") == frames("{}")


def test_what_holds_no_object_is_kept_apart() -> None:
    assert parsed(b'<html>\n{"a":1}\n<p>\xc3\xa4', b"</p>") == (frames('{"a":1}'), "<html>\n<p>ä</p>")


def test_what_is_kept_apart_has_a_limit_too() -> None:
    parser = LineParser(max_line_bytes=4)
    for _ in range(3):
        parser.feed(b"xy\n")
    assert parser.stray == "xy\nxy"


@pytest.mark.parametrize("cut", [byte_by_byte, whole])
def test_a_line_has_a_limit_and_those_before_it_count(cut: Callable[[bytes], list[bytes]]) -> None:
    parser, got = LineParser(max_line_bytes=8), list[ServerSentEvent]()

    def read_all() -> None:
        for piece in cut(b'{"a":1}\n{"b":"' + b"x" * 20 + b'"}\n{}\n'):
            got.extend(parser.feed(piece))
        parser.flush()

    for _ in range(2):  # what has failed stays so
        with pytest.raises(ModelStreamError, match="larger than the limit of 8 bytes"):
            read_all()
    assert got == frames('{"a":1}')


def test_a_line_of_just_the_limit_is_none_too_many() -> None:
    parser = LineParser(max_line_bytes=7)
    assert parser.feed(b'{"a":1}\n' * 3) == frames(*['{"a":1}'] * 3)


def test_l4_one_long_line_costs_linear_time() -> None:
    def cost(size: int) -> int:
        pieces = at_random(b'{"a":"' + b"x" * size + b'"}\n', seed=1)
        return steps_of(lambda: parsed(*pieces))

    assert cost(40_000) <= 4.8 * cost(10_000)
