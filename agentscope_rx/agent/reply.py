"""The reply: a loop of reasoning and acting, as a generator of stages."""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeAlias

import reactivex as rx
from reactivex import Observable

from ..context import RuntimeContext
from ..errors import LocalProtocolError
from ..event import (
    AgentEndEvent,
    AgentEvent,
    AgentStartEvent,
    AllToolsDeniedEvent,
    ExceedMaxItersEvent,
    FinishReason,
    HintBlockEvent,
    UserInterruptEvent,
)
from ..identity import new_id
from ..message import (
    AssistantMessage,
    ContentBlock,
    DataBlock,
    GenerateReason,
    HintBlock,
    Msg,
    SystemMessage,
    TextBlock,
    ToolCallState,
    ToolResultBlock,
    ToolResultState,
    ToolUseBlock,
)
from ..middleware import (
    ActingInput,
    AgentCallInput,
    AgentLike,
    Chain,
    ModelCallInput,
    ReasoningInput,
)
from ..model import ChatModel, ModelOptions, ModelRequest
from ..permission import PermissionEngine
from ..state import AgentState, PausedReply
from ..stream import concat_stages, from_async_iterable
from ..tools import Toolkit
from .acting import Turn
from .answers import Answers
from .closing import INTERRUPTED, closing_events, interrupted_message, result_events, unanswered_calls
from .equipment import TOOLS_MISSING, Equipment
from .inputs import Given, said_anew
from .output import Output
from .publication import Publication
from .reasoning import model_call_events
from .session import Call, Interrupted

__all__ = ["Reply", "Settings"]

_Stages: TypeAlias = Generator["Observable[AgentEvent] | AgentEvent", Any, GenerateReason]

_EMPTY_RESPONSE = "Your last response was empty. Answer the user, or call a tool."
_SUMMARISE = "The limit of iterations is reached. Answer the user now, with what you have found out so far."
_CUT_OFF = "The tool call was not run, because the output was cut off at the token limit."
_ANSWERED = "The tool call was not run, because the answer was given beside it."
_NO_TOOLS = "The tool call was not run, because the limit of iterations is reached."

_DELIBERATE = {FinishReason.REFUSAL, FinishReason.CONTENT_FILTER}
"""Finish reasons after which an empty answer is the answer."""


@dataclass(frozen=True, slots=True)
class Settings:
    """What an agent is made of; shared by all its replies, changed by none."""

    name: str
    """Who speaks."""
    model: ChatModel
    """What it reasons with."""
    sys_prompt: str
    """Its instructions, "" for none."""
    toolkit: Toolkit
    """What it acts with."""
    chain: Chain
    """What is around its stages."""
    max_iters: int
    """How many rounds a reply may take before it must sum up."""
    options: ModelOptions
    """How the model should answer."""


class Reply:
    """One run of one reply: what it was given, the session it belongs to, and what was published so far."""

    def __init__(
        self,
        agent: AgentLike,
        settings: Settings,
        call: Call,
        state: AgentState,
        context: RuntimeContext,
        given: Given,
        answers: Answers,
        output: Output | None = None,
    ) -> None:
        self._settings = settings
        self._session = call.session
        self._state = state
        self._context = context
        self._given = given
        self._answers = answers
        self._output = output
        self._cut = call.cut
        self._equipment = Equipment(settings.toolkit, context)
        self._messages = said_anew(given.messages, state.history)
        if given.messages and state.paused is not None:
            _give_up(state, state.paused)
        paused = state.paused
        self._iteration = 0 if paused is None else paused.iteration
        self._turn: tuple[str, ...] = () if paused is None else paused.turn
        self._denied_by_user = bool(answers.denied) or (paused is not None and paused.denied_by_user)
        self._retried_empty = False
        self._sys_prompt: str | None = None
        self._start = AgentStartEvent(
            reply_id=new_id() if paused is None else paused.message.id,
            session_id=call.session.id,
            name=settings.name,
            resumed=paused is not None,
            message=None if paused is None else paused.message,
            seq=0,
        )
        self._reply_id = self._start.reply_id
        self._publication = Publication(
            self._start, 0 if paused is None else paused.last_seq, synchronous=settings.chain.names("on_agent")
        )
        around: Callable[..., Any] = partial(settings.chain.around, agent=agent, context=context)
        self._agent = agent
        self._run = around("on_agent", stage=self._run_agent)
        self._reason = around("on_reasoning", stage=self._reason_once)
        self._call_model = around("on_model_call", stage=self._call_model_once)
        self._act = around("on_acting", stage=self._act_once)
        self._around_tool_call = lambda stage: around("on_tool_call", stage=stage)

    def events(self) -> Observable[AgentEvent]:
        """Emit the events of the run, AGENT_START to AGENT_END; for one subscriber, behind the session's gate."""
        try:
            source = self._run(AgentCallInput(self._messages))
        except Exception as error:
            source = rx.throw(error)
        return self._publication.publish(source)

    def remember(self) -> None:
        """Put the run into the state of the session, closed even if nobody followed it to its end."""
        self._publication.settle()
        state = self._state
        state.history += self._messages
        if self._publication.builder.reply_id is None:
            return
        message = self._message()
        if self._unanswered_calls():
            state.paused = PausedReply(
                message=message,
                iteration=self._iteration,
                last_seq=self._publication.builder.last_seq,
                turn=self._turn,
                denied_by_user=self._denied_by_user,
                output=None if self._output is None else self._output.format,
            )
        else:
            state.paused = None
            state.history += (message,) if message.content else ()

    # ------------------------------------------------------------------------------------------------ the loop

    def _run_agent(self, input: AgentCallInput) -> Observable[AgentEvent]:
        self._messages = input.messages
        return self._publication.watch(concat_stages(self._stages, self._cut))

    def _stages(self) -> Generator[Observable[AgentEvent] | AgentEvent, Any, None]:
        try:
            yield self._start
            self._check_started()
            self._stop_if_interrupted()
            yield from self._answer_events()
            reason = yield from self._rounds()
        except Interrupted as interruption:
            yield UserInterruptEvent(reply_id=self._reply_id, message=interruption.message, seq=0)
            yield from closing_events(self._publication.builder, INTERRUPTED)
            reason = GenerateReason.INTERRUPTED
        self._cut.disarm()
        value = None if self._output is None else self._output.value
        yield AgentEndEvent(reply_id=self._reply_id, generate_reason=reason, structured_output=value, seq=0)

    def _check_started(self) -> None:
        if self._publication.builder.reply_id is None:
            raise LocalProtocolError(
                f"{self._settings.chain.names('on_agent')} has not passed AGENT_START on: on_agent passes an event on, "
                "or drops it, before its on_next returns, and AGENT_START may not be dropped"
            )

    def _stop_if_interrupted(self) -> None:
        if self._given.interrupt is not None:
            raise Interrupted(self._given.interrupt.message)
        if self._cut.early and self._cut.error is not None:
            raise self._cut.error

    def _answer_events(self) -> Generator[AgentEvent, Any, None]:
        self._accept_rules()
        if self._answers.confirm is not None:
            yield self._answers.confirm
        if self._answers.external is not None:
            yield self._answers.external

    def _accept_rules(self) -> None:
        permission = self._state.permission
        if permission is not None and self._answers.rules:
            self._state.permission = permission.with_rules(self._answers.rules)

    def _rounds(self) -> _Stages:
        if self._unanswered_calls():
            yield from self._look_for_tools()
        while True:
            if calls := self._unanswered_calls():
                reason = yield from self._acting(calls)
                if reason is not None:
                    return reason
            if self._iteration == self._settings.max_iters:
                return (yield from self._summary())
            self._iteration += 1
            yield from self._look_for_tools(tell=True)
            calls = yield from self._reasoning(self._equipped())
            self._turn, self._denied_by_user = tuple(call.id for call in calls), False
            if (stop := self._publication.stop) is not None:
                return stop.generate_reason
            if calls or self._publication.finish_reason is FinishReason.PAUSE:
                continue
            if self._output is not None:
                return (yield from self._answer_with(self._output))
            if not self._is_empty() or self._retried_empty:
                return GenerateReason.MODEL_STOP
            self._retried_empty = True
            if self._iteration < self._settings.max_iters:  # else the summary asks for an answer itself
                yield self._hint(_EMPTY_RESPONSE, "empty_response")

    def _summary(self) -> _Stages:
        limit = self._settings.max_iters
        yield ExceedMaxItersEvent(reply_id=self._reply_id, max_iters=limit, current_iter=limit, seq=0)
        if self._output is None:
            yield self._hint(_SUMMARISE, "max_iterations")
            yield from self._reasoning(Toolkit(), last=True)
            yield from self._refuse(self._unanswered_calls(), _NO_TOOLS)
        else:
            yield from self._answer_with(self._output)
        return GenerateReason.MAX_ITERATIONS

    def _answer_with(self, output: Output) -> _Stages:
        """Bring the reply to the object that it must end with: it may be what was said last, else it is asked for."""
        output.read(self._said_last())
        while output.value is None:
            yield self._hint(output.ask(), "structured_output")
            yield from self._reasoning(output.last_tools(), last=True)
            if (stop := self._publication.stop) is not None:
                return stop.generate_reason
            if not (calls := self._unanswered_calls()):
                output.read(self._said_last())
            elif (reason := (yield from self._acting(calls))) is not None:
                return reason
        return GenerateReason.STRUCTURED_OUTPUT

    def _refuse(self, calls: Sequence[ToolUseBlock], why: str) -> Generator[AgentEvent, Any, None]:
        for call in calls:
            yield from result_events(self._reply_id, call, why, ToolResultState.ERROR)

    def _hint(self, text: str, source: str) -> HintBlockEvent:
        return HintBlockEvent(reply_id=self._reply_id, block_id=new_id(), hint=text, hint_source=source, seq=0)

    # ------------------------------------------------------------------------------------------------ reasoning

    def _reasoning(
        self, toolkit: Toolkit, last: bool = False
    ) -> Generator[Observable[AgentEvent] | AgentEvent, Any, list[ToolUseBlock]]:
        """Ask the model, for the `last` time or in a round; returns the calls that it wants made."""
        yield from self._session.take_hints(self._reply_id)
        tools, options = toolkit.schemas(self._context), self._settings.options
        if self._output is not None:
            options = self._output.options(options, has_tools=bool(tools), last=last)
        input = ReasoningInput(self._conversation(), tools, options, self._iteration + last)
        yield from self._stage(lambda: self._reason(input), "on_reasoning", "on_model_call")
        calls = self._unanswered_calls()
        if calls and self._publication.finish_reason is FinishReason.LENGTH:
            yield from self._refuse(calls, _CUT_OFF)
        return calls

    def _look_for_tools(self, tell: bool = False) -> Generator[Observable[AgentEvent] | AgentEvent, Any, None]:
        """Ask the sources of tools, if there are any, what they have now, and tell the model what it must know."""
        if not self._settings.toolkit.has_sources:
            return
        yield from_async_iterable(self._equipment.look)
        if tell and (hint := self._equipment.hint((*self._state.history, self._message()))) is not None:
            yield self._hint(hint, TOOLS_MISSING)

    def _equipped(self) -> Toolkit:
        toolkit = self._equipment.toolkit
        return (toolkit if self._output is None else self._output.equip(toolkit)).equipped(self._context)

    def _reason_once(self, input: ReasoningInput) -> Observable[AgentEvent]:
        stage: Observable[AgentEvent] = self._call_model(
            ModelCallInput(input.messages, input.tools, input.options, input.iteration, self._settings.model)
        )
        return stage

    def _call_model_once(self, input: ModelCallInput) -> Observable[AgentEvent]:
        request = ModelRequest(input.messages, input.tools, input.options)
        taken = self._publication.call_ids
        return from_async_iterable(
            lambda: model_call_events(input.model, request, self._reply_id, input.iteration, taken)
        )

    # ------------------------------------------------------------------------------------------------ acting

    def _acting(self, calls: Sequence[ToolUseBlock]) -> Generator[Any, Any, GenerateReason | None]:
        """Bring the calls of the turn to an end; returns why the reply stops there, None when it goes on."""
        yield from self._stage(lambda: self._act(ActingInput(tuple(calls))), "on_acting", "on_tool_call")
        self._answers = Answers()
        if self._output is not None and self._output.value is not None:
            yield from self._refuse(self._unanswered_calls(), _ANSWERED)
            return GenerateReason.STRUCTURED_OUTPUT
        if (stop := self._publication.stop) is not None:
            return stop.generate_reason
        states = {call.state for call in self._unanswered_calls()}
        if ToolCallState.ASKING in states:
            return GenerateReason.PERMISSION_ASKING
        if ToolCallState.SUBMITTED in states:
            return GenerateReason.TOOL_SUSPENDED
        if states:
            names = self._settings.chain.names("on_acting") or self._settings.chain.names("on_tool_call")
            raise LocalProtocolError(
                f"acting ended, and tool calls have neither a result nor an announcement; see {names or 'the tools'}: "
                "a middleware keeps TOOL_RESULT_* and REQUIRE_* events, or gives others for them"
            )
        return None

    def _act_once(self, input: ActingInput) -> Observable[AgentEvent]:
        turn = Turn(
            reply_id=self._reply_id,
            toolkit=self._equipped(),
            engine=PermissionEngine(self._state.permission),
            context=self._context,
            answers=self._answers,
            around_tool_call=self._around_tool_call,
            gate=self._session.gate,
        )

        def stages() -> Generator[Observable[AgentEvent] | AgentEvent, Any, None]:
            yield turn.events(input.tool_calls)
            if denied := self._all_denied(turn):
                yield AllToolsDeniedEvent(reply_id=self._reply_id, denied_tool_calls=denied, seq=0)

        return concat_stages(stages)

    def _all_denied(self, turn: Turn) -> tuple[ToolUseBlock, ...]:
        """The calls of the turn, if every one was denied and at least one by a person; else none."""
        message = self._message()
        before = {
            block.id for block in message.get_content_blocks(ToolResultBlock) if block.state is ToolResultState.DENIED
        }
        if not self._denied_by_user or not set(self._turn) <= before | turn.denied:
            return ()
        return tuple(call for call in message.get_content_blocks(ToolUseBlock) if call.id in self._turn)

    def _stage(
        self, make: Callable[[], Observable[AgentEvent]], *hooks: str
    ) -> Generator[Observable[AgentEvent], Any, None]:
        """Run one stage; what its middlewares break is theirs."""
        chain = self._settings.chain
        try:
            yield make()
        except Interrupted:
            raise
        except Exception as error:
            if (blamed := chain.blame(error, *hooks)) is error:
                raise
            raise blamed from error
        if left := self._publication.builder.open:
            names = ", ".join(filter(None, (*map(chain.names, hooks), chain.names("on_agent"))))
            raise LocalProtocolError(
                f"a stage ended and left {', '.join(f'{part.value} {id!r}' for part, id in left)} open; see {names}"
            )

    # ------------------------------------------------------------------------------------------------ what it sees

    def _message(self) -> AssistantMessage:
        return self._publication.builder.message()

    def _unanswered_calls(self) -> list[ToolUseBlock]:
        return unanswered_calls(self._message())

    def _conversation(self) -> tuple[Msg, ...]:
        if self._sys_prompt is None:
            self._sys_prompt = self._settings.chain.system_prompt(self._agent, self._context, self._settings.sys_prompt)
        before = (SystemMessage("system", self._sys_prompt),) if self._sys_prompt else ()
        so_far = self._message()
        return (*before, *self._state.history, *self._messages, *((so_far,) if so_far.content else ()))

    def _is_empty(self) -> bool:
        """Whether the model has said nothing since the last tool result or hint that it was given."""
        if self._publication.finish_reason in _DELIBERATE:
            return False
        return not any(
            isinstance(block, DataBlock) or (isinstance(block, TextBlock) and block.text.strip())
            for block in self._last_turn()
        )

    def _said_last(self) -> str:
        return "".join(block.text for block in self._last_turn() if isinstance(block, TextBlock))

    def _last_turn(self) -> list[ContentBlock]:
        """What the model has said since the last tool result or hint that it was given."""
        content = self._message().content
        given = (index for index, block in enumerate(content, 1) if isinstance(block, ToolResultBlock | HintBlock))
        return list(content[max(given, default=0) :])


def _give_up(state: AgentState, paused: PausedReply) -> None:
    """Close a stopped reply that a new message takes the place of: its calls are interrupted."""
    state.history += (interrupted_message(paused.message),)
    state.paused = None
