"""The middleware that keeps requests inside the window of a model."""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

from reactivex import Observable, operators as ops

from ...context import RuntimeContext
from ...errors import ConfigurationError, ModelError
from ...event import (
    AgentEvent,
    CustomEvent,
    ModelCallEndEvent,
    ModelCallResetEvent,
    ModelCallStartEvent,
    TextBlockDeltaEvent,
)
from ...message import Msg, MsgRole
from ...model import ChatModel, ModelOptions
from ...operators import Operator
from ...state import AgentState, ContextCut
from ...stream import concat_stages
from ...tools import ToolSchema
from ..base import AgentLike, Middleware, ModelCallInput, Next
from .cuts import Piece, cuts, kept, pieces
from .estimate import estimate_tokens
from .summary import summary_message, summary_request

__all__ = ["ContextWindow"]

TokenCount: TypeAlias = Callable[[Sequence[Msg], Sequence[ToolSchema]], int]


@dataclass(frozen=True, slots=True)
class _Window:
    """What of a conversation is sent."""

    begin: int = 0
    """The first piece that is kept."""
    summary: str = ""
    """What is told in the place of the pieces before it; "" for nothing."""


class ContextWindow(Middleware):
    """Leaves out the oldest turns of a conversation that does not fit into the model's window any more.

    When a request would have more than `max_tokens`, turns are left out until it has at most the share `keep` of them,
    so that the cut, and with it a provider's cache of the prompt, stays for a while. The cut is between turns: a call
    is never without its result, and the question of the last exchange is always kept. Nothing leaves the history: where
    the cut is, is `AgentState.cut`.

    With a summarizer, that model sums up what is left out, and the summary before. If it fails or
    says nothing, what was left out before is what stays summed up.

    Emits, before the model call, CUSTOM `context_window` with `{"left_out": messages or parts of them, "summarized":
    bool, "tokens_before": int, "tokens": int}` when the cut moves; and MODEL_CALL_START and MODEL_CALL_END of the
    summary before that, so that its tokens count. Tokens are estimates.

    Args:
        max_tokens: The most tokens that a request may have: the window of the model, without room for the answer.
        keep: How much of that is kept when something is left out, from 0 to 1.
        summarizer: The model that sums up; None to leave out only.
        count: Counts the tokens of messages and tools; `estimate_tokens` by default.

    Raises:
        ConfigurationError: `max_tokens` is no positive number, `keep` is not between 0 and 1, or `summarizer` is no
            `ChatModel`.
    """

    def __init__(
        self,
        max_tokens: int,
        *,
        keep: float = 0.5,
        summarizer: ChatModel | None = None,
        count: TokenCount = estimate_tokens,
    ) -> None:
        if max_tokens < 1:
            raise ConfigurationError(f"max_tokens is a positive number of tokens: got {max_tokens}")
        if not 0 < keep <= 1:
            raise ConfigurationError(f"keep is a share between 0 and 1: got {keep}")
        if not isinstance(summarizer, ChatModel | None):
            raise ConfigurationError(
                f"a summarizer is a ChatModel, see resolve_model(): got {type(summarizer).__name__}"
            )
        self._max_tokens = max_tokens
        self._target = int(max_tokens * keep)
        self._summarizer = summarizer
        self._count = count

    def on_model_call(
        self, agent: AgentLike, context: RuntimeContext, input: ModelCallInput, next: Next[ModelCallInput]
    ) -> Observable[AgentEvent]:
        """Make the call with what fits."""
        state = context.get(AgentState)
        if state is None:
            return next(input)
        return concat_stages(lambda: self._stages(state, input, next))

    def _stages(
        self, state: AgentState, input: ModelCallInput, next: Next[ModelCallInput]
    ) -> Generator[Observable[AgentEvent] | AgentEvent, Any, None]:
        conversation = pieces([message for message in input.messages if message.role is not MsgRole.SYSTEM])
        window = _window(state, conversation)
        request = _request(input, conversation, window)
        before = self._tokens(request)
        if before > self._max_tokens:
            begin = self._cut(input, conversation, window)
            if begin > window.begin:
                summary = yield from self._summary(input, conversation, window, begin, next)
                left_out, window = begin - window.begin, _Window(begin, summary)
                request = _request(input, conversation, window)
                first = conversation[begin]
                state.cut = ContextCut(message_id=first.message.id, part=first.number, summary=summary)
                yield CustomEvent(
                    name="context_window",
                    value={
                        "left_out": left_out,
                        "summarized": bool(summary),
                        "tokens_before": before,
                        "tokens": self._tokens(request),
                    },
                    seq=0,
                )
        yield next(request)

    def _tokens(self, input: ModelCallInput) -> int:
        return self._count(input.messages, input.tools)

    def _fits(self, messages: Sequence[Msg]) -> bool:
        return self._count(messages, ()) <= self._max_tokens

    def _cut(self, input: ModelCallInput, conversation: list[Piece], window: _Window) -> int:
        """Return where to begin: the first cut with which the request is small enough, else the last one."""
        sizes = [self._count([piece.message], ()) for piece in conversation]
        fixed = self._tokens(_request(input, conversation, replace(window, begin=len(conversation))))
        question = next((sizes[i] for i in range(len(sizes) - 1, -1, -1) if conversation[i].is_question), 0)
        left = sum(sizes[window.begin :])
        begin = window.begin
        for cut in cuts(conversation):
            if cut <= begin:
                continue
            left -= sum(sizes[begin:cut])
            begin = cut
            if fixed + left + (0 if conversation[cut].is_question else question) <= self._target:
                break
        return begin

    def _summary(
        self,
        input: ModelCallInput,
        conversation: list[Piece],
        window: _Window,
        begin: int,
        next: Next[ModelCallInput],
    ) -> Generator[Observable[AgentEvent], Any, str]:
        if self._summarizer is None:
            return ""
        left_out = [piece.message for piece in conversation[window.begin : begin]]
        said: list[str] = []
        request = ModelCallInput(
            messages=summary_request(window.summary, left_out, self._fits),
            tools=(),
            options=ModelOptions(max_tokens=max(1, self._target // 2)),
            iteration=input.iteration,
            model=self._summarizer,
        )
        try:
            yield next(request).pipe(_overheard(said))
        except ModelError:
            return window.summary
        return "".join(said).strip() or window.summary


def _window(state: AgentState, conversation: Sequence[Piece]) -> _Window:
    """Return the window as the state has it; whole when the cut is not in this conversation."""
    if (cut := state.cut) is None:
        return _Window()
    key = (cut.message_id, cut.part)
    begin = next((index for index in range(len(conversation) - 1, -1, -1) if conversation[index].key == key), 0)
    return _Window(begin, cut.summary) if begin else _Window()


def _request(input: ModelCallInput, conversation: Sequence[Piece], window: _Window) -> ModelCallInput:
    """Return the call with what is in the window."""
    if window == _Window():
        return input
    system = [message for message in input.messages if message.role is MsgRole.SYSTEM]
    told = [summary_message(window.summary)] if window.summary else []
    rest = kept(conversation, window.begin) if window.begin < len(conversation) else []
    return replace(input, messages=(*system, *told, *rest))


def _overheard(said: list[str]) -> Operator[AgentEvent, AgentEvent]:
    """Keep what a model says to ourselves; that it was called is seen."""

    def hear(event: AgentEvent) -> bool:
        if isinstance(event, TextBlockDeltaEvent):
            said.append(event.delta)
        elif isinstance(event, ModelCallResetEvent):
            said.clear()
        return isinstance(event, ModelCallStartEvent | ModelCallEndEvent)

    return ops.filter(hear)
