"""The lifecycle table, and laws L1 and L2."""

from __future__ import annotations

from collections import Counter
from copy import deepcopy
from typing import Any, get_args

import pytest
from hypothesis import assume, given, strategies as st

from agentscope_rx.errors import MissingStartError, ProtocolError
from agentscope_rx.event import (
    AgentEndEvent,
    AgentEvent,
    AgentResultEvent,
    AgentStartEvent,
    CustomEvent,
    HintBlockEvent,
    Lifecycle,
    MessageBuilder,
    ModelCallEndEvent,
    ModelCallResetEvent,
    ModelCallStartEvent,
    Part,
    PartKey,
    ReplyEvent,
    TextBlockDeltaEvent,
    TextBlockEndEvent,
    TextBlockStartEvent,
    ThinkingBlockStartEvent,
    ToolCallDeltaEvent,
    ToolCallEndEvent,
    ToolCallStartEvent,
    ToolResultEndEvent,
    ToolResultStartEvent,
    ToolResultTextDeltaEvent,
    UnknownEvent,
)
from agentscope_rx.event.lifecycle import RULES, STEPS, TRANSITIONS, Phase, State
from agentscope_rx.message import AssistantMessage, HintBlock, TextBlock, ToolResultBlock, ToolResultState, ToolUseBlock
from tests.reference import reference_accepts
from tests.strategies import breaches, runs, streams

R = {"reply_id": "r"}
START = AgentStartEvent(**R, name="Friday")
END = AgentEndEvent(**R)
MODEL = ModelCallStartEvent(**R, model_call_id="m", model_name="x")
MODEL_END = ModelCallEndEvent(**R, model_call_id="m")
RESET = ModelCallResetEvent(**R, model_call_id="m")
TEXT = TextBlockStartEvent(**R, block_id="b")
TEXT_DELTA = TextBlockDeltaEvent(**R, block_id="b", delta="SECRET")
TEXT_END = TextBlockEndEvent(**R, block_id="b")
CALL = ToolCallStartEvent(**R, tool_call_id="c", tool_call_name="search")
CALL_DELTA = ToolCallDeltaEvent(**R, tool_call_id="c", delta="SECRET")
CALL_END = ToolCallEndEvent(**R, tool_call_id="c")
RESULT = ToolResultStartEvent(**R, tool_call_id="c", tool_call_name="search")
RESULT_DELTA = ToolResultTextDeltaEvent(**R, tool_call_id="c", delta="SECRET")
RESULT_END = ToolResultEndEvent(**R, tool_call_id="c", state=ToolResultState.SUCCESS)


def advanced(*events: Any, **options: Any) -> Lifecycle:
    lifecycle = Lifecycle(**options)
    for event in events:
        lifecycle.advance(event)
    return lifecycle


def own(stream: list[AgentEvent]) -> list[AgentEvent]:
    """The events of the top agent; a lifecycle follows one reply."""
    return [event for event in stream if event.source is None]


# ------------------------------------------------------------------------------------------------ L1, the ids


@given(streams(children=2))
def test_l1_all_events_of_a_reply_carry_one_id_across_pauses(stream: list[AgentEvent]) -> None:
    for source in {event.source for event in stream}:
        ids = {event.reply_id for event in stream if isinstance(event, ReplyEvent) and event.source == source}
        builder = MessageBuilder(source=source)
        for event in stream:
            builder.apply(event)
        assert ids == {builder.reply_id} == {builder.message().id}


@given(streams(), st.data())
def test_l1_a_part_that_opens_again_under_its_old_id_is_refused(stream: list[AgentEvent], data: st.DataObject) -> None:
    stream = own(stream)
    starts = [at for at, event in enumerate(stream) if event_phase(event) is Phase.START]
    first = data.draw(st.sampled_from(starts))
    again = data.draw(st.integers(first + 1, len(stream)))
    lifecycle = advanced(*stream[:again])
    before = deepcopy(vars(lifecycle))
    with pytest.raises(ProtocolError):
        lifecycle.advance(stream[first])
    assert vars(lifecycle) == before


@given(streams(children=0), st.data())
def test_l1_ids_are_remembered_over_a_resume_from_its_message_alone(
    stream: list[AgentEvent], data: st.DataObject
) -> None:
    resumed = runs(stream)[1:]
    assume(resumed)
    start = data.draw(st.sampled_from(resumed))[0]
    assert isinstance(start, AgentStartEvent)
    assert start.message is not None
    ids = {block.id for block in start.message.content if isinstance(block, ToolUseBlock)}
    for call_id in ids:
        lifecycle = advanced(start, MODEL.model_copy(update={"model_call_id": "new"}))
        with pytest.raises(ProtocolError, match="tool_call is closed"):
            lifecycle.advance(CALL.model_copy(update={"tool_call_id": call_id}))


def event_phase(event: Any) -> Phase | None:
    step = STEPS.get(type(event))
    return None if step is None or (isinstance(event, AgentStartEvent) and event.resumed) else step.phase


# ------------------------------------------------------------------------------------------- L2, open and close


@given(streams())
def test_l2_a_legal_stream_passes_and_leaves_nothing_open(stream: list[AgentEvent]) -> None:
    lifecycle = Lifecycle()
    for at, event in enumerate(own(stream)):
        assert reference_accepts(own(stream)[:at], event)
        lifecycle.advance(event)
    assert lifecycle.open == ()


@given(streams(children=2))
def test_l2_children_keep_the_rules_too(stream: list[AgentEvent]) -> None:
    for source in {event.source for event in stream}:
        assert advanced(*(event for event in stream if event.source == source)).open == ()


@given(streams())
def test_l2_every_run_passes_on_its_own(stream: list[AgentEvent]) -> None:
    for run in runs(own(stream)):
        assert isinstance(run[0], AgentStartEvent)
        assert isinstance(run[-1], AgentEndEvent)
        assert advanced(*run).open == ()


@given(streams(), st.data())
def test_l2_a_stream_with_one_change_is_refused_just_where_it_breaks_a_rule(
    stream: list[AgentEvent], data: st.DataObject
) -> None:
    lifecycle, accepted = Lifecycle(), list[AgentEvent]()
    for event in data.draw(breaches(own(stream))):
        if reference_accepts(accepted, event):
            lifecycle.advance(event)
            accepted.append(event)
            continue
        before = deepcopy(vars(lifecycle))
        with pytest.raises(ProtocolError):
            lifecycle.advance(event)
        assert vars(lifecycle) == before


@given(streams(), st.data())
def test_l2_a_dropped_end_is_found_at_the_latest_at_agent_end(stream: list[AgentEvent], data: st.DataObject) -> None:
    stream = own(stream)
    ends = [at for at, event in enumerate(stream) if event_phase(event) is Phase.END]
    dropped = data.draw(st.sampled_from(ends))
    if dropped == len(stream) - 1:
        assert advanced(*stream[:dropped]).open == (PartKey(Part.REPLY, "reply-main"),)
    else:
        with pytest.raises(ProtocolError):
            advanced(*stream[:dropped], *stream[dropped + 1 :])


@given(streams(), st.data())
def test_l2_a_lifecycle_taken_up_in_the_middle_goes_on_alike(stream: list[AgentEvent], data: st.DataObject) -> None:
    stream = own(stream)
    cut = data.draw(st.integers(1, len(stream)))
    builder, whole = MessageBuilder(), advanced(*stream[:cut])
    for event in stream[:cut]:
        builder.apply(event)
    reply = [] if builder.ended else [PartKey(Part.REPLY, "reply-main")]
    taken_up = Lifecycle(builder.message(), [*reply, *builder.open])
    assert taken_up.open == whole.open
    for event in stream[cut:]:
        taken_up.advance(event)
    assert taken_up.open == ()


BREACHES: dict[str, tuple[list[Any], Any, type[ProtocolError], str]] = {
    "AGENT_START comes first": ([], TEXT, ProtocolError, "AGENT_START comes first: got TEXT_BLOCK_START 'b'"),
    "a mark before AGENT_START": (
        [],
        HintBlockEvent(**R, block_id="h", hint="SECRET"),
        MissingStartError,
        "got HINT_BLOCK 'r', but the reply is new; open: nothing; expected AGENT_START",
    ),
    "AGENT_START once": ([START], START, ProtocolError, "got AGENT_START 'r', but the reply is open; open: reply 'r'"),
    "no resume while it runs": ([START], START.model_copy(update={"resumed": True}), ProtocolError, "reply is open"),
    "no second start": ([START, END], START, ProtocolError, "reply is closed"),
    "AGENT_END last": (
        [START, END],
        END,
        ProtocolError,
        "the reply is closed; open: nothing; expected AGENT_START(resumed=True)",
    ),
    "nothing after AGENT_END": ([START, END], TEXT, ProtocolError, "AGENT_START comes first"),
    "a result after AGENT_END": (
        [START, END],
        AgentResultEvent(**R, result=AssistantMessage("SECRET")),
        ProtocolError,
        "got AGENT_RESULT 'r', but the reply is closed",
    ),
    "a delta without a start": (
        [START],
        TEXT_DELTA,
        MissingStartError,
        "got TEXT_BLOCK_DELTA 'b', but the text is new; open: reply 'r'; expected TEXT_BLOCK_START",
    ),
    "an end without a start": ([START], TEXT_END, MissingStartError, "expected TEXT_BLOCK_START"),
    "a start twice": ([START, TEXT], TEXT, ProtocolError, "expected TEXT_BLOCK_DELTA or TEXT_BLOCK_END"),
    "a delta after the end": ([START, TEXT, TEXT_END], TEXT_DELTA, ProtocolError, "expected nothing more of it"),
    "a block reopens": ([START, TEXT, TEXT_END], TEXT, ProtocolError, "the text is closed"),
    "a call reopens": ([START, MODEL, CALL, CALL_END], CALL_DELTA, ProtocolError, "the tool_call is closed"),
    "a call outside a model call": (
        [START],
        CALL,
        ProtocolError,
        "a tool call is made in a model call: got TOOL_CALL_START 'c' while no model_call is open",
    ),
    "blocks close before MODEL_CALL_END": (
        [START, MODEL, TEXT, CALL],
        MODEL_END,
        ProtocolError,
        "blocks close before MODEL_CALL_END: got MODEL_CALL_END 'm' while these are open: text 'b', tool_call 'c'; "
        "end them first",
    ),
    "blocks close before MODEL_CALL_RESET": ([START, MODEL, TEXT], RESET, ProtocolError, "text 'b'"),
    "a reset of a model call that has ended": ([START, MODEL, MODEL_END], RESET, ProtocolError, "model_call is closed"),
    "a model call inside another": (
        [START, MODEL],
        MODEL.model_copy(update={"model_call_id": "m2"}),
        ProtocolError,
        "got MODEL_CALL_START 'm2' while these are open: model_call 'm'",
    ),
    "a model call while a tool runs": (
        [START, MODEL, CALL, CALL_END, MODEL_END, RESULT],
        MODEL.model_copy(update={"model_call_id": "m2"}),
        ProtocolError,
        "while these are open: tool_result 'c'",
    ),
    "a result while its call is open": (
        [START, MODEL, CALL],
        RESULT,
        ProtocolError,
        "a tool call ends before its result starts: got TOOL_RESULT_START 'c' while tool_call 'c' is open",
    ),
    "a result without a call": ([START], RESULT, ProtocolError, "while tool_call 'c' is new"),
    "a second result": (
        [START, MODEL, CALL, CALL_END, MODEL_END, RESULT, RESULT_END],
        RESULT,
        ProtocolError,
        "tool_result is closed",
    ),
    "AGENT_END while things are open": (
        [START, MODEL, CALL, CALL_END, TEXT, RESULT],
        END,
        ProtocolError,
        "while these are open: model_call 'm', text 'b', tool_result 'c'; end them first",
    ),
}


@pytest.mark.parametrize("name", BREACHES)
def test_l2_a_breach_names_the_rule_the_event_and_what_is_open(name: str) -> None:
    before, event, error, message = BREACHES[name]
    lifecycle = advanced(*before)
    state = deepcopy(vars(lifecycle))
    with pytest.raises(ProtocolError) as caught:
        lifecycle.advance(event.model_copy(update={"seq": 7}))
    assert type(caught.value) is error
    assert message in str(caught.value).replace(" (seq 7)", "")
    assert "(seq 7)" in str(caught.value)
    assert "SECRET" not in str(caught.value)
    assert vars(lifecycle) == state


def test_every_rule_of_the_table_is_broken_by_an_example() -> None:
    broken = {(STEPS[type(event)].part, STEPS[type(event)].phase) for _, event, _, _ in BREACHES.values()}
    assert {(rule.part, rule.phase) for rule in RULES} <= broken


# ------------------------------------------------------------------------------------------------- the tables


def test_every_event_of_a_reply_has_a_step() -> None:
    of_a_reply = {cls for cls in get_args(AgentEvent) if issubclass(cls, ReplyEvent)}
    assert set(STEPS) == of_a_reply


def test_every_step_names_a_field_of_its_event_and_a_move_of_its_part() -> None:
    for cls, step in STEPS.items():
        assert step.key in cls.model_fields
        assert any(step.phase in moves for moves in TRANSITIONS[step.part].values())


def test_every_part_has_all_states_and_starts_new() -> None:
    assert set(TRANSITIONS) == set(Part)
    for states in TRANSITIONS.values():
        assert set(states) == set(State)
        assert Phase.START in states[State.NEW]
        assert Phase.END in states[State.OPEN]


def test_blocks_of_two_kinds_may_share_an_id() -> None:
    lifecycle = advanced(START, TEXT, ThinkingBlockStartEvent(**R, block_id="b"))
    assert Counter(key.id for key in lifecycle.open) == {"b": 2, "r": 1}


@pytest.mark.parametrize("event", [CustomEvent(name="x"), UnknownEvent(type="X", raw={"type": "X"})])
def test_events_without_a_reply_may_happen_at_any_time(event: Any) -> None:
    assert advanced(event, START, event, END, event).open == ()


def test_a_resume_alone_knows_the_calls_and_results_of_its_message() -> None:
    message = AssistantMessage(
        TextBlock("x", id="b"),
        HintBlock(hint="x", id="h"),
        ToolUseBlock(id="c", name="f"),
        ToolUseBlock(id="d", name="f"),
        ToolResultBlock(id="d", name="f"),
    )
    resume = START.model_copy(update={"resumed": True, "message": message})
    lifecycle = advanced(resume, RESULT, RESULT_DELTA, RESULT_END)
    for event in (TEXT, RESULT.model_copy(update={"tool_call_id": "d"})):
        with pytest.raises(ProtocolError, match="is closed"):
            lifecycle.advance(event)
    lifecycle.advance(HintBlockEvent(**R, block_id="h", hint="again"))
