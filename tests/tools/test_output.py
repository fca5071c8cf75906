from __future__ import annotations

import base64
import enum
from collections import OrderedDict
from dataclasses import dataclass
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import PurePosixPath
from typing import Any, NamedTuple

import pytest
from pydantic import BaseModel

from agentscope_rx.message import (
    AssistantMessage,
    AudioBlock,
    Base64Source,
    DataBlock,
    ImageBlock,
    TextBlock,
    ThinkingBlock,
    ToolResultBlock,
    ToolResultState,
    URLSource,
)
from agentscope_rx.tools import ToolData, ToolEnd, ToolStop, ToolText
from agentscope_rx.tools.output import chunks_of


class Point(BaseModel):
    x: int
    name: str = "é"


@dataclass
class Pair:
    left: int
    right: Point


class Named(NamedTuple):
    a: int


class Colour(enum.Enum):
    RED = "red"


class StrColour(str, enum.Enum):  # noqa: UP042 - str() of it is not its value
    RED = "red"


class Opaque:
    def __repr__(self) -> str:
        return "Opaque()"

    def __str__(self) -> str:
        return "opaque"


PNG = Base64Source(media_type="image/png", data=base64.b64encode(b"png").decode())

TEXT_TABLE = [
    (None, ""),
    ("", ""),
    ("plain", "plain"),
    ('quoted "é"', 'quoted "é"'),
    (True, "true"),
    (3, "3"),
    (0, "0"),
    (2.5, "2.5"),
    ({}, "{}"),
    ([], "[]"),
    ((), "[]"),
    ({"a": None, "ü": [1, "x"]}, '{"a": null, "ü": [1, "x"]}'),
    (["a", "b"], '["a", "b"]'),
    ([None], "[null]"),
    (OrderedDict(b=1, a=2), '{"b": 1, "a": 2}'),
    (Point(x=1), '{"x": 1, "name": "é"}'),
    ([Point(x=1)], '[{"x": 1, "name": "é"}]'),
    (Pair(1, Point(x=2)), '{"left": 1, "right": {"x": 2, "name": "é"}}'),
    (Named(1), "[1]"),
    ({1}, "[1]"),
    (Colour.RED, "red"),
    (StrColour.RED, "red"),
    (date(2024, 5, 6), "2024-05-06"),
    (Decimal("1.10"), "1.10"),
    (PurePosixPath("/tmp/x"), "/tmp/x"),
    (Opaque(), "opaque"),
    ({"o": Opaque()}, '{"o": "opaque"}'),
    ({"b": b"\xff"}, '{"b": "_w=="}'),
    (TextBlock("t"), "t"),
    (TextBlock(""), ""),
    ([TextBlock("a"), "b", TextBlock("c")], "abc"),
    ([TextBlock("a"), 1], '[{"type": "text", "text": "a", "id": null, "metadata": null}, 1]'),
    ({"\udcff": "\udcff"}, '{"\ufffd": "\ufffd"}'),
    (
        AssistantMessage(
            "bot", [ThinkingBlock("hm"), TextBlock("said")], id="m", timestamp=datetime(2024, 5, 6, tzinfo=UTC)
        ),
        "said",
    ),
]


@pytest.mark.parametrize(("output", "text"), TEXT_TABLE, ids=ascii)
def test_text(output: Any, text: str):
    chunks = list(chunks_of(output))
    assert all(isinstance(chunk, ToolText) and chunk.text and not chunk.progress for chunk in chunks)
    assert "".join(chunk.text for chunk in chunks) == text
    assert all(type(chunk.text) is str or chunk.text is output for chunk in chunks)


def test_data_is_passed_on_unchanged():
    image = DataBlock(source=PNG, id="d1")
    link = DataBlock(source=URLSource(url="http://x/y", media_type="image/gif"), id="d2")
    unknown = DataBlock(source=URLSource(url="http://x/z"), id="d3")
    assert list(chunks_of([image, "caption", link, unknown])) == [
        ToolData("d1", "image/png", data=PNG.data),
        ToolText("caption"),
        ToolData("d2", "image/gif", url="http://x/y"),
        ToolData("d3", "application/octet-stream", url="http://x/z"),
    ]


@pytest.mark.parametrize("block", [ImageBlock(source=PNG), AudioBlock(source=PNG)])
def test_legacy_media(block: ImageBlock | AudioBlock):
    (chunk,) = chunks_of(block)
    assert isinstance(chunk, ToolData)
    assert (chunk.media_type, chunk.data) == ("image/png", PNG.data)


def test_a_result_block_gives_its_output_state_and_metadata():
    result = ToolResultBlock(
        id="other",
        name="other",
        output=(TextBlock("no"), DataBlock(source=PNG, id="d")),
        state=ToolResultState.DENIED,
        metadata={"k": 1},
    )
    assert list(chunks_of(result)) == [
        ToolText("no"),
        ToolData("d", "image/png", data=PNG.data),
        ToolEnd(ToolResultState.DENIED, {"k": 1}),
    ]


@pytest.mark.parametrize("chunk", [ToolText("a", progress=True), ToolData("b", "x/y", url="u"), ToolStop("why")])
def test_chunks_are_chunks(chunk: Any):
    assert list(chunks_of(chunk)) == [chunk]


@pytest.mark.parametrize("output", [b"x", bytearray(b"x"), memoryview(b"x")])
def test_bytes_say_no_media_type(output: Any):
    with pytest.raises(TypeError, match="media type; expected text, or a DataBlock"):
        list(chunks_of(output))


def test_what_refers_to_itself_is_an_error():
    loop: list[Any] = []
    loop.append(loop)
    with pytest.raises(ValueError, match="Circular"):
        list(chunks_of(loop))
