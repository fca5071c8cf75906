"""`ContextWindow`: what is sent, what is said of it, and what is remembered."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, strategies as st

from agentscope_rx import (
    ConfigurationError,
    ContextWindow,
    CustomEvent,
    FallbackModel,
    ModelStreamError,
    ReActAgent,
    SqliteStateStore,
    estimate_tokens,
)
from agentscope_rx.message import (
    AssistantMessage,
    Base64Source,
    DataBlock,
    HintBlock,
    Msg,
    TextBlock,
    ThinkingBlock,
    ToolResultBlock,
    ToolUseBlock,
    UserMessage,
)
from agentscope_rx.middleware.context_window.cuts import cuts, kept, pieces
from agentscope_rx.model.turns import NO_RESULT, Turn, split_turns
from agentscope_rx.testing import ScriptedModel, error, text, tool_call, usage

from ..agent.shapes import collect, run
from ..counting import calls_of, steps_of


def blocks(messages: Sequence[Msg], tools: Any = ()) -> int:
    """Count a token for each block: a window in blocks is easy to follow."""
    return sum(len(message.content) for message in messages)


def window(max_tokens: int, **settings: Any) -> ContextWindow:
    return ContextWindow(max_tokens, count=blocks, **settings)


def said(request: Any) -> list[str]:
    return [f"{message.role}: {message.get_text_content()}" for message in request.messages]


def talked(*words: str) -> list[Msg]:
    return [AssistantMessage("friday", word) if word.isupper() else UserMessage(word) for word in words]


def step(number: int) -> tuple[Any, ...]:
    call = f"c{number}"
    return (
        TextBlock(f"step {number}"),
        ToolUseBlock(id=call, name="look", input={}),
        ToolResultBlock(id=call, name="look", output=(TextBlock(f"seen {number}"),), state="success"),
    )


def work(steps: int) -> AssistantMessage:
    return AssistantMessage("friday", [block for number in range(steps) for block in step(number)])


# ------------------------------------------------------------------------------------------------------- where it cuts


def test_the_cut_is_before_a_question_and_inside_the_last_exchange_alone() -> None:
    conversation = pieces([*talked("a", "A", "b"), work(2), *talked("c"), work(3)])
    assert [piece.message.get_text_content() for piece in conversation] == [
        *["a", "A", "b", "step 0", "step 1", "c", "step 0", "step 1", "step 2"]
    ]
    assert cuts(conversation) == [2, 5, 7, 8]


def test_the_question_stays_before_the_part_of_its_answer() -> None:
    conversation = pieces([*talked("a", "A", "b"), work(3)])
    question, answer = kept(conversation, 5)
    assert question.get_text_content() == "b"
    assert [block.type for block in answer.content] == ["text", "tool_use", "tool_result"]
    assert answer.get_text_content() == "step 2"


def test_the_parts_of_a_reply_that_are_kept_are_one_message() -> None:
    whole = work(3)
    conversation = pieces([*talked("a"), whole])
    question, answer = kept(conversation, 2)
    assert (question.get_text_content(), answer.id) == ("a", whole.id)
    assert answer.content == whole.content[3:]
    assert kept(conversation, 0)[1] == whole


def test_l4_the_parts_of_a_long_reply_are_joined_in_one_pass() -> None:
    def cost(steps: int) -> int:
        conversation = pieces([*talked("a"), work(steps)])
        return calls_of(kept, conversation, 2) + steps_of(kept, conversation, 2)

    assert cost(400) < 4.8 * cost(100)


def test_hints_stay_with_what_they_follow() -> None:
    message = AssistantMessage("friday", [*step(0), HintBlock(hint="hurry"), *step(1)])
    parts = [piece.message.content for piece in pieces([message])]
    assert [[block.type for block in part] for part in parts] == [
        ["text", "tool_use", "tool_result", "hint"],
        ["text", "tool_use", "tool_result"],
    ]


BLOCKS = st.sampled_from(["text", "thinking", "calls", "hint"])


@st.composite
def conversations(draw: st.DrawFn) -> list[Msg]:
    number = 0
    messages: list[Msg] = []
    for _ in range(draw(st.integers(1, 4))):
        messages.append(UserMessage("question"))
        content: list[Any] = []
        for kind in draw(st.lists(BLOCKS, max_size=6)):
            if kind == "text":
                content.append(TextBlock("said"))
            elif kind == "thinking":
                content.append(ThinkingBlock("hm"))
            elif kind == "hint":
                content.append(HintBlock(hint="note"))
            else:
                ids = [f"c{number + offset}" for offset in range(draw(st.integers(1, 3)))]
                number += len(ids)
                content += [ToolUseBlock(id=id, name="look", input={}) for id in ids]
                content += [ToolResultBlock(id=id, name="look", output=(TextBlock("seen"),)) for id in ids]
        if content:
            messages.append(AssistantMessage("friday", content))
    return messages


@given(conversations())
def test_no_cut_splits_a_call_from_its_result_or_an_answer_from_a_question(messages: list[Msg]) -> None:
    conversation = pieces(messages)
    assert kept(conversation, 0) == messages
    sizes = []
    for cut in cuts(conversation):
        rest = kept(conversation, cut)
        assert rest[0].role == "user"
        assert rest[-1].content[-1] == messages[-1].content[-1]
        turns = [turn for turn in split_turns(rest) if isinstance(turn, Turn)]
        results = [block for turn in turns for block in turn.results]
        assert NO_RESULT not in [block.output[0].text for block in results]
        calls = [block for message in rest for block in message.get_content_blocks(ToolUseBlock)]
        answers = [block for message in rest for block in message.get_content_blocks(ToolResultBlock)]
        assert [block.id for block in calls] == [block.id for block in answers]
        sizes.append(blocks(rest))
    assert sizes == sorted(sizes, reverse=True)


# --------------------------------------------------------------------------------------------------------- in an agent


def conversation_of(agent: ReActAgent, *questions: str) -> list[list[Any]]:
    return [run(collect(agent, question)) for question in questions]


def moves(events: Sequence[Any]) -> list[Any]:
    return [event.value for event in events if isinstance(event, CustomEvent)]


def test_old_turns_are_left_out_and_the_cut_stays_for_a_while() -> None:
    model = ScriptedModel([[text(letter)] for letter in "ABCDE"])
    agent = ReActAgent("friday", model, "Be brief.", middlewares=[window(6, keep=0.5)])
    streams = conversation_of(agent, *"abcde")
    assert [said(request) for request in model.requests] == [
        ["system: Be brief.", "user: a"],
        ["system: Be brief.", "user: a", "assistant: A", "user: b"],
        ["system: Be brief.", "user: a", "assistant: A", "user: b", "assistant: B", "user: c"],
        ["system: Be brief.", "user: d"],
        ["system: Be brief.", "user: d", "assistant: D", "user: e"],
    ]
    assert [moves(events) for events in streams] == [
        *[[], [], []],
        [{"left_out": 6, "summarized": False, "tokens_before": 8, "tokens": 2}],
        [],
    ]
    assert len(agent.get_state().run().history) == 10


def test_a_long_reply_is_cut_between_its_iterations() -> None:
    def look() -> str:
        """Look."""
        return "seen"

    turns = [[text(f"step {number}"), tool_call("look", {})] for number in range(4)]
    model = ScriptedModel([*turns, [text("Done.")]])
    agent = ReActAgent("friday", model, tools=[look], middlewares=[window(8, keep=0.5)])
    (events,) = conversation_of(agent, "go")
    assert [said(request) for request in model.requests] == [
        ["user: go"],
        ["user: go", "assistant: step 0"],
        ["user: go", "assistant: step 0\nstep 1"],
        ["user: go", "assistant: step 2"],
        ["user: go", "assistant: step 2\nstep 3"],
    ]
    assert moves(events) == [{"left_out": 3, "summarized": False, "tokens_before": 10, "tokens": 4}]


def test_a_model_sums_up_what_is_left_out_and_the_summary_before() -> None:
    model = ScriptedModel([[text(letter)] for letter in "ABCD"])
    summarizer = ScriptedModel([[text("They said a. "), usage(50, 5)], [text("They said a, b and c.")]])
    agent = ReActAgent("friday", model, middlewares=[window(3, keep=0.7, summarizer=summarizer)])
    streams = conversation_of(agent, *"abcd")
    assert said(model.requests[-1]) == [
        "user: Summary of the conversation so far:\nThey said a, b and c.",
        "user: d",
    ]
    first, second = ([m.get_text_content() for m in request.messages][1] for request in summarizer.requests)
    assert first == "user: a\nfriday: A\nuser: b\nfriday: B"
    assert second == "Earlier summary: They said a.\nuser: c\nfriday: C"
    assert "They said" not in str([event for events in streams for event in events])
    types = [event.type for event in streams[2]]
    assert types[:6] == [
        *["AGENT_START", "MODEL_CALL_START", "MODEL_CALL_END", "CUSTOM", "MODEL_CALL_START", "TEXT_BLOCK_START"]
    ]
    message = streams[2][-2].result
    assert (message.usage.input_tokens, message.get_text_content()) == (50, "C")
    assert agent.get_state().run().cut.summary == "They said a, b and c."


@pytest.mark.parametrize("second", [[text("They"), error(ModelStreamError("broken"))], [text(" ")]])
def test_a_summary_that_fails_leaves_the_earlier_one(second: Any) -> None:
    model = ScriptedModel([[text(letter)] for letter in "ABCD"])
    summarizer = ScriptedModel([[text("They said a.")], second])
    agent = ReActAgent("friday", model, middlewares=[window(3, keep=0.7, summarizer=summarizer)])
    streams = conversation_of(agent, *"abcd")
    assert said(model.requests[-1]) == ["user: Summary of the conversation so far:\nThey said a.", "user: d"]
    assert streams[-1][-2].result.get_text_content() == "D"


def test_the_cut_is_remembered_by_the_store(tmp_path: Path) -> None:
    async def main() -> None:
        for words, expected in (("abc", "user: c"), ("d", "user: c")):
            store = SqliteStateStore(tmp_path / "states.db")
            model = ScriptedModel([[text(word.upper())] for word in words])
            agent = ReActAgent("friday", model, middlewares=[window(4, keep=0.5)], state_store=store)
            for word in words:
                await agent.call(word)
            assert said(model.requests[-1])[0] == expected
            store.close()

    asyncio.run(main())


def test_what_is_forgotten_is_not_summed_up_any_more() -> None:
    model = ScriptedModel([[text(letter)] for letter in "ABC"])
    summarizer = ScriptedModel([[text("They said a.")]])
    agent = ReActAgent("friday", model, middlewares=[window(2, keep=0.5, summarizer=summarizer)])
    conversation_of(agent, *"ab")
    agent.clear_context().run()
    conversation_of(agent, "c")
    assert said(model.requests[-1]) == ["user: c"]
    assert agent.get_state().run().cut is None


def test_what_cannot_be_cut_is_sent_as_it_is() -> None:
    model = ScriptedModel([[text("A")]])
    agent = ReActAgent("friday", model, "Be brief.", middlewares=[window(1)])
    (events,) = conversation_of(agent, "a")
    assert said(model.requests[0]) == ["system: Be brief.", "user: a"]
    assert moves(events) == []


@pytest.mark.parametrize(("max_tokens", "keep"), [(0, 0.5), (-1, 0.5), (10, 0), (10, 1.5)])
def test_a_window_has_a_size(max_tokens: int, keep: float) -> None:
    with pytest.raises(ConfigurationError):
        ContextWindow(max_tokens, keep=keep)


@pytest.mark.parametrize("make", [FallbackModel, lambda model: ContextWindow(100, summarizer=model)])
def test_a_model_that_stands_by_is_no_mere_name(make: Any) -> None:
    with pytest.raises(ConfigurationError, match="is a ChatModel, see resolve_model"):
        make("openai:gpt-5-mini")


def test_a_long_result_is_shortened_for_the_summary_and_a_long_conversation_too() -> None:
    from agentscope_rx.middleware.context_window.summary import summary_request

    result = ToolResultBlock(id="c", name="look", output=(TextBlock("x" * 9000),))
    reply = AssistantMessage("friday", [ToolUseBlock(id="c", name="look", input={"at": "sky"}), result])
    _, request = summary_request("", [*talked("a"), reply], lambda request: True)
    lines = request.get_text_content().splitlines()
    assert lines[:2] == ["user: a", 'friday: [calls look {"at": "sky"}]']
    assert len(lines[2]) < 2100
    *system, request = summary_request(
        "They said a.", [UserMessage(f"word {number}") for number in range(400)], lambda r: estimate_tokens(r) <= 200
    )
    assert estimate_tokens([*system, request]) <= 200
    assert request.get_text_content().startswith("Earlier summary: They said a.\nuser: word ")
    assert request.get_text_content().endswith("user: word 399")


# ------------------------------------------------------------------------------------------------------------ estimates


@pytest.mark.parametrize(
    ("block", "tokens"),
    [
        (TextBlock("hello world, this is"), 5),
        (TextBlock("你好世界"), 4),
        (TextBlock("你好 ok!!"), 2 + 2),
        (ThinkingBlock("hmm.", signature="abcd"), 2),
        (ToolUseBlock(id="c", name="look", input={}), 2),
        (DataBlock(source=Base64Source(media_type="image/png", data="AAAA" * 10_000)), 1500),
        (HintBlock(hint="be quick"), 2),
    ],
)
def test_estimates(block: Any, tokens: int) -> None:
    assert estimate_tokens([AssistantMessage("friday", [block])]) == 4 + 4 + tokens


def test_a_result_and_a_tool_count_too() -> None:
    (result,) = [block for block in step(0) if isinstance(block, ToolResultBlock)]
    assert estimate_tokens([AssistantMessage("friday", [result])]) == 4 + 4 + 4 + 2
