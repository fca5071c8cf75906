from __future__ import annotations

import json
import logging
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, strategies as st

from agentscope_rx.model.tool_calls import RawCall, ToolCallJoiner
from tests.counting import calls_of

Call = tuple[str | None, str, str]
"""id, name, arguments"""


def C(arguments: Any = None, *, index: int | None = None, id: str | None = None, name: str | None = None) -> RawCall:
    return RawCall(index, id, name, arguments)


def join(*frames: RawCall | list[RawCall]) -> list[Call]:
    """The calls that the frames add up to, in the order in which they begin; checks what every piece must keep to."""
    joiner = ToolCallJoiner()
    ids: dict[int | str, str | None] = {}
    names: dict[int | str, str] = {}
    arguments: dict[int | str, list[str]] = {}
    for frame in frames:
        for piece in joiner.join(frame if isinstance(frame, list) else [frame]):
            assert (piece.name is not None) == (piece.key not in names), "the first piece has the name, no other has"
            assert piece.name is not None or piece.id is not None or piece.arguments, "no piece is empty"
            if piece.name is not None:
                names[piece.key] = piece.name
            if piece.id is not None:
                assert ids.get(piece.key) is None, "an id is told once"
                ids[piece.key] = piece.id
            arguments.setdefault(piece.key, []).append(piece.arguments)
    joiner.close()
    assert joiner.has_calls == bool(names)
    return [(ids.get(key), name, "".join(arguments[key])) for key, name in names.items()]


def test_b4_38_every_call_has_index_0() -> None:
    whole = [C(json.dumps({"n": n}), index=0, id=f"c{n}", name="f") for n in range(3)]
    expected = [(f"c{n}", "f", json.dumps({"n": n})) for n in range(3)]
    assert join(*whole) == expected
    assert join(whole) == expected


def test_b4_38_every_call_has_index_0_and_comes_in_pieces() -> None:
    assert join(
        C("", index=0, id="a", name="f"),
        C('{"x"', index=0),
        C(":1}", index=0),
        C("", index=0, id="b", name="f"),
        C('{"x"', index=0),
        C(":2}", index=0),
    ) == [("a", "f", '{"x":1}'), ("b", "f", '{"x":2}')]


def test_b4_39_index_missing() -> None:
    assert join(C("", id="a", name="f"), C('{"x"'), C(":1}"), C("", id="b", name="g"), C('{"y"'), C(":2}")) == [
        ("a", "f", '{"x":1}'),
        ("b", "g", '{"y":2}'),
    ]


def test_b4_40_the_id_comes_once() -> None:
    tails = [C(text, index=0) for text in ("{", '"q"', ":", '"x"', "}")]
    assert join(C("", index=0, id="a", name="f"), *tails) == [("a", "f", '{"q":"x"}')]


def test_b4_41_index_but_never_an_id() -> None:
    assert join(C("", index=0, name="f"), C('{"a"', index=0), C(":1}", index=0)) == [(None, "f", '{"a":1}')]


def test_b4_41_two_calls_with_index_but_never_an_id_keep_stable_keys() -> None:
    joiner = ToolCallJoiner()
    frames = [C("", index=0, name="f"), C("{", index=0), C("", index=1, name="f"), C("{}", index=1), C("}", index=0)]
    keys = [piece.key for frame in frames for piece in joiner.join([frame])]
    assert keys == [0, 0, 1, 1, 0]


@pytest.mark.parametrize("nothing", ["", None])
def test_b4_42_empty_ids_and_names_are_none(nothing: str | None) -> None:
    assert join(
        C("", index=0, id="a", name="f"),
        C('{"x"', index=0, id=nothing, name=nothing),
        C(":1}", index=0, id=nothing, name=nothing),
    ) == [("a", "f", '{"x":1}')]


@pytest.mark.parametrize("index", [0, None])
def test_b4_43_id_and_name_on_every_chunk(index: int | None) -> None:
    chunks = [C(text, index=index, id="a", name="get_weather") for text in ("", "{", '"city"', ':"Paris"', "}", "")]
    assert join(*chunks) == [("a", "get_weather", '{"city":"Paris"}')]


def test_b4_43_the_name_on_every_chunk_but_no_id() -> None:
    chunks = [C(text, index=0, name="f") for text in ("", "{", '"city"', ':"Paris"', "}", "")]
    assert join(*chunks) == [(None, "f", '{"city":"Paris"}')]


def test_b4_44_first_index_is_1_then_3() -> None:
    assert join(
        C("", index=1, id="a", name="f"), C("{}", index=1), C("", index=3, id="b", name="g"), C("{}", index=3)
    ) == [("a", "f", "{}"), ("b", "g", "{}")]


def test_b4_46_tails_with_an_unknown_index_join_the_open_call(caplog: pytest.LogCaptureFixture) -> None:
    assert join(C("", index=0, id="a", name="f"), C('{"x"', index=7), C(":1}", index=7)) == [("a", "f", '{"x":1}')]
    assert caplog.records == []


@pytest.mark.parametrize("index", [5, None])
def test_b4_46_tails_with_no_open_call_are_ignored_with_a_warning(
    index: int | None, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING):
        assert join(C('{"secret"', index=index), C(":1}", index=index)) == []
    assert caplog.records
    assert "secret" not in caplog.text


def test_b4_46_a_stray_tail_does_not_spoil_the_call_after_it() -> None:
    assert join(C("stray"), C("", id="a", name="f"), C("{}")) == [("a", "f", "{}")]


@pytest.mark.parametrize("blank", ["", " ", "\n", None])
def test_b4_47_blank_arguments(blank: str | None) -> None:
    [(_, name, arguments)] = join(C(blank, index=0, id="a", name="f"))
    assert (name, arguments.strip()) == ("f", "")


@pytest.mark.parametrize(
    "frames",
    [
        [C('{"x"', index=0, id="a"), C(":1", index=0), C("}", index=0, name="f")],
        [C('{"x"', id="a"), C(":1}"), C(name="f")],
        [C('{"x"', index=0), C(":1}", index=0), C(index=0, id="a", name="f")],
        [C('{"x":1}', index=0), C(index=0, id="a"), C(index=0, name="f")],
    ],
)
def test_b4_48_arguments_before_the_name(frames: list[RawCall]) -> None:
    assert join(*frames) == [("a", "f", '{"x":1}')]


def test_b4_50_several_calls_in_one_message_without_index() -> None:
    assert join([C({"city": "Rome"}, name="w"), C({"city": "Zürich"}, name="w")]) == [
        (None, "w", '{"city": "Rome"}'),
        (None, "w", '{"city": "Zürich"}'),
    ]


@pytest.mark.parametrize("arguments", [{"n": 6}, {}, '{"n":6}', "{}", ""])
def test_b4_50_equal_calls_in_one_message_are_two(arguments: Any) -> None:
    assert len(join([C(arguments, name="roll"), C(arguments, name="roll")])) == 2


def test_b4_50_whole_calls_in_messages_of_their_own() -> None:
    assert len(join(C({"n": 6}, name="roll"), C({"n": 6}, name="roll"))) == 2
    assert len(join(C('{"n":6}', name="roll"), C('{"n":7}', name="roll"))) == 2
    assert len(join(C('{"n":6}', name="roll", index=0), C('{"n":7}', name="roll", index=0))) == 2


@pytest.mark.parametrize("again", ['{"a":1}', '{"a": 1}', '{ "a" : 1 }', {"a": 1}])
@pytest.mark.parametrize("tie", [{"index": 0}, {"id": "c"}, {"index": 0, "id": "c"}, {}])
def test_b2_19_the_full_arguments_repeated_after_the_deltas(again: Any, tie: dict[str, Any]) -> None:
    assert join(C("", index=0, id="c", name="f"), C('{"a"', index=0), C(":1}", index=0), C(again, **tie)) == [
        ("c", "f", '{"a":1}')
    ]


def test_b2_19_the_full_arguments_repeated_with_id_and_name() -> None:
    assert join(
        C("", index=0, id="c", name="f"), C('{"a"', index=0), C(":1}", index=0), C('{"a":1}', index=0, id="c", name="f")
    ) == [("c", "f", '{"a":1}')]


def test_true_repeats_inside_arguments_stay() -> None:
    pieces = ['{"a":"', "ha", "ha", '"', ',"b":{', "}", ',"c":', "{", "}", "}"]
    assert join(C("", index=0, id="c", name="f"), *(C(text, index=0) for text in pieces)) == [
        ("c", "f", '{"a":"haha","b":{},"c":{}}')
    ]


def test_pieces_of_two_calls_interleave() -> None:
    heads = [C("", index=0, id="a", name="f"), C("", index=1, id="b", name="g")]
    tails = [C('{"x"', index=0), C('{"y"', index=1), C(":1}", index=0), C(":2}", index=1)]
    expected = [("a", "f", '{"x":1}'), ("b", "g", '{"y":2}')]
    assert join(*heads, *tails) == expected
    assert join(heads, tails[:2], tails[2:]) == expected


def test_an_id_that_comes_late_is_told_once() -> None:
    assert join(C("", index=0, name="f"), C("{", index=0, id="a"), C("}", index=0, id="a")) == [("a", "f", "{}")]


def test_one_id_for_calls_of_one_tool_is_told_apart_by_index() -> None:
    assert join(
        C("", index=0, id="roll", name="roll"), C('{"n":1}', index=0), C("", index=1, id="roll", name="roll"),
        C('{"n":2', index=1, id="roll"), C("}", index=1, id="roll"),
    ) == [("roll", "roll", '{"n":1}'), ("roll", "roll", '{"n":2}')]  # fmt: skip


def test_brackets_in_strings_do_not_end_arguments() -> None:
    code = json.dumps({"code": 'if (x) { return "}{"; } \\" {'})
    for size in range(1, 6):
        pieces = [code[i : i + size] for i in range(0, len(code), size)]
        assert join(C("", index=0, id="a", name="f"), *(C(piece, index=0) for piece in pieces)) == [("a", "f", code)]
        assert join(C("", id="a", name="f"), *(C(piece, index=9) for piece in pieces)) == [("a", "f", code)]


Style = Callable[[RawCall, bool], RawCall]


def bare(call: RawCall, head: bool) -> RawCall:
    return call if head else replace(call, id=None, name=None)


STYLES: dict[str, Style] = {
    "id and name once": bare,
    "id and name on every piece": lambda call, head: call,
    "empty strings": lambda call, head: call if head else replace(call, id="", name=""),
    "no index": lambda call, head: replace(bare(call, head), index=None),
    "no index, id on every piece": lambda call, head: replace(call, index=None, name=call.name if head else None),
    "index 0 for all": lambda call, head: replace(bare(call, head), index=0),
    "gaps in the index": lambda call, head: replace(bare(call, head), index=3 * (call.index or 0) + 2),
}


@given(
    style=st.sampled_from(sorted(STYLES)),
    arguments=st.lists(
        st.dictionaries(
            st.text(max_size=4), st.text(max_size=6) | st.integers() | st.dictionaries(st.text(), st.none())
        ),
        min_size=1,
        max_size=4,
    ),
    size=st.integers(1, 7),
    frame=st.integers(1, 4),
)
def test_every_style_of_identifying_calls_gives_the_same_calls(
    style: str, arguments: list[dict[str, Any]], size: int, frame: int
) -> None:
    expected, raws = [], []
    for index, value in enumerate(arguments):
        text = json.dumps(value)
        expected.append((f"call_{index}", f"tool{index % 2}", text))
        pieces = ["", *(text[i : i + size] for i in range(0, len(text), size))]
        for number, piece in enumerate(pieces):
            raw = RawCall(index, f"call_{index}", f"tool{index % 2}", piece)
            raws.append(STYLES[style](raw, number == 0))
    frames = [raws[i : i + frame] for i in range(0, len(raws), frame)]
    assert join(*frames) == expected


def test_each_small_piece_of_arguments_more_is_the_same_work_more() -> None:
    def joined(pieces: int) -> None:
        joiner = ToolCallJoiner()
        joiner.join([C('{"x":[', index=0, id="a", name="f")])
        for _ in range(pieces):
            joiner.join([C('{"a":"}{"},{"b":', index=0)])

    one, two, four = (calls_of(joined, pieces) for pieces in (250, 500, 1_000))
    assert four - two == 2 * (two - one)
