"""Random scenarios: what the model of an agent says, and what the calls that wait are answered."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import aclosing
from dataclasses import dataclass

from hypothesis import strategies as st

from agentscope_rx.errors import ModelHTTPError, ModelStallError, ModelStreamError
from agentscope_rx.event import FinishReason
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

from .workshop import LONG, SOON

__all__ = ["CALLS", "Scenario", "Turn", "WatchedModel", "scenarios"]


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
    delay(SOON),
    delay(LONG),
)
CALLS: tuple[TurnItem, ...] = (
    tool_call("add", {"a": 1, "b": 2}, pieces=3),
    tool_call("add", {"a": 1, "b": 2}, id="again"),
    tool_call("count", {"n": 3}),
    tool_call("count", {"n": 150}),
    tool_call("wait", {"seconds": 0}),
    tool_call("wait", {"seconds": 1}, pieces=2),
    tool_call("wait", {"seconds": LONG}),
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
FINISHES = ("stop", "length", "content_filter", "refusal", "unknown")
FAILURES: dict[str, Callable[[], TurnItem]] = {
    "cut off": truncate,
    "a frame says so": lambda: error(ModelStreamError("it broke")),
    "silence": lambda: error(ModelStallError("it stalled", seconds=30)),
    "status 529": lambda: error(ModelHTTPError("overloaded", status=529, kind="overloaded_error")),
    "a reset": lambda: error(ConnectionResetError("SECRET")),
    "a bug": lambda: error(KeyError("SECRET")),
}
"""What a model may raise, made anew each time."""


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


# -------------------------------------------------------------------------------------------------- what may happen


@dataclass(frozen=True)
class Turn:
    """What the model says in one call."""

    items: tuple[TurnItem, ...] = ()
    """Its words and calls."""
    ending: str | None = None
    """One of `FINISHES` or `FAILURES`; None for a finish that fits."""

    def script(self) -> list[TurnItem]:
        """The turn for a `ScriptedModel`."""
        if self.ending in FAILURES:
            return [*self.items, FAILURES[self.ending]()]
        return [*self.items, finish(self.ending)] if self.ending else [*self.items]

    @property
    def finish_reason(self) -> FinishReason | None:
        """What MODEL_CALL_END will say, None for what fits."""
        if self.ending is None:
            return None
        return FinishReason.ERROR if self.ending in FAILURES else FinishReason(self.ending)


@dataclass(frozen=True)
class Scenario:
    """What may happen in a reply."""

    turns: tuple[Turn, ...]
    """What the model says, call by call; after that it says `done`."""
    max_iters: int = 5
    """How many rounds the reply may take."""
    verdicts: tuple[bool | None, ...] = (True,)
    """What is said, in turn, to the calls that wait for an answer; None leaves one waiting."""

    @property
    def silent(self) -> int:
        """How many things the model says that no event tells of at once."""
        return sum(item == USAGE for turn in self.turns for item in turn.items)


def scenarios(*, failing: bool = True, calls: Sequence[TurnItem] = CALLS) -> st.SearchStrategy[Scenario]:
    """Make scenarios: up to three turns of words and calls, and then an answer.

    Args:
        failing: Whether the model may fail.
        calls: The tool calls that it may make.
    """
    items = st.lists(st.sampled_from((*SAYINGS, *calls)), max_size=6).map(tuple)
    fitting = st.none() | st.sampled_from(FINISHES)
    turn = st.builds(Turn, items, fitting | st.sampled_from(tuple(FAILURES)) if failing else fitting)
    verdicts = st.lists(st.sampled_from((True, False, None)), min_size=1, max_size=3).map(tuple)
    turns = st.lists(turn, min_size=1, max_size=3).map(tuple)
    return st.builds(Scenario, turns, st.sampled_from((5, 2, 1)), verdicts)
