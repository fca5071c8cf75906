"""The agent: reasons, acts, and says everything it does as it does it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import asynccontextmanager
from typing import Any

import reactivex as rx

from ..context import RuntimeContext
from ..errors import ConfigurationError
from ..event import AgentEvent
from ..message import HintBlock, Msg, ToolOutputBlock
from ..model import ChatModel, ModelOptions, resolve_model
from ..operators import to_message
from ..stream import Stream, using_async
from ..tools import Tool, Toolkit
from .inputs import AgentInput, to_messages
from .reply import Reply, Settings
from .session import Session, Sessions

__all__ = ["ReActAgent"]


class ReActAgent:
    """An agent that reasons with a model and acts with tools until it has an answer.

    One object serves any number of sessions, from any event loop and thread: nothing of a call lives on it. The
    conversation of each session is kept in memory; calls of one session wait for each other, in order.

    Args:
        name: Who speaks; the name of its messages.
        model: A `ChatModel`, or `"provider:model"` for `resolve_model`.
        sys_prompt: The instructions, sent first with every request; "" for none.
        tools: Functions, `Tool` objects, or a `Toolkit`.
        max_iters: How many rounds of reasoning and acting a reply may take before it must sum up.
        options: How the model should answer.
        default_session_id: The session of calls that name none; the agent's name when None.

    Raises:
        ConfigurationError: an argument is not what it must be.
        ToolError: a tool cannot be described to the model.
    """

    def __init__(
        self,
        name: str,
        model: ChatModel | str,
        sys_prompt: str = "",
        tools: Toolkit | Iterable[Tool | Callable[..., Any]] = (),
        max_iters: int = 10,
        options: ModelOptions | None = None,
        default_session_id: str | None = None,
    ) -> None:
        if max_iters < 1:
            raise ConfigurationError(f"max_iters is at least 1: got {max_iters}")
        self._settings = Settings(
            name=name,
            model=resolve_model(model) if isinstance(model, str) else model,
            sys_prompt=sys_prompt,
            toolkit=tools if isinstance(tools, Toolkit) else Toolkit(tools),
            max_iters=max_iters,
            options=options or ModelOptions(),
        )
        self._default_session_id = default_session_id or name
        self._sessions = Sessions()

    @property
    def name(self) -> str:
        """Who speaks."""
        return self._settings.name

    def stream_events(self, input: AgentInput = None, context: RuntimeContext | None = None) -> Stream[AgentEvent]:
        """Answer, event by event. Cold: nothing happens before a subscription, and each one is a call of its own.

        Emits AGENT_START; for every iteration MODEL_CALL_START, the blocks as they come, MODEL_CALL_END, and
        TOOL_RESULT_START, deltas and END for every call; AGENT_RESULT and AGENT_END. Disposing cancels the model
        call and the tools, and keeps what was said in the history, marked as interrupted.

        Args:
            input: A text, a message, several messages, or None to go on from the history as it is.
            context: The session and user, and what the tools may be handed.

        Raises:
            ConfigurationError, UnknownToolCallError: at once, when the input is not one.
            ModelError: as on_error after the closing events, when the model fails.
        """
        messages = to_messages(input)
        return self._behind_gate(context, lambda session, ctx: Reply(self._settings, session, ctx, messages))

    def call(self, input: AgentInput = None, context: RuntimeContext | None = None) -> Stream[Msg]:
        """Answer with one message: `await agent.call("hi")`, or `agent.call("hi").run()`.

        Emits the message that the events of `stream_events` fold to; takes and raises the same.
        """
        return self.stream_events(input, context).pipe(to_message())

    def observe(self, messages: Msg | Iterable[Msg], context: RuntimeContext | None = None) -> Stream[None]:
        """Put messages into the history without answering, after the calls of the session that came before.

        Emits nothing; completes when it is done.
        """
        observed = to_messages(messages)
        return self._behind_gate(context, lambda session, ctx: _Observation(session, observed))

    def hint(
        self,
        hint: str | tuple[ToolOutputBlock, ...],
        context: RuntimeContext | None = None,
        source: str | None = None,
    ) -> None:
        """Tell the model something before its next call, in the reply that runs or in the next one.

        May be called from any thread. The hint is seen as HINT_BLOCK, kept in the message, and sent as user context.

        Args:
            hint: Text, or text and data blocks.
            context: The session.
            source: Who gives the hint.
        """
        session = self._sessions.of(context or RuntimeContext(), self._default_session_id)
        session.add_hint(HintBlock(hint=hint, source=source))

    def _behind_gate(
        self, context: RuntimeContext | None, begin: Callable[[Session, RuntimeContext], Any]
    ) -> Stream[Any]:
        """Run a turn of a session: wait for the gate, emit the turn's events, let the session remember it."""
        given = context or RuntimeContext()
        session = self._sessions.of(given, self._default_session_id)

        @asynccontextmanager
        async def turn() -> AsyncIterator[Any]:
            async with session.gate:
                running = begin(session, given)
                try:
                    yield running
                finally:
                    running.remember()

        return using_async(turn, lambda running: running.events())

    def __repr__(self) -> str:
        return f"ReActAgent(name={self.name!r}, model={self._settings.model.model_name!r})"


class _Observation:
    """A turn that only adds to the history."""

    def __init__(self, session: Session, messages: Iterable[Msg]) -> None:
        self._session, self._messages = session, messages

    def events(self) -> rx.Observable[None]:
        return rx.empty()

    def remember(self) -> None:
        self._session.history.extend(self._messages)
