"""Groups of tools: what the model is told of, what it may call, and how it chooses."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from agentscope_rx import (
    ExternalTool,
    PermissionBehavior,
    PermissionContext,
    PermissionMode,
    PermissionRule,
    ReActAgent,
    RuntimeContext,
    SqliteStateStore,
    ToolGroup,
    Toolkit,
    tool,
)
from agentscope_rx.errors import ToolError
from agentscope_rx.message import ToolResultBlock
from agentscope_rx.testing import ScriptedModel, text, tool_call


def search() -> str:
    """Search."""
    return "found"


def open_page() -> str:
    """Open a page."""
    return "opened"


def query() -> str:
    """Query the database."""
    return "rows"


def groups(**settings: Any) -> Toolkit:
    return Toolkit(
        [
            search,
            ToolGroup("browser", [open_page], "Reading web pages.", instructions="Close what you open.", **settings),
            ToolGroup("database", [query], "Asking the database."),
        ]
    )


def offered(model: ScriptedModel) -> list[list[str]]:
    return [[schema.name for schema in request.tools] for request in model.requests]


def results(message: Any) -> list[tuple[str, str, str]]:
    return [
        (block.name, block.state.value, "".join(part.text for part in block.output))
        for block in message.get_content_blocks(ToolResultBlock)
    ]


def choosing(**chosen: bool) -> list[Any]:
    return [tool_call("reset_tools", chosen)]


def test_the_model_is_told_of_active_groups_alone() -> None:
    model = ScriptedModel([choosing(browser=True), [tool_call("open_page", {})], choosing(database=True), [text("ok")]])
    message = ReActAgent("friday", model, tools=groups()).call("go").run()
    assert offered(model) == [
        ["search", "reset_tools"],
        ["search", "open_page", "reset_tools"],
        ["search", "open_page", "reset_tools"],
        ["search", "query", "reset_tools"],
    ]
    assert results(message) == [
        ("reset_tools", "success", "The group browser is active: open_page. Close what you open."),
        ("open_page", "success", "opened"),
        ("reset_tools", "success", "The group database is active: query."),
    ]


def test_the_tool_that_chooses_has_a_boolean_for_each_group() -> None:
    context = RuntimeContext()
    schema = groups().equipped(context).schemas(context)[-1]
    assert schema.parameters["properties"] == {
        "browser": {"type": "boolean", "default": False, "description": "Reading web pages."},
        "database": {"type": "boolean", "default": False, "description": "Asking the database."},
    }


def test_a_group_may_be_active_from_the_start_and_be_left_out_later() -> None:
    model = ScriptedModel([choosing(), [text("ok")]])
    message = ReActAgent("friday", model, tools=groups(active=True)).call("go").run()
    assert offered(model) == [["search", "open_page", "reset_tools"], ["search", "reset_tools"]]
    assert results(message) == [("reset_tools", "success", "No group is active.")]


def test_a_call_of_an_inactive_tool_does_nothing_and_says_why() -> None:
    """Also when the group becomes active in the same turn: the model did not know the tool when it wrote the call."""
    model = ScriptedModel([[tool_call("open_page", {})], [*choosing(browser=True), tool_call("open_page", {})], []])
    message = ReActAgent("friday", model, tools=groups(), max_iters=2).call("go")
    refused = (
        "open_page",
        "error",
        "ToolError: The tool 'open_page' belongs to the group 'browser', which is not active. "
        "Activate it with reset_tools first.",
    )
    found = results(message.run())
    assert found[0] == found[2] == refused


def test_nobody_is_asked_about_an_inactive_tool_and_nothing_goes_outside() -> None:
    outside = ExternalTool("open_page", "Open a page.", {"type": "object", "properties": {}})
    model = ScriptedModel([[tool_call("open_page", {}), tool_call("query", {})], [text("ok")]])
    toolkit = Toolkit([ToolGroup("browser", [outside]), ToolGroup("database", [query])])
    agent = ReActAgent("friday", model, tools=toolkit, permission=PermissionContext())
    message = agent.call("go").run()
    assert message.generate_reason == "MODEL_STOP"
    assert [(name, state) for name, state, _ in results(message)] == [("open_page", "error"), ("query", "error")]


@pytest.mark.parametrize("mode", list(PermissionMode))
def test_choosing_needs_no_permission_but_can_be_denied(mode: PermissionMode) -> None:
    def state_under(rules: tuple[PermissionRule, ...]) -> str:
        model = ScriptedModel([choosing(browser=True), [text("ok")]])
        permission = PermissionContext(mode=mode).with_rules(rules)
        return results(ReActAgent("f", model, tools=groups(), permission=permission).call("go").run())[0][1]

    assert state_under(()) == "success"
    assert state_under((PermissionRule(tool_name="reset_tools", behavior=PermissionBehavior.DENY),)) == "denied"


def test_what_is_chosen_belongs_to_the_session_and_is_saved(tmp_path: Path) -> None:
    """J17: a shared toolkit has no flags that one session could change for another."""
    toolkit = groups()

    async def main() -> None:
        for _ in range(2):
            store = SqliteStateStore(tmp_path / "states.db")
            model = ScriptedModel([[text("a")], [text("b")]])
            agent = ReActAgent("friday", model, tools=toolkit, state_store=store)
            ann, bob = RuntimeContext(session_id="ann"), RuntimeContext(session_id="bob")
            if (await agent.get_state(ann)).active_groups is None:
                chooser = ScriptedModel([choosing(browser=True), [text("ok")]])
                await ReActAgent("friday", chooser, tools=toolkit, state_store=store).call("go", ann)
            await agent.call("go", ann)
            await agent.call("go", bob)
            assert offered(model) == [["search", "open_page", "reset_tools"], ["search", "reset_tools"]]
            assert (await agent.get_state(ann)).active_groups == ("browser",)
            assert (await agent.get_state(bob)).active_groups is None
            store.close()

    asyncio.run(main())


def test_a_group_that_is_gone_is_not_missed() -> None:
    model = ScriptedModel([choosing(browser=True, database=True), [text("ok")], [text("ok")]])
    agent = ReActAgent("friday", model, tools=groups())
    agent.call("go").run()
    fewer = ReActAgent(  # the same session, fewer groups
        "friday", model, tools=[search, ToolGroup("database", [query])], state_store=agent._store
    )
    fewer.call("go").run()
    assert offered(model)[-1] == ["search", "query", "reset_tools"]


def test_toolkits_with_groups_join() -> None:
    joined = Toolkit([groups(), ToolGroup("more", [tool(name="third")(search)])])
    assert [each.name for each in joined] == ["search", "open_page", "query", "third", "reset_tools"]
    context = RuntimeContext()
    assert list(joined.schemas(context)[-1].parameters["properties"]) == ["browser", "database", "more"]
    assert len(Toolkit([joined, joined])) == len(joined)


@pytest.mark.parametrize(
    ("tools", "message"),
    [
        ([search, ToolGroup("a", [search])], "two tools are named 'search'"),
        ([ToolGroup("a", [search]), ToolGroup("a", [query])], "two groups of tools are named 'a'"),
        ([tool(name="reset_tools")(search), ToolGroup("a", [query])], "two tools are named 'reset_tools'"),
    ],
)
def test_what_cannot_be_told_apart_is_refused(tools: list[Any], message: str) -> None:
    with pytest.raises(ToolError, match=message):
        Toolkit(tools)


def test_one_tool_is_not_in_two_groups() -> None:
    shared = tool(search)
    with pytest.raises(ToolError, match="'search' is given twice"):
        Toolkit([ToolGroup("a", [shared]), ToolGroup("b", [shared])])


def test_a_group_has_a_name() -> None:
    with pytest.raises(ToolError, match="'my tools' is no name for a group"):
        ToolGroup("my tools", [search])


@pytest.mark.parametrize("name", ["context", "json", "model_config", "self", "_own"])
def test_a_group_may_have_the_name_of_anything(name: str) -> None:
    model = ScriptedModel([choosing(**{name: True}), [text("ok")]])
    agent = ReActAgent("friday", model, tools=[ToolGroup(name, [search])])
    assert results(agent.call("go").run()) == [("reset_tools", "success", f"The group {name} is active: search.")]
    assert offered(model) == [["reset_tools"], ["search", "reset_tools"]]


def test_a_tool_that_gets_wrong_groups_says_so() -> None:
    model = ScriptedModel([choosing(kitchen=True), choosing(browser="perhaps"), [text("ok")]])
    agent = ReActAgent("friday", model, tools=groups())
    first, second = results(agent.call("go").run())
    assert first[1] == second[1] == "error"
    assert "kitchen" in first[2]
    assert "browser" in second[2]
    assert agent.get_state().run().active_groups is None
