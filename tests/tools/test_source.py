"""Tools that are found while a reply runs: what a toolkit makes of them, and what a reply says of missing ones."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from agentscope_rx import (
    CustomEvent,
    FoundTools,
    HintBlock,
    HintBlockEvent,
    MissingTools,
    Msg,
    PermissionContext,
    ReActAgent,
    RuntimeContext,
    SqliteStateStore,
    Tool,
    ToolGroup,
    Toolkit,
    ToolSource,
    tool,
)
from agentscope_rx.errors import ToolError
from agentscope_rx.event import ConfirmResult, UserConfirmResultEvent
from agentscope_rx.message import ToolResultBlock, ToolUseBlock
from agentscope_rx.testing import ScriptedModel, assert_valid_stream, text, tool_call


def one() -> str:
    """One."""
    return "1"


def two() -> str:
    """Two."""
    return "2"


def stand_in() -> str:
    """Stands for what is missing."""
    raise ToolError("the shelf is empty")


def tools(*functions: Any) -> FoundTools:
    return FoundTools(tuple(tool(function) for function in functions))


def gone(reason: str = "it burnt down") -> FoundTools:
    return FoundTools(missing=(MissingTools("the shelf", reason),))


class Shelf(ToolSource):
    """A source that has what it is told to have, one time after the other."""

    def __init__(self, *times: FoundTools) -> None:
        self._times = list(times)
        self.asked: list[bool] = []

    async def find(self, *, first: bool) -> FoundTools:
        await asyncio.sleep(0)
        self.asked.append(first)
        return self._times.pop(0) if len(self._times) > 1 else self._times[0]

    def get(self, name: str) -> Tool | None:
        return tool(name=name)(stand_in) if name.startswith("shelf_") else None


def find(toolkit: Toolkit, context: RuntimeContext | None = None) -> Toolkit:
    return asyncio.run(toolkit.found(context or RuntimeContext(), first=True))


def names(toolkit: Toolkit) -> list[str]:
    return [schema.name for schema in toolkit.schemas(RuntimeContext())]


def offered(model: ScriptedModel) -> list[list[str]]:
    return [[schema.name for schema in request.tools] for request in model.requests]


def results(message: Msg) -> list[str]:
    return ["".join(part.text for part in block.output) for block in message.get_content_blocks(ToolResultBlock)]


def told(events: list[Any]) -> list[Any]:
    """What a stream says of missing tools: reasons for people, lines for the model."""
    assert_valid_stream(events)
    return [
        [one["reason"] for one in event.value["missing"]] if isinstance(event, CustomEvent) else event.hint
        for event in events
        if (isinstance(event, CustomEvent) and event.name == "tools_missing")
        or (isinstance(event, HintBlockEvent) and event.hint_source == "tools_missing")
    ]


def events_of(agent: ReActAgent, said: Any = "go") -> list[Any]:
    async def collect() -> list[Any]:
        return [event async for event in agent.stream_events(said)]

    return asyncio.run(collect())


MISSING = "Some tools are missing now. Do without them, and say so where it matters to the answer."
BURNT = f"{MISSING}\n- those of the shelf: it burnt down"
BACK = "The tools that were missing are there again."

# ---------------------------------------------------------------------------------------------------- in a toolkit


def test_what_is_found_is_added_to_what_was_given() -> None:
    toolkit = Toolkit([one, Shelf(tools(two))])
    assert (names(toolkit), toolkit.has_sources) == (["one"], True)
    assert names(find(toolkit)) == ["one", "two"]
    assert names(toolkit) == ["one"]


def test_a_toolkit_inside_another_keeps_its_sources() -> None:
    shelf = Shelf(tools(two))
    toolkit = Toolkit([Toolkit([shelf, one]), shelf])
    assert names(find(toolkit)) == ["one", "two"]
    assert shelf.asked == [True]


def test_a_toolkit_without_sources_has_nothing_to_look_for() -> None:
    assert not Toolkit([one]).has_sources
    assert names(find(Toolkit([one]))) == ["one"]


def test_a_source_may_stand_in_for_what_it_has_not_found() -> None:
    toolkit = Toolkit([one, Shelf(tools())])
    assert toolkit.get("shelf_1") is not None
    assert toolkit.get("other") is None


def test_two_tools_of_one_name() -> None:
    with pytest.raises(ToolError, match="two tools are named 'one'"):
        find(Toolkit([one, Shelf(FoundTools((tool(name="one")(two),)))]))


def test_a_source_is_in_one_group_or_in_none() -> None:
    shelf = Shelf(tools(two))
    with pytest.raises(ToolError, match="is given twice"):
        Toolkit([shelf, ToolGroup("more", [shelf])])


def test_the_source_of_a_group_is_asked_while_the_group_is_active() -> None:
    shelf = Shelf(tools(two))
    model = ScriptedModel(
        [
            [tool_call("shelf_1", {})],
            [tool_call("reset_tools", {"more": True})],
            [tool_call("two", {}), tool_call("shelf_1", {})],
            [tool_call("reset_tools", {})],
            [tool_call("two", {})],
            [text("done")],
        ]
    )
    message = ReActAgent("friday", model, tools=[one, ToolGroup("more", [shelf])]).call("go").run()
    assert offered(model) == [
        ["one", "reset_tools"],
        ["one", "reset_tools"],
        ["one", "reset_tools", "two"],
        ["one", "reset_tools", "two"],
        ["one", "reset_tools"],
        ["one", "reset_tools"],
    ]
    assert results(message) == [
        "ToolNotFoundError: The tool named 'shelf_1' doesn't exist.",
        "The group more is active.",
        "2",
        "ToolError: the shelf is empty",
        "No group is active.",
        "ToolNotFoundError: The tool named 'two' doesn't exist.",
    ]


# ---------------------------------------------------------------------------------------------------- in a reply


def test_sources_are_asked_before_every_model_call() -> None:
    shelf = Shelf(tools(one), tools(one, two))
    model = ScriptedModel([[tool_call("one", {})], [tool_call("two", {})], [text("done")]])
    message = ReActAgent("friday", model, tools=[shelf]).call("go").run()
    assert offered(model) == [["one"], ["one", "two"], ["one", "two"]]
    assert results(message) == ["1", "2"]
    assert shelf.asked == [True, False, False]


def test_what_is_missing_is_said_once_to_people_and_to_the_model() -> None:
    model = ScriptedModel([[tool_call("shelf_1", {})], [text("the shelf burnt down")]])
    events = events_of(ReActAgent("friday", model, tools=[Shelf(gone())]))
    assert told(events) == [["it burnt down"], BURNT]
    assert [type(event).__name__ for event in events[1:4]] == ["CustomEvent", "HintBlockEvent", "ModelCallStartEvent"]
    assert results(events[-2].result) == ["ToolError: the shelf is empty"]
    (hint,) = model.requests[0].messages[-1].content
    assert isinstance(hint, HintBlock)
    assert hint.hint == BURNT


def test_a_change_is_said_and_so_is_the_end_of_it() -> None:
    model = ScriptedModel([[tool_call("shelf_1", {})], [tool_call("one", {})], [text("done")]])
    agent = ReActAgent("friday", model, tools=[Shelf(gone(), gone("it is wet"), tools(one))])
    wet = BURNT.replace("burnt down", "is wet")
    assert told(events_of(agent)) == [["it burnt down"], BURNT, ["it is wet"], wet, [], BACK]


def test_the_model_is_not_told_again_in_the_next_reply_but_people_are() -> None:
    agent = ReActAgent("friday", ScriptedModel([[text("hm")]] * 4), tools=[Shelf(gone(), gone(), tools(one))])
    assert told(events_of(agent)) == [["it burnt down"], BURNT]
    assert told(events_of(agent)) == [["it burnt down"]]
    assert told(events_of(agent)) == [BACK]
    assert told(events_of(agent)) == []


def test_nothing_is_said_when_nothing_is_missing() -> None:
    agent = ReActAgent("friday", ScriptedModel([[text("hm")]]), tools=[Shelf(tools(one))])
    assert told(events_of(agent)) == []


def test_a_call_that_waited_for_a_yes_finds_its_tool_in_another_process(tmp_path: Any) -> None:
    def agent(*turns: Any) -> ReActAgent:
        store = SqliteStateStore(tmp_path / "sessions.db")
        shelf = Shelf(tools(one))
        return ReActAgent(
            "friday", ScriptedModel(list(turns)), tools=[shelf], permission=PermissionContext(), state_store=store
        )

    paused = agent([tool_call("one", {})]).call("go").run()
    (call,) = paused.get_content_blocks(ToolUseBlock)
    answer = UserConfirmResultEvent(
        reply_id=paused.id, confirm_results=(ConfirmResult(confirmed=True, tool_call=call),)
    )
    events = events_of(agent([text("done")]), answer)
    assert results(events[-2].result) == ["1"]


def test_what_is_missing_is_not_told_the_model_between_a_call_and_its_result(tmp_path: Any) -> None:
    shelf = Shelf(tools(one), gone())
    model = ScriptedModel([[tool_call("one", {})], [text("done")]])
    agent = ReActAgent("friday", model, tools=[shelf], permission=PermissionContext())
    paused = agent.call("go").run()
    (call,) = paused.get_content_blocks(ToolUseBlock)
    answer = UserConfirmResultEvent(
        reply_id=paused.id, confirm_results=(ConfirmResult(confirmed=True, tool_call=call),)
    )
    events = events_of(agent, answer)
    assert told(events) == [["it burnt down"], BURNT]
    kinds = [type(event).__name__ for event in events]
    assert kinds.index("ToolResultEndEvent") < kinds.index("HintBlockEvent") < kinds.index("ModelCallStartEvent")


@pytest.mark.parametrize("wrong", [ValueError("hunter2"), None])
def test_a_source_that_fails_is_named_when_the_others_have_answered(wrong: Any) -> None:
    class Broken(ToolSource):
        async def find(self, *, first: bool) -> FoundTools:
            if wrong is not None:
                raise wrong
            return wrong

    shelf = Shelf(tools(one))
    with pytest.raises(ToolError, match=r"Broken gave .* expected FoundTools") as failed:
        ReActAgent("friday", ScriptedModel([]), tools=[Broken(), shelf]).call("go").run()
    assert shelf.asked == [True]
    assert failed.value.__cause__ is wrong
    assert "hunter2" not in str(failed.value)


def test_a_group_of_sources_can_be_chosen_where_an_object_is_asked_for() -> None:
    turns = [[tool_call("reset_tools", {"shelf": True})], [tool_call("generate_response", {"x": 1})]]
    model = ScriptedModel(turns)
    agent = ReActAgent("friday", model, tools=[ToolGroup("shelf", [Shelf(tools(one))])])
    schema = {"type": "object", "properties": {"x": {"type": "integer"}}}
    assert agent.call("go", output_type=schema).run().structured_output == {"x": 1}
    assert [sorted(names) for names in offered(model)] == [
        ["generate_response", "reset_tools"],
        ["generate_response", "one", "reset_tools"],
    ]


def test_looking_for_tools_can_be_interrupted_and_cancelled() -> None:
    left: list[str] = []

    class Slow(ToolSource):
        async def find(self, *, first: bool) -> FoundTools:
            try:
                await asyncio.Event().wait()
            finally:
                left.append("left")
            return FoundTools()

    agent = ReActAgent("friday", ScriptedModel([[text("never")]]), tools=[Slow()])

    async def main() -> None:
        kinds = []
        async for event in agent.stream_events("go"):
            kinds.append(event.type)
            if event.type == "AGENT_START":
                asyncio.get_running_loop().call_later(0.05, agent.interrupt)
        assert kinds[-3:] == ["USER_INTERRUPT", "AGENT_RESULT", "AGENT_END"]
        subscription = agent.stream_events("go").subscribe()
        await asyncio.sleep(0.05)
        subscription.dispose()
        await asyncio.sleep(0.05)

    asyncio.run(main())
    assert left == ["left", "left"]
