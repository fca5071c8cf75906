"""`redact`: a pattern is never seen, wherever the deltas cut it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import Any, ClassVar

import pytest
import reactivex as rx
from hypothesis import given, strategies as st
from reactivex import operators as ops

from agentscope_rx.errors import ConfigurationError
from agentscope_rx.event import (
    METADATA_PROGRESS,
    AgentEvent,
    TextBlockDeltaEvent,
    ToolResultTextDeltaEvent,
    is_progress,
)
from agentscope_rx.operators import redact, to_message

from .contract import OperatorContract
from .script import answer, call, interleaved, numbered, result, start, text, thinking

SECRET = r"sk-[a-z0-9]{8}"
KEY = "sk-abcd1234"


def reply(*pieces: str) -> list[AgentEvent]:
    events = answer()
    return numbered([*events[:2], *text("t1", *pieces), *events[-2:]])


def shown(events: Iterable[AgentEvent], *args: Any, **options: Any) -> list[AgentEvent]:
    return list(rx.from_iterable(list(events)).pipe(redact(*args, **options), ops.to_list()).run())


def said(events: Iterable[AgentEvent], kind: str = "TEXT_BLOCK_DELTA") -> str:
    return "".join(event.delta for event in events if event.type == kind)  # type: ignore[union-attr]


class TestContract(OperatorContract):
    operator: ClassVar = staticmethod(lambda: redact("zzz", max_length=1))
    events: ClassVar = answer("Hi")[:2]
    expected: ClassVar = list(enumerate(events, 1))


@pytest.mark.parametrize("cut", range(len(KEY) + 1))
def test_b8_88_a_secret_split_at_every_position_is_never_visible(cut: int) -> None:
    out = shown(reply("key: " + KEY[:cut], KEY[cut:] + " ok"), SECRET)
    assert said(out) == "key: [redacted] ok"
    assert not any(part in said(out) for part in ("sk-", "abcd", "1234"))


@given(st.lists(st.integers(0, 60), max_size=8), st.integers(11, 40))
def test_the_joined_text_is_that_of_the_whole_however_it_is_cut(cuts: Sequence[int], max_length: int) -> None:
    whole = f"a {KEY} b {KEY}{KEY} sk-short sk- {KEY[:-1]}! end"
    at = sorted({0, *(cut for cut in cuts if cut < len(whole)), len(whole)})
    pieces = [whole[a:b] for a, b in pairwise(at)]
    out = shown(reply(*pieces), SECRET, max_length=max_length)
    assert said(out) == re.sub(SECRET, "[redacted]", whole)


def test_at_most_max_length_characters_are_held_back() -> None:
    out = shown(reply("x" * 100, "y" * 100), "zzz", max_length=10)
    assert [len(event.delta) for event in out if isinstance(event, TextBlockDeltaEvent)] == [90, 100, 10]


def test_what_is_held_back_comes_before_the_end_in_an_event_of_its_own() -> None:
    events = reply("abc", "def")
    out = shown(events, "zzz", max_length=2)
    assert [event.type for event in out[2:7]] == [
        "TEXT_BLOCK_START", "TEXT_BLOCK_DELTA", "TEXT_BLOCK_DELTA", "TEXT_BLOCK_DELTA", "TEXT_BLOCK_END",
    ]  # fmt: skip
    assert [event.seq for event in out[2:7]] == [3, 4, 5, None, 6]
    assert len({event.id for event in out}) == len(out)


def test_the_redacted_stream_folds_to_the_redacted_message() -> None:
    out = rx.from_iterable(reply("my ", KEY[:5], KEY[5:], "!")).pipe(redact(SECRET), to_message()).run()
    assert out.get_text_content() == "my [redacted]!"


def test_a_delta_with_nothing_to_show_is_left_out() -> None:
    out = shown(reply("a", "b", "c"), "zzz", max_length=5)
    assert [event.delta for event in out if isinstance(event, TextBlockDeltaEvent)] == ["abc"]


def test_thinking_calls_and_results_too_each_block_by_itself() -> None:
    events = [
        start(),
        *interleaved(thinking("b", KEY[:4], KEY[4:]), text("b", KEY[:6], KEY[6:])),
        *call("c", '{"k":"' + KEY[:5], KEY[5:] + '"}'),
        *result("c", KEY[:3], KEY[3:]),
    ]
    out = shown(events, SECRET)
    assert said(out, "THINKING_BLOCK_DELTA") == "[redacted]"
    assert said(out) == "[redacted]"
    assert said(out, "TOOL_CALL_DELTA") == '{"k":"[redacted]"}'
    assert said(out, "TOOL_RESULT_TEXT_DELTA") == "[redacted]"


def test_progress_that_is_held_back_does_not_become_a_piece_of_the_result() -> None:
    first, step, last, done = result("c", "50% " + KEY[:5], KEY[5:] + " read")
    progress = step.model_copy(update={"metadata": {METADATA_PROGRESS: True}})
    out = shown([first, step, progress, last, done], SECRET)
    texts = [event for event in out if isinstance(event, ToolResultTextDeltaEvent)]
    assert [(event.delta, is_progress(event)) for event in texts] == [
        ("50% " + KEY[:5], True),
        ("50% [redacted] read", False),
    ]


def test_fresh_events_stay_fresh() -> None:
    events = [event.model_copy(update={"seq": 0}) for event in reply(KEY)]
    assert {event.seq for event in shown(events, SECRET)} == {0}


def test_patterns_may_look_behind_and_replacements_may_refer_to_groups() -> None:
    out = shown(reply("password=", "hun", "ter2 pass"), r"(?<=password)=(\w)\w+", r"=\1***", max_length=12)
    assert said(out) == "password=h*** pass"


@pytest.mark.parametrize(("pattern", "max_length"), [("(", 9), ("", 9), ("a*", 9), ("a", 0)])
def test_what_cannot_be_redacted_is_refused(pattern: str, max_length: int) -> None:
    with pytest.raises(ConfigurationError):
        redact(pattern, max_length=max_length)
