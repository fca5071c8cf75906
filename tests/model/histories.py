"""Conversations as they really come about, for every adapter to encode: cut off, denied, parked, hinted, summarised."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from agentscope_rx.message import (
    AssistantMessage,
    Base64Source,
    ContentBlock,
    DataBlock,
    HintBlock,
    Msg,
    SystemMessage,
    TextBlock,
    ThinkingBlock,
    ToolCallState,
    ToolResultBlock,
    ToolResultMessage,
    ToolResultState,
    ToolUseBlock,
    UserMessage,
)

PNG = DataBlock(Base64Source(media_type="image/png", data="aGk="))
ZIP = DataBlock(Base64Source(media_type="application/zip", data="aGk="))


def use(id: str, name: str = "f", raw: str = "{}", **fields: Any) -> ToolUseBlock:
    return ToolUseBlock(id=id, name=name, raw_input=raw, **fields)


def result(
    id: str, *output: str | DataBlock, state: ToolResultState = ToolResultState.SUCCESS, name: str = "f"
) -> ToolResultBlock:
    blocks = tuple(TextBlock(o) if isinstance(o, str) else o for o in output)
    return ToolResultBlock(id=id, name=name, output=blocks, state=state)


ASK = UserMessage("What is the weather?")

HISTORIES: dict[str, list[Msg]] = {
    "one question": [ASK],
    "no word": [],
    "nothing but the system": [SystemMessage("Help.")],
    "many iterations": [
        SystemMessage("Help."),
        ASK,
        AssistantMessage(
            ThinkingBlock("hm"), TextBlock("Let me look."), use("a"), use("b"), result("b", "2"), result("a", "1"),
            ThinkingBlock("so"), use("c"), result("c", "3"), TextBlock("Rain."),
        ),
        UserMessage("Thanks"),
    ],
    "in the middle of a reply": [ASK, AssistantMessage(TextBlock("Let me look."), use("a"), result("a", "1"))],
    "interrupted in its thoughts": [ASK, AssistantMessage(ThinkingBlock("hm")), UserMessage("Well?")],
    "interrupted in its text": [ASK, AssistantMessage(ThinkingBlock("hm"), TextBlock("The wea")), UserMessage("Well?")],
    "interrupted in its arguments": [
        ASK,
        AssistantMessage(use("a", raw='{"city": "Par'), result("a", "interrupted", state=ToolResultState.INTERRUPTED)),
        UserMessage("Go on"),
    ],
    "interrupted between two results": [
        ASK,
        AssistantMessage(use("a"), use("b"), result("a", "1"), result("b", "stop", state=ToolResultState.INTERRUPTED)),
        UserMessage("Go on"),
    ],
    "a call that nobody answered": [ASK, AssistantMessage(use("a"), use("b"), result("b", "2")), UserMessage("Go on")],
    "denied without a word": [ASK, AssistantMessage(use("a"), result("a", state=ToolResultState.DENIED))],
    "failed with a picture": [ASK, AssistantMessage(use("a"), result("a", PNG, state=ToolResultState.ERROR))],
    "parked and answered from outside": [
        ASK,
        AssistantMessage(use("a", state=ToolCallState.SUBMITTED), use("b")),
        ToolResultMessage(result("b", "2")),
        ToolResultMessage(result("a", "1")),
    ],
    "hinted before, between and after": [
        ASK,
        AssistantMessage(
            HintBlock(hint="Be brief."), TextBlock("Look."), use("a"), use("b"), result("a", "1"),
            HintBlock(hint=(TextBlock("See:"), PNG)), result("b", "2"), TextBlock("Rain."), HintBlock(hint="Why?"),
        ),
    ],
    "an empty answer and its hint": [
        ASK, AssistantMessage(ThinkingBlock("hm"), TextBlock(""), HintBlock(hint="Answer.")),
    ],
    "summarised at the limit": [
        ASK,
        AssistantMessage(use("a"), result("a", "1"), HintBlock(hint="The limit is reached."), TextBlock("Rain.")),
        UserMessage("More?"),
    ],
    "a summary in place of what was": [UserMessage("Summary: they talked about rain."), ASK],
    "begins with the assistant": [AssistantMessage(TextBlock("Hello, I am Friday.")), ASK],
    "begins with a result whose call is gone": [AssistantMessage(result("x", "lost"), TextBlock("Rain.")), ASK],
    "ends with the assistant, in white space": [ASK, AssistantMessage(TextBlock("The weather is \n"))],
    "blank text": [
        UserMessage(TextBlock(" \n"), TextBlock("x")), AssistantMessage(TextBlock("\n\n"), use("a"), result("a")),
    ],
    "the same ids in every reply": [
        ASK, *(AssistantMessage(use("call_1"), result("call_1", text), TextBlock("t")) for text in ("one", "two")), ASK,
    ],
    "ids and names of another world": [
        ASK, AssistantMessage(use("functions.f:0~2", "functions.f"), result("functions.f:0~2", "1"), use("x" * 99, ""),
                              result("x" * 99, "2")),
    ],
    "arguments that are no JSON": [
        ASK, AssistantMessage(use("a", raw="[1]"), use("b", raw='{"x": NaN}', input={"x": 1})),
    ],
    "pictures from everyone": [
        UserMessage(TextBlock("look"), PNG),
        AssistantMessage(TextBlock("I made:"), PNG, use("a"), result("a", "made:", PNG, ZIP), ZIP, TextBlock("nice")),
    ],
    "talked to twice": [ASK, ASK, AssistantMessage(TextBlock("a")), AssistantMessage(TextBlock("b"))],
    "thoughts of nobody known": [
        ASK,
        AssistantMessage(ThinkingBlock("hm", signature="s"), ThinkingBlock("", redacted_data="d"), TextBlock("t")),
        ASK,
    ],
    "thoughts of somebody else": [
        ASK,
        AssistantMessage(
            ThinkingBlock("hm", signature="s", metadata={"provider": "somebody"}),
            ThinkingBlock("", redacted_data="d", metadata={"provider": "somebody", "item": {"type": "reasoning"}}),
            ThinkingBlock("", metadata={"provider": "somebody", "block": {"type": "server_tool_use", "id": "s"}}),
            TextBlock("t", metadata={"provider": "somebody", "item": {"id": "msg"}}),
            use("a", metadata={"provider": "somebody", "item": {"id": "fc"}}),
            result("a", "1"),
        ),
    ],
}  # fmt: skip
"""By what happened in them."""


def random_histories(*more: st.SearchStrategy[ContentBlock]) -> st.SearchStrategy[list[Msg]]:
    """Make conversations of replies of any blocks in any order, those of a provider's own (`more`) among them."""
    ids, states = st.sampled_from(["a", "b", "c.d", ""]), st.sampled_from(list(ToolResultState))
    block = st.one_of(
        st.builds(TextBlock, st.sampled_from(["", " ", "text "])),
        st.builds(ThinkingBlock, st.just("hm"), signature=st.sampled_from([None, "s"])),
        st.builds(HintBlock, hint=st.sampled_from(["", "hint"])),
        st.builds(use, ids, st.sampled_from(["f", ""]), st.sampled_from(["", "{}", '{"x'])),
        st.builds(result, ids, st.sampled_from(["", "out"]), state=states),
        st.just(PNG),
        *more,
    )
    reply = st.lists(block, max_size=8).map(lambda blocks: AssistantMessage(*_with_one_call_per_id(blocks)))
    return st.lists(st.one_of(reply, st.builds(UserMessage, st.sampled_from(["", " ", "q"]))), max_size=6)


def _with_one_call_per_id(blocks: list[ContentBlock]) -> list[ContentBlock]:
    seen: set[str] = set()
    return [b for b in blocks if not isinstance(b, ToolUseBlock) or not (b.id in seen or seen.add(b.id))]
