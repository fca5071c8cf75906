"""Every name that a type of event ever had is read, in whatever case its object is written."""

from __future__ import annotations

import json
from typing import Any

import pytest

from agentscope_rx.errors import ConfigurationError
from agentscope_rx.event import (
    AgentStartEvent,
    EventReader,
    EventWriter,
    UnknownEvent,
    UserConfirmResultEvent,
    decode,
    decode_message,
    encode,
)
from agentscope_rx.event.codec.detection import dialect_of_event, dialect_of_message
from agentscope_rx.event.codec.forms import ALIASES
from agentscope_rx.message import DataBlock, PermissionBehavior, ToolResultBlock, URLSource

from .differences import differences
from .samples import EVENTS

OF_TYPE = {str(event.type): event for event in EVENTS}


def test_the_aliases_are_those_of_agentscope() -> None:
    assert ALIASES.keys() == {
        *("RUN_STARTED", "REPLY_START", "RUN_FINISHED", "REPLY_END", "MODEL_CALL_STARTED", "MODEL_CALL_ENDED"),
        *("BINARY_BLOCK_START", "BINARY_BLOCK_DELTA", "BINARY_BLOCK_END", "TOOL_RESULT_BINARY_DELTA", "THREAD_EXPOSED"),
    }


@pytest.mark.parametrize("alias", ALIASES)
@pytest.mark.parametrize("dialect", ["java", "python"])
def test_j3_an_alias_is_read_on_a_whole_event(alias: str, dialect: Any) -> None:
    event = OF_TYPE[ALIASES[alias]]
    written = json.loads(encode(event, dialect))
    if written["type"] == "CUSTOM":
        return
    for read in (decode({**written, "type": alias}), decode({**written, "type": alias}, dialect)):
        assert differences(read, decode(written)) == set()
        assert read.type == ALIASES[alias]
        assert encode(read, dialect) == encode(decode(written), dialect)


@pytest.mark.parametrize("alias", ["image", "audio", "video"])
@pytest.mark.parametrize("role", ["USER", "user"])
def test_a_block_of_old_is_read_as_data(role: str, alias: str) -> None:
    dialect: Any = "java" if role.isupper() else "python"
    block = {
        "type": alias,
        "source": {"type": "url", "url": "x:y", "mime_type": "a/b"},
        "min_pixels": 1,
        "maxFrames": 2,
    }
    result = {"type": "tool_result", "id": "c", "name": "t", "output": [block], "state": "success"}
    (said,) = decode_message({"role": role, "content": [block]}, dialect).content
    (found,) = decode_message({"role": "assistant", "content": [result]}, dialect).content
    assert isinstance(found, ToolResultBlock)
    for read in (said, *found.output):
        assert isinstance(read, DataBlock)
        assert read.source == URLSource(url="x:y", media_type="a/b")


@pytest.mark.parametrize("dialect", ["java", "python"])
@pytest.mark.parametrize("behavior", PermissionBehavior)
def test_a_behavior_is_read_in_any_case(behavior: PermissionBehavior, dialect: Any) -> None:
    written = encode(OF_TYPE["USER_CONFIRM_RESULT"], dialect)
    assert written.count('"allow"') == 1 + (dialect == "python")  # the rule, and that which was suggested
    for word in (behavior.lower(), behavior.upper()):
        event = decode(written.replace('"allow"', f'"{word}"'), dialect)
        assert isinstance(event, UserConfirmResultEvent)
        assert [rule.behavior for rule in event.confirm_results[0].rules or ()] == [behavior]


def test_an_alias_is_read_with_a_time_in_utc() -> None:
    event = decode({"type": "RUN_STARTED", "created_at": "2026-05-06T12:00:00Z", "reply_id": "r", "name": "x"})
    assert isinstance(event, AgentStartEvent)


def test_the_native_dialect_has_no_aliases() -> None:
    assert isinstance(decode({"type": "RUN_STARTED", "reply_id": "r", "name": "x"}, "native"), UnknownEvent)


@pytest.mark.parametrize("dialect", ["native", "java", "python"])
@pytest.mark.parametrize("event", EVENTS, ids=lambda event: event.type)
def test_the_dialect_of_every_event_is_found_out(event: Any, dialect: Any) -> None:
    assert dialect_of_event(json.loads(encode(event, dialect))) == dialect


@pytest.mark.parametrize(
    ("fields", "dialect"),
    [
        ({"type": "TEXT_BLOCK_START", "reply_id": "r", "block_id": "b"}, "native"),
        ({"type": "TEXT_BLOCK_START", "reply_id": "r", "block_id": "b", "metadata": {}}, "python"),
        ({"type": "TEXT_BLOCK_START", "created_at": "2026-05-06T12:00:00"}, "python"),
        ({"type": "TEXT_BLOCK_START", "created_at": "2026-05-06T12:00:00-05:00"}, "native"),
        ({"type": "TEXT_BLOCK_START", "created_at": "yesterday"}, "native"),
        ({"type": "TEXT_BLOCK_START", "created_at": 5}, "native"),
        ({"type": "TEXT_BLOCK_START", "replyId": "r"}, "java"),
        ({"type": "REPLY_END", "replyId": "r"}, "java"),
        ({"type": "REPLY_END", "reply_id": "r"}, "python"),
        ({"type": "X", "created_at": "2026-05-06T12:00:00Z", "replyId": "is its payload"}, "native"),
    ],
)
def test_the_marks_of_a_dialect(fields: dict[str, Any], dialect: str) -> None:
    assert dialect_of_event(fields) == dialect


def test_the_marks_of_a_message() -> None:
    assert dialect_of_message({"role": "USER"}) == "java"
    assert dialect_of_message({"role": "user", "created_at": "2026-05-06T12:00:00"}) == "python"
    assert dialect_of_message({"role": "user", "timestamp": "2026-05-06T12:00:00Z"}) == "native"
    assert dialect_of_message({}) == "native"


def test_there_is_no_other_dialect() -> None:
    for make in (EventReader, EventWriter, lambda dialect: encode(EVENTS[0], dialect), lambda d: decode({}, d)):
        with pytest.raises(ConfigurationError, match="no dialect 'klingon'; known: java, native, python"):
            make("klingon")
