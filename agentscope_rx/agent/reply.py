"""The reply: a loop of reasoning and acting, as a generator of stages."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from reactivex import Observable

from ..context import RuntimeContext
from ..event import (
    AgentEndEvent,
    AgentEvent,
    AgentStartEvent,
    ExceedMaxItersEvent,
    FinishReason,
    HintBlockEvent,
)
from ..identity import new_id
from ..message import DataBlock, GenerateReason, Msg, SystemMessage, TextBlock, ToolResultState, ToolUseBlock
from ..model import ChatModel, ModelOptions, ModelRequest
from ..stream import concat_stages, from_async_iterable
from ..tools import Toolkit
from .acting import acting
from .closing import result_events, unanswered_calls
from .publication import Publication
from .reasoning import model_call_events
from .session import Session

__all__ = ["Reply", "Settings"]

_Stages: TypeAlias = Generator["Observable[AgentEvent] | AgentEvent", Any, GenerateReason]

_EMPTY_RESPONSE = "Your last response was empty. Answer the user, or call a tool."
_SUMMARISE = "The limit of iterations is reached. Answer the user now, with what you have found out so far."
_CUT_OFF = "The tool call was not run, because the output was cut off at the token limit."
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
    max_iters: int
    """How many rounds a reply may take before it must sum up."""
    options: ModelOptions
    """How the model should answer."""


class Reply:
    """One reply on its way: the input of one call, the session it belongs to and what was published so far."""

    def __init__(self, settings: Settings, session: Session, context: RuntimeContext, messages: Sequence[Msg]) -> None:
        self._settings = settings
        self._session = session
        self._context = context
        self._messages = messages
        self._reply_id = new_id()
        self._publication = Publication(self._reply_id)
        self._retried_empty = False

    def events(self) -> Observable[AgentEvent]:
        """Emit the events of the reply, AGENT_START to AGENT_END; for one subscriber, behind the session's gate."""
        return self._publication.publish(concat_stages(self._stages))

    def remember(self) -> None:
        """Put the turn into the history of the session, closed even if nobody followed the reply to its end."""
        self._publication.settle()
        self._session.history.extend(self._messages)
        if self._publication.builder.reply_id is not None and (message := self._message()).content:
            self._session.history.append(message)

    # ------------------------------------------------------------------------------------------------ the loop

    def _stages(self) -> Generator[Observable[AgentEvent] | AgentEvent, Any, None]:
        yield AgentStartEvent(
            reply_id=self._reply_id,
            session_id=self._session.id,
            name=self._settings.name,
            seq=0,
        )
        reason = yield from self._rounds()
        yield AgentEndEvent(reply_id=self._reply_id, generate_reason=reason, seq=0)

    def _rounds(self) -> _Stages:
        for iteration in range(1, self._settings.max_iters + 1):
            yield from self._session.take_hints(self._reply_id)
            yield self._reasoning(iteration)
            calls = self._unanswered_calls()
            if calls and self._publication.finish_reason is FinishReason.LENGTH:
                yield from self._refuse(calls, _CUT_OFF)
            elif calls:
                yield acting(calls, self._settings.toolkit, self._context, self._reply_id)
                if self._publication.stop is not None:
                    return self._publication.stop.generate_reason
            elif self._is_empty() and not self._retried_empty:
                self._retried_empty = True
                yield self._hint(_EMPTY_RESPONSE, "empty_response")
            else:
                return GenerateReason.MODEL_STOP
        return (yield from self._summary())

    def _summary(self) -> _Stages:
        limit = self._settings.max_iters
        yield ExceedMaxItersEvent(reply_id=self._reply_id, max_iters=limit, current_iter=limit, seq=0)
        yield self._hint(_SUMMARISE, "max_iterations")
        yield self._reasoning(limit + 1, with_tools=False)
        yield from self._refuse(self._unanswered_calls(), _NO_TOOLS)
        return GenerateReason.MAX_ITERATIONS

    def _reasoning(self, iteration: int, with_tools: bool = True) -> Observable[AgentEvent]:
        settings = self._settings
        request = ModelRequest(
            messages=self._conversation(),
            tools=settings.toolkit.schemas(self._context) if with_tools else (),
            options=settings.options,
        )
        taken = {block.id for block in self._message().get_content_blocks(ToolUseBlock)}
        return from_async_iterable(lambda: model_call_events(settings.model, request, self._reply_id, iteration, taken))

    def _refuse(self, calls: Sequence[ToolUseBlock], why: str) -> Generator[AgentEvent, Any, None]:
        for call in calls:
            yield from result_events(self._reply_id, call, why, ToolResultState.ERROR)

    def _hint(self, text: str, source: str) -> HintBlockEvent:
        return HintBlockEvent(reply_id=self._reply_id, block_id=new_id(), hint=text, hint_source=source, seq=0)

    # ------------------------------------------------------------------------------------------------ what it sees

    def _message(self) -> Msg:
        return self._publication.builder.message()

    def _unanswered_calls(self) -> list[ToolUseBlock]:
        return unanswered_calls(self._message())

    def _conversation(self) -> list[Msg]:
        prompt = self._settings.sys_prompt
        before = [SystemMessage("system", prompt)] if prompt else []
        so_far = self._message()
        return [*before, *self._session.history, *self._messages, *([so_far] if so_far.content else [])]

    def _is_empty(self) -> bool:
        """Whether the model has said nothing since the last tool result or hint that it was given."""
        if self._publication.finish_reason in _DELIBERATE:
            return False
        for block in reversed(self._message().content):
            if isinstance(block, DataBlock) or (isinstance(block, TextBlock) and block.text.strip()):
                return False
            if not isinstance(block, TextBlock) and block.type in ("hint", "tool_result"):
                break
        return True
