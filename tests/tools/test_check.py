from __future__ import annotations

import base64
from dataclasses import dataclass
from datetime import date
from typing import Any

import pytest

from agentscope_rx.errors import ToolError
from agentscope_rx.message import GenerateReason, ToolResultState
from agentscope_rx.tools import ToolData, ToolEnd, ToolStart, ToolStop, ToolSuspended, ToolText
from agentscope_rx.tools.check import ChunkCheck

BYTES = bytes(range(256))
DATA = base64.b64encode(BYTES).decode()


class Opaque:
    def __repr__(self) -> str:
        return "Opaque()"

    def __str__(self) -> str:
        return "opaque \udcff"


@dataclass
class MyText(ToolText):
    mine: int = 0


@pytest.mark.parametrize(
    "chunk",
    [
        ToolText("é 😀"),
        ToolText("p", progress=True),
        ToolData("d", "x/y", data=DATA),
        ToolData("d", "x/y", data=""),
        ToolData("d", "x/y", url="http://x/y", progress=True),
        ToolStop("why", GenerateReason.MODEL_STOP),
        ToolEnd(ToolResultState.DENIED, {"a": [1, None, 2.5, "é"]}),
        ToolEnd(ToolResultState.SUCCESS),
    ],
)
def test_what_is_right_passes_as_a_copy(chunk: Any):
    checked = ChunkCheck()(chunk)
    assert checked == chunk
    assert checked is not chunk


def test_a_kind_of_its_own_becomes_the_kind_it_is():
    assert type(ChunkCheck()(MyText("a", mine=1))) is ToolText


@pytest.mark.parametrize(
    ("chunk", "problem"),
    [
        (ToolText(123), "a ToolText with a value of type int as its text; expected a string"),
        (ToolData("d", "x/y"), "a ToolData with neither; expected exactly one of data and url"),
        (ToolData("d", "x/y", data=DATA, url="u"), "a ToolData with both; expected exactly one of data and url"),
        (ToolData("d", "x/y", data=b"AAAA"), "type bytes as its data; expected a string"),
        (ToolData("d", "x/y", data="AAA"), r"3 characters of data that are not base64 \(.*padding\)"),
        (ToolData("d", "x/y", data="AA*A"), "4 characters of data that are not base64"),
        (ToolData("d", "x/y", data="AAé="), "4 characters of data that are not base64"),
        (ToolData(None, "x/y", data="AAAA"), "type NoneType as its block_id"),
        (ToolData("d", None, url="u"), "type NoneType as its media_type"),
        (ToolData("d", "x/y", url=1), "type int as its url"),
        (ToolStop(1), "type int as its reason"),
        (ToolStop("x", "nope"), "a ToolStop with the generate_reason 'nope'; expected one of MODEL_STOP, TOOL_CALLS,"),
        (ToolEnd("foo"), "a ToolEnd with the state 'foo'; expected one of success, error, interrupted, denied"),
        (ToolEnd("success", ["a"]), "a ToolEnd with a value of type list as its metadata; expected a dict"),
        (ToolStart(), "cannot give a value of type ToolStart; expected ToolText, ToolData, ToolStop or ToolEnd"),
        (ToolSuspended("x"), "cannot give a value of type ToolSuspended"),
    ],
    ids=repr,
)
def test_what_no_event_can_be_made_of_is_refused(chunk: Any, problem: str):
    with pytest.raises(ToolError, match=problem):
        ChunkCheck()(chunk)


def test_names_of_states_and_reasons_will_do():
    check = ChunkCheck()
    end = check(ToolEnd("denied"))  # type: ignore[arg-type]
    stop = check(ToolStop("x", "MODEL_STOP"))  # type: ignore[arg-type]
    assert isinstance(end, ToolEnd)
    assert end.state is ToolResultState.DENIED
    assert isinstance(stop, ToolStop)
    assert stop.generate_reason is GenerateReason.MODEL_STOP


def test_base64_may_be_wrapped_as_in_mime():
    wrapped = base64.encodebytes(BYTES).decode()
    assert wrapped.count("\n") > 1
    for data in (wrapped, wrapped.replace("\n", "\r\n"), f" {DATA}\t"):
        assert ChunkCheck()(ToolData("d", "x/y", data=data)) == ToolData("d", "x/y", data=DATA)


def test_a_link_whose_id_another_link_has_gets_an_id_of_its_own():
    check = ChunkCheck()
    links = [check(ToolData("d", "x/y", url=url)) for url in ("one", "two", "three")]
    assert [link.url for link in links if isinstance(link, ToolData)] == ["one", "two", "three"]
    ids = [link.block_id for link in links if isinstance(link, ToolData)]
    assert ids[0] == "d"
    assert len(set(ids)) == 3


def test_pieces_of_bytes_share_their_id():
    check = ChunkCheck()
    piece = ToolData("d", "x/y", data="AAAA")
    assert [check(piece), check(piece)] == [piece, piece]


@pytest.mark.parametrize("link_first", [True, False])
def test_bytes_and_a_link_cannot_share_an_id(link_first: bool):
    check = ChunkCheck()
    pieces = [ToolData("d", "x/y", url="u"), ToolData("d", "x/y", data="AAAA")]
    first, second = pieces if link_first else reversed(pieces)
    check(first)
    for _ in range(2):
        with pytest.raises(ToolError, match="bytes and a link with one block id; expected an id for each"):
            check(second)
    assert check(ToolData("d", "x/y", data="AAAA", progress=True)), "progress is no part of the block"


def test_half_surrogate_pairs_become_replacement_characters():
    check = ChunkCheck()
    assert check(ToolText("name\udcff\udcfe.txt")) == ToolText("name\ufffd\ufffd.txt")
    assert check(ToolText("\ud83d\ude00 \ud83d")) == ToolText("😀 \ufffd")
    assert check(ToolStop("\udcff")) == ToolStop("\ufffd")
    assert check(ToolData("\udcff", "\udcff", url="\udcff")) == ToolData("\ufffd", "\ufffd", url="\ufffd")


@pytest.mark.parametrize(
    ("metadata", "json"),
    [
        ({"t": (1, (2,)), "s": {3}}, {"t": [1, [2]], "s": [3]}),
        ({1: 2, (1, 2): 3}, {"1": 2, "1,2": 3}),
        ({"d": date(2024, 5, 6), "b": b"\xff", "o": Opaque()}, {"d": "2024-05-06", "b": "_w==", "o": "opaque \ufffd"}),
        ({"n": float("nan"), "i": float("inf")}, {"n": None, "i": None}),
        (
            {"\udcff": ["\udcff"], "k": {"\udcff": ("\udcff",), (1, 2): 3}},
            {"\ufffd": ["\ufffd"], "k": {"\ufffd": ["\ufffd"], "1,2": 3}},
        ),
        ({}, {}),
        (None, None),
    ],
    ids=ascii,
)
def test_metadata_becomes_json(metadata: Any, json: Any):
    assert ChunkCheck()(ToolEnd(ToolResultState.SUCCESS, metadata)) == ToolEnd(ToolResultState.SUCCESS, json)


def test_metadata_that_refers_to_itself_is_an_error():
    metadata: dict[str, Any] = {}
    metadata["self"] = metadata
    with pytest.raises(ValueError, match="Circular"):
        ChunkCheck()(ToolEnd(ToolResultState.SUCCESS, metadata))
