"""`assert_valid_stream`: what a valid stream is, and what is said of one that is not."""

from __future__ import annotations

import pytest
import reactivex as rx
from hypothesis import given

from agentscope_rx import ReActAgent
from agentscope_rx.errors import ProtocolError
from agentscope_rx.event import AgentEvent
from agentscope_rx.testing import ScriptedModel, assert_valid_stream, text, tool_call

from ..operators.script import answer, end, start, text as text_block
from ..strategies import streams


def test_a_reply_of_an_agent_is_valid() -> None:
    def search(q: str) -> str:
        """Search."""
        return q

    agent = ReActAgent("a", ScriptedModel([[tool_call("search", {"q": "x"})], [text("found")]]), tools=[search])
    events: list[AgentEvent] = agent.stream_events("hi").pipe(rx.operators.to_list()).run()
    assert_valid_stream(events)
    assert_valid_stream(iter(events))


@given(streams())
def test_a_legal_stream_is_valid(stream: list[AgentEvent]) -> None:
    assert_valid_stream(stream)


def test_nothing_is_valid() -> None:
    assert_valid_stream([])


def test_says_which_rule_is_broken() -> None:
    with pytest.raises(AssertionError, match="AGENT_END comes last") as failure:
        assert_valid_stream([start(), text_block("t")[0]])
    assert isinstance(failure.value.__cause__, ProtocolError)
    with pytest.raises(AssertionError, match="TEXT_BLOCK_DELTA"):
        assert_valid_stream([start(), text_block("t", "x")[1], end()])


def test_numbers_count_when_there_are_any() -> None:
    events = answer("Hello")
    assert_valid_stream([event.model_copy(update={"seq": None}) for event in events])
    with pytest.raises(AssertionError, match="expected seq 4"):
        assert_valid_stream([*events[:3], *events[4:]])
    with pytest.raises(AssertionError, match="numbered without gaps"):
        assert_valid_stream([*events[:-1], events[-1].model_copy(update={"seq": None})])


def test_asserts_at_once_even_inside_a_subscription() -> None:
    failures: list[BaseException] = []

    def check(_: int) -> None:
        try:
            assert_valid_stream([start()])
        except AssertionError as failure:
            failures.append(failure)

    rx.of(1).subscribe(check)
    assert len(failures) == 1
