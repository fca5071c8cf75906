from __future__ import annotations

import pytest
from hypothesis import given, strategies as st

from agentscope_rx.model.dashscope.growth import Growth

from ...counting import steps_of


def shown(*texts: str) -> list[str]:
    growth = Growth()
    *before, last = texts
    return [*(growth.new("text", text, last=False) for text in before), growth.new("text", last, last=True)]


@pytest.mark.parametrize(
    ("texts", "new"),
    [
        (["根据", "根据当前"], ["根据", "当前"]),
        (["ha", "haha", "haha"], ["ha", "ha", ""]),
        (["", "a", "", "ab"], ["", "a", "", "b"]),
        (["abc", "ab", "abc", "abcd"], ["abc", "", "", "d"]),
        (["abc", "abc "], ["abc", " "]),
        (["Hello wrold", "Hello world!"], ["Hello wrold", "!"]),
        (["abc", "x"], ["abc", ""]),
        (["abc", "x", "wxyz!"], ["abc", "", "z!"]),
    ],
)
def test_b5_60_what_is_new_in_a_text_that_grows_shrinks_or_changes(texts: list[str], new: list[str]) -> None:
    assert shown(*texts) == new


@pytest.mark.parametrize("half", ["\ufffd", "\ud83c"])  # noqa: PT014 - they are different
def test_half_a_character_is_held_back_until_it_is_whole(half: str) -> None:
    assert shown("a" + half, "a🌍", "a🌍b") == ["a", "🌍", "b"]
    assert shown("a" + half, "a" + half) == ["a", "\ufffd"]


def test_texts_of_different_names_grow_apart() -> None:
    growth = Growth()
    assert [growth.new(name, text, last=False) for name, text in [("a", "x"), (0, "xy"), ("a", "xz"), (0, "xyz")]] == [
        "x",
        "xy",
        "z",
        "z",
    ]


@pytest.mark.parametrize(("texts", "warnings"), [(["ab", "abc"], 0), (["ab", "a", "x"], 1), (["a\ufffd", "a🌍"], 0)])
def test_that_a_text_was_changed_is_logged_once(
    texts: list[str], warnings: int, caplog: pytest.LogCaptureFixture
) -> None:
    shown(*texts)
    assert len(caplog.records) == warnings


@given(st.lists(st.text(st.characters(codec="utf-8"), max_size=5), min_size=1))
def test_the_pieces_of_a_text_that_grows_add_up_to_it(pieces: list[str]) -> None:
    texts = ["".join(pieces[: place + 1]) for place in range(len(pieces))]
    assert "".join(shown(*texts)) == texts[-1]


def test_l4_what_a_frame_costs_does_not_depend_on_how_many_came_before() -> None:
    def cost(frames: int) -> int:
        texts = ["x" * size for size in range(1, frames)]
        return steps_of(shown, *texts)

    assert cost(4000) <= 4.2 * cost(1000)
