"""The table of losses says all that a dialect loses, and nothing that it does not."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given

from agentscope_rx.event import BaseEvent, decode, decode_message, encode, encode_message
from agentscope_rx.event.codec import losses
from agentscope_rx.event.codec.dialects import FOREIGN
from agentscope_rx.event.codec.native import EVENT_OF_TYPE
from agentscope_rx.message import DataBlock, Msg
from tests.arbitrary import events, messages

from .differences import differences

DIALECTS = tuple(FOREIGN)


def lost(dialect: Any) -> set[tuple[type, str]]:
    return {(loss.cls, loss.field) for loss in losses(dialect)}


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize("cls", EVENT_OF_TYPE.values(), ids=lambda cls: cls.__name__)
def test_nothing_is_lost_of_an_event_but_what_the_table_says(dialect: Any, cls: type[BaseEvent]) -> None:
    known = lost(dialect)

    @given(events(cls))
    def check(event: Any) -> None:
        read = decode(encode(event, dialect), dialect)
        assert type(read) is type(event)
        if (cls, "") in known or _is_custom(event, dialect):
            assert read == event
        else:
            assert differences(event, read) <= known

    check()


@pytest.mark.parametrize("dialect", DIALECTS)
def test_nothing_is_lost_of_a_message_but_what_the_table_says(dialect: Any) -> None:
    known = lost(dialect)

    @given(messages())
    def check(message: Msg) -> None:
        read = decode_message(encode_message(message, dialect), dialect)
        if type(read) is type(message):
            assert differences(message, read) <= known
        else:
            assert (Msg, "role") in known

    check()


@pytest.mark.parametrize("dialect", DIALECTS)
def test_the_dialect_of_what_is_written_is_found_out(dialect: Any) -> None:
    @given(events(), messages())
    def check(event: Any, message: Msg) -> None:
        written, said = encode(event, dialect), encode_message(message, dialect)
        # A legacy block has no id of its own, and gets one when it is read.
        assert differences(decode(written, dialect), decode(written)) <= {(DataBlock, "id")}
        assert differences(decode_message(said, dialect), decode_message(said)) <= {(DataBlock, "id")}

    check()


def _is_custom(event: Any, dialect: str) -> bool:
    shape = FOREIGN[dialect].events[type(event)]
    return shape.only is not None and not shape.only(event)


@pytest.mark.parametrize("dialect", DIALECTS)
def test_what_has_a_type_of_its_own_is_not_custom(dialect: Any) -> None:
    customs = {loss.cls for loss in losses(dialect) if not loss.field and "CUSTOM" in loss.what}
    assert {cls.model_fields["type"].default for cls in EVENT_OF_TYPE.values() if cls in customs} == {
        "java": {"MODEL_CALL_RESET", "USER_INTERRUPT"},
        "python": {"AGENT_RESULT", "REQUEST_STOP", "SUBAGENT_EXPOSED", "ALL_TOOLS_DENIED", "MODEL_CALL_RESET"},
    }[dialect]


def test_the_native_dialect_loses_nothing() -> None:
    assert losses("native") == ()


@pytest.mark.parametrize("dialect", DIALECTS)
def test_every_loss_says_what_becomes_of_it(dialect: Any) -> None:
    rows = losses(dialect)
    assert len({(row.cls, row.field) for row in rows}) == len(rows)
    assert all(row.what and (not row.field or row.field in row.cls.model_fields) for row in rows)
