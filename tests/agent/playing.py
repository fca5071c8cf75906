"""Scenarios as they are played: the agent to which it all happens, and what is seen of it."""

from __future__ import annotations

import threading
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from agentscope_rx import (
    AgentEvent,
    AgentScopeError,
    AgentState,
    AssistantMessage,
    ConfirmResult,
    ExternalExecutionResultEvent,
    GenerateReason,
    MessageBuilder,
    ReActAgent,
    RuntimeContext,
    TextBlock,
    ToolCallState,
    ToolResultBlock,
    ToolUseBlock,
    UserConfirmResultEvent,
)
from agentscope_rx.testing import text
from tests.virtual_time import in_virtual_time

from .consuming import Way, iterating
from .scenarios import Scenario, WatchedModel
from .workshop import PERMISSION, TOOLS, Workshop

__all__ = ["PAUSES", "Play", "Run", "fold", "played", "run_of", "runs_of"]

PAUSES = (GenerateReason.PERMISSION_ASKING, GenerateReason.TOOL_SUSPENDED)
"""Why a reply waits for answers."""

_WAITING = (ToolCallState.ASKING, ToolCallState.SUBMITTED)


class Play:
    """A scenario, and the agent to which it happens; `settings` are those of `ReActAgent`."""

    def __init__(self, scenario: Scenario, **settings: Any) -> None:
        self.scenario = scenario
        self.workshop = Workshop()
        self.model = WatchedModel([*(turn.script() for turn in scenario.turns), *[[text("done")]] * 12])
        self.context = RuntimeContext().put(self.workshop)
        settings = {"max_iters": scenario.max_iters, "permission": PERMISSION, **settings}
        self.agent = ReActAgent("friday", self.model, "Be brief.", tools=TOOLS, **settings)

    def state(self) -> AgentState:
        """What is remembered."""
        return self.agent.get_state(self.context).run()

    async def next_input(self, question: str) -> Any:
        """The answers that the session waits for, or else the question."""
        paused = (await self.agent.get_state(self.context)).paused
        return (paused and self.answers(paused.message)) or question

    def answers(self, message: AssistantMessage) -> list[Any]:
        """What is said to the calls of a paused reply that wait: to one of them at least, if there is one."""
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


@dataclass
class Run:
    """One run of a reply: what was heard of it, and what it failed with."""

    events: list[Any]
    error: Exception | None

    @property
    def message(self) -> AssistantMessage:
        """What AGENT_RESULT says."""
        result: AssistantMessage = self.events[-2].result
        return result

    @property
    def reason(self) -> GenerateReason:
        """What AGENT_END says."""
        reason: GenerateReason = self.events[-1].generate_reason
        return reason


async def run_of(play: Play, way: Way, given: Any = "go") -> Run:
    """Play one run, consumed in some way."""
    heard: list[AgentEvent] = []
    try:
        await way(play.agent.stream_events(given, play.context), heard)
    except AgentScopeError as error:
        return Run(heard, error)
    return Run(heard, None)


async def runs_of(play: Play, way: Way = iterating) -> list[Run]:
    """Play a whole reply: as often as it pauses, it is given answers."""
    runs = [await run_of(play, way)]
    while runs[-1].reason in PAUSES:
        runs.append(await run_of(play, way, play.answers(runs[-1].message)))
    return runs


def played(scenario: Scenario, way: Way = iterating, **settings: Any) -> tuple[Play, list[Run]]:
    """Play a whole reply in virtual time."""
    play = Play(scenario, **settings)
    return play, in_virtual_time(lambda: runs_of(play, way))


def fold(events: Iterable[AgentEvent]) -> AssistantMessage:
    """The message that events fold to."""
    builder = MessageBuilder()
    for event in events:
        builder.apply(event)
    return builder.message()
