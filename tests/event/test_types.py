"""The event classes: small, typed, frozen, one for each type."""

from __future__ import annotations

import subprocess
import sys
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path
from typing import Any, get_args

import pytest
from hypothesis import given
from pydantic import ValidationError

from agentscope_rx.event import (
    METADATA_PARENT_SESSION_ID,
    METADATA_TASK_ID,
    AgentEndEvent,
    AgentEvent,
    AgentEventType,
    AgentResultEvent,
    AgentStartEvent,
    BaseEvent,
    CustomEvent,
    DataBlockDeltaEvent,
    FinishReason,
    HintBlockEvent,
    ModelCallEndEvent,
    ModelCallStartEvent,
    ReplyEvent,
    RequestStopEvent,
    TextBlockDeltaEvent,
    ToolResultDataDeltaEvent,
    ToolResultEndEvent,
    UnknownEvent,
    UserConfirmResultEvent,
)
from agentscope_rx.identity import set_clock, set_id_factory
from agentscope_rx.message import AssistantMessage, DataBlock, GenerateReason, Msg, TextBlock, URLSource
from tests.arbitrary import events

ROOT = Path(__file__).parents[2]
CLASSES = get_args(AgentEvent)
DELTA = TextBlockDeltaEvent(reply_id="r", block_id="b", delta="x")


def subclasses(cls: type[BaseEvent]) -> set[type[BaseEvent]]:
    return {cls} | {below for child in cls.__subclasses__() for below in subclasses(child)}


def test_the_union_holds_every_event_class_and_nothing_else() -> None:
    package = {cls for cls in subclasses(BaseEvent) if cls.__module__.startswith("agentscope_rx.")}
    leaves = {cls for cls in package if not package & set(cls.__subclasses__())}
    assert leaves == set(CLASSES)


def test_every_type_has_one_class_of_its_name() -> None:
    for cls in CLASSES:
        if cls is not UnknownEvent:
            name = cls.__name__.removesuffix("Event")
            spelled = "".join(f"_{letter}" if letter.isupper() else letter.upper() for letter in name).lstrip("_")
            assert cls.model_fields["type"].default == AgentEventType(spelled)


def test_a_type_is_a_plain_string_too() -> None:
    assert DELTA.type == "TEXT_BLOCK_DELTA"
    assert DELTA.type is AgentEventType.TEXT_BLOCK_DELTA
    assert f"{DELTA.type}" == "TEXT_BLOCK_DELTA"


def test_a_type_cannot_be_another() -> None:
    with pytest.raises(ValidationError):
        TextBlockDeltaEvent(reply_id="r", block_id="b", delta="x", type="CUSTOM")


@pytest.mark.parametrize("cls", [cls for cls in CLASSES if not issubclass(cls, ReplyEvent)], ids=lambda c: c.__name__)
def test_events_of_no_reply_have_no_reply_id(cls: Any) -> None:
    assert "reply_id" not in cls.model_fields


def test_events_are_frozen() -> None:
    with pytest.raises(ValidationError, match="frozen"):
        DELTA.delta = "y"


def test_events_are_equal_when_all_their_fields_are() -> None:
    assert DELTA.model_copy() == DELTA
    assert DELTA.model_copy(update={"seq": 1}) != DELTA
    assert TextBlockDeltaEvent(reply_id="r", block_id="b", delta="x") != DELTA


@given(events())
def test_the_hash_of_an_event_is_that_of_its_id(event: Any) -> None:
    assert hash(event) == hash(event.id)
    assert len({event, event.model_copy(), event.model_copy(update={"seq": 5})}) <= 2


def test_a_number_changes_no_hash() -> None:
    published = DELTA.model_copy(update={"seq": 3})
    assert hash(published) == hash(DELTA)
    assert {DELTA: 1}.get(DELTA.model_copy()) == 1


@pytest.mark.parametrize("given_metadata", [{}, None])
def test_metadata_is_none_when_empty(given_metadata: Any) -> None:
    assert CustomEvent(name="x", metadata=given_metadata).metadata is None
    assert CustomEvent.model_validate({"name": "x", "metadata": given_metadata}).metadata is None
    assert CustomEvent(name="x", metadata={"k": None}).metadata == {"k": None}


def test_defaults_are_those_of_the_protocol() -> None:
    start = AgentStartEvent(reply_id="r", name="x")
    assert (start.role, start.resumed, start.message, start.session_id) == ("assistant", False, None, None)
    assert (start.source, start.metadata, start.seq) == (None, None, None)
    assert ModelCallStartEvent(reply_id="r", model_call_id="m", model_name="x").iteration == 1
    end = ModelCallEndEvent(reply_id="r", model_call_id="m")
    assert end.finish_reason is FinishReason.UNKNOWN
    assert {end.input_tokens, end.output_tokens, end.cached_input_tokens, end.reasoning_tokens} == {None}
    assert RequestStopEvent().generate_reason is GenerateReason.MIDDLEWARE_STOP_REQUESTED
    assert AgentEndEvent(reply_id="r").generate_reason is GenerateReason.MODEL_STOP
    assert CustomEvent(name="x").value == {}


def test_the_metadata_keys_of_child_agents_are_those_of_agentscope() -> None:
    assert (METADATA_TASK_ID, METADATA_PARENT_SESSION_ID) == ("taskId", "parentSessionId")


@pytest.mark.parametrize(
    "make",
    [
        lambda **content: DataBlockDeltaEvent(reply_id="r", block_id="b", media_type="x/y", **content),
        lambda **content: ToolResultDataDeltaEvent(
            reply_id="r", tool_call_id="c", block_id="b", media_type="x/y", **content
        ),
    ],
)
def test_a_data_delta_has_exactly_one_of_data_and_url(make: Any) -> None:
    assert make(data="").data == ""
    assert make(url="x:y").url == "x:y"
    for content in ({}, {"data": "SECRET", "url": "x:y"}):
        with pytest.raises(ValidationError, match="exactly one of data and url") as caught:
            make(**content)
        assert "SECRET" not in str(caught.value)


def test_a_hint_is_text_or_blocks() -> None:
    blocks = (TextBlock("a"), DataBlock(URLSource(url="x:y"), id="d"))
    assert HintBlockEvent(reply_id="r", block_id="h", hint=list(blocks)).hint == blocks
    assert HintBlockEvent(reply_id="r", block_id="h", hint="a").hint == "a"


def test_sequences_become_tuples() -> None:
    answers: Any = []
    assert UserConfirmResultEvent(reply_id="r", confirm_results=answers).confirm_results == ()


def test_a_message_in_an_event_is_of_the_class_of_its_role() -> None:
    made = AgentResultEvent(reply_id="r", result=Msg(role="assistant", content="hi"))
    parsed = AgentResultEvent.model_validate({"reply_id": "r", "result": {"role": "assistant", "content": "hi"}})
    assert type(made.result) is type(parsed.result) is AssistantMessage


def test_no_error_holds_the_input() -> None:
    for fields in ({"delta": ["SECRET"]}, {"delta": "x", "seq": "SECRET"}, {"delta": "x", "metadata": "SECRET"}):
        with pytest.raises(ValidationError) as caught:
            TextBlockDeltaEvent(reply_id="r", block_id="b", **fields)
        assert "SECRET" not in str(caught.value)
    with pytest.raises(ValidationError) as caught:
        ToolResultEndEvent(reply_id="r", tool_call_id="c", state="SECRET")
    assert "SECRET" not in str(caught.value)


def test_times_are_aware_and_in_utc() -> None:
    assert DELTA.created_at.utcoffset() == timedelta(0)
    east = datetime(2026, 5, 6, 14, tzinfo=timezone(timedelta(hours=2)))
    event = CustomEvent(name="x", created_at=east)
    assert event.created_at == datetime(2026, 5, 6, 12, tzinfo=UTC)
    assert event.created_at.tzinfo is UTC
    with pytest.raises(ValidationError, match="timezone"):
        CustomEvent(name="x", created_at=datetime(2026, 5, 6))


def test_the_factories_rule_the_ids_and_times_of_new_events() -> None:
    noon = datetime(2026, 5, 6, 12, tzinfo=UTC)
    set_id_factory(lambda: "mine")
    set_clock(lambda: noon)
    try:
        event = CustomEvent(name="x")
    finally:
        set_id_factory(None)
        set_clock(None)
    assert (event.id, event.created_at) == ("mine", noon)
    assert CustomEvent(name="x").id != "mine"


# ------------------------------------------------------------------------------------------ for a type checker

MATCH = """\
from typing import assert_never

from agentscope_rx.event import *

def name(event: AgentEvent) -> str:
    match event:
{arms}
        case _:
            assert_never(event)

def length(event: AgentEvent) -> int:
    return len(event.delta) if isinstance(event, TextBlockDeltaEvent | ToolCallDeltaEvent) else 0

def times(event: AgentEvent) -> str:
    return event.created_at.isoformat() + event.id + str(event.seq)
"""


@pytest.mark.heavy
def test_a_match_over_all_events_is_exhaustive_and_one_short_is_not(tmp_path: Path) -> None:
    arms = [f"        case {cls.__name__}():\n            return {cls.__name__!r}" for cls in CLASSES]
    (tmp_path / "whole.py").write_text(MATCH.format(arms="\n".join(arms)))
    (tmp_path / "short.py").write_text(MATCH.format(arms="\n".join(arms[:-1])))
    check = [sys.executable, "-m", "mypy", "--strict", "--config-file", str(ROOT / "pyproject.toml")]
    done = subprocess.run(
        [*check, str(tmp_path / "whole.py"), str(tmp_path / "short.py")], cwd=ROOT, capture_output=True, text=True
    )
    errors = [line for line in done.stdout.splitlines() if "error:" in line]
    assert len(errors) == 1, done.stdout + done.stderr
    assert "short.py" in errors[0]
    assert CLASSES[-1].__name__ in errors[0]


def test_a_match_meets_every_event() -> None:
    scope: dict[str, Any] = {}
    arms = [f"        case {cls.__name__}():\n            return {cls.__name__!r}" for cls in CLASSES]
    exec(MATCH.format(arms="\n".join(arms)), scope)
    assert scope["name"](DELTA) == "TextBlockDeltaEvent"
    assert scope["length"](DELTA) == 1
