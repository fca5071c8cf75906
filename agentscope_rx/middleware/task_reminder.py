"""A list of tasks that the model keeps, and is reminded of."""

from __future__ import annotations

from typing import Any, ClassVar, Literal

from reactivex import Observable, operators as ops

from ..context import RuntimeContext
from ..errors import ConfigurationError
from ..event import AgentEvent, HintBlockEvent
from ..identity import new_id
from ..message import AssistantMessage, HintBlock
from ..message.frozen import FrozenModel
from ..state import AgentState
from .base import AgentLike, Middleware, Next, ReasoningInput

__all__ = ["TaskReminder", "Todo"]

_TODOS, _ROUNDS = "todos", "todo_rounds"
_SOURCE = "task_reminder"


class Todo(FrozenModel):
    """One task."""

    content: str
    """What is to be done."""
    status: Literal["pending", "in_progress", "completed"]
    """How far it is."""


class TaskReminder(Middleware):
    """Reminds the model of its open tasks when it has not touched the list for some rounds.

    Give the agent its tool too: `ReActAgent(..., tools=[reminder.write_todos], middlewares=[reminder])`. The list is in
    `AgentState.values["todos"]`. The reminder is a HINT_BLOCK before the model call, from `task_reminder`.

    Args:
        every: After how many rounds of one session.

    Raises:
        ConfigurationError: `every` is less than 1.
    """

    order: ClassVar[int] = 10

    def __init__(self, every: int = 3) -> None:
        if every < 1:
            raise ConfigurationError(f"a reminder comes after at least 1 round: got {every}")
        self._every = every

    def write_todos(self, todos: list[Todo], state: AgentState) -> str:
        """Replace your list of tasks; call it when you plan, begin or finish one.

        Args:
            todos: All tasks, also those that are done.
        """
        state.values[_TODOS] = [todo.model_dump(mode="json") for todo in todos]
        state.values[_ROUNDS] = 0
        return f"{len(_open(state))} of {len(todos)} tasks are open."

    def on_reasoning(
        self, agent: AgentLike, context: RuntimeContext, input: ReasoningInput, next: Next[ReasoningInput]
    ) -> Observable[AgentEvent]:
        """Count the round, and put the reminder before it when it is time."""
        state = context.get(AgentState)
        if state is None or not input.messages or not (left := _open(state)):
            return next(input)
        reply = input.messages[-1]
        state.values[_ROUNDS] = rounds = state.values.get(_ROUNDS, 0) + 1
        if rounds <= self._every or not isinstance(reply, AssistantMessage):  # the reply has said nothing yet
            return next(input)
        state.values[_ROUNDS] = 1
        hint = HintBlock(id=new_id(), hint="These tasks are still open:\n" + "\n".join(left), source=_SOURCE)
        reminded = ReasoningInput(
            messages=(*input.messages[:-1], reply.model_copy(update={"content": (*reply.content, hint)})),
            tools=input.tools,
            options=input.options,
            iteration=input.iteration,
        )
        event = HintBlockEvent(reply_id=reply.id, block_id=hint.id, hint=hint.hint, hint_source=_SOURCE, seq=0)
        return next(reminded).pipe(ops.start_with(event))


def _open(state: AgentState) -> list[str]:
    todos: list[dict[str, Any]] = state.values.get(_TODOS, [])
    return [f"- {todo['content']} ({todo['status']})" for todo in todos if todo["status"] != "completed"]
