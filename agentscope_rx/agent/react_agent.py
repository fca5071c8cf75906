"""The agent: reasons, acts, and says everything it does as it does it."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import AsyncExitStack, asynccontextmanager
from types import NoneType
from typing import Any, Protocol

import reactivex as rx
from pydantic import ValidationError
from reactivex import Observable

from ..context import RuntimeContext
from ..errors import ConfigurationError
from ..event import AgentEvent
from ..message import HintBlock, Msg, ToolOutputBlock
from ..middleware import Chain, MiddlewareLike
from ..model import ChatModel, ModelOptions
from ..operators import to_message
from ..permission import PermissionContext
from ..state import AgentState, InMemoryStateStore, StateStore, leased
from ..stream import Stream, from_async_iterable, using_async
from ..tools import HasToolGroups, Toolkit, ToolLike
from .answers import check_answers
from .expect import expect
from .inputs import AgentInput, Given, read_input, said_anew
from .output import Output, OutputType, read_output_type, resumed_validator
from .reply import Reply, Settings
from .schemas import build_schemas
from .session import Call, Sessions
from .shutdown import shut_down

__all__ = ["ReActAgent"]

_log = logging.getLogger(__name__)


class _Turn(Protocol):
    """One turn of a session: what it emits, and how it changes what is remembered."""

    def events(self) -> Observable[Any]: ...

    def remember(self) -> None: ...


class ReActAgent:
    """An agent that reasons with a model and acts with tools until it has an answer.

    One object serves any number of sessions, from any event loop and thread: nothing of a call lives on it. Calls of
    one session wait for each other, in order; if the store has leases, those of other processes too.

    Args:
        name: Who speaks; the name of its messages.
        model: A `ChatModel`, or `"provider:model"` for `resolve_model`.
        sys_prompt: The instructions, sent first with every request; "" for none.
        tools: Functions, `Tool` objects, groups, sources of tools such as `McpServers`; or a `Toolkit` of them.
        middlewares: What is around its stages: `Middleware` objects and what `hook` makes.
        permission: The rules that sessions begin with; None: no rules and no asking, but tools' own safety checks.
        state_store: Where sessions are remembered; in memory when None.
        default_session_id: The session of calls that name none; the agent's name when None.
        max_iters: How many rounds of reasoning and acting a reply may take before it must sum up.
        fallback_model: The model that answers when the first one fails; None for none.
        options: How the model should answer.

    Raises:
        ConfigurationError: an argument is not what it must be.
        ToolError: a tool cannot be described to the model.
    """

    def __init__(
        self,
        name: str,
        model: ChatModel | str,
        sys_prompt: str = "",
        *,
        tools: Toolkit | Iterable[ToolLike] = (),
        middlewares: Iterable[MiddlewareLike] = (),
        permission: PermissionContext | None = None,
        state_store: StateStore | None = None,
        default_session_id: str | None = None,
        max_iters: int = 10,
        fallback_model: ChatModel | str | None = None,
        options: ModelOptions | None = None,
    ) -> None:
        expect("the name of an agent", name, str)
        expect("the model of an agent", model, str, ChatModel)
        expect("sys_prompt", sys_prompt, str)
        expect("tools", tools, Iterable)
        expect("middlewares", middlewares, Iterable)
        expect("permission", permission, PermissionContext, NoneType)
        expect("state_store", state_store, StateStore, NoneType)
        expect("default_session_id", default_session_id, str, NoneType)
        expect("max_iters", max_iters, int)
        expect("fallback_model", fallback_model, str, ChatModel, NoneType)
        expect("options", options, ModelOptions, NoneType)
        if max_iters < 1:
            raise ConfigurationError(f"max_iters is at least 1: got {max_iters}")
        fallback = () if fallback_model is None else (_fallback(fallback_model),)
        self._settings = Settings(
            name=name,
            model=_resolved(model),
            sys_prompt=sys_prompt,
            toolkit=tools if isinstance(tools, Toolkit) else Toolkit(tools),
            chain=Chain((*middlewares, *fallback)),
            max_iters=max_iters,
            options=options or ModelOptions(),
        )
        self._permission = permission
        self._store: StateStore = InMemoryStateStore() if state_store is None else state_store
        self._sessions = Sessions(default_session_id or name)
        build_schemas()

    @property
    def name(self) -> str:
        """Who speaks."""
        return self._settings.name

    def stream_events(
        self,
        input: AgentInput = None,
        context: RuntimeContext | None = None,
        output_type: OutputType | None = None,
    ) -> Stream[AgentEvent]:
        """Answer, event by event. Cold: nothing happens before a subscription, and each one is a call of its own.

        Emits AGENT_START; for every iteration MODEL_CALL_START, the blocks as they come, MODEL_CALL_END, and
        TOOL_RESULT_START, deltas and END for every call; AGENT_RESULT and AGENT_END. A reply that needs an answer
        pauses: REQUIRE_USER_CONFIRM, REQUIRE_EXTERNAL_EXECUTION, AGENT_RESULT, AGENT_END; given the answer it goes on
        under the same reply id, with AGENT_START(resumed=True). Disposing cancels the model call and the tools, and
        keeps what was said in the history, marked as interrupted.

        Args:
            input: A text, a message, several messages; an answer event, several, or a message that holds answers; or
                None, to run what a stop left pending or to go on from the history as it is.
            context: The session and user, and what the tools may be handed.
            output_type: The object that the reply must end with: a pydantic model, a dataclass, a TypedDict, or the
                JSON schema of an object. It is in AGENT_END, and `Msg.structured` returns it. A paused reply that goes
                on is still asked for what it was asked for.

        Raises:
            ConfigurationError: at once, when an argument is none of these, or `output_type` is the type of no object.
            MissingExtraError: at once, when `output_type` is a JSON schema and the extra `schema` is not installed.
            StructuredOutputError: as on_error after the closing events, when the model does not give the object.
            ResumeError: as on_error before any event, when an answer does not fit, or a message comes while tool calls
                wait for an answer; nothing is changed.
            AgentShuttingDownError: as on_error before any event, after `shutdown`; nothing is changed.
            SessionBusyError: as on_error before any event, inside a tool of this very session, which waits for it.
            ModelError, MiddlewareError, LocalProtocolError: as on_error after the closing events.
            StoreError, StateConflictError: as on_error, when the session cannot be loaded or saved.
        """
        given = read_input(input)
        wanted = None if output_type is None else read_output_type(output_type)

        def begin(call: Call, state: AgentState, context: RuntimeContext) -> Reply:
            answers = check_answers(state, given, self._settings.toolkit, context)
            goes_on = state.paused is not None and not given.messages and given.interrupt is None
            validator = resumed_validator(wanted, state.paused.output) if state.paused and goes_on else wanted
            output = None if validator is None else Output(validator, self._settings.model)
            return Reply(self, self._settings, call, state, context, given, answers, output)

        return self._behind_gate(context, begin)

    def call(
        self,
        input: AgentInput = None,
        context: RuntimeContext | None = None,
        output_type: OutputType | None = None,
    ) -> Stream[Msg]:
        """Answer with one message: `await agent.call("hi")`, or `agent.call("hi").run()`.

        Emits the message that the events of `stream_events` fold to; takes and raises the same.
        """
        return self.stream_events(input, context, output_type).pipe(to_message())

    def observe(self, msgs: Msg | Iterable[Msg], context: RuntimeContext | None = None) -> Stream[None]:
        """Put messages into the history without answering, after the calls of the session that came before.

        Emits nothing; completes when it is done.

        Raises:
            ConfigurationError: at once, when they are no messages.
            AgentShuttingDownError, SessionBusyError, StoreError, StateConflictError: as in `stream_events`.
        """
        observed = read_input(msgs)
        if observed.is_answer:
            raise ConfigurationError("an agent observes messages: got an answer to a paused reply")
        return self._behind_gate(context, lambda call, state, ctx: _Observation(state, observed))

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

        Raises:
            ConfigurationError: the hint is neither.
            AgentShuttingDownError: after `shutdown`.
        """
        try:
            block = HintBlock(hint=hint, source=source)
        except ValidationError as error:
            raise ConfigurationError(
                f"a hint is text, or text and data blocks, and its source a text: got {type(hint).__name__} "
                f"and {type(source).__name__}"
            ) from error
        self._sessions.add_hint(_given(context), block)

    def interrupt(self, context: RuntimeContext | None = None, message: str | None = None) -> bool:
        """Stop what a session is doing, in order: the reply ends with USER_INTERRUPT and AGENT_END(INTERRUPTED).

        May be called from any thread. Calls that wait for the session's gate are interrupted too. A paused reply does
        nothing that could be stopped; give it a `UserInterruptEvent`.

        Args:
            context: The session.
            message: What the person said.

        Returns:
            Whether there was a call to interrupt.
        """
        return self._sessions.interrupt(_given(context), message)

    def get_state(self, context: RuntimeContext | None = None) -> Stream[AgentState]:
        """Emit what is remembered of a session as it was saved last, a new state when nothing is; waits for nobody.

        Raises:
            StoreError: as on_error, when the session cannot be loaded.
        """
        given = _given(context)

        async def load() -> AsyncIterator[AgentState]:
            yield (await self._load(self._store, given))[0]

        return from_async_iterable(load)

    def clear_context(self, context: RuntimeContext | None = None) -> Stream[None]:
        """Forget the history and the paused reply of a session, after its calls; rules, values and groups stay.

        Emits nothing; completes when it is done.

        Raises:
            AgentShuttingDownError, SessionBusyError, StoreError, StateConflictError: as in `stream_events`.
        """
        return self._behind_gate(context, lambda call, state, ctx: _Clearing(state))

    def shutdown(self, grace: float = 10.0) -> Stream[None]:
        """Take no more calls, let those that run or wait come to their end, and interrupt what has not after a while.

        From the subscription on, a new call of any session fails with AgentShuttingDownError before it has changed
        anything. Calls that were there before have `grace` seconds to end by themselves; the others are then
        interrupted, as by `interrupt`, and end with USER_INTERRUPT and AGENT_END(INTERRUPTED). One whose events nobody
        reads cannot end like that: it is cancelled, and its subscriber is told StreamCancelled. Every state is saved
        as at any other end; paused replies are saved already, and go on in another process. Hints that no model call
        has taken are lost.

        Emits nothing; completes when the last state is saved, so that a store that hangs holds it up. May be called
        in any loop and thread, and again. Disposing stops the waiting; the agent stays closed.

        Args:
            grace: Seconds.

        Raises:
            ConfigurationError: at once, when `grace` is negative or no number.
            SessionBusyError: as on_error, inside `.run()`, when a call is on the event loop that it blocks; the agent
                stays open.
        """
        expect("the grace of shutdown()", grace, float, int)
        if not grace >= 0:
            raise ConfigurationError(f"the grace of shutdown() is a number of seconds, 0 or more: got {grace}")

        async def run() -> AsyncIterator[None]:
            await shut_down(self._sessions, grace)
            return
            yield

        return from_async_iterable(run)

    async def _load(self, store: StateStore, context: RuntimeContext) -> tuple[AgentState, int]:
        session_id = self._sessions.id_of(context)
        stored = await store.load(session_id, context.user_id)
        if stored is not None:
            return stored
        return AgentState(session_id=session_id, user_id=context.user_id, permission=self._permission), 0

    def _behind_gate(
        self,
        context: RuntimeContext | None,
        begin: Callable[[Call, AgentState, RuntimeContext], _Turn],
    ) -> Stream[Any]:
        """Run a turn of a session: wait until it is ours, load the state, emit the turn's events, save the state."""
        given = _given(context)

        @asynccontextmanager
        async def turn() -> AsyncIterator[_Turn]:
            with self._sessions.entered(given) as call:
                async with call.session.gate, AsyncExitStack() as leaving:
                    with call.running():  # another process may keep it waiting, and there is nothing to save yet
                        ours = leased(self._store, call.session.id, call.session.user_id)
                        store = await leaving.enter_async_context(ours)
                    state, version = await self._load(store, given)
                    own = given.copy().put(AgentState, state).put(HasToolGroups, state)
                    running = begin(call, state, own)
                    try:
                        with call.running():
                            yield running
                    except BaseException:
                        running.remember()
                        try:
                            await store.save(state, version)
                        except Exception:  # what made the turn fail is what the subscriber must hear of
                            _log.exception("the state of session %r was not saved", call.session.id)
                        raise
                    running.remember()
                    await store.save(state, version)

        return using_async(turn, lambda running: running.events())

    def __repr__(self) -> str:
        return f"ReActAgent(name={self.name!r}, model={self._settings.model.model_name!r})"


class _Observation:
    """A turn that only adds to the history."""

    def __init__(self, state: AgentState, observed: Given) -> None:
        self._state, self._messages = state, said_anew(observed.messages, state.history)

    def events(self) -> Observable[None]:
        return rx.empty()

    def remember(self) -> None:
        self._state.history += self._messages


class _Clearing:
    """A turn that forgets."""

    def __init__(self, state: AgentState) -> None:
        self._state = state

    def events(self) -> Observable[None]:
        return rx.empty()

    def remember(self) -> None:
        self._state.history, self._state.cut, self._state.paused = (), None, None


def _given(context: RuntimeContext | None) -> RuntimeContext:
    expect("the context of a call", context, RuntimeContext, NoneType)
    return context or RuntimeContext()


def _resolved(model: ChatModel | str) -> ChatModel:
    if not isinstance(model, str):
        return model
    from ..model import resolve_model  # with it come the adapters and an HTTP client, which not every agent needs

    return resolve_model(model)


def _fallback(model: ChatModel | str) -> MiddlewareLike:
    from ..middleware import FallbackModel  # which most agents do without

    return FallbackModel(_resolved(model))
