"""`Deltas`: copies that nothing tells from events that were made by their class."""

from __future__ import annotations

import pickle
from typing import Any

import pytest
from pydantic import ValidationError

from agentscope_rx import BaseEvent, TextBlockDeltaEvent, ThinkingBlockDeltaEvent, ToolCallDeltaEvent, decode, encode
from agentscope_rx.agent.deltas import Deltas

BLOCK = {"reply_id": "r", "block_id": "b"}
CALL = {"reply_id": "r", "tool_call_id": "b"}

KINDS = [(TextBlockDeltaEvent, BLOCK), (ThinkingBlockDeltaEvent, BLOCK), (ToolCallDeltaEvent, CALL)]


def made_by_its_class(event: Any) -> BaseEvent:
    made: BaseEvent = type(event)(**{name: getattr(event, name) for name in type(event).model_fields})
    return made


@pytest.mark.parametrize(("cls", "shared"), KINDS)
def test_equals_an_event_of_the_class(cls: type[Any], shared: dict[str, str]) -> None:
    deltas = Deltas(cls, "b", shared)
    assert deltas.id == "b"
    for text in ("a", "🌍", "\u2028"):
        event = deltas.next(text)
        plain = cls(delta=text, seq=0, **shared)
        assert type(event) is cls
        assert event == made_by_its_class(event)
        assert list(vars(event)) == list(vars(plain))
        assert event.model_fields_set == plain.model_fields_set
        assert event.model_extra == plain.model_extra
        assert (event.delta, event.seq, event.source, event.metadata) == (text, 0, None, None)


def test_every_one_has_an_id_and_a_time_of_its_own() -> None:
    deltas = Deltas(TextBlockDeltaEvent, "b", BLOCK)
    first, second = deltas.next("a"), deltas.next("a")
    assert first.id < second.id
    assert first.created_at <= second.created_at
    assert first != second
    assert {first, second} == {second, first}
    assert first.created_at.utcoffset() is not None


def test_survives_what_events_go_through() -> None:
    event = Deltas(TextBlockDeltaEvent, "b", BLOCK).next("Hello")
    assert decode(encode(event)) == event
    assert pickle.loads(pickle.dumps(event)) == event
    copied = event.model_copy(update={"delta": "Bye"})
    assert (copied.delta, event.delta) == ("Bye", "Hello")
    with pytest.raises(ValidationError):
        event.delta = "Bye"


def test_one_is_not_changed_by_the_next() -> None:
    deltas = Deltas(TextBlockDeltaEvent, "b", BLOCK)
    first = deltas.next("a")
    before = dict(vars(first))
    object.__setattr__(first, "seq", 7)
    second = deltas.next("b")
    assert vars(first) == {**before, "seq": 7}
    assert second.seq == 0


def test_a_text_that_is_none_is_refused_or_turned_into_one_as_its_class_does() -> None:
    deltas = Deltas(TextBlockDeltaEvent, "b", BLOCK)

    class Shout(str):
        __slots__ = ()

    assert type(deltas.next(Shout("a")).delta) is str
    for wrong in (None, 3, ["a"]):
        with pytest.raises(ValidationError):
            deltas.next(wrong)  # type: ignore[arg-type]
