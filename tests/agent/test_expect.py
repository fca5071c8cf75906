"""What an agent is given must be what it takes; it is said at once, as an error of this package."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from agentscope_rx import ConfigurationError, ReActAgent, RuntimeContext, UserMessage
from agentscope_rx.testing import ScriptedModel, text

from .shapes import run


def agent(**settings: Any) -> ReActAgent:
    return ReActAgent(**{"name": "friday", "model": ScriptedModel([[text("ok")]]), **settings})


WRONG: dict[str, Any] = {
    "name": None,
    "model": None,
    "sys_prompt": UserMessage("be brief"),
    "tools": None,
    "middlewares": 5,
    "permission": "bypass",
    "state_store": "states.db",
    "default_session_id": 7,
    "max_iters": "3",
    "fallback_model": 5,
    "options": {"temperature": 0},
}


@pytest.mark.parametrize("argument", WRONG)
def test_what_an_agent_is_made_of(argument: str) -> None:
    with pytest.raises(ConfigurationError, match=rf"{argument}.*: got {type(WRONG[argument]).__name__}"):
        agent(**{argument: WRONG[argument]})


CALLS: dict[str, Callable[[ReActAgent, Any], Any]] = {
    "stream_events": lambda agent, context: agent.stream_events("hi", context),
    "call": lambda agent, context: agent.call("hi", context),
    "observe": lambda agent, context: agent.observe(UserMessage("hi"), context),
    "clear_context": lambda agent, context: agent.clear_context(context),
    "get_state": lambda agent, context: agent.get_state(context),
    "interrupt": lambda agent, context: agent.interrupt(context),
    "hint": lambda agent, context: agent.hint("be brief", context),
}


@pytest.mark.parametrize("call", CALLS)
def test_a_session_id_is_no_context(call: str) -> None:
    with pytest.raises(ConfigurationError, match="RuntimeContext or None: got str"):
        CALLS[call](agent(), "session 7")


@pytest.mark.parametrize(("hint", "source"), [(5, None), (None, None), ([UserMessage("x")], None), ("x", 5)])
def test_a_hint_is_text_or_blocks(hint: Any, source: Any) -> None:
    friday = agent()
    with pytest.raises(ConfigurationError, match="a hint is text"):
        friday.hint(hint, source=source)
    assert run(friday_answers(friday)) == "ok"


async def friday_answers(friday: ReActAgent) -> str:
    return (await friday.call("hi", RuntimeContext())).get_text_content()


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"role": "user", "content": "hi"}, "a list of messages and answer events, or None: got dict"),
        (True, "a list of messages and answer events, or None: got bool"),
        (["hi", "there"], "a list for an agent holds messages and answer events: got a str"),
    ],
)
def test_what_an_agent_is_told(given: Any, told: str) -> None:
    with pytest.raises(ConfigurationError, match=told):
        agent().call(given)
