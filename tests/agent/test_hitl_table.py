"""Every way to answer a pause: what is decided, how the calls run, in what form the answer comes, and where it goes on.

The sequences are exact, and the same in every form and in every place. A word stands for an event: `c1(`, `c1~` and
`)c1 success` are START, delta and END of the result of call c1, and `c1 success` is all three with nothing in between.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from agentscope_rx import (
    AgentEvent,
    ConfirmResult,
    ExternalTool,
    JsonFileStateStore,
    MessageBuilder,
    PermissionBehavior,
    PermissionContext,
    PermissionMode,
    PermissionRule,
    ReActAgent,
    RequireExternalExecutionEvent,
    RequireUserConfirmEvent,
    TextBlock,
    ToolResultBlock,
    tool,
)
from agentscope_rx.testing import ScriptedModel, assert_valid_stream, text, tool_call

from .answer_forms import FORMS, Said
from .shapes import collect, run

# ------------------------------------------------------------------------------------------------ the tools


@dataclass(frozen=True)
class Tools:
    """The tools of one agent, and what they did."""

    safe: bool
    done: list[str]

    def all(self) -> list[Any]:
        @tool(concurrency_safe=self.safe)
        async def send(to: str) -> str:
            """Send."""
            self.done.append(f"send {to}")
            return f"sent to {to}"

        @tool(concurrency_safe=self.safe)
        async def look(what: str) -> str:
            """Look."""
            self.done.append(f"look {what}")
            return f"saw {what}"

        schema = {"type": "object", "properties": {"sum": {"type": "integer"}}}
        return [send, look, ExternalTool("pay", "Pay.", schema, concurrency_safe=self.safe)]


SEND = {f"c{n}": tool_call("send", {"to": to}, id=f"c{n}") for n, to in enumerate(("ann", "bob", "cy"), 1)}
PAY = {f"c{n}": tool_call("pay", {"sum": n}, id=f"c{n}") for n in (1, 2)}
LOOK = tool_call("look", {"what": "sky"}, id="c3")

ASK = PermissionContext(
    ask_rules=(PermissionRule(tool_name="send", behavior=PermissionBehavior.ASK),), mode=PermissionMode.BYPASS
)
BY_MODE = PermissionContext(allow_rules=(PermissionRule(tool_name="look", behavior=PermissionBehavior.ALLOW),))
"""Asks about what no rule speaks of, and suggests a rule."""


# ------------------------------------------------------------------------------------------------ what is said

Decide = Callable[[RequireUserConfirmEvent | None, RequireExternalExecutionEvent | None], Said]
"""Given what is asked, says what is answered."""


def paid(external: RequireExternalExecutionEvent | None) -> list[ToolResultBlock]:
    calls = () if external is None else external.tool_calls
    return [ToolResultBlock(id=call.id, name=call.name, output=(TextBlock(f"paid {call.id}"),)) for call in calls]


def every(**fields: Any) -> Decide:
    """The same to every call."""

    def decide(confirm: RequireUserConfirmEvent | None, external: RequireExternalExecutionEvent | None) -> Said:
        calls = () if confirm is None else confirm.tool_calls
        return [ConfirmResult(tool_call=call, **{"confirmed": True, **fields}) for call in calls], paid(external)

    return decide


def edit(confirm: RequireUserConfirmEvent | None, external: RequireExternalExecutionEvent | None) -> Said:
    """Yes to every call, with another input."""
    answers, results = every()(confirm, external)
    changed = {"input": {"to": "zoe"}, "raw_input": '{"to":"zoe"}'}
    return [a.model_copy(update={"tool_call": a.tool_call.model_copy(update=changed)}) for a in answers], results


def rules(confirm: RequireUserConfirmEvent | None, external: RequireExternalExecutionEvent | None) -> Said:
    """Yes to the first call, and always from now on."""
    answers, results = every()(confirm, external)
    return [a.model_copy(update={"rules": a.tool_call.suggested_rules}) for a in answers[:1]], results


def last_first(confirm: RequireUserConfirmEvent | None, external: RequireExternalExecutionEvent | None) -> Said:
    """Yes to the last call that is asked about, and nothing to the others."""
    answers, results = every()(confirm, external)
    return answers[-1:], results


def people_first(confirm: RequireUserConfirmEvent | None, external: RequireExternalExecutionEvent | None) -> Said:
    """Results from outside only when no person is waited for."""
    answers, results = every()(confirm, external)
    return answers, [] if answers else results


def outside_first(confirm: RequireUserConfirmEvent | None, external: RequireExternalExecutionEvent | None) -> Said:
    """A person answers only when nothing is waited for from outside."""
    answers, results = every()(confirm, external)
    return [] if results else answers, results


# ------------------------------------------------------------------------------------------------ the table


@dataclass(frozen=True)
class Row:
    """A turn, what is decided of its calls, and the runs that come of it."""

    turn: Sequence[Any]
    decide: Decide
    parallel: Sequence[str]
    sequential: Sequence[str]
    done: Sequence[str] = ()
    permission: PermissionContext = ASK


TWO = "start / model( / call c1( / call c1~ / call c2( / call c2~ / )call c1 / )call c2 / )model"
THREE = (
    "start / model( / call c1( / call c1~ / call c2( / call c2~ / call c3( / call c3~ / "
    ")call c1 / )call c2 / )call c3 / )model"
)
ASKING = "message / PERMISSION_ASKING"
SUSPENDED = "message / TOOL_SUSPENDED"
BESIDE = "c1( / c2( / c1~ / c2~ / )c1 success / )c2 success"
DONE = "model( / text / )model / message / MODEL_STOP"

MIXED = (SEND["c1"], PAY["c2"], LOOK)
MIXED_SEQUENTIAL = (
    f"{THREE} / ask c1 / {ASKING}",
    f"again / said c1 / c1 success / outside c2 / {SUSPENDED}",
    f"again / given c2 / c2 success / c3 success / {DONE}",
)
MIXED_PAUSE = f"{THREE} / c3 success / ask c1 / outside c2 / {ASKING}"

TABLE: dict[str, Row] = {
    "allow": Row(
        (SEND["c1"], SEND["c2"]),
        every(),
        parallel=(f"{TWO} / ask c1 c2 / {ASKING}", f"again / said c1 c2 / {BESIDE} / {DONE}"),
        sequential=(
            f"{TWO} / ask c1 / {ASKING}",
            f"again / said c1 / c1 success / ask c2 / {ASKING}",
            f"again / said c2 / c2 success / {DONE}",
        ),
        done=("send ann", "send bob"),
    ),
    "deny": Row(
        (SEND["c1"], SEND["c2"]),
        every(confirmed=False),
        parallel=(
            f"{TWO} / ask c1 c2 / {ASKING}",
            f"again / said c1 c2 / c1 denied / c2 denied / all denied c1 c2 / {DONE}",
        ),
        sequential=(
            f"{TWO} / ask c1 / {ASKING}",
            f"again / said c1 / c1 denied / ask c2 / {ASKING}",
            f"again / said c2 / c2 denied / all denied c1 c2 / {DONE}",
        ),
    ),
    "edit": Row(
        (SEND["c1"], SEND["c2"]),
        edit,
        parallel=(f"{TWO} / ask c1 c2 / {ASKING}", f"again / said c1 c2 / {BESIDE} / {DONE}"),
        sequential=(
            f"{TWO} / ask c1 / {ASKING}",
            f"again / said c1 / c1 success / ask c2 / {ASKING}",
            f"again / said c2 / c2 success / {DONE}",
        ),
        done=("send zoe", "send zoe"),
    ),
    "rules": Row(
        (SEND["c1"], SEND["c2"]),
        rules,
        parallel=(f"{TWO} / ask c1 c2 / {ASKING}", f"again / said c1 / {BESIDE} / {DONE}"),
        sequential=(f"{TWO} / ask c1 / {ASKING}", f"again / said c1 / c1 success / c2 success / {DONE}"),
        done=("send ann", "send bob"),
        permission=BY_MODE,
    ),
    "partial": Row(
        (SEND["c1"], SEND["c2"], SEND["c3"]),
        last_first,
        parallel=(
            f"{THREE} / ask c1 c2 c3 / {ASKING}",
            f"again / said c3 / c3 success / ask c1 c2 / {ASKING}",
            f"again / said c2 / c2 success / ask c1 / {ASKING}",
            f"again / said c1 / c1 success / {DONE}",
        ),
        sequential=(
            f"{THREE} / ask c1 / {ASKING}",
            f"again / said c1 / c1 success / ask c2 / {ASKING}",
            f"again / said c2 / c2 success / ask c3 / {ASKING}",
            f"again / said c3 / c3 success / {DONE}",
        ),
        done=("send ann", "send bob", "send cy"),
    ),
    "external": Row(
        (PAY["c1"], PAY["c2"]),
        every(),
        parallel=(
            f"{TWO} / outside c1 c2 / {SUSPENDED}",
            f"again / given c1 c2 / c1 success / c2 success / {DONE}",
        ),
        sequential=(
            f"{TWO} / outside c1 / {SUSPENDED}",
            f"again / given c1 / c1 success / outside c2 / {SUSPENDED}",
            f"again / given c2 / c2 success / {DONE}",
        ),
    ),
    "mixed": Row(
        MIXED,
        every(),
        parallel=(MIXED_PAUSE, f"again / said c1 / given c2 / c2 success / c1 success / {DONE}"),
        sequential=MIXED_SEQUENTIAL,
        done=("look sky", "send ann"),
    ),
    "mixed, people first": Row(
        MIXED,
        people_first,
        parallel=(
            MIXED_PAUSE,
            f"again / said c1 / c1 success / outside c2 / {SUSPENDED}",
            f"again / given c2 / c2 success / {DONE}",
        ),
        sequential=MIXED_SEQUENTIAL,
        done=("look sky", "send ann"),
    ),
    "mixed, the outside first": Row(
        MIXED,
        outside_first,
        parallel=(
            MIXED_PAUSE,
            f"again / given c2 / c2 success / ask c1 / {ASKING}",
            f"again / said c1 / c1 success / {DONE}",
        ),
        sequential=MIXED_SEQUENTIAL,
        done=("look sky", "send ann"),
    ),
}


# ------------------------------------------------------------------------------------------------ in short


def written(events: Iterable[AgentEvent]) -> str:
    """The events of a run, in short."""
    return _WHOLE.sub(r"\1\2", " / ".join(_word(event) for event in events))


_WHOLE = re.compile(r"\b([\w ]+)\( / \1~ / \)\1( \w+|)(?= /)")
"""A START with its one delta and its END, and nothing in between."""


def _word(event: AgentEvent) -> str:
    write = _WORD.get(event.type)
    return f"?{event.type}" if write is None else write(event)


def _ids(calls: Iterable[Any]) -> str:
    return " ".join(call.id for call in calls)


_WORD: dict[str, Callable[[Any], str]] = {
    "AGENT_START": lambda event: "again" if event.resumed else "start",
    "MODEL_CALL_START": lambda event: "model(",
    "MODEL_CALL_END": lambda event: ")model",
    "TEXT_BLOCK_START": lambda event: "text(",
    "TEXT_BLOCK_DELTA": lambda event: "text~",
    "TEXT_BLOCK_END": lambda event: ")text",
    "TOOL_CALL_START": lambda event: f"call {event.tool_call_id}(",
    "TOOL_CALL_DELTA": lambda event: f"call {event.tool_call_id}~",
    "TOOL_CALL_END": lambda event: f")call {event.tool_call_id}",
    "TOOL_RESULT_START": lambda event: f"{event.tool_call_id}(",
    "TOOL_RESULT_TEXT_DELTA": lambda event: f"{event.tool_call_id}~",
    "TOOL_RESULT_END": lambda event: f"){event.tool_call_id} {event.state}",
    "REQUIRE_USER_CONFIRM": lambda event: f"ask {_ids(event.tool_calls)}",
    "REQUIRE_EXTERNAL_EXECUTION": lambda event: f"outside {_ids(event.tool_calls)}",
    "USER_CONFIRM_RESULT": lambda event: f"said {_ids(c.tool_call for c in event.confirm_results)}",
    "EXTERNAL_EXECUTION_RESULT": lambda event: f"given {_ids(event.tool_results)}",
    "ALL_TOOLS_DENIED": lambda event: f"all denied {_ids(event.denied_tool_calls)}",
    "AGENT_RESULT": lambda event: "message",
    "AGENT_END": lambda event: event.generate_reason.value,
}


# ------------------------------------------------------------------------------------------------ the conversation


class Conversation:
    """One reply, from the question to its end, on one agent or on a new one for every run."""

    def __init__(self, row: Row, *, safe: bool, reload: bool, folder: Path) -> None:
        self.row, self.reload, self.folder = row, reload, folder
        self.tools = Tools(safe, [])
        self.runs: list[list[AgentEvent]] = []
        self.agent = self._agent([list(row.turn), [text("done")]])

    def _agent(self, turns: list[Any]) -> ReActAgent:
        return ReActAgent(
            "friday",
            ScriptedModel(turns),
            tools=self.tools.all(),
            permission=self.row.permission,
            state_store=JsonFileStateStore(self.folder),
        )

    async def hold(self, form: Callable[[Said], Any]) -> None:
        given: Any = "go"
        while given:
            events = await collect(self.agent, given)
            self.runs.append(events)
            asked = {type(event): event for event in events}
            said = self.row.decide(asked.get(RequireUserConfirmEvent), asked.get(RequireExternalExecutionEvent))
            given = form(said)
            if self.reload:
                self.agent = self._agent([[text("done")]])


@pytest.mark.parametrize("reload", [False, True], ids=["on the same agent", "on a new one"])
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("safe", [True, False], ids=["parallel", "sequential"])
@pytest.mark.parametrize("decision", TABLE)
def test_the_table(decision: str, safe: bool, form: str, reload: bool, tmp_path: Path) -> None:
    row = TABLE[decision]
    conversation = Conversation(row, safe=safe, reload=reload, folder=tmp_path)
    run(conversation.hold(FORMS[form]))
    assert [written(events) for events in conversation.runs] == list(row.parallel if safe else row.sequential)
    assert sorted(conversation.tools.done) == list(row.done)
    whole = [event for events in conversation.runs for event in events]
    assert_valid_stream(whole)
    builder = MessageBuilder()
    for event in whole:
        builder.apply(event)
    assert builder.message() == conversation.agent.get_state().run().history[-1]
