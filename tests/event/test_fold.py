"""The fold, and law L3: a message is a pure fold of its events."""

from __future__ import annotations

import base64
import json
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given, strategies as st

from agentscope_rx.errors import MissingStartError, ProtocolError, RemoteProtocolError
from agentscope_rx.event import (
    AgentEndEvent,
    AgentEvent,
    AgentResultEvent,
    AgentStartEvent,
    ConfirmResult,
    CustomEvent,
    DataBlockDeltaEvent,
    DataBlockEndEvent,
    DataBlockStartEvent,
    HintBlockEvent,
    MessageBuilder,
    MessageSnapshot,
    ModelCallEndEvent,
    ModelCallResetEvent,
    ModelCallStartEvent,
    Part,
    PartKey,
    RequestStopEvent,
    RequireExternalExecutionEvent,
    RequireUserConfirmEvent,
    SubagentExposedEvent,
    TextBlockDeltaEvent,
    TextBlockEndEvent,
    TextBlockStartEvent,
    ThinkingBlockDeltaEvent,
    ThinkingBlockEndEvent,
    ThinkingBlockStartEvent,
    ToolCallDeltaEvent,
    ToolCallEndEvent,
    ToolCallStartEvent,
    ToolResultDataDeltaEvent,
    ToolResultEndEvent,
    ToolResultStartEvent,
    ToolResultTextDeltaEvent,
    UserConfirmResultEvent,
    decode,
    encode,
)
from agentscope_rx.message import (
    AssistantMessage,
    Base64Source,
    ChatUsage,
    DataBlock,
    GenerateReason,
    HintBlock,
    PermissionBehavior,
    PermissionRule,
    TextBlock,
    ThinkingBlock,
    ToolCallState,
    ToolResultBlock,
    ToolResultState,
    ToolUseBlock,
    URLSource,
    UserMessage,
)
from tests.reference import reference_message
from tests.strategies import PIECES, breaches, runs, streams

NOON = datetime(2026, 5, 6, 12, tzinfo=UTC)


def e(cls: type[Any], **fields: Any) -> Any:
    """An event of reply `r`, without a number."""
    if "reply_id" in cls.model_fields:
        fields.setdefault("reply_id", "r")
    return cls(**fields)


def numbered(*events: Any, first: int = 1) -> list[Any]:
    return [event.model_copy(update={"seq": number}) for number, event in enumerate(events, first)]


def folded(events: Any, **options: Any) -> MessageBuilder:
    builder = MessageBuilder(**options)
    for event in events:
        builder.apply(event)
    return builder


START = e(AgentStartEvent, name="Friday", created_at=NOON)


def text(block_id: str, *deltas: str) -> list[Any]:
    return [
        e(TextBlockStartEvent, block_id=block_id),
        *(e(TextBlockDeltaEvent, block_id=block_id, delta=delta) for delta in deltas),
        e(TextBlockEndEvent, block_id=block_id),
    ]


def call(call_id: str, *deltas: str, name: str = "search") -> list[Any]:
    return [
        e(ToolCallStartEvent, tool_call_id=call_id, tool_call_name=name),
        *(e(ToolCallDeltaEvent, tool_call_id=call_id, delta=delta) for delta in deltas),
        e(ToolCallEndEvent, tool_call_id=call_id),
    ]


def result(call_id: str, *output: Any, state: ToolResultState = ToolResultState.SUCCESS, **end: Any) -> list[Any]:
    return [
        e(ToolResultStartEvent, tool_call_id=call_id, tool_call_name="search"),
        *output,
        e(ToolResultEndEvent, tool_call_id=call_id, state=state, **end),
    ]


def said(call_id: str, delta: str, **fields: Any) -> Any:
    return e(ToolResultTextDeltaEvent, tool_call_id=call_id, delta=delta, **fields)


def piece(call_id: str, block_id: str, data: bytes | None = None, url: str | None = None, **fields: Any) -> Any:
    encoded = None if data is None else base64.b64encode(data).decode()
    fields.setdefault("media_type", "image/png")
    return e(ToolResultDataDeltaEvent, tool_call_id=call_id, block_id=block_id, data=encoded, url=url, **fields)


# ------------------------------------------------------------------------------------------------ L3, the law


@given(streams(children=2))
def test_l3_the_fold_is_the_reference_fold_at_every_cut(stream: list[AgentEvent]) -> None:
    builder = MessageBuilder()
    for end, event in enumerate(stream, 1):
        builder.apply(event)
        assert builder.message() == reference_message(stream[:end])


@given(streams(children=2))
def test_l3_a_snapshot_at_any_cut_and_the_tail_are_the_whole(stream: list[AgentEvent]) -> None:
    whole = folded(stream)
    before = MessageBuilder()
    for cut in range(len(stream) + 1):
        stored = before.snapshot().model_dump_json()
        snapshot = MessageSnapshot.model_validate_json(stored)
        assert snapshot == before.snapshot()
        after = MessageBuilder(snapshot)
        assert after.snapshot() == snapshot
        for event in stream[cut:]:
            after.apply(event)
        assert after.message() == whole.message()
        assert after.snapshot().model_dump(exclude={"model_calls"}) == whole.snapshot().model_dump(
            exclude={"model_calls"}
        )
        if cut < len(stream):
            before.apply(stream[cut])


@given(streams(), st.data())
def test_l3_repeats_and_overlaps_change_nothing(stream: list[AgentEvent], data: st.DataObject) -> None:
    seen = data.draw(st.integers(0, len(stream)))
    again = data.draw(st.integers(0, seen))
    assert folded([*stream[:seen], *stream[again:]]).snapshot() == folded(stream).snapshot()
    assert folded([*stream, *stream, *stream[again:seen]]).snapshot() == folded(stream).snapshot()
    assert folded([event for event in stream for _ in range(2)]).snapshot() == folded(stream).snapshot()


@given(streams(children=2), st.data())
def test_l3_repeats_after_a_snapshot_change_nothing(stream: list[AgentEvent], data: st.DataObject) -> None:
    cut = data.draw(st.integers(0, len(stream)))
    back = data.draw(st.integers(0, cut))
    resumed = folded(stream[back:], snapshot=folded(stream[:cut]).snapshot())
    assert resumed.message() == folded(stream).message()


@given(streams(children=2))
def test_l3_the_events_read_from_json_fold_to_the_same_message(stream: list[AgentEvent]) -> None:
    read = [decode(encode(event)) for event in stream]
    assert read == stream
    assert folded(read).snapshot() == folded(stream).snapshot()


@given(streams())
def test_l3_every_run_alone_folds_to_the_whole_message(stream: list[AgentEvent]) -> None:
    so_far: list[AgentEvent] = []
    for run in runs(stream):
        so_far += run
        assert folded(run).message() == folded(so_far).message()


@given(streams(children=2))
def test_l3_agent_result_is_the_message(stream: list[AgentEvent]) -> None:
    builder = MessageBuilder()
    for before, event in zip([None, *stream], stream, strict=False):
        builder.apply(event)
        if isinstance(event, AgentEndEvent) and event.source is None:
            assert isinstance(before, AgentResultEvent)
            assert before.result == builder.message()


@given(streams(children=2))
def test_l3_each_child_folds_on_its_own(stream: list[AgentEvent]) -> None:
    for source in {event.source for event in stream}:
        alone = [event for event in stream if event.source == source]
        assert folded(stream, source=source).message() == reference_message(stream, source)
        assert folded(alone, source=source).message() == reference_message(stream, source)


@given(streams())
def test_l3_events_without_numbers_fold_too(stream: list[AgentEvent]) -> None:
    bare = [event.model_copy(update={"seq": None}) for event in stream]
    assert folded(bare).message() == folded(stream).message()


@given(streams(), st.data())
def test_l3_gaps_are_legal(stream: list[AgentEvent], data: st.DataObject) -> None:
    filterable = st.sampled_from((TextBlockStartEvent, ThinkingBlockStartEvent, ToolResultStartEvent, HintBlockEvent))
    dropped: dict[Any, Any] = {
        TextBlockStartEvent: TextBlockStartEvent | TextBlockDeltaEvent | TextBlockEndEvent,
        ThinkingBlockStartEvent: ThinkingBlockStartEvent | ThinkingBlockDeltaEvent | ThinkingBlockEndEvent,
        ToolResultStartEvent: ToolResultStartEvent
        | ToolResultTextDeltaEvent
        | ToolResultDataDeltaEvent
        | ToolResultEndEvent,
        HintBlockEvent: HintBlockEvent,
    }
    kind = dropped[data.draw(filterable)]
    filtered = [event for event in stream if not isinstance(event, kind)]
    assert folded(filtered).message() == reference_message(filtered)


@given(streams(children=0), st.data())
def test_l3_a_refused_event_changes_nothing(stream: list[AgentEvent], data: st.DataObject) -> None:
    builder = MessageBuilder()
    for event in data.draw(breaches([event.model_copy(update={"seq": None}) for event in stream])):
        before = builder.snapshot()
        try:
            builder.apply(event)
        except ProtocolError:
            assert builder.snapshot() == before
            assert MessageBuilder(before).open == builder.open


# ---------------------------------------------------------------------- faults of other implementations (0, B2)


def test_p1_a_repeated_block_after_a_reconnect_is_one_block() -> None:
    block = numbered(*text("b", "Hel", "lo"), first=2)
    builder = folded([*numbered(START), *block[:3], *block])
    assert builder.message().content == (TextBlock("Hello", id="b"),)


@pytest.mark.parametrize(
    "late",
    [*text("b", "x")[1:], *call("c", "x")[1:], *result("c", said("c", "x"))[1:], piece("c", "d", b"x")],
    ids=lambda event: str(event.type),
)
def test_p2_joining_after_the_start_is_a_typed_error(late: Any) -> None:
    with pytest.raises(MissingStartError, match="AGENT_START"):
        MessageBuilder().apply(late)
    builder = folded([START])
    before = builder.snapshot()
    with pytest.raises(MissingStartError, match=f"got {late.type}.*is new.*expected"):
        builder.apply(late)
    assert builder.snapshot() == before


def test_p2_joining_with_a_snapshot_goes_on() -> None:
    first, *rest = numbered(START, *text("b", "Hel", "lo"))
    builder = folded(rest[2:], snapshot=folded([first, *rest[:2]]).snapshot())
    assert builder.message().get_text_content() == "Hello"


def test_p3_the_same_model_call_end_twice_counts_once() -> None:
    end = e(ModelCallEndEvent, model_call_id="m", input_tokens=10, output_tokens=5)
    log = numbered(START, e(ModelCallStartEvent, model_call_id="m", model_name="x"), end)
    usage = folded([*log, log[-1]]).message().usage
    assert usage is not None
    assert (usage.input_tokens, usage.output_tokens, usage.total_tokens) == (10, 5, 15)


def test_p4_an_edited_call_shows_the_input_that_ran() -> None:
    asked = ToolUseBlock(id="c", name="search", input={"q": "a"}, raw_input='{"q": "a"}', state=ToolCallState.ASKING)
    edited = asked.model_copy(update={"input": {"q": "b"}, "raw_input": '{"q": "b"}'})
    builder = folded(
        [
            START,
            *call("c", '{"q": "a"}'),
            e(RequireUserConfirmEvent, tool_calls=(asked,)),
            e(AgentEndEvent, generate_reason=GenerateReason.PERMISSION_ASKING),
            e(AgentStartEvent, name="Friday", resumed=True),
            e(UserConfirmResultEvent, confirm_results=(ConfirmResult(confirmed=True, tool_call=edited),)),
        ]
    )
    shown = builder.message().get_first_content_block(ToolUseBlock)
    assert shown is not None
    assert (shown.input, shown.raw_input, shown.state) == ({"q": "b"}, '{"q": "b"}', ToolCallState.ALLOWED)


def test_p5_data_pieces_with_one_block_id_are_one_block() -> None:
    builder = folded([START, *result("c", piece("c", "d", b"hello"), piece("c", "d", b"world"))])
    (block,) = builder.message().get_content_blocks(ToolResultBlock)
    joined = base64.b64encode(b"helloworld").decode()
    assert block.output == (DataBlock(Base64Source(media_type="image/png", data=joined), id="d"),)


def test_p6_a_signature_and_redacted_thinking_are_kept() -> None:
    end = e(ThinkingBlockEndEvent, block_id="t", signature="sig", redacted_data="gAAAA")
    delta = e(ThinkingBlockDeltaEvent, block_id="t", delta="hm")
    builder = folded([START, e(ThinkingBlockStartEvent, block_id="t"), delta, end])
    block = ThinkingBlock("hm", id="t", signature="sig", redacted_data="gAAAA")
    assert builder.message().content == (block,)
    assert folded([], snapshot=builder.snapshot()).message().content == (block,)


@pytest.mark.parametrize(
    "event",
    [
        CustomEvent(name="x"),
        RequestStopEvent(),
        SubagentExposedEvent(subagent_id="s", agent_id="a", session_id="c"),
        decode({"type": "TELEPATHY", "thought": 1}),
    ],
    ids=lambda event: str(event.type),
)
def test_p7_events_without_a_reply_are_ignored(event: Any) -> None:
    builder = MessageBuilder()
    builder.apply(event)
    assert builder.snapshot() == MessageSnapshot()
    builder.apply(START)
    before = builder.snapshot()
    builder.apply(event)
    assert builder.snapshot() == before


def test_b2_13_base64_pieces_padded_on_their_own_are_joined_as_bytes() -> None:
    pieces = [
        e(DataBlockDeltaEvent, block_id="d", media_type="x/y", data=base64.b64encode(data).decode())
        for data in (b"1", b"23", b"4567")
    ]
    builder = folded([START, e(DataBlockStartEvent, block_id="d", media_type="x/y"), *pieces])
    (block,) = builder.message().get_content_blocks(DataBlock)
    assert isinstance(block.source, Base64Source)
    assert base64.b64decode(block.source.data) == b"1234567"


@given(st.lists(st.binary(max_size=5), max_size=8))
def test_b2_13_any_pieces_are_joined_as_bytes(pieces: list[bytes]) -> None:
    builder = folded([START, *result("c", *(piece("c", "d", data) for data in pieces))])
    (block,) = builder.message().get_content_blocks(ToolResultBlock)
    found = [base64.b64decode(part.source.data) for part in block.output]
    assert found == ([b"".join(pieces)] if pieces else [])


@given(streams())
def test_b2_16_replaying_onto_a_message_that_has_the_parts_changes_nothing(stream: list[AgentEvent]) -> None:
    whole = folded(stream).snapshot()
    assert folded(stream, snapshot=whole).snapshot() == whole
    assert folded(stream[len(stream) // 2 :], snapshot=whole).snapshot() == whole


def test_b2_18_blocks_of_two_kinds_may_share_an_id() -> None:
    data = e(DataBlockDeltaEvent, block_id="same", media_type="x/y", data="MQ==")
    events = [*text("same", "a"), e(DataBlockStartEvent, block_id="same", media_type="x/y"), data, *call("same", "{}")]
    builder = folded([START, *events, *result("same", said("same", "ok"))])
    assert [block.type for block in builder.message().content] == ["text", "data", "tool_use", "tool_result"]
    assert {getattr(block, "id", None) for block in builder.message().content} == {"same"}


@given(streams())
def test_b2_21_the_deltas_of_a_block_are_its_text(stream: list[AgentEvent]) -> None:
    blocks = {block.id: block for block in folded(stream).message().get_content_blocks(TextBlock)}
    for block_id, block in blocks.items():
        deltas = [one.delta for one in stream if isinstance(one, TextBlockDeltaEvent) and one.source is None
                  and one.block_id == block_id]  # fmt: skip
        assert block.text == "".join(deltas)


@given(streams())
def test_b2_23_a_loaded_list_folds_like_the_live_stream(stream: list[AgentEvent]) -> None:
    stored = "\n".join(encode(event) for event in stream)
    loaded = [decode(line) for line in stored.split("\n")]
    assert folded(loaded).message() == folded(stream).message()


# --------------------------------------------------------------------------------------------- binding, numbers


def test_the_message_is_named_and_dated_by_the_start() -> None:
    message = folded([START]).message()
    assert message == AssistantMessage(id="r", name="Friday", timestamp=NOON, content=())
    assert type(message) is AssistantMessage


def test_there_is_no_message_before_the_start() -> None:
    builder = MessageBuilder()
    assert (builder.reply_id, builder.last_seq, builder.ended, builder.open) == (None, 0, False, ())
    with pytest.raises(MissingStartError, match="before AGENT_START"):
        builder.message()


def test_other_replies_and_sources_are_ignored() -> None:
    child = text("b", "child")
    builder = folded(
        [
            START,
            *text("b", "mine"),
            *(event.model_copy(update={"source": "main/child"}) for event in child),
            *(event.model_copy(update={"reply_id": "other"}) for event in child),
            e(AgentStartEvent, reply_id="other", name="x"),
        ]
    )
    assert builder.message().get_text_content() == "mine"
    assert builder.reply_id == "r"


def test_agent_result_never_binds_and_never_changes_anything() -> None:
    event = e(AgentResultEvent, result=AssistantMessage("other"), seq=9)
    assert folded([event]).snapshot() == MessageSnapshot()
    builder = folded([event, *numbered(START, *text("b", "x"))])
    assert builder.message().get_text_content() == "x"


def test_a_child_snapshot_goes_on_as_that_child() -> None:
    of_child = [event.model_copy(update={"source": "main/child"}) for event in numbered(START, *text("b", "x"))]
    builder = folded(of_child[:2], source="main/child")
    assert folded(of_child[2:], snapshot=builder.snapshot()).message().get_text_content() == "x"


def test_gaps_in_the_numbers_are_legal_and_old_numbers_are_dropped() -> None:
    start, *block = numbered(START, *text("b", "x"), first=5)
    late = e(TextBlockDeltaEvent, block_id="b", delta="late", seq=3)
    builder = folded([start, block[0], late, *block[1:]])
    assert builder.message().get_text_content() == "x"
    assert builder.last_seq == block[-1].seq


def test_number_zero_is_no_number() -> None:
    builder = folded([event.model_copy(update={"seq": 0}) for event in [START, *text("b", "a", "b")]])
    assert (builder.message().get_text_content(), builder.last_seq) == ("ab", 0)


def test_events_after_the_end_change_nothing_but_a_resume() -> None:
    log = numbered(START, e(AgentEndEvent, generate_reason=GenerateReason.TOOL_SUSPENDED))
    builder = folded(log)
    ended = builder.snapshot()
    stray = e(HintBlockEvent, block_id="h", hint="x", seq=90)
    for event in [*text("b", "x"), stray, e(AgentEndEvent, seq=91), e(AgentResultEvent, result=AssistantMessage())]:
        builder.apply(event)
        assert builder.snapshot() == ended
    assert builder.message().generate_reason is GenerateReason.TOOL_SUSPENDED
    for event in numbered(e(AgentStartEvent, name="Friday", resumed=True), *text("b", "x"), first=3):
        builder.apply(event)
    assert (builder.message().generate_reason, builder.message().get_text_content()) == (None, "x")


def test_a_reply_starts_once() -> None:
    builder = folded([START])
    with pytest.raises(ProtocolError, match="a reply starts once"):
        builder.apply(START)


def test_a_resume_starts_from_its_message_and_keeps_its_name_and_time() -> None:
    message = AssistantMessage(
        "Friday",
        TextBlock("so far", id="b"),
        TextBlock("from no event"),
        HintBlock(id="h", hint="hint"),
        ToolUseBlock(id="c", name="search", state=ToolCallState.ASKING),
        id="r",
        timestamp=NOON,
        usage=ChatUsage(input_tokens=1),
        generate_reason=GenerateReason.PERMISSION_ASKING,
    )
    resume = e(AgentStartEvent, name="Someone", resumed=True, message=message)
    builder = folded([resume, *result("c", said("c", "ok"))])
    folded_message = builder.message()
    assert folded_message.model_copy(update={"content": ()}) == message.model_copy(
        update={"content": (), "generate_reason": None}
    )
    assert folded_message.content[:3] == message.content[:3]
    assert [block.type for block in folded_message.content[3:]] == ["tool_use", "tool_result"]
    assert folded_message.get_content_blocks(ToolUseBlock)[0].state is ToolCallState.FINISHED


def test_a_builder_that_has_seen_the_reply_ignores_the_message_of_a_resume() -> None:
    resume = e(AgentStartEvent, name="Friday", resumed=True, message=AssistantMessage("other", id="r"))
    assert folded([START, e(AgentEndEvent), resume]).message().content == ()


def test_a_block_that_the_message_of_a_resume_has_cannot_start_again() -> None:
    message = AssistantMessage(TextBlock("x", id="b"), id="r")
    builder = folded([e(AgentStartEvent, name="Friday", resumed=True, message=message)])
    with pytest.raises(ProtocolError, match="text is closed"):
        builder.apply(e(TextBlockStartEvent, block_id="b"))


# ------------------------------------------------------------------------------------------------------ blocks


def test_empty_blocks_are_kept() -> None:
    message = folded([START, *text("b"), *call("c"), *result("c")]).message()
    assert message.content == (
        TextBlock("", id="b"),
        ToolUseBlock(id="c", name="search", state=ToolCallState.FINISHED),
        ToolResultBlock(id="c", name="search", state=ToolResultState.SUCCESS),
    )


def test_blocks_stand_in_the_order_of_their_starts() -> None:
    a, b = text("a", "1", "2"), text("b", "3")
    message = folded([START, a[0], b[0], *b[1:], *a[1:]]).message()
    assert message.content == (TextBlock("12", id="a"), TextBlock("3", id="b"))


@pytest.mark.parametrize("raw", ['{"q"', "[1]", '"x"', '{"n": NaN}', '{"n": 1e999}', '{"s": "\\ud83c"}'])
def test_arguments_that_cannot_be_used_are_kept_verbatim(raw: str) -> None:
    (block,) = folded([START, *call("c", *raw)]).message().get_content_blocks(ToolUseBlock)
    assert (block.input, block.raw_input) == ({}, raw)


def test_arguments_are_parsed_at_the_end_of_the_call() -> None:
    *open_call, end = call("c", '{"q":', " 1}")
    builder = folded([START, *open_call])
    assert builder.message().content == (ToolUseBlock(id="c", name="search", raw_input='{"q": 1}'),)
    builder.apply(end.model_copy(update={"signature": "sig"}))
    assert builder.message().content == (
        ToolUseBlock(id="c", name="search", raw_input='{"q": 1}', input={"q": 1}, signature="sig"),
    )


def test_adjacent_result_text_is_one_block_and_progress_is_left_out() -> None:
    output = [
        said("c", "a"),
        said("c", "10 %", metadata={"progress": True}),
        said("c", "b"),
        piece("c", "d", b"1"),
        piece("c", "p", b"2", metadata={"progress": True}),
        said("c", "c", metadata={"progress": False}),
        piece("c", "d", b"3"),
        said("c", "d"),
    ]
    (block,) = folded([START, *result("c", *output)]).message().get_content_blocks(ToolResultBlock)
    joined = base64.b64encode(b"13").decode()
    assert block.output == (
        TextBlock("ab"),
        DataBlock(Base64Source(media_type="image/png", data=joined), id="d"),
        TextBlock("cd"),
    )


def test_the_metadata_of_the_end_is_that_of_the_block() -> None:
    blocks = [
        text("t", "hi"),
        [e(ThinkingBlockStartEvent, block_id="t"), e(ThinkingBlockEndEvent, block_id="t")],
        [e(DataBlockStartEvent, block_id="d", media_type="x/y"), e(DataBlockEndEvent, block_id="d")],
        call("c", "{}"),
        result("c"),
    ]
    log = [START]
    for number, (*before, end) in enumerate(blocks):
        log += [*before, end.model_copy(update={"metadata": {"rows": number}})]
    builder = folded(log)
    assert [block.metadata for block in builder.message().content] == [{"rows": number} for number in range(5)]
    assert folded([], snapshot=builder.snapshot()).message() == builder.message()


def test_a_data_block_may_be_a_link() -> None:
    link = e(DataBlockDeltaEvent, block_id="d", media_type="x/y", url="https://example.org/a b")
    builder = folded([START, e(DataBlockStartEvent, block_id="d", media_type="x/y"), link])
    block = DataBlock(URLSource(url="https://example.org/a b", media_type="x/y"), id="d")
    assert builder.message().content == (block,)


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (piece("c", "d", b"1"), piece("c", "d", url="x:y")),
        (piece("c", "d", url="x:y"), piece("c", "d", b"1")),
        (piece("c", "d", url="x:y"), piece("c", "d", url="x:z")),
        (piece("c", "d", url=""), piece("c", "d", b"1")),
    ],
)
def test_a_data_block_is_bytes_or_one_link(first: Any, second: Any) -> None:
    start = e(ToolResultStartEvent, tool_call_id="c", tool_call_name="search")
    builder = folded([START, start, first])
    before = builder.snapshot()
    with pytest.raises(ProtocolError, match="bytes or one link"):
        builder.apply(second)
    assert builder.snapshot() == before


@pytest.mark.parametrize("data", ["SECRET!", "AA", "AA==AA==", "ÄÄÄÄ", "AA\n=="])
def test_data_that_is_not_base64_is_refused_without_quoting_it(data: str) -> None:
    start = e(DataBlockStartEvent, block_id="d", media_type="x/y")
    builder = folded([START, start])
    before = builder.snapshot()
    with pytest.raises(
        RemoteProtocolError, match=f"base64.*got {len(data)} characters.*DATA_BLOCK_DELTA 'd'"
    ) as caught:
        builder.apply(e(DataBlockDeltaEvent, block_id="d", media_type="x/y", data=data))
    assert data not in str(caught.value)
    assert builder.snapshot() == before


@pytest.mark.parametrize("kind", ["text", "call", "result"])
def test_a_block_never_reopens(kind: str) -> None:
    block = {"text": text("b", "x"), "call": call("b", "{}"), "result": result("b", said("b", "x"))}[kind]
    builder = folded([START, *block])
    before = builder.snapshot()
    for event in block:
        with pytest.raises(ProtocolError, match="is closed"):
            builder.apply(event)
        assert builder.snapshot() == before


def test_what_is_open_is_told_in_order_of_start() -> None:
    start = e(ModelCallStartEvent, model_call_id="m", model_name="x")
    builder = folded([START, start, text("2")[0], call("c")[0], text("1")[0]])
    parts = (PartKey(Part.TEXT, "2"), PartKey(Part.TOOL_CALL, "c"), PartKey(Part.TEXT, "1"))
    assert builder.open == (PartKey(Part.MODEL_CALL, "m"), *parts)
    assert builder.snapshot().open == parts


@given(st.lists(st.sampled_from(PIECES), min_size=1))
def test_deltas_after_a_read_go_on(deltas: list[str]) -> None:
    builder = folded([START, text("b")[0]])
    for end, delta in enumerate(deltas, 1):
        builder.apply(e(TextBlockDeltaEvent, block_id="b", delta=delta))
        assert builder.message().get_text_content() == "".join(deltas[:end])


# ------------------------------------------------------------------------------- model calls, usage and resets


def model_call(call_id: str, *inside: Any, seconds: float = 0, **usage: Any) -> list[Any]:
    ended = NOON + timedelta(seconds=seconds)
    return [
        e(ModelCallStartEvent, model_call_id=call_id, model_name="x", created_at=NOON),
        *inside,
        e(ModelCallEndEvent, model_call_id=call_id, created_at=ended, **usage),
    ]


def test_usage_is_summed_over_the_calls_and_none_is_unknown() -> None:
    first = model_call("m1", seconds=1.5, input_tokens=10, output_tokens=5, reasoning_tokens=2)
    second = model_call("m2", seconds=0.25, input_tokens=20, output_tokens=7)
    builder = folded([START, *first[:1]])
    assert builder.message().usage is None
    for event in [*first[1:], *second]:
        builder.apply(event)
    assert builder.message().usage == ChatUsage(
        input_tokens=30, output_tokens=12, reasoning_tokens=2, total_tokens=42, time=1.75
    )


def test_usage_that_no_call_knows_is_unknown_and_never_zero() -> None:
    usage = folded([START, *model_call("m1"), *model_call("m2", cached_input_tokens=0)]).message().usage
    assert usage == ChatUsage(cached_input_tokens=0, time=0.0)


def test_usage_goes_on_after_a_resume() -> None:
    message = AssistantMessage(id="r", usage=ChatUsage(input_tokens=1, output_tokens=2, total_tokens=3, time=1.0))
    resume = e(AgentStartEvent, name="Friday", resumed=True, message=message)
    builder = folded([resume, *model_call("m", seconds=1, input_tokens=10, output_tokens=20)])
    assert builder.message().usage == ChatUsage(input_tokens=11, output_tokens=22, total_tokens=33, time=2.0)


def test_a_model_call_starts_and_ends_once() -> None:
    start, end = model_call("m")
    builder = folded([START, start])
    with pytest.raises(ProtocolError, match="model_call is open"):
        builder.apply(start)
    builder.apply(end)
    for event in (start, end, e(ModelCallResetEvent, model_call_id="m")):
        with pytest.raises(ProtocolError, match="model_call is closed"):
            builder.apply(event)
    with pytest.raises(MissingStartError, match="model_call is new"):
        builder.apply(e(ModelCallEndEvent, model_call_id="other"))


def test_a_reset_withdraws_the_blocks_of_its_call_and_no_others() -> None:
    hint = e(HintBlockEvent, block_id="h", hint="kept", hint_source="inbox")
    reset = e(ModelCallResetEvent, model_call_id="m2", attempt=1)
    builder = folded(
        [
            START,
            *model_call("m1", *text("a", "before")),
            *model_call("m2", *text("b", "gone"), hint, *call("c", "{}"), reset, *text("d", "new"), reset, *text("f")),
        ]
    )
    assert builder.message().content == (
        TextBlock("before", id="a"),
        HintBlock(id="h", hint="kept", source="inbox"),
        TextBlock("", id="f"),
    )


def test_a_reset_closes_what_is_open() -> None:
    start, _ = model_call("m")
    builder = folded([START, start, text("b")[0], e(ModelCallResetEvent, model_call_id="m")])
    assert builder.open == (PartKey(Part.MODEL_CALL, "m"),)
    with pytest.raises(MissingStartError):
        builder.apply(e(TextBlockDeltaEvent, block_id="b", delta="late"))


# ---------------------------------------------------------------------------------------- the states of a call


def test_a_call_goes_from_pending_to_finished() -> None:
    builder = folded([START, *call("c", "{}")])
    rules = (PermissionRule(tool_name="search", behavior=PermissionBehavior.ALLOW, source="suggested"),)

    def state() -> Any:
        return builder.message().get_first_content_block(ToolUseBlock)

    assert state().state is ToolCallState.PENDING
    builder.apply(e(RequireUserConfirmEvent, tool_calls=(state().model_copy(update={"suggested_rules": rules}),)))
    assert (state().state, state().suggested_rules) == (ToolCallState.ASKING, rules)
    answer = ConfirmResult(confirmed=True, tool_call=state())
    builder.apply(e(UserConfirmResultEvent, confirm_results=(answer,)))
    assert state().state is ToolCallState.ALLOWED
    builder.apply(e(RequireExternalExecutionEvent, tool_calls=(state(),)))
    assert state().state is ToolCallState.SUBMITTED
    for event in result("c"):
        builder.apply(event)
    assert state().state is ToolCallState.FINISHED


def test_a_denied_call_keeps_its_input_and_finishes_with_a_denied_result() -> None:
    events = [START, *call("c", '{"q": 1}')]
    asked = ToolUseBlock(id="c", name="search", input={"q": 2}, state=ToolCallState.ASKING)
    denial = ConfirmResult(confirmed=False, tool_call=asked, reason="not today")
    events += [e(RequireUserConfirmEvent, tool_calls=(asked,)), e(UserConfirmResultEvent, confirm_results=(denial,))]
    events += result("c", said("c", "not today"), state=ToolResultState.DENIED)
    use, outcome = folded(events).message().content
    assert isinstance(use, ToolUseBlock)
    assert (use.input, use.state) == ({"q": 1}, ToolCallState.FINISHED)
    assert isinstance(outcome, ToolResultBlock)
    assert outcome.state is ToolResultState.DENIED


def test_events_about_calls_that_a_filter_took_away_are_ignored() -> None:
    call_block = ToolUseBlock(id="c", name="search")
    builder = folded([START, e(RequireUserConfirmEvent, tool_calls=(call_block,)), *result("c", said("c", "ok"))])
    assert [block.type for block in builder.message().content] == ["tool_result"]


# --------------------------------------------------------------------------------------------- ends, snapshots


def test_the_end_gives_the_reason_and_the_structured_output() -> None:
    output = {"answer": 42, "unsure": None}
    end = e(AgentEndEvent, generate_reason=GenerateReason.STRUCTURED_OUTPUT, structured_output=output)
    builder = folded([START, end])
    assert builder.ended
    assert builder.message().generate_reason is GenerateReason.STRUCTURED_OUTPUT
    assert builder.message().structured_output == output
    assert folded([], snapshot=builder.snapshot()).message() == builder.message()


def test_a_snapshot_is_json_and_does_not_follow_the_builder() -> None:
    builder = folded(numbered(START, text("b")[0]))
    snapshot = builder.snapshot()
    stored = json.loads(snapshot.model_dump_json())
    assert stored["last_seq"] == 2
    assert stored["open"] == [["text", "b"]]
    builder.apply(e(TextBlockDeltaEvent, block_id="b", delta="x", seq=3))
    assert json.loads(snapshot.model_dump_json()) == stored


def test_a_snapshot_that_contradicts_itself_is_refused() -> None:
    snapshot = folded([START]).snapshot().model_copy(update={"open": (PartKey(Part.TEXT, "b"),)})
    with pytest.raises(ProtocolError, match="got text 'b', which is not"):
        MessageBuilder(snapshot)


def test_two_builders_of_one_snapshot_are_independent() -> None:
    snapshot = folded([START, text("b")[0]]).snapshot()
    one, other = MessageBuilder(snapshot), MessageBuilder(snapshot)
    one.apply(e(TextBlockDeltaEvent, block_id="b", delta="x"))
    assert (one.message().get_text_content(), other.message().get_text_content()) == ("x", "")


def test_the_message_of_a_user_is_no_reply() -> None:
    with pytest.raises(ValueError, match="role"):
        MessageSnapshot.model_validate({"message": UserMessage("hi").model_dump()})
