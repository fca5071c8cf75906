from __future__ import annotations

from agentscope_rx import (
    AgentResultEvent,
    AssistantMessage,
    CustomEvent,
    ModelCallEndEvent,
    RequireUserConfirmEvent,
    TextBlockDeltaEvent,
    TextBlockEndEvent,
    ToolResultEndEvent,
    ToolResultState,
    ToolResultTextDeltaEvent,
    ToolUseBlock,
    UnknownEvent,
    decode,
)
from agentscope_rx.cli.event_line import event_line

REPLY = "3f1c9a20b4d15e67000000000000002a"
BLOCK = "3f1c9a20b4d15e67000000000000002c"


def text(delta: str) -> TextBlockDeltaEvent:
    return TextBlockDeltaEvent(reply_id=REPLY, block_id=BLOCK, delta=delta, seq=3)


def test_number_type_ids_and_the_rest() -> None:
    assert event_line(text("17 plus")) == (
        f"   3 TEXT_BLOCK_DELTA           reply_id={REPLY} block_id={BLOCK} delta='17 plus'"
    )


def test_on_a_terminal_ids_are_short() -> None:
    assert event_line(text("17 plus"), 100) == (
        "   3 TEXT_BLOCK_DELTA           reply_id=0000002a block_id=0000002c delta='17 plus'"
    )


def test_a_line_fits_the_terminal_exactly_or_is_cut_to_it() -> None:
    whole = event_line(text("17 plus"), 1000)
    assert event_line(text("17 plus"), len(whole)) == whole
    assert event_line(text("17 plus"), len(whole) - 1) == whole[:-2] + "…"
    assert event_line(text("x" * 1000), 90) == event_line(text("x" * 1000), 2000)[:89] + "…"


def test_wide_characters_count_twice() -> None:
    ascii_line, wide_line = event_line(text("y" * 100), 90), event_line(text("好" * 100), 90)
    assert len(ascii_line) == 90
    narrow = wide_line.index("好")
    assert len(wide_line) == narrow + (89 - narrow) // 2 + 1


def test_control_characters_are_escaped() -> None:
    line = event_line(text("a\nb\x1b[31m\x9b0m\u2028"))
    assert line.isprintable()
    assert line.endswith(r"delta='a\nb\x1b[31m\x9b0m\u2028'")


def test_none_is_left_out_and_what_belongs_to_every_event() -> None:
    end = ModelCallEndEvent(reply_id="r", model_call_id="m", input_tokens=5)
    assert event_line(end) == (
        "     MODEL_CALL_END             reply_id=r model_call_id=m input_tokens=5 finish_reason='unknown'"
    )
    assert event_line(TextBlockEndEvent(reply_id="r", block_id="b", seq=4)) == (
        "   4 TEXT_BLOCK_END             reply_id=r block_id=b"
    )


def test_source_and_metadata_come_last() -> None:
    progress = ToolResultTextDeltaEvent(
        reply_id="r", tool_call_id="c", delta="d", source="main/child", metadata={"progress": True}
    )
    assert event_line(progress).endswith("tool_call_id=c delta='d' source='main/child' metadata={'progress': True}")


def test_blocks_and_messages_are_as_in_their_json() -> None:
    call = ToolUseBlock(id="c", name="t", input={"a": 1}, raw_input='{"a":1}')
    asked = event_line(RequireUserConfirmEvent(reply_id="r", tool_calls=(call,)))
    assert "tool_calls=[{'type': 'tool_use', 'id': 'c', 'name': 't', 'input': {'a': 1}" in asked
    result = event_line(AgentResultEvent(reply_id="r", result=AssistantMessage("friday", "hi\n")))
    assert "'name': 'friday', 'role': 'assistant', 'content': [{'type': 'text', 'text': 'hi\\n'}]" in result
    end = ToolResultEndEvent(reply_id="r", tool_call_id="c", state=ToolResultState.SUCCESS)
    assert event_line(end).endswith("state='success'")


def test_ids_that_would_break_the_line_are_quoted() -> None:
    assert "block_id='a b\\n'" in event_line(TextBlockEndEvent(reply_id="r", block_id="a b\n"))
    assert "block_id=''" in event_line(TextBlockEndEvent(reply_id="r", block_id=""))


def test_events_without_a_reply_and_of_unknown_type() -> None:
    assert event_line(CustomEvent(name="n", value={"k": [1]})).endswith(
        "CUSTOM                     name='n' value={'k': [1]}"
    )
    unknown = decode({"type": "FROM THE\nFUTURE", "x": 1})
    assert isinstance(unknown, UnknownEvent)
    assert event_line(unknown).startswith("     'FROM THE\\nFUTURE'")
