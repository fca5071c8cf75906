"""The fold and the lifecycle a second time, as plain and as slow as can be.

Nothing here keeps state: every question is answered by looking through the whole list again. The property tests
compare the package with these two functions, so that a law is checked against another program and not against itself.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Sequence
from itertools import groupby
from typing import Any

from agentscope_rx.event import (
    AgentEndEvent,
    AgentEvent,
    AgentStartEvent,
    DataBlockDeltaEvent,
    DataBlockEndEvent,
    DataBlockStartEvent,
    HintBlockEvent,
    ModelCallEndEvent,
    ModelCallResetEvent,
    ModelCallStartEvent,
    ReplyEvent,
    RequireExternalExecutionEvent,
    RequireUserConfirmEvent,
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
    UserConfirmResultEvent,
)
from agentscope_rx.message import (
    AssistantMessage,
    Base64Source,
    ChatUsage,
    DataBlock,
    HintBlock,
    TextBlock,
    ThinkingBlock,
    ToolResultBlock,
    ToolResultState,
    ToolUseBlock,
    URLSource,
)

# ------------------------------------------------------------------------------------------------ the fold


def reference_message(events: Sequence[AgentEvent], source: str | None = None) -> AssistantMessage | None:
    """Return the message that the first reply of `source` in `events` has become, None when there is none."""
    log = _log_of_first_reply(events, source)
    if not log:
        return None
    start, taken_up = log[0], log[0].message
    phases = [event for event in log if isinstance(event, AgentStartEvent | AgentEndEvent)]
    end = phases[-1] if isinstance(phases[-1], AgentEndEvent) else None
    return AssistantMessage(
        id=start.reply_id,
        name=start.name if taken_up is None else taken_up.name,
        timestamp=start.created_at if taken_up is None else taken_up.timestamp,
        content=tuple(_content(log)),
        usage=_usage(log),
        generate_reason=None if end is None else end.generate_reason,
        structured_output=None if end is None else end.structured_output,
    )


def _log_of_first_reply(events: Sequence[Any], source: str | None) -> list[Any]:
    """The events of the reply, each once, from its AGENT_START on."""
    log: list[Any] = []
    for event in events:
        if not isinstance(event, ReplyEvent) or event.source != source:
            continue
        if not log and not isinstance(event, AgentStartEvent):
            continue
        if log and event.reply_id != log[0].reply_id:
            continue
        if event.seq is not None and any(event.seq <= (earlier.seq or 0) for earlier in log):
            continue
        log.append(event)
    return log


def _content(log: list[Any]) -> list[Any]:
    blocks = list(log[0].message.content) if log[0].message is not None else []
    withdrawn = {
        started
        for reset in range(len(log))
        if isinstance(log[reset], ModelCallResetEvent)
        for started in range(_index_of_start(log, log[reset].model_call_id), reset)
    }
    for index, event in enumerate(log):
        if isinstance(event, HintBlockEvent):
            blocks.append(HintBlock(id=event.block_id, hint=event.hint, source=event.hint_source))
        elif index not in withdrawn and type(event) in _BLOCK_OF_START:
            blocks.append(_BLOCK_OF_START[type(event)](log, event))
    return [_call_as_it_stands(log, block) if isinstance(block, ToolUseBlock) else block for block in blocks]


def _index_of_start(log: list[Any], model_call_id: str) -> int:
    return next(
        index
        for index, event in enumerate(log)
        if isinstance(event, ModelCallStartEvent) and event.model_call_id == model_call_id
    )


def _of(log: list[Any], cls: Any, start: Any) -> list[Any]:
    """The events of `cls` with the id that `start` has."""
    key = "tool_call_id" if hasattr(start, "tool_call_id") else "block_id"
    return [event for event in log if isinstance(event, cls) and getattr(event, key) == getattr(start, key)]


def _text(log: list[Any], start: Any) -> TextBlock:
    text = "".join(event.delta for event in _of(log, TextBlockDeltaEvent, start))
    return TextBlock(text, id=start.block_id, metadata=_metadata(log, TextBlockEndEvent, start))


def _metadata(log: list[Any], cls: Any, start: Any) -> dict[str, Any] | None:
    """What the END says, None while there is none."""
    return next((event.metadata for event in _of(log, cls, start)), None)


def _thinking(log: list[Any], start: Any) -> ThinkingBlock:
    thinking = "".join(event.delta for event in _of(log, ThinkingBlockDeltaEvent, start))
    block = ThinkingBlock(thinking, id=start.block_id)
    for end in _of(log, ThinkingBlockEndEvent, start):
        proof = {"signature": end.signature, "redacted_data": end.redacted_data, "metadata": end.metadata}
        block = ThinkingBlock(thinking, id=start.block_id, **proof)
    return block


def _data(log: list[Any], start: Any) -> DataBlock:
    source = _source(start.media_type, _of(log, DataBlockDeltaEvent, start))
    return DataBlock(source, id=start.block_id, metadata=_metadata(log, DataBlockEndEvent, start))


def _source(media_type: str, pieces: list[Any]) -> Base64Source | URLSource:
    for piece in pieces:
        if piece.url is not None:
            return URLSource(url=piece.url, media_type=media_type)
    content = b"".join(base64.b64decode(piece.data) for piece in pieces)
    return Base64Source(media_type=media_type, data=base64.b64encode(content).decode())


def _call(log: list[Any], start: Any) -> ToolUseBlock:
    raw = "".join(event.delta for event in _of(log, ToolCallDeltaEvent, start))
    ends = _of(log, ToolCallEndEvent, start)
    return ToolUseBlock(
        id=start.tool_call_id,
        name=start.tool_call_name,
        raw_input=raw,
        input=reference_arguments(raw) if ends else {},
        signature=ends[0].signature if ends else None,
        metadata=_metadata(log, ToolCallEndEvent, start),
    )


def _result(log: list[Any], start: Any) -> ToolResultBlock:
    deltas = [
        event
        for event in _of(log, ToolResultTextDeltaEvent | ToolResultDataDeltaEvent, start)
        if not (event.metadata or {}).get("progress")
    ]
    data_ids: list[str] = []
    items: list[tuple[str, str]] = []
    for event in deltas:
        if isinstance(event, ToolResultTextDeltaEvent):
            items.append(("", event.delta))
        elif event.block_id not in data_ids:
            data_ids.append(event.block_id)
            items.append((event.block_id, ""))
    output: list[TextBlock | DataBlock] = []
    for data_id, group in groupby(items, key=lambda item: item[0]):
        if data_id == "":
            output.append(TextBlock("".join(text for _, text in group)))
        else:
            pieces = [event for event in deltas if getattr(event, "block_id", None) == data_id]
            output.append(DataBlock(_source(pieces[0].media_type, pieces), id=data_id))
    ends = _of(log, ToolResultEndEvent, start)
    return ToolResultBlock(
        id=start.tool_call_id,
        name=start.tool_call_name,
        output=tuple(output),
        state=ends[0].state if ends else ToolResultState.RUNNING,
        metadata=ends[0].metadata if ends else None,
    )


_BLOCK_OF_START: dict[type, Any] = {
    TextBlockStartEvent: _text,
    ThinkingBlockStartEvent: _thinking,
    DataBlockStartEvent: _data,
    ToolCallStartEvent: _call,
    ToolResultStartEvent: _result,
}


def _call_as_it_stands(log: list[Any], call: ToolUseBlock) -> ToolUseBlock:
    said: dict[str, Any] = {}
    for event in log:
        if isinstance(event, RequireUserConfirmEvent):
            for asked in event.tool_calls:
                if asked.id == call.id:
                    said |= {"state": "asking", "suggested_rules": asked.suggested_rules}
        elif isinstance(event, RequireExternalExecutionEvent):
            if any(submitted.id == call.id for submitted in event.tool_calls):
                said |= {"state": "submitted"}
        elif isinstance(event, UserConfirmResultEvent):
            for answer in event.confirm_results:
                if answer.confirmed and answer.tool_call.id == call.id:
                    edited = answer.tool_call
                    said |= {"state": "allowed", "input": edited.input, "raw_input": edited.raw_input}
        elif isinstance(event, ToolResultEndEvent) and event.tool_call_id == call.id:
            said |= {"state": "finished"}
    return ToolUseBlock(**{**dict(call), **said}) if said else call


def reference_arguments(raw: str) -> dict[str, Any]:
    """Return the object that `raw` is, the empty one when it is none that JSON can carry."""
    try:
        value = json.loads(raw)
        json.dumps(value, allow_nan=False, ensure_ascii=False).encode()
    except (ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) and _depth(value) <= 100 else {}


def _depth(value: Any) -> int:
    children = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return int(isinstance(value, dict | list)) + max(map(_depth, children), default=0)


def _usage(log: list[Any]) -> ChatUsage | None:
    earlier = [log[0].message.usage] if log[0].message is not None and log[0].message.usage is not None else []
    ends: list[Any] = [event for event in log if isinstance(event, ModelCallEndEvent)]
    if not earlier and not ends:
        return None
    figures: dict[str, list[Any]] = {
        name: [getattr(usage, name) for usage in earlier] for name in ChatUsage.model_fields
    }
    for end in ends:
        for name in ("input_tokens", "output_tokens", "cached_input_tokens", "reasoning_tokens"):
            figures[name].append(getattr(end, name))
        both = (end.input_tokens, end.output_tokens)
        figures["total_tokens"].append(None if None in both else sum(both))
        start = log[_index_of_start(log, end.model_call_id)]
        figures["time"].append((end.created_at - start.created_at).total_seconds())
    known_figures = {name: [value for value in values if value is not None] for name, values in figures.items()}
    return ChatUsage(**{name: sum(values) if values else None for name, values in known_figures.items()})


# ------------------------------------------------------------------------------------------- the lifecycle

_BLOCKS: list[tuple[Any, Any, Any]] = [
    (TextBlockStartEvent, TextBlockDeltaEvent, TextBlockEndEvent),
    (ThinkingBlockStartEvent, ThinkingBlockDeltaEvent, ThinkingBlockEndEvent),
    (DataBlockStartEvent, DataBlockDeltaEvent, DataBlockEndEvent),
    (ToolCallStartEvent, ToolCallDeltaEvent, ToolCallEndEvent),
]
_RESULT: tuple[Any, Any, Any] = (
    ToolResultStartEvent,
    ToolResultTextDeltaEvent | ToolResultDataDeltaEvent,
    ToolResultEndEvent,
)
_MODEL_CALL: tuple[Any, Any, Any] = (ModelCallStartEvent, ModelCallResetEvent, ModelCallEndEvent)
_TAKEN_UP: dict[type, Any] = {
    TextBlockStartEvent: TextBlock,
    ThinkingBlockStartEvent: ThinkingBlock,
    DataBlockStartEvent: DataBlock,
    ToolCallStartEvent: ToolUseBlock,
    ToolResultStartEvent: ToolResultBlock,
}


def reference_accepts(before: Sequence[AgentEvent], event: AgentEvent) -> bool:
    """Tell whether `event` may happen in one reply after the legal events `before` (law L2)."""
    if not isinstance(event, ReplyEvent):
        return True
    phases = [earlier for earlier in before if isinstance(earlier, AgentStartEvent | AgentEndEvent)]
    running = bool(phases) and isinstance(phases[-1], AgentStartEvent)
    if isinstance(event, AgentStartEvent):
        return not running if event.resumed else not phases
    if not running:
        return False
    blocks_open = any(_open(before, kind) for kind in _BLOCKS)
    if isinstance(event, AgentEndEvent):
        return not (blocks_open or _open(before, _MODEL_CALL) or _open(before, _RESULT))
    for kind in (*_BLOCKS, _RESULT, _MODEL_CALL):
        start, delta, end = kind
        if isinstance(event, start):
            if _id(event) in _started(before, kind):
                return False
            if kind is _MODEL_CALL:
                return not (blocks_open or _open(before, _MODEL_CALL) or _open(before, _RESULT))
            if kind is _RESULT:
                calls = _BLOCKS[3]
                return _id(event) in _started(before, calls) and _id(event) not in _open(before, calls)
            return start is not ToolCallStartEvent or bool(_open(before, _MODEL_CALL))
        if isinstance(event, delta | end):
            return _id(event) in _open(before, kind) and not (kind is _MODEL_CALL and blocks_open)
    return True


def _id(event: Any) -> str:
    for key in ("block_id", "model_call_id"):
        if hasattr(event, key) and not hasattr(event, "tool_call_id"):
            return str(getattr(event, key))
    return str(event.tool_call_id)


def _started(before: Sequence[Any], kind: tuple[Any, Any, Any]) -> set[str]:
    taken_up = {
        block.id
        for event in before
        if isinstance(event, AgentStartEvent) and event.resumed and event.message is not None
        for block in event.message.content
        if isinstance(block, _TAKEN_UP.get(kind[0], ()))
    }
    return taken_up | {_id(event) for event in before if isinstance(event, kind[0])}


def _open(before: Sequence[Any], kind: tuple[Any, Any, Any]) -> set[str]:
    started = {_id(event) for event in before if isinstance(event, kind[0])}
    return started - {_id(event) for event in before if isinstance(event, kind[2])}
