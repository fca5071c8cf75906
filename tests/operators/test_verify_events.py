"""`verify_events`: passes a stream on up to the first event that breaks a rule."""

from __future__ import annotations

import gc
from collections import defaultdict
from collections.abc import Sequence
from typing import Any

import pytest
import reactivex as rx
from hypothesis import given, strategies as st
from reactivex.testing.marbles import marbles_testing

from agentscope_rx.errors import MissingStartError, ProtocolError, RemoteProtocolError
from agentscope_rx.event import (
    AgentEvent,
    AgentResultEvent,
    AgentStartEvent,
    ConfirmResult,
    CustomEvent,
    DataBlockDeltaEvent,
    DataBlockStartEvent,
    MessageBuilder,
    ModelCallResetEvent,
    ReplyEvent,
    ToolResultStartEvent,
)
from agentscope_rx.event.lifecycle import RULES, STEPS, TRANSITIONS, Part, Phase, State
from agentscope_rx.message import AssistantMessage, GenerateReason, Msg, TextBlock, ToolCallState, ToolUseBlock
from agentscope_rx.operators import verify_events

from ..reference import reference_accepts, reference_message
from ..strategies import breaches, streams
from .contract import OperatorContract
from .script import (
    R,
    answer,
    answered,
    asking,
    call,
    data,
    end,
    hint,
    interleaved,
    model_end,
    model_start,
    numbered,
    result,
    start,
    text,
    thinking,
)

EVENTS = answer("Hello")


def verify(stream: Sequence[Any], **options: Any) -> tuple[int, Exception | None]:
    """How many events pass, and the error."""
    passed: list[Any] = []
    errors: list[Exception] = []
    rx.from_iterable(stream).pipe(verify_events(**options)).subscribe(passed.append, errors.append)
    assert passed == list(stream[: len(passed)])
    return len(passed), errors[0] if errors else None


def refuse(stream: Sequence[Any], at: int, *said: str, **options: Any) -> ProtocolError:
    """Check that the event at `at` is the first that does not pass, and what the error says."""
    passed, error = verify(stream, **options)
    assert isinstance(error, ProtocolError), f"{passed} of {len(stream)} passed"
    assert passed == at
    for words in said:
        assert words in str(error)
    return error


def with_result(events: Sequence[AgentEvent], **changes: Any) -> list[AgentEvent]:
    """A stream with AGENT_RESULT before AGENT_END, as publication writes it, or with other content."""
    message = reference_message(events)
    assert message is not None
    *rest, last = events
    return numbered([*rest, AgentResultEvent(reply_id=message.id, result=message.model_copy(update=changes)), last])


class TestContract(OperatorContract):
    operator = staticmethod(verify_events)
    events = interleaved(with_result(EVENTS), with_result(answer("World", "reply-2")))
    expected = tuple(enumerate(events, 1))


def test_the_error_stands_in_place_of_the_event() -> None:
    lookup = {"a": start(), "b": text("t")[0], "c": end(), "d": text("t")[1]}
    with marbles_testing(timespan=10) as (begin, cold, _hot, _exp):
        told = begin(cold("-a-b-c-d-|", lookup, None).pipe(verify_events()))
    assert [(message.time, message.value.kind) for message in told] == [(210, "N"), (230, "N"), (250, "E")]


def test_the_source_is_left_at_the_error() -> None:
    source: rx.subject.Subject[AgentEvent] = rx.subject.Subject()
    source.pipe(verify_events()).subscribe(on_error=lambda _: None)
    source.on_next(text("t")[1])
    assert not source.observers


# ------------------------------------------------------------------------------------------------------ the rules

OPEN: dict[Part, list[AgentEvent]] = {
    Part.MODEL_CALL: [model_start()],
    Part.TEXT: [model_start(), *text("x")[:1]],
    Part.THINKING: [model_start(), *thinking("x")[:1]],
    Part.DATA: [model_start(), *data("x")[:1]],
    Part.TOOL_CALL: [model_start(), *call("x")[:1]],
    Part.TOOL_RESULT: [model_start(), *call("x"), model_end(), *result("x")[:1]],
}
"""What opens a part in a reply, and leaves it open."""

RESET = ModelCallResetEvent(reply_id=R, model_call_id="m1")

MOVES: dict[tuple[Part, Phase], AgentEvent] = {
    (Part.MODEL_CALL, Phase.START): model_start("m2"),
    (Part.MODEL_CALL, Phase.RESET): RESET,
    (Part.MODEL_CALL, Phase.END): model_end(),
    (Part.TOOL_CALL, Phase.START): call("c")[0],
    (Part.TOOL_RESULT, Phase.START): result("c")[0],
    (Part.REPLY, Phase.END): end(),
}
"""The event that each rule is about."""

BROKEN = [(rule, part) for rule in RULES for part in rule.closed if (rule.part, part) != (Part.MODEL_CALL,) * 2]


@pytest.mark.parametrize(("rule", "part"), BROKEN, ids=lambda value: getattr(value, "name", value))
def test_what_must_be_closed_is_open(rule: Any, part: Part) -> None:
    late = MOVES[rule.part, rule.phase]
    before = [start(), *OPEN[part]]
    refuse([*before, late], len(before), rule.name, str(late.type), f"{part.value} ", "end them first")


def test_a_model_call_starts_while_another_is_open() -> None:
    (rule,) = (rule for rule in RULES if (rule.part, rule.phase) == (Part.MODEL_CALL, Phase.START))
    refuse([start(), model_start(), model_start("m2")], 2, rule.name, "MODEL_CALL_START 'm2'", "model_call 'm1'")


def test_a_tool_call_outside_of_a_model_call() -> None:
    (rule,) = (rule for rule in RULES if rule.open is not None)
    refuse([start(), *call("c")], 1, rule.name, "TOOL_CALL_START 'c'", "model_call")
    refuse([start(), model_start(), model_end(), *call("c")], 3, rule.name)


@pytest.mark.parametrize("made", [0, 1, 2], ids=["never made", "just started", "not ended"])
def test_a_result_before_its_call_has_ended(made: int) -> None:
    (rule,) = (rule for rule in RULES if rule.same_key_closed is not None)
    before = [start(), model_start(), *call("c", "{}")[:made], *call("other")]
    refuse([*before, *result("c")], len(before), rule.name, "TOOL_RESULT_START 'c'", "tool_call 'c'")


def test_every_rule_is_tried() -> None:
    assert {(rule.part, rule.phase) for rule in RULES} == set(MOVES)
    tried = {rule.name for rule, _ in BROKEN} | {rule.name for rule in RULES if rule.open or rule.same_key_closed}
    assert tried == {rule.name for rule in RULES}


# ------------------------------------------------------------------------------------------------ the transitions

LIVES: dict[Part, list[AgentEvent]] = {
    Part.REPLY: [start(), hint("h"), end()],
    Part.MODEL_CALL: [model_start(), RESET, model_end()],
    Part.TEXT: text("x", "a"),
    Part.THINKING: thinking("x", "a"),
    Part.DATA: data("x", b"a"),
    Part.TOOL_CALL: call("x", "{}"),
    Part.TOOL_RESULT: result("x", "a"),
}
"""The whole life of each part."""

BEFORE: dict[Part, list[AgentEvent]] = {
    Part.REPLY: [],
    Part.MODEL_CALL: [start()],
    Part.TOOL_RESULT: [start(), model_start(), *call("x"), model_end()],
}
"""What a part needs around it."""


def _phase(event: AgentEvent) -> Phase:
    if isinstance(event, AgentStartEvent) and event.resumed:
        return Phase.RESUME
    return STEPS[type(event)].phase


@pytest.mark.parametrize("part", Part)
@pytest.mark.parametrize("state", State)
def test_what_is_not_in_the_table_may_not_happen(part: Part, state: State) -> None:
    life = LIVES[part]
    lived = {State.NEW: [], State.OPEN: life[:1], State.CLOSED: life}[state]
    before = [*BEFORE.get(part, [start(), model_start()]), *lived]
    tried = [*life, start(resumed=True)] if part is Part.REPLY else life
    for event in tried:
        passed, error = verify([*before, event])
        assert passed >= len(before)
        if _phase(event) in TRANSITIONS[part][state]:
            assert passed == len(before) + 1, f"{event.type} may happen when a {part} is {state}: {error}"
        else:
            assert isinstance(error, MissingStartError) == (state is State.NEW)
            assert type(error) in (ProtocolError, MissingStartError)
            said = str(error)
            assert str(event.type) in said
            assert f"the {part.value} is {state.value}" in said
            assert "expected" in said


def test_agent_start_comes_first() -> None:
    for early in (model_start(), text("t")[0], data("d")[0], hint("h"), end()):
        refuse([early], 0, str(early.type), "AGENT_START")


def test_agent_end_comes_last() -> None:
    for late in (hint("h"), text("t1")[1], text("new")[0], model_start("m2"), start(), end()):
        refuse([*EVENTS, late], len(EVENTS), str(late.type), "the reply is closed", "AGENT_START(resumed=True)")
    paused = [*EVENTS[:-1], end(reason=GenerateReason.PERMISSION_ASKING)]
    refuse([*paused, hint("h")], len(paused), "HINT_BLOCK", "the reply is closed", "AGENT_START(resumed=True)")


def test_of_replies_that_are_over_no_message_is_kept() -> None:
    def builders() -> int:
        return sum(isinstance(thing, MessageBuilder) for thing in gc.get_objects())

    gc.collect()
    before = builders()
    at_the_end: list[int] = []
    many = [event for number in range(50) for event in answer("Hello", f"reply-{number}")]
    rx.from_iterable(many).pipe(verify_events()).subscribe(
        lambda event: at_the_end.append(builders()) if event is many[-2] else None
    )
    assert at_the_end == [before + 1]


def test_a_source_that_completes_with_a_reply_open() -> None:
    refuse(EVENTS[:-1], len(EVENTS) - 1, "AGENT_END comes last", R, "expected AGENT_END")
    child = [start("c", source="main/child")]
    refuse([*EVENTS[:1], *child, *EVENTS[1:]], len(EVENTS) + 1, "'c'")


def test_the_text_of_events_is_in_no_error() -> None:
    secret = "the secret"
    for broken in ([text("t", secret)[1]], [start(), *text("t", secret), text("t", secret)[1]]):
        _, error = verify(broken)
        assert error is not None
        assert secret not in str(error)


def test_replies_are_kept_apart() -> None:
    child = [
        start("c", source="main/child"),
        model_start(reply_id="c", source="main/child"),
        *text("t1", "x", reply_id="c", source="main/child"),
    ]
    stream = interleaved(EVENTS, child, answer("World", "reply-2"))
    passed, error = verify(stream)
    assert passed == len(stream)
    assert "'c'" in str(error), "its own end is missing, and nothing else"


def test_a_child_agent_must_keep_the_rules_too() -> None:
    bad = text("t", "x", reply_id="c", source="main/child")[1]
    refuse([EVENTS[0], start("c", source="main/child"), bad], 2, "TEXT_BLOCK_DELTA")


def test_data_that_cannot_be_folded() -> None:
    key = {"reply_id": R, "block_id": "d", "media_type": "image/png"}
    stream = [start(), DataBlockStartEvent(**key), DataBlockDeltaEvent(**key, data="not base64")]
    assert isinstance(refuse(stream, 2, "base64"), RemoteProtocolError)


# --------------------------------------------------------------------------------------------------- AGENT_RESULT


@pytest.mark.parametrize(
    ("changes", "names"),
    [
        ({"content": (TextBlock("Bye", id="t1"),)}, ["content"]),
        ({"content": ()}, ["content"]),
        ({"content": (TextBlock("Hello"),)}, ["content"]),
        ({"name": "somebody"}, ["name"]),
        ({"id": "reply-2", "usage": None}, ["id", "usage"]),
    ],
)
def test_a_result_that_differs_from_the_fold(changes: Any, names: list[str]) -> None:
    stream = with_result(EVENTS, **changes)
    error = refuse(stream, len(stream) - 2, "AGENT_RESULT", "MessageBuilder", *names)
    assert "Hello" not in str(error)
    assert "Bye" not in str(error)


def test_a_result_of_another_class() -> None:
    stream = with_result(EVENTS)
    at = len(stream) - 2
    plain: Any = Msg.model_construct(**dict(stream[at].result))
    stream[at] = stream[at].model_copy(update={"result": plain})
    refuse(stream, at, "AGENT_RESULT", "class")


def test_a_result_carries_the_ending_that_comes_after_it() -> None:
    ending = {"generate_reason": GenerateReason.STRUCTURED_OUTPUT, "structured_output": {"answer": 42}}
    stream = with_result([*EVENTS[:-1], EVENTS[-1].model_copy(update=ending)])
    assert verify(stream, strict=True) == (len(stream), None)


def test_the_result_of_a_child_and_of_a_second_reply_are_checked_against_their_own_events() -> None:
    def child(said: str) -> list[AgentEvent]:
        parts = [
            start("c", source="main/child"),
            *text("t1", "in", "ner", reply_id="c", source="main/child"),
            end("c", source="main/child"),
        ]
        message = AssistantMessage(
            id="c", name="assistant", timestamp=parts[0].created_at, content=(TextBlock(said, id="t1"),)
        )
        return [*parts[:-1], AgentResultEvent(reply_id="c", source="main/child", result=message), parts[-1]]

    second = with_result(answer("World", "reply-2"))
    stream = interleaved(with_result(EVENTS), child("inner"), second)
    assert verify(stream) == (len(stream), None)
    wrong = interleaved(with_result(EVENTS), child("outer"), second)
    at = next(n for n, event in enumerate(wrong) if isinstance(event, AgentResultEvent))
    refuse(wrong, at, "AGENT_RESULT", "content")


# ------------------------------------------------------------------------------------------------------- numbers


def test_numbers_without_gaps() -> None:
    stream = with_result(EVENTS)
    child = numbered([start("c", source="main/child"), end("c", source="main/child")], first=7)
    custom = CustomEvent(name="noise", seq=len(stream))
    last = stream[-1].model_copy(update={"seq": len(stream) + 1})
    mixed = [stream[0], child[0], *stream[1:-1], child[1], custom, last]
    assert verify(mixed, strict=True) == (len(mixed), None)


@pytest.mark.parametrize("seq", [None, 0, 3, 4, 6, 100])
def test_a_number_that_is_not_the_next_one(seq: int | None) -> None:
    stream = list(EVENTS)
    stream[4] = stream[4].model_copy(update={"seq": seq})
    refuse(stream, 4, "numbered without gaps", "TEXT_BLOCK_DELTA", "expected seq 5", strict=True)
    assert verify(stream) == (len(stream), None)


def test_a_gap_is_lawful_when_not_strict() -> None:
    without_a_delta = [*EVENTS[:3], *EVENTS[4:]]
    assert verify(without_a_delta) == (len(without_a_delta), None)
    refuse(without_a_delta, 3, "expected seq 4", strict=True)


def test_every_reply_begins_at_one() -> None:
    stream = [*EVENTS, *answer("World", "reply-2")]
    assert verify(stream, strict=True) == (len(stream), None)
    going_on = [*EVENTS, *numbered(answer("World", "reply-2"), first=len(EVENTS) + 1)]
    refuse(going_on, len(EVENTS), "expected seq 1", strict=True)


def test_a_resumed_reply_may_skip_numbers_but_not_go_back() -> None:
    def resumed(first: int) -> list[AgentEvent]:
        return [*numbered(EVENTS), *numbered([start(resumed=True), end()], first=first)]

    for first in (len(EVENTS) + 1, len(EVENTS) + 5):
        assert verify(resumed(first), strict=True) == (len(EVENTS) + 2, None)
    refuse(resumed(len(EVENTS)), len(EVENTS), "expected seq", strict=True)


# ------------------------------------------------------------------------------------------------------ snapshots


def _snapshot(events: Sequence[AgentEvent]) -> Any:
    builder = MessageBuilder()
    for event in events:
        builder.apply(event)
    return builder.snapshot()


def test_a_stream_that_goes_on_from_a_snapshot() -> None:
    stream = with_result(EVENTS)
    for cut in range(len(stream) + 1):
        rest = stream[cut:]
        assert verify(rest, snapshot=_snapshot(stream[:cut]), strict=True) == (len(rest), None)


def test_what_is_open_in_the_snapshot_must_be_closed() -> None:
    snapshot = _snapshot(EVENTS[:4])
    refuse([EVENTS[-1]], 0, "text 't1'", "model_call 'm1'", snapshot=snapshot)
    refuse([], 0, "AGENT_END comes last", snapshot=snapshot)
    refuse(EVENTS[3:], 0, "expected seq 5", snapshot=snapshot, strict=True)


def test_what_is_closed_in_the_snapshot_stays_closed() -> None:
    snapshot = _snapshot(EVENTS[:6])
    refuse([text("t1")[0]], 0, "the text is closed", snapshot=snapshot)
    ended = _snapshot(EVENTS)
    refuse([model_start("m2")], 0, "AGENT_START", snapshot=ended)
    assert verify([start(resumed=True), end()], snapshot=ended) == (2, None)


def test_a_paused_reply_that_is_taken_up_on_its_own() -> None:
    block = ToolUseBlock(id="c", name="search", raw_input="{}", state=ToolCallState.ASKING)
    paused = [start(), model_start(), *call("c", "{}"), model_end(), asking(block)]
    paused.append(end(reason=GenerateReason.PERMISSION_ASKING))
    yes = answered(ConfirmResult(confirmed=True, tool_call=block))
    resumed = [start(resumed=True, message=reference_message(paused)), yes, *result("c", "ok"), end()]
    both = with_result([*paused, *resumed])
    assert verify(both, strict=True) == (len(both), None)
    alone = with_result(resumed)
    assert verify(alone, strict=True) == (len(alone), None)
    unknown = [*resumed[:2], ToolResultStartEvent(reply_id=R, tool_call_id="other", tool_call_name="search")]
    refuse(unknown, 2, "tool_call 'other'")


# ------------------------------------------------------------------------------------------------------- property


@given(streams(children=2))
def test_every_legal_stream_passes_unchanged(stream: list[AgentEvent]) -> None:
    assert verify(stream, strict=True) == (len(stream), None)


@given(st.data())
def test_a_breach_is_found_where_it_is(data: st.DataObject) -> None:
    # Without numbers, so that the fold takes what comes out of order for new; without pauses, because the reference
    # lets a call be asked for before it was made.
    broken = data.draw(streams(pauses=False).flatmap(breaches))
    stream = [event.model_copy(update={"seq": None}) for event in broken]
    expected = _first_breach(stream)
    passed, error = verify(stream)
    assert passed == expected
    assert (error is not None) == (expected < len(stream) or bool(_open_replies(stream)))


def _first_breach(stream: Sequence[Any]) -> int:
    """The place of the first event that the reference does not let happen."""
    of_reply: dict[str, list[Any]] = defaultdict(list)
    for index, event in enumerate(stream):
        if not isinstance(event, ReplyEvent):
            continue
        before = of_reply[event.reply_id]
        if not reference_accepts(before, event) or _is_second_link(before, event):
            return index
        if isinstance(event, AgentResultEvent):
            ending = {name: getattr(event.result, name) for name in ("generate_reason", "structured_output")}
            folded = reference_message(before, event.source)
            if folded is None or folded.model_copy(update=ending) != event.result:
                return index
        before.append(event)
    return len(stream)


def _is_second_link(before: Sequence[Any], event: Any) -> bool:
    return getattr(event, "url", None) is not None and event.id in {earlier.id for earlier in before}


def _open_replies(stream: Sequence[Any]) -> set[str]:
    last = {event.reply_id: event for event in stream if str(event.type) in ("AGENT_START", "AGENT_END")}
    return {reply_id for reply_id, event in last.items() if isinstance(event, AgentStartEvent)}
