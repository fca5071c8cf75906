"""Random runs of an agent: what its model says, what its tools do, and what it is allowed.

    scenarios()          what may happen in a reply
    scenario.play()      an agent to which it happens, with everything that a test wants to see of it
    play.stream()        the reply as it goes on, pause after pause

A tool does what its arguments say, so that a script says everything. Times are virtual (`tests.virtual_time`).
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import aclosing, contextmanager
from dataclasses import dataclass, field
from typing import Any

from hypothesis import strategies as st

from agentscope_rx import (
    AgentEvent,
    AssistantMessage,
    ConfirmResult,
    DataBlock,
    ExternalExecutionResultEvent,
    ExternalTool,
    MessageBuilder,
    PermissionContext,
    PermissionRule,
    ReActAgent,
    RuntimeContext,
    TextBlock,
    ToolCallState,
    ToolEmitter,
    ToolError,
    ToolResultBlock,
    ToolResultState,
    ToolUseBlock,
    UserConfirmResultEvent,
    tool,
)
from agentscope_rx.errors import ModelHTTPError, ModelStallError, ModelStreamError
from agentscope_rx.message import Base64Source
from agentscope_rx.model import ModelChunk, ModelRequest
from agentscope_rx.testing import (
    ScriptedModel,
    TurnItem,
    chunk,
    data,
    delay,
    error,
    finish,
    text,
    thinking,
    tool_call,
    truncate,
    usage,
)

__all__ = ["FAILURES", "OUTCOMES", "Play", "Scenario", "TurnItem", "WatchedModel", "Workshop", "fold", "scenarios"]

_SOON, _LONG = 0.001, 1_000.0
"""Seconds: in no time for a silent tool call, and as good as for ever."""


# ------------------------------------------------------------------------------------------------------ the model

USAGE = usage(3, 2)
SAYINGS: tuple[TurnItem, ...] = (
    text("Hello"),
    text(" 👩\u200d👩\u200d👧 \u2028"),
    thinking("hm"),
    thinking("so", signature="sig"),
    thinking("", redacted_data="gAAAA"),
    data("image/png", b"\x00\x01\x02"),
    USAGE,
    chunk(thinking("at"), text("once"), tool_call("add", {"a": 3, "b": 4})),
    delay(0),
    delay(_SOON),
    delay(_LONG),
)
CALLS: tuple[TurnItem, ...] = (
    tool_call("add", {"a": 1, "b": 2}, pieces=3),
    tool_call("add", {"a": 1, "b": 2}, id="again"),
    tool_call("count", {"n": 3}),
    tool_call("count", {"n": 150}),
    tool_call("wait", {"seconds": 0}),
    tool_call("wait", {"seconds": 1}, pieces=2),
    tool_call("wait", {"seconds": _LONG}),
    tool_call("speak", {"pieces": ["a", "", "b\n"], "pause": 0}),
    tool_call("speak", {"pieces": ["x", "y"], "pause": 2}),
    tool_call("repeat", {"times": 150}),
    tool_call("show", "  "),
    tool_call("tell"),
    tool_call("tidy", {"seconds": 1}),
    tool_call("alone", {"seconds": 1}),
    tool_call("enough"),
    tool_call("fail", {"said": ""}),
    tool_call("fail", {"said": "so far"}),
    tool_call("fall"),
    tool_call("quit"),
    tool_call("forbidden"),
    tool_call("ask", {"seconds": 1}),
    tool_call("ask", {"seconds": 2}),
    tool_call("outside", {"q": "x"}),
    tool_call("nobody", {"q": "x"}),
    tool_call("add", '{"a": 1, "b'),
    tool_call("add", {"a": "one"}),
    tool_call("add", "[1]", pieces=2),
)
FAILURES: tuple[Callable[[], TurnItem], ...] = (
    truncate,
    lambda: error(ModelStreamError("it broke")),
    lambda: error(ModelStallError("it stalled", seconds=30)),
    lambda: error(ModelHTTPError("overloaded", status=529, kind="overloaded_error")),
    lambda: error(ConnectionResetError("SECRET")),
    lambda: error(KeyError("SECRET")),
)
"""What a model may raise, made anew each time."""

ENDINGS = ("stop", "length", "content_filter", "refusal", "unknown")


class WatchedModel(ScriptedModel):
    """A `ScriptedModel` that is seen to be open, to speak and to fail."""

    def __init__(self, turns: Sequence[Sequence[TurnItem]]) -> None:
        super().__init__(turns)
        self.open = 0
        """How many of its streams are open."""
        self.said = 0
        """How many chunks it has given."""
        self.raised: Exception | None = None
        """What it raised last."""

    async def stream(self, request: ModelRequest) -> AsyncIterator[ModelChunk]:
        self.open += 1
        try:
            async with aclosing(super().stream(request)) as chunks:  # type: ignore[type-var]
                async for chunk in chunks:
                    self.said += 1
                    yield chunk
        except Exception as raised:
            self.raised = raised
            raise
        finally:
            self.open -= 1


# ------------------------------------------------------------------------------------------------------- the tools

OUTCOMES: dict[str, ToolResultState] = {
    "fail": ToolResultState.ERROR,
    "fall": ToolResultState.ERROR,
    "nobody": ToolResultState.ERROR,
    "quit": ToolResultState.INTERRUPTED,
    "forbidden": ToolResultState.DENIED,
}
"""How calls of these tools end, whatever their arguments."""


class Workshop:
    """Where the tools of one agent work, and who is at work; handed to them by the context."""

    def __init__(self) -> None:
        self.at_work: list[str] = []
        """The calls that have begun and not ended."""
        self.given = 0
        """How many pieces `count` and `repeat` have given."""

    @contextmanager
    def working(self, name: str) -> Iterator[None]:
        self.at_work.append(name)
        try:
            yield
        finally:
            self.at_work.remove(name)


def add(a: int, b: int, shop: Workshop) -> int:
    """Add, in a thread."""
    with shop.working("add"):
        return a + b


def count(n: int, shop: Workshop) -> Iterator[str]:
    """Count, in a thread."""
    with shop.working("count"):
        for number in range(n):
            shop.given += 1
            yield f"{number} "


async def wait(seconds: float, shop: Workshop) -> str:
    """Be silent, then answer."""
    with shop.working("wait"):
        await asyncio.sleep(seconds)
    return "waited"


async def speak(pieces: list[str], pause: float, shop: Workshop) -> AsyncIterator[str]:
    """Answer piece by piece."""
    with shop.working("speak"):
        for piece in pieces:
            yield piece
            await asyncio.sleep(pause)


async def repeat(times: int, shop: Workshop) -> AsyncIterator[str]:
    """Answer piece by piece, as fast as it is asked to."""
    with shop.working("repeat"):
        for _ in range(times):
            shop.given += 1
            yield "z"


async def show(shop: Workshop) -> AsyncIterator[Any]:
    """Answer with text and a picture."""
    with shop.working("show"):
        yield "here: "
        yield DataBlock(Base64Source(media_type="image/png", data="aGk="))


async def tell(emitter: ToolEmitter, shop: Workshop) -> str:
    """Show progress."""
    with shop.working("tell"):
        await emitter.emit("half")
        await asyncio.sleep(_SOON)
        await emitter.emit("nearly")
    return "told"


async def tidy(seconds: float, shop: Workshop) -> str:
    """Take its time to clean up."""
    with shop.working("tidy"):
        try:
            await asyncio.sleep(_LONG)
        finally:
            await asyncio.sleep(seconds)
    return "tidy"


@tool(concurrency_safe=False)
async def alone(seconds: float, shop: Workshop) -> str:
    """Run when nobody else does."""
    assert not shop.at_work
    with shop.working("alone"):
        await asyncio.sleep(seconds)
    return "alone"


async def enough(emitter: ToolEmitter, shop: Workshop) -> str:
    """Ask the reply to stop."""
    with shop.working("enough"):
        await emitter.request_stop("enough")
    return "enough"


async def fail(said: str, shop: Workshop) -> AsyncIterator[str]:
    """Fail, perhaps after some words."""
    with shop.working("fail"):
        if said:
            yield said
        raise ToolError("it cannot be done")


def fall(shop: Workshop) -> str:
    """Fail in a thread."""
    with shop.working("fall"):
        raise ZeroDivisionError


async def quit(shop: Workshop) -> str:
    """Cancel itself."""
    with shop.working("quit"):
        raise asyncio.CancelledError


def forbidden() -> str:
    """Never run."""
    raise AssertionError("a forbidden tool ran")


async def ask(seconds: float, shop: Workshop) -> str:
    """Run when a person has agreed."""
    with shop.working("ask"):
        await asyncio.sleep(seconds)
    return "done"


_FUNCTIONS = (add, count, wait, speak, repeat, show, tell, tidy, enough, fail, fall, quit, forbidden, ask)
_SEARCH = {"type": "object", "properties": {"q": {"type": "string"}}}
TOOLS = (*map(tool, _FUNCTIONS), alone, ExternalTool("outside", "Run elsewhere.", _SEARCH))
"""All of them; `nobody` is none."""


_PERMISSION = PermissionContext(
    mode="bypass",
    deny_rules=(PermissionRule(tool_name="forbidden", behavior="deny"),),
    ask_rules=(PermissionRule(tool_name="ask", behavior="ask"),),
)


# -------------------------------------------------------------------------------------------------- what may happen


@dataclass(frozen=True)
class Scenario:
    """What may happen in a reply."""

    turns: tuple[tuple[TurnItem, ...], ...]
    """What the model says, call by call; after that it says `done`."""
    max_iters: int = 3
    """How many rounds the reply may take."""
    verdicts: tuple[bool | None, ...] = (True,)
    """What is said, in turn, to the calls that wait for an answer; None leaves one waiting."""

    @property
    def silent(self) -> int:
        """How many things the model says that no event tells of at once."""
        return sum(item == USAGE for turn in self.turns for item in turn)

    def play(self, **settings: Any) -> Play:
        """Make an agent to which this happens."""
        return Play(self, settings)


@dataclass
class Play:
    """A scenario, and the agent to which it happens."""

    scenario: Scenario
    settings: dict[str, Any] = field(default_factory=dict)
    model: WatchedModel = field(init=False)
    workshop: Workshop = field(init=False)
    agent: ReActAgent = field(init=False)
    context: RuntimeContext = field(init=False)

    def __post_init__(self) -> None:
        self.workshop = Workshop()
        self.model = WatchedModel([*self.scenario.turns, *[(text("done"),)] * 12])
        settings = {"max_iters": self.scenario.max_iters, "permission": _PERMISSION, **self.settings}
        self.agent = ReActAgent("friday", self.model, "Be brief.", tools=TOOLS, **settings)
        self.context = RuntimeContext().put(self.workshop)

    def answers(self, message: AssistantMessage) -> list[Any]:
        """What is said to the calls of a paused reply: to one of them at least."""
        verdicts = self.scenario.verdicts
        waiting = [call for call in message.get_content_blocks(ToolUseBlock) if call.state in _WAITING]
        said = [(call, verdicts[at % len(verdicts)]) for at, call in enumerate(waiting)]
        if all(verdict is None for _, verdict in said):
            said = [(call, True) for call, _ in said]
        confirms = [
            ConfirmResult(confirmed=verdict, tool_call=call, reason="not today")
            for call, verdict in said
            if verdict is not None and call.state is ToolCallState.ASKING
        ]
        results = [
            ToolResultBlock(id=call.id, name=call.name, output=(TextBlock("from outside"),))
            for call, verdict in said
            if verdict is not None and call.state is ToolCallState.SUBMITTED
        ]
        answers: list[Any] = []
        if confirms:
            answers.append(UserConfirmResultEvent(reply_id=message.id, confirm_results=confirms))
        if results:
            answers.append(ExternalExecutionResultEvent(reply_id=message.id, tool_results=results))
        return answers

    def is_at_rest(self) -> bool:
        """Whether nothing of it goes on: no tool, no stream of the model."""
        for thread in threading.enumerate():
            if thread.name.startswith("tool "):  # is told that it is over, and not waited for
                thread.join(10)
        return not self.workshop.at_work and not self.model.open


_WAITING = (ToolCallState.ASKING, ToolCallState.SUBMITTED)


def scenarios(*, failing: bool = True, calls: Sequence[TurnItem] = CALLS) -> st.SearchStrategy[Scenario]:
    """Make scenarios: up to three turns of words and calls, and then an answer.

    Args:
        failing: Whether the model may fail.
        calls: The tool calls that it may make.
    """
    items = st.lists(st.sampled_from((*SAYINGS, *calls)), max_size=6)
    finishes = st.sampled_from(ENDINGS).map(finish)
    failures = st.sampled_from(FAILURES).map(lambda make: make())
    ends = st.lists(st.one_of(finishes, failures) if failing else finishes, max_size=1)
    turn = st.builds(lambda items, end: (*items, *end), items, ends)
    verdicts = st.lists(st.sampled_from((True, False, None)), min_size=1, max_size=3)
    return st.builds(
        Scenario, st.lists(turn, min_size=1, max_size=3).map(tuple), st.integers(1, 3), verdicts.map(tuple)
    )


def fold(events: Sequence[AgentEvent]) -> AssistantMessage:
    """The message that events fold to."""
    builder = MessageBuilder()
    for event in events:
        builder.apply(event)
    return builder.message()
