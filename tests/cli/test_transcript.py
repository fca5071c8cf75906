from __future__ import annotations

from collections.abc import Iterable

import pytest
import reactivex as rx

from agentscope_rx import (
    AgentEvent,
    AgentResultEvent,
    AssistantMessage,
    ChatUsage,
    DataBlockDeltaEvent,
    DataBlockStartEvent,
    ExceedMaxItersEvent,
    GenerateReason,
    HintBlockEvent,
    ModelCallResetEvent,
    RequestStopEvent,
    TextBlock,
    TextBlockDeltaEvent,
    ThinkingBlockDeltaEvent,
    ToolCallDeltaEvent,
    ToolCallStartEvent,
    ToolResultDataDeltaEvent,
    ToolResultEndEvent,
    ToolResultState,
    ToolResultTextDeltaEvent,
)
from agentscope_rx.cli.transcript import Fragment, Style, transcript


def text(delta: str, id: str = "b1") -> AgentEvent:
    return TextBlockDeltaEvent(reply_id="r", block_id=id, delta=delta)


def think(delta: str) -> AgentEvent:
    return ThinkingBlockDeltaEvent(reply_id="r", block_id="t1", delta=delta)


def call(id: str, name: str) -> AgentEvent:
    return ToolCallStartEvent(reply_id="r", tool_call_id=id, tool_call_name=name)


def arguments(id: str, delta: str) -> AgentEvent:
    return ToolCallDeltaEvent(reply_id="r", tool_call_id=id, delta=delta)


def output(id: str, delta: str, progress: bool = False) -> AgentEvent:
    metadata = {"progress": True} if progress else None
    return ToolResultTextDeltaEvent(reply_id="r", tool_call_id=id, delta=delta, metadata=metadata)


def ended(id: str, state: ToolResultState = ToolResultState.SUCCESS) -> AgentEvent:
    return ToolResultEndEvent(reply_id="r", tool_call_id=id, state=state)


def result(
    usage: ChatUsage | None = None, reason: GenerateReason | None = GenerateReason.MODEL_STOP
) -> AgentResultEvent:
    return AgentResultEvent(reply_id="r", result=AssistantMessage("a", "", usage=usage, generate_reason=reason))


def fragments(*events: AgentEvent) -> list[Fragment]:
    got: list[Fragment] = []
    rx.from_iterable(events).pipe(transcript()).subscribe(got.append, pytest.fail)
    return got


def page(*events: AgentEvent) -> str:
    return "".join(fragment.text for fragment in fragments(*events))


def styles(of: Iterable[Fragment]) -> list[Style]:
    return [fragment.style for fragment in of]


def test_text_is_written_as_it_comes() -> None:
    assert fragments(text("17 plus "), text("25")) == [Fragment("17 plus "), Fragment("25")]


def test_each_block_begins_a_line() -> None:
    assert page(text("one"), text("two", "b2"), text("\n", "b2"), text("three", "b3")) == "one\ntwo\nthree"


def test_thinking_is_marked_in_words_and_in_style() -> None:
    got = fragments(think("hm "), think("so"), text("42"))
    assert "".join(fragment.text for fragment in got) == "(thinking) hm so\n42"
    assert styles(got) == [Style.THINKING, Style.THINKING, Style.TEXT, Style.TEXT]


def test_a_call_with_its_arguments_as_they_come_and_its_result() -> None:
    got = fragments(
        call("c", "calculate"), arguments("c", '{"exp'), arguments("c", '": 1}'), output("c", "4"), ended("c")
    )
    assert got == [
        Fragment("▸ calculate ", Style.CALL),
        Fragment('{"exp', Style.CALL),
        Fragment('": 1}', Style.CALL),
        Fragment("\n"),
        Fragment("  calculate → 4", Style.RESULT),
    ]


def test_progress_has_a_line_for_each_piece_and_the_result_goes_on_after_it() -> None:
    assert page(
        call("c", "read"),
        output("c", "half", progress=True),
        output("c", "two\nlines", progress=True),
        output("c", "a\nb\n"),
        output("c", "c"),
        text("done"),
    ) == (
        "▸ read \n"
        "  read … half\n"
        "  read … two\n"
        "    lines\n"
        "  read → a\n"
        "    b\n"
        "    c\n"
        "done"
    )  # fmt: skip


def test_parallel_calls_are_told_apart() -> None:
    assert page(
        call("c1", "add"),
        call("c2", "add"),
        arguments("c1", "{}"),
        arguments("c2", "[]"),
        output("c2", "2"),
        output("c1", "1"),
        output("c2", "2"),
    ) == (
        "▸ add \n"
        "▸ add#2 \n"
        "▸ add {}\n"
        "▸ add#2 []\n"
        "  add#2 → 2\n"
        "  add → 1\n"
        "  add#2 → 2"
    )  # fmt: skip


def test_numbers_of_calls_begin_anew_with_each_reply() -> None:
    assert page(call("c1", "add"), result(), call("c1", "add")) == "▸ add \n▸ add "


def test_a_result_that_is_no_success_says_so() -> None:
    got = fragments(call("c", "add"), output("c", "no"), ended("c", ToolResultState.ERROR))
    assert got[-2:] == [Fragment("  add → no", Style.RESULT), Fragment(" [error]", Style.NOTE)]
    assert page(call("c", "add"), ended("c", ToolResultState.INTERRUPTED)) == "▸ add \n  add →  [interrupted]"


def test_a_result_without_its_call_is_named_by_the_id() -> None:
    assert page(output("call_9", "x")) == "  call_9 → x"


def test_data_is_named_by_its_type_or_address() -> None:
    def image(**content: str) -> AgentEvent:
        return DataBlockDeltaEvent(reply_id="r", block_id="d", media_type="image/png", **content)

    start = DataBlockStartEvent(reply_id="r", block_id="d", media_type="image/png")
    assert page(text("see"), start, image(data="AA=="), image(data="AA==")) == "see\n[image/png]\n"
    assert page(start, image(url="https://e.org/i.png")) == "[image/png]\nhttps://e.org/i.png\n"


def test_data_of_a_tool_is_named_once() -> None:
    def piece(block_id: str, **content: str) -> AgentEvent:
        return ToolResultDataDeltaEvent(
            reply_id="r", tool_call_id="c", block_id=block_id, media_type="audio/pcm", **content
        )

    pieces = [piece("d1", data="AA=="), piece("d1", data="AA=="), piece("d2", url="https://e.org/a")]
    assert page(call("c", "say"), *pieces) == "▸ say \n  say → [audio/pcm]\n  say → https://e.org/a"


def test_what_people_should_know_has_a_line_of_its_own() -> None:
    assert page(
        text("he"),
        ModelCallResetEvent(reply_id="r", model_call_id="m", attempt=1, reason="connection lost"),
        HintBlockEvent(reply_id="r", block_id="h", hint="be brief", hint_source="boss"),
        HintBlockEvent(reply_id="r", block_id="h2", hint=(TextBlock("one"), TextBlock("two"))),
        ExceedMaxItersEvent(reply_id="r", max_iters=10, current_iter=10),
        RequestStopEvent(reason="enough"),
        text("hello", "b2"),
    ) == (
        "he\n"
        "attempt 1 is withdrawn: connection lost\n"
        "boss: be brief\n"
        "hint: one\n"
        "    two\n"
        "the limit of 10 iterations is reached\n"
        "stop: enough\n"
        "hello"
    )  # fmt: skip


def test_usage_comes_last_with_what_is_known() -> None:
    usage = ChatUsage(input_tokens=1234, output_tokens=56, cached_input_tokens=0)
    got = fragments(text("42"), result(usage))
    assert got[-1] == Fragment("1,234 tokens in · 0 cached · 56 tokens out\n", Style.USAGE)
    assert page(text("42"), result()) == "42\n"
    assert page(text("42\n"), result()) == "42\n"


def test_a_reason_other_than_the_usual_one_is_told() -> None:
    usage = ChatUsage(output_tokens=5)
    assert page(result(usage, GenerateReason.MAX_ITERATIONS)) == "MAX_ITERATIONS · 5 tokens out\n"
    assert page(result(None, GenerateReason.INTERRUPTED)) == "INTERRUPTED\n"
    assert page(result(usage, GenerateReason.ERROR)) == "5 tokens out\n"


def test_nothing_that_is_said_drives_the_terminal() -> None:
    wild = "\x1b]0;title\x07\x9b31m\b\r\n\tx\x7f"
    written = page(text(wild), call("c", wild), output("c", wild), output("c", wild, progress=True))
    assert "\x1b" not in written
    assert all(character.isprintable() or character in "\n\t" for character in written)
    assert page(text("a\r\nb")) == "a\nb"


def test_a_piece_of_nothing_visible_leaves_the_page_in_order() -> None:
    assert page(text("a"), text("\r", "b2"), text("b", "b3")) == "a\nb"


def test_two_subscribers_have_pages_of_their_own() -> None:
    shown = rx.from_iterable([text("a"), call("c", "add")]).pipe(transcript())
    first: list[Fragment] = []
    second: list[Fragment] = []
    shown.subscribe(first.append)
    shown.subscribe(second.append)
    assert first == second == fragments(text("a"), call("c", "add"))


def test_it_ends_as_its_source_does() -> None:
    heard: list[object] = []
    error = ValueError("x")
    rx.throw(error).pipe(transcript()).subscribe(heard.append, heard.append, lambda: heard.append("done"))
    rx.empty().pipe(transcript()).subscribe(heard.append, heard.append, lambda: heard.append("done"))
    assert heard == [error, "done"]
