"""Random streams as an agent publishes them.

    streams()           the events of one reply, legal, numbered, with pauses, retries, child agents and noise
    runs(stream)        the same events, cut where the reply paused
    breaches(stream)    the same events with one of them dropped, repeated, swapped or moved

`streams` writes what the protocol allows, not only what this package's own agent would write: blocks overlap, results
interleave, ENDs come in any order.
"""

from __future__ import annotations

import base64
import json
from collections import Counter
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from functools import cache, partial
from itertools import pairwise
from typing import Any, TypeVar

from hypothesis import strategies as st

from agentscope_rx.event import (
    AgentEndEvent,
    AgentErrorInfo,
    AgentEvent,
    AgentResultEvent,
    AgentStartEvent,
    AllToolsDeniedEvent,
    ConfirmResult,
    CustomEvent,
    DataBlockDeltaEvent,
    DataBlockEndEvent,
    DataBlockStartEvent,
    ExceedMaxItersEvent,
    ExternalExecutionResultEvent,
    FinishReason,
    HintBlockEvent,
    ModelCallEndEvent,
    ModelCallResetEvent,
    ModelCallStartEvent,
    RequestStopEvent,
    RequireExternalExecutionEvent,
    RequireUserConfirmEvent,
    SubagentExposedEvent,
    TextBlockDeltaEvent,
    TextBlockEndEvent,
    TextBlockStartEvent,
    ThinkingBlockDeltaEvent,
    ThinkingBlockEndEvent,
    ThinkingBlockStartEvent,
    ToolCallDeltaEvent,
    ToolCallEndEvent,
    ToolCallStartEvent,
    ToolResultDataDeltaEvent,
    ToolResultEndEvent,
    ToolResultStartEvent,
    ToolResultTextDeltaEvent,
    UnknownEvent,
    UserConfirmResultEvent,
    UserInterruptEvent,
)
from agentscope_rx.message import (
    DataBlock,
    GenerateReason,
    PermissionBehavior,
    PermissionRule,
    TextBlock,
    ToolCallState,
    ToolResultBlock,
    ToolResultState,
    ToolUseBlock,
    URLSource,
)

from .reference import reference_message

__all__ = ["PIECES", "RAW_ARGUMENTS", "breaches", "runs", "streams"]

T = TypeVar("T")

PIECES = (
    *("a", "Hello", " ", "\n", "é", "e\u0301", "漢字", "🌍", "👩\u200d👩\u200d👧", "שלום"),
    *("\u2028", "\x00", "\ufeff", '"\\', "data: x\r\n\r\n"),
)
"""Text as it comes: plain, combining, astral, right to left, and all that a line or JSON parser stumbles over."""

RAW_ARGUMENTS = (
    "{}",
    "",
    "  ",
    "null",
    '{"q": "🌍"}',
    '{"q": "\\ud83c\\udf0d", "n": [1, -2.5, null, true, {"x": {}}]}',
    '{"big": 123456789012345678901234567890, "small": 5e-324}',
    '{"a": 1, "a": 2}',
    '{"q"',
    "not json",
    "[1]",
    '"text"',
    '{"n": NaN}',
    '{"n": 1e999}',
    '{"half": "\\ud83c"}',
    '{"a":' * 150 + "1" + "}" * 150,
)
"""Arguments as models write them; the second half cannot be used."""

_EPOCH = datetime(2026, 1, 2, 3, 4, 5, 678901, tzinfo=UTC)


# ------------------------------------------------------------------------------------------------ legal streams


_up_to = cache(partial(st.integers, 0))


class _Choices:
    """Random choices, made one by one while a stream is written."""

    def __init__(self, draw: Callable[[st.SearchStrategy[Any]], Any]) -> None:
        self._draw = draw

    def up_to(self, most: int) -> int:
        return int(self._draw(_up_to(most))) if most else 0

    def one_in(self, n: int) -> bool:
        return self.up_to(n - 1) == n - 1

    def of(self, items: Sequence[T]) -> T:
        return items[self.up_to(len(items) - 1)]

    def some(self, items: Sequence[T]) -> list[T]:
        """At least one of them, in their order."""
        chosen = [item for item in items if self.one_in(2)]
        return chosen or [self.of(items)]

    def pieces(self) -> list[str]:
        return [self.of(PIECES) for _ in range(self.up_to(3))]

    def cut(self, text: str) -> list[str]:
        cuts = sorted({self.up_to(len(text)) for _ in range(self.up_to(3))} | {0, len(text)})
        return [text[a:b] for a, b in pairwise(cuts)]

    def base64_pieces(self) -> list[str]:
        return [base64.b64encode(bytes(range(self.up_to(5)))).decode() for _ in range(self.up_to(3))]

    def tokens(self) -> int | None:
        count = self.up_to(1_500)
        return count if count <= 1_000 else None


class _Timeline:
    """Ids and times of a whole stream, child agents included; always the same, so that failures are readable."""

    def __init__(self) -> None:
        self._ticks = 0

    def next(self) -> dict[str, Any]:
        self._ticks += 1
        return {"id": f"e{self._ticks}", "created_at": _EPOCH + self._ticks * timedelta(milliseconds=7, microseconds=3)}


class _Reply:
    """Writes one reply. Queues are lists of (class, fields): what is still to be published of one block."""

    def __init__(
        self,
        choose: _Choices,
        timeline: _Timeline,
        name: str,
        source: str | None = None,
        *,
        pauses: bool,
        children: int,
    ) -> None:
        self.events: list[Any] = []
        self._choose = choose
        self._timeline = timeline
        self._name = name
        self._source = source
        self._reply_id = f"reply-{name}"
        self._pauses = pauses
        self._children = children
        self._of_children: list[Any] = []
        self._seq = 0
        self._made: Counter[str] = Counter()
        self._noisy = False
        self._quiet = 0

    # what is published

    def publish(self, cls: type[Any], **fields: Any) -> None:
        if "reply_id" in cls.model_fields:
            fields.setdefault("reply_id", self._reply_id)
        self._seq += 1
        self.events.append(cls(**self._timeline.next(), source=self._source, seq=self._seq, **fields))
        if self._noisy:
            self._noisy = False
            self._make_noise()
            self._noisy = True

    def _make_noise(self) -> None:
        """Let a child speak, or say something that belongs to no block; then keep quiet for some events."""
        if self._quiet:
            self._quiet -= 1
            return
        own = (self._custom, self._unknown, self._exposed, self._request_stop, self._hint, self._iterations)
        self._choose.of((*own, *(self._children_speak,) * 3) if self._of_children else own)()
        self._keep_quiet()

    def _keep_quiet(self) -> None:
        longest = 3 if self._of_children else 15
        self._quiet = longest - self._choose.up_to(longest)

    def _children_speak(self) -> None:
        said = self._choose.up_to(len(self._of_children) - 1) + 1
        self.events += self._of_children[:said]
        del self._of_children[:said]

    def _custom(self) -> None:
        value = {"none": None, "deep": {"text": self._choose.of(PIECES), "list": [1, None]}}
        self.publish(CustomEvent, name="state_updated", value=value, metadata={"k": None})

    def _unknown(self) -> None:
        envelope = {**self._timeline.next(), "source": self._source}
        raw = {"type": "TELEPATHY", "thought": self._choose.of(PIECES), **envelope}
        raw["created_at"] = raw["created_at"].isoformat()
        if self._source is None:
            del raw["source"]
        self._seq += 1
        self.events.append(UnknownEvent(type="TELEPATHY", raw=raw, seq=self._seq, **envelope))

    def _exposed(self) -> None:
        self.publish(SubagentExposedEvent, subagent_id="s", agent_id="a", session_id="c")

    def _request_stop(self) -> None:
        self.publish(RequestStopEvent, reason="enough")

    def _hint(self) -> None:
        text: Any = self._choose.of(PIECES)
        hint = text if self._choose.one_in(2) else (TextBlock(text), DataBlock(URLSource(url="x:y"), id="d"))
        self.publish(HintBlockEvent, block_id=self._new("hint"), hint=hint, hint_source="inbox")

    def _iterations(self) -> None:
        self.publish(ExceedMaxItersEvent, max_iters=1, current_iter=1)

    def _new(self, kind: str) -> str:
        """An id: used once for each kind, so that parts of different kinds share it."""
        self._made[kind] += 1
        return str(self._made[kind])

    # the reply

    def write(self) -> None:
        choose = self._choose
        if self._children:
            name, path = f"{self._name}-child", f"{self._source or self._name}/child"
            child = _Reply(choose, self._timeline, name, path, pauses=False, children=self._children - 1)
            child.write()
            self._of_children = child.events
        self.publish(AgentStartEvent, session_id=choose.of((None, "s")), name=self._name)
        self._noisy = True
        self._keep_quiet()
        for iteration in range(1, choose.up_to(2) + 2):
            calls = self._model_call(iteration)
            if calls and not self._act(calls):
                return
            if not calls and choose.one_in(2):
                break
        if choose.one_in(5):
            self.publish(UserInterruptEvent, message=choose.of((None, "stop")))
        self._end(choose.of((GenerateReason.MODEL_STOP, GenerateReason.INTERRUPTED, GenerateReason.ERROR)))

    def _end(self, reason: GenerateReason) -> None:
        failed = reason is GenerateReason.ERROR
        output = {"answer": 42, "none": None} if self._choose.one_in(4) else None
        result = reference_message(self.events, self._source)
        assert result is not None
        self._noisy = False
        self.events += self._of_children
        self._of_children = []
        ending = {"generate_reason": reason, "structured_output": output}
        self.publish(AgentResultEvent, result=result.model_copy(update=ending))
        error = AgentErrorInfo(type="ModelStreamError", message="it broke") if failed else None
        self.publish(AgentEndEvent, error=error, **ending)

    # reasoning

    def _model_call(self, iteration: int) -> list[str]:
        choose, key = self._choose, {"model_call_id": self._new("model")}
        self.publish(ModelCallStartEvent, **key, model_name="m", iteration=iteration)
        calls = self._answer()
        for attempt in range(1, choose.up_to(4) - 2):
            self.publish(ModelCallResetEvent, **key, attempt=attempt, reason="overloaded")
            calls = self._answer()
        names = ("input_tokens", "output_tokens", "cached_input_tokens", "reasoning_tokens")
        usage = {name: choose.tokens() for name in names}
        self.publish(ModelCallEndEvent, **key, **usage, finish_reason=choose.of(tuple(FinishReason)))
        return calls

    def _answer(self) -> list[str]:
        """Publish the blocks of one attempt, overlapping; return the ids of its calls."""
        kinds = (self._text, self._thinking, self._data, self._call, self._call)
        queues = [self._choose.of(kinds)() for _ in range(self._choose.up_to(4))]
        calls = [queue[0][1]["tool_call_id"] for queue in queues if queue[0][0] is ToolCallStartEvent]
        self._interleave(queues)
        return calls

    def _interleave(self, queues: list[list[tuple[type[Any], dict[str, Any]]]]) -> None:
        at_once = self._choose.up_to(2)
        while queues:
            queue = queues[self._choose.up_to(min(at_once, len(queues) - 1))]
            cls, fields = queue.pop(0)
            self.publish(cls, **fields)
            if not queue:
                queues.remove(queue)

    def _text(self) -> list[Any]:
        key = {"block_id": self._new("text")}
        deltas = [(TextBlockDeltaEvent, {**key, "delta": piece}) for piece in self._choose.pieces()]
        return [(TextBlockStartEvent, key), *deltas, (TextBlockEndEvent, {**key, **self._metadata()})]

    def _metadata(self) -> dict[str, Any]:
        return {"metadata": self._choose.of((None, {"provider": "p", "item": {"n": None}}))}

    def _thinking(self) -> list[Any]:
        key = {"block_id": self._new("thinking")}
        deltas = [(ThinkingBlockDeltaEvent, {**key, "delta": piece}) for piece in self._choose.pieces()]
        proof = {"signature": self._choose.of((None, "sig")), "redacted_data": self._choose.of((None, "gAAAA"))}
        return [(ThinkingBlockStartEvent, key), *deltas, (ThinkingBlockEndEvent, {**key, **proof, **self._metadata()})]

    def _data(self) -> list[Any]:
        key = {"block_id": self._new("data"), "media_type": "image/png"}
        deltas: list[Any] = [(DataBlockDeltaEvent, {**key, "data": piece}) for piece in self._choose.base64_pieces()]
        if self._choose.one_in(3):
            deltas = [(DataBlockDeltaEvent, {**key, "url": "https://example.org/🌍.png"})]
        end = {"block_id": key["block_id"], **self._metadata()}
        return [(DataBlockStartEvent, key), *deltas, (DataBlockEndEvent, end)]

    def _call(self) -> list[Any]:
        key, raw = {"tool_call_id": self._new("call")}, self._choose.of(RAW_ARGUMENTS)
        deltas = [(ToolCallDeltaEvent, {**key, "delta": piece}) for piece in self._choose.cut(raw)]
        end = {**key, "signature": self._choose.of((None, "sig")), **self._metadata()}
        return [(ToolCallStartEvent, {**key, "tool_call_name": "search"}), *deltas, (ToolCallEndEvent, end)]

    # acting

    def _act(self, calls: list[str]) -> bool:
        """Run the calls of a turn, pausing where need be; return whether the reply goes on."""
        parked: dict[str, bool] = {}
        if self._pauses and not self._choose.one_in(3):
            parked = {call: self._choose.one_in(2) for call in self._choose.some(calls)}
        self._run([call for call in calls if call not in parked])
        while parked:
            self._pause(parked)
            if self._choose.one_in(6):
                return False
            self._resume(parked)
        if self._choose.one_in(8):
            self.publish(AllToolsDeniedEvent, denied_tool_calls=self._blocks(calls))
        return True

    def _run(self, calls: list[str], **states: ToolResultState) -> None:
        self._interleave([self._result(call, states.get(call)) for call in calls])

    def _result(self, call: str, state: ToolResultState | None) -> list[Any]:
        choose, key = self._choose, {"tool_call_id": call}
        output: list[Any] = []
        for _ in range(choose.up_to(4)):
            piece = {**key, "metadata": {"progress": True} if choose.one_in(5) else choose.of((None, {"n": 1}))}
            if choose.one_in(2):
                output.append((ToolResultTextDeltaEvent, {**piece, "delta": choose.of(PIECES)}))
                continue
            piece.update(block_id=choose.of(("x", "y")), media_type="audio/wav")
            piece["data"] = base64.b64encode(bytes(range(choose.up_to(4)))).decode()
            output.append((ToolResultDataDeltaEvent, piece))
        if choose.one_in(4):
            link = {"block_id": "link", "media_type": "image/png", "url": "x:y"}
            output.append((ToolResultDataDeltaEvent, {**key, **link}))
        states = (ToolResultState.SUCCESS, ToolResultState.ERROR, ToolResultState.INTERRUPTED, ToolResultState.DENIED)
        end = {**key, "state": state or choose.of(states), "metadata": choose.of((None, {"rows": 3, "none": None}))}
        return [(ToolResultStartEvent, {**key, "tool_call_name": "search"}), *output, (ToolResultEndEvent, end)]

    def _blocks(self, calls: Sequence[str], **changes: Any) -> tuple[ToolUseBlock, ...]:
        """The calls as they stand, with `changes`."""
        message = reference_message(self.events, self._source)
        assert message is not None
        blocks = {block.id: block for block in message.get_content_blocks(ToolUseBlock)}
        return tuple(blocks[call].model_copy(update=changes) for call in calls)

    # pausing: `parked` maps a call to whether it waits for a person (else for the outside)

    def _pause(self, parked: dict[str, bool]) -> None:
        asking = [call for call, asks in parked.items() if asks]
        submitted = [call for call, asks in parked.items() if not asks]
        if asking:
            rules = (PermissionRule(tool_name="search", behavior=PermissionBehavior.ALLOW, source="suggested"),)
            blocks = self._blocks(
                asking, state=ToolCallState.ASKING, suggested_rules=rules if self._choose.one_in(2) else ()
            )
            self.publish(RequireUserConfirmEvent, tool_calls=blocks)
        if submitted:
            self.publish(
                RequireExternalExecutionEvent, tool_calls=self._blocks(submitted, state=ToolCallState.SUBMITTED)
            )
        self._end(GenerateReason.PERMISSION_ASKING if asking else GenerateReason.TOOL_SUSPENDED)

    def _resume(self, parked: dict[str, bool]) -> None:
        self._noisy = False
        message = reference_message(self.events, self._source)
        self.publish(AgentStartEvent, name=self._name, resumed=True, message=message)
        self._noisy = True
        answered = self._choose.some(list(parked))
        confirmed = [self._answer_of(call) for call in answered if parked[call]]
        outside = [call for call in answered if not parked[call]]
        if confirmed:
            self.publish(UserConfirmResultEvent, confirm_results=confirmed)
        if outside:
            self.publish(
                ExternalExecutionResultEvent,
                tool_results=[ToolResultBlock(id=call, name="search", output=(TextBlock("ok"),)) for call in outside],
            )
        denied = {answer.tool_call.id: ToolResultState.DENIED for answer in confirmed if not answer.confirmed}
        self._run(answered, **denied)
        for call in answered:
            del parked[call]

    def _answer_of(self, call: str) -> ConfirmResult:
        (block,) = self._blocks([call])
        if self._choose.one_in(3):
            return ConfirmResult(confirmed=False, tool_call=block, reason="not today")
        if self._choose.one_in(2):
            edited = {"q": self._choose.of(PIECES), "edited": True}
            block = block.model_copy(update={"input": edited, "raw_input": json.dumps(edited)})
        return ConfirmResult(confirmed=True, tool_call=block, rules=block.suggested_rules)


@st.composite
def streams(
    draw: Callable[[st.SearchStrategy[Any]], Any], *, pauses: bool = True, children: int = 1
) -> list[AgentEvent]:
    """Make the events of one reply of a top-level agent, in the order of their publication, numbered from 1.

    Args:
        draw: Given by hypothesis.
        pauses: Whether the reply may pause; it then goes on in the same list, or ends paused.
        children: How deep child agents may nest; their events carry a source, a reply id and numbers of their own.
    """
    choose = _Choices(draw)
    reply = _Reply(choose, _Timeline(), "main", None, pauses=pauses, children=choose.up_to(children))
    reply.write()
    return reply.events


def runs(stream: Sequence[AgentEvent]) -> list[list[AgentEvent]]:
    """Cut a stream where its reply paused: one list for each AGENT_START .. AGENT_END."""
    parts: list[list[AgentEvent]] = []
    for event in stream:
        if isinstance(event, AgentStartEvent) and event.source is None:
            parts.append([])
        parts[-1].append(event)
    return parts


def breaches(stream: Sequence[AgentEvent]) -> st.SearchStrategy[list[AgentEvent]]:
    """Change one thing in a stream: drop, repeat, swap or move an event."""
    places = st.integers(0, len(stream) - 1)

    def drop(i: int, _: int) -> list[AgentEvent]:
        return [*stream[:i], *stream[i + 1 :]]

    def repeat(i: int, j: int) -> list[AgentEvent]:
        return [*stream[:j], stream[i], *stream[j:]]

    def swap(i: int, j: int) -> list[AgentEvent]:
        changed = list(stream)
        changed[i], changed[j] = changed[j], changed[i]
        return changed

    def move(i: int, j: int) -> list[AgentEvent]:
        rest = drop(i, 0)
        return [*rest[:j], stream[i], *rest[j:]]

    return st.builds(lambda how, i, j: how(i, j), st.sampled_from((drop, repeat, swap, move)), places, places)
