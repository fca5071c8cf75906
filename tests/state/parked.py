"""One process of some conversations that pause: `python -m tests.state.parked CASES DATABASE STEP`.

Step 0 asks the question of every case, step n gives the n-th answer, each time with nothing but the database. It prints
a JSON object: for every case that had something to do, the message that the events of this process alone fold to.
"""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Callable, Mapping
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

import reactivex as rx
from reactivex import operators as ops

from agentscope_rx import (
    AgentInput,
    AssistantMessage,
    ChatModel,
    ConfirmResult,
    ExternalExecutionResultEvent,
    ExternalTool,
    MessageBuilder,
    ModelOptions,
    Msg,
    PermissionBehavior,
    PermissionContext,
    PermissionMode,
    PermissionRule,
    ReActAgent,
    RequestStopEvent,
    RuntimeContext,
    SqliteStateStore,
    StateStore,
    TextBlock,
    ToolResultBlock,
    ToolSuspend,
    ToolUseBlock,
    UserConfirmResultEvent,
    UserMessage,
    encode_message,
    tool,
)
from agentscope_rx.operators import Hook, hook
from agentscope_rx.testing import ScriptedModel, text, thinking, tool_call

from ..agent.shapes import collect

Answer: TypeAlias = Callable[[Msg], AgentInput]
"""Given the message of a paused reply, says what it waits for."""


@dataclass(frozen=True)
class Case:
    """A conversation that pauses, and how it goes on."""

    answers: tuple[Answer, ...]
    """What it is told, a process each."""
    calls: tuple[Any, ...] = ()
    """What a scripted model calls in its first turn."""
    unpaused: tuple[Any, ...] | None = None
    """The calls of the run that comes to the same without a pause: its own, None when there is no such run."""
    tools: tuple[Any, ...] = ()
    """The tools."""
    asks: tuple[str, ...] = ()
    """The tools that a person must confirm."""
    middlewares: tuple[Hook, ...] = ()
    """What is around the first process."""


def permission(asks: tuple[str, ...]) -> PermissionContext:
    rules = tuple(PermissionRule(tool_name=name, behavior=PermissionBehavior.ASK) for name in asks)
    return PermissionContext(ask_rules=rules, mode=PermissionMode.BYPASS)


# ------------------------------------------------------------------------------------------------ answers


def call_of(message: Msg, id: str) -> ToolUseBlock:
    return next(call for call in message.get_content_blocks(ToolUseBlock) if id in (call.id, call.name))


def confirm(*ids: str, confirmed: bool = True, input: dict[str, Any] | None = None) -> Answer:
    """Yes or no to some calls, by id or by name."""

    def answer(message: Msg) -> UserConfirmResultEvent:
        calls = [call_of(message, id) for id in ids]
        edited = [call if input is None else call.model_copy(update={"input": input}) for call in calls]
        return UserConfirmResultEvent(
            reply_id=message.id,
            confirm_results=tuple(ConfirmResult(confirmed=confirmed, tool_call=call) for call in edited),
        )

    return answer


def outside(*ids: str) -> Answer:
    """What the tools would have returned here, from elsewhere."""

    def answer(message: Msg) -> ExternalExecutionResultEvent:
        calls = [call_of(message, id) for id in ids]
        results = (
            ToolResultBlock(id=call.id, name=call.name, output=(TextBlock(str(FREE[call.name](**call.input))),))
            for call in calls
        )
        return ExternalExecutionResultEvent(reply_id=message.id, tool_results=tuple(results))

    return answer


def both(*answers: Answer) -> Answer:
    """Several answers at once."""
    return lambda message: [answer(message) for answer in answers]  # type: ignore[misc,return-value]


# ------------------------------------------------------------------------------------------------ tools


def send(to: str) -> str:
    """Send a letter."""
    return f"sent to {to}"


def look(what: str) -> str:
    """Look at something."""
    return f"saw {what}"


def pay(amount: int) -> str:
    """Pay."""
    return f"paid {amount}"


def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


def multiply(a: int, b: int) -> int:
    """Multiply two numbers."""
    return a * b


FREE: Mapping[str, Callable[..., Any]] = {function.__name__: function for function in (send, look, pay, add, multiply)}
"""What the tools do where they run."""


def elsewhere(function: Callable[..., Any]) -> ExternalTool:
    """The same tool, run elsewhere."""
    schema = {"type": "object", "properties": {name: {} for name in function.__annotations__ if name != "return"}}
    return ExternalTool(function.__name__, function.__doc__ or "", schema)


@tool(name="pay")
def suspending_pay(amount: int) -> str:
    """Pay."""
    raise ToolSuspend("the bank is asked")


@tool(name="pay", suspends=True)
async def late_pay(amount: int) -> str:
    """Pay."""
    await asyncio.sleep(0.03)
    raise ToolSuspend("the bank has been asked")


@tool(name="multiply")
def suspending_multiply(a: int, b: int) -> int:
    """Multiply two numbers."""
    raise ToolSuspend("somebody with a pencil is asked")


@tool(name="send", concurrency_safe=False)
def send_alone(to: str) -> str:
    """Send a letter."""
    return send(to)


# ------------------------------------------------------------------------------------------------ cases

ANN, BOB, CY = (tool_call("send", {"to": to}, id=to) for to in ("ann", "bob", "cy"))
SKY = tool_call("look", {"what": "sky"}, id="sky")
FIVE = tool_call("pay", {"amount": 5}, id="five")
MIXED = (SKY, ANN, FIVE)
STOP = hook(on_reasoning=ops.concat(rx.of(RequestStopEvent(reason="look first"))))


def case(*calls: Any, answers: tuple[Answer, ...], unpaused: tuple[Any, ...] | None = None, **fields: Any) -> Case:
    settings: dict[str, Any] = {"tools": (send, look, elsewhere(pay)), "asks": ("send",), **fields}
    return Case(answers, calls, calls if unpaused is None else unpaused, **settings)


SCRIPTED: Mapping[str, Case] = {
    "confirmed": case(ANN, answers=(confirm("ann"),)),
    "edited": case(
        ANN, answers=(confirm("ann", input={"to": "zoe"}),), unpaused=(tool_call("send", {"to": "zoe"}, id="ann"),)
    ),
    "denied": Case((confirm("ann", confirmed=False),), (ANN,), None, (send,), ("send",)),
    "external": case(FIVE, answers=(outside("five"),)),
    "suspended": case(FIVE, answers=(outside("five"),), tools=(suspending_pay,)),
    "suspended late": case(FIVE, SKY, answers=(outside("five"),), tools=(late_pay, look)),
    "partial": case(ANN, BOB, CY, answers=(confirm("bob"), confirm("ann", "cy"))),
    "partial external": case(
        FIVE,
        tool_call("pay", {"amount": 6}, id="six"),
        answers=(outside("six"), outside("five")),
    ),
    "one after the other": case(ANN, BOB, answers=(confirm("ann"), confirm("bob")), tools=(send_alone,)),
    "mixed, people first": case(*MIXED, answers=(confirm("ann"), outside("five"))),
    "mixed, the outside first": case(*MIXED, answers=(outside("five"), confirm("ann"))),
    "mixed, at once": case(*MIXED, answers=(both(confirm("ann"), outside("five")),)),
    "confirmed, then external": case(FIVE, answers=(confirm("five"), outside("five")), asks=("pay",)),
    "stopped": case(ANN, answers=(lambda message: None,), asks=(), middlewares=(STOP,)),
}

EMBEDDED: Mapping[str, Case] = {
    "confirmed": Case((confirm("add", "multiply"),), tools=(add, multiply), asks=("add", "multiply")),
    "external": Case((outside("multiply"),), tools=(add, elsewhere(multiply))),
    "suspended": Case((outside("multiply"),), tools=(add, suspending_multiply)),
    "partial": Case((confirm("multiply"), confirm("add")), tools=(add, multiply), asks=("add", "multiply")),
    "mixed": Case((confirm("add"), outside("multiply")), tools=(add, elsewhere(multiply)), asks=("add",)),
}
"""The embedded model makes two calls in one turn when it has been shown how."""

CASES: Mapping[str, Mapping[str, Case]] = {"scripted": SCRIPTED, "embedded": EMBEDDED}


# ------------------------------------------------------------------------------------------------ a process


def scripted(case: Case, step: int) -> ChatModel:
    first = [thinking("ann should know"), text("I will see to it."), *case.calls]
    return ScriptedModel([[text("Done.")]] if step else [first, [text("Done.")]])


def shown(number: int, a: int, b: int, c: int, d: int) -> list[Msg]:
    calls = [ToolUseBlock(id=f"{number}.1", name="add", input={"a": a, "b": b})]
    calls += [ToolUseBlock(id=f"{number}.2", name="multiply", input={"a": c, "b": d})]
    results = [
        ToolResultBlock(id=call.id, name=call.name, output=(TextBlock(str(FREE[call.name](**call.input))),))
        for call in calls
    ]
    return [
        UserMessage(f"What is {a} plus {b}, and what is {c} times {d}?"),
        AssistantMessage(*calls, *results, TextBlock(f"The results are {a + b} and {c * d}.")),
    ]


def agent_of(kind: str, name: str, store: StateStore, step: int) -> ReActAgent:
    case = CASES[kind][name]
    return ReActAgent(
        "friday",
        scripted(case, step) if kind == "scripted" else "local:smollm2",
        tools=case.tools,
        permission=permission(case.asks),
        state_store=store,
        middlewares=() if step else case.middlewares,
        options=None if kind == "scripted" else ModelOptions(extra_body={"parallel_tool_calls": True}),
    )


async def take_part(kind: str, name: str, store: StateStore, step: int) -> str:
    """Ask the question of a case, or give an answer; returns the message."""
    agent, context = agent_of(kind, name, store, step), RuntimeContext(name)
    given: AgentInput = "Write to Ann." if kind == "scripted" else "What is 17 plus 25, and what is 6 times 7?"
    if step:
        paused = (await agent.get_state(context)).paused
        assert paused is not None
        given = CASES[kind][name].answers[step - 1](paused.message)
    elif kind == "embedded":
        await agent.observe([*shown(1, 2, 3, 4, 5), *shown(2, 30, 4, 8, 9)], context)
    builder = MessageBuilder()
    for event in await collect(agent, given, context):
        builder.apply(event)
    return encode_message(builder.message())


async def main(kind: str, database: Path, step: int) -> str:
    names = [name for name, case in CASES[kind].items() if step <= len(case.answers)]
    with closing(SqliteStateStore(database)) as store:
        said = {name: await take_part(kind, name, store, step) for name in names}
    return json.dumps(said)


if __name__ == "__main__":
    sys.stdout.write(asyncio.run(main(sys.argv[1], Path(sys.argv[2]), int(sys.argv[3]))))
