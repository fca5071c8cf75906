"""Bar 3: folds are linear: four times the input takes four times the time."""

from __future__ import annotations

import base64
from collections.abc import Callable, Iterable
from itertools import cycle, islice
from typing import Any

from agentscope_rx.event import (
    AgentEvent,
    AgentStartEvent,
    DataBlockDeltaEvent,
    DataBlockEndEvent,
    DataBlockStartEvent,
    MessageBuilder,
    TextBlockDeltaEvent,
    TextBlockEndEvent,
    TextBlockStartEvent,
    ToolCallDeltaEvent,
    ToolCallEndEvent,
    ToolCallStartEvent,
)

from .bench import Bench, Effort, Finding, Report, at_most
from .measure import cpu_seconds, in_turns

__all__ = ["BENCH"]

TEXT_DELTAS = 1_000_000
DATA_BYTES, DATA_PIECE = 64 << 20, 4 << 10
"""Of base64."""
ARGUMENT_BYTES, ARGUMENT_PIECE = 1 << 20, 16
BAR = at_most(4.8, "x")

BLOCK: dict[str, Any] = {"reply_id": "r", "block_id": "b"}
CALL: dict[str, Any] = {"reply_id": "r", "tool_call_id": "c"}


def fold(first: AgentEvent, deltas: Iterable[AgentEvent], last: AgentEvent) -> None:
    """Fold a reply of one block; the deltas have no number, so that each may be used again and again."""
    builder = MessageBuilder()
    builder.apply(AgentStartEvent(reply_id="r", name="assistant"))
    builder.apply(first)
    for delta in deltas:
        builder.apply(delta)
    builder.apply(last)
    assert len(builder.message().content) == 1


def text(deltas: int) -> Callable[[], None]:
    said = [TextBlockDeltaEvent(**BLOCK, delta=f"word {n} ") for n in range(64)]
    start, end = TextBlockStartEvent(**BLOCK), TextBlockEndEvent(**BLOCK)
    return lambda: fold(start, islice(cycle(said), deltas), end)


def data(size: int) -> Callable[[], None]:
    piece = base64.b64encode(bytes(DATA_PIECE * 3 // 4)).decode()
    delta = DataBlockDeltaEvent(**BLOCK, media_type="image/png", data=piece)
    start, end = DataBlockStartEvent(**BLOCK, media_type="image/png"), DataBlockEndEvent(**BLOCK)
    return lambda: fold(start, islice(cycle([delta]), size // DATA_PIECE), end)


def arguments(size: int) -> Callable[[], None]:
    raw = f'{{"text": "{"x" * (size - 12)}"}}'
    pieces = [raw[at : at + ARGUMENT_PIECE] for at in range(0, len(raw), ARGUMENT_PIECE)]
    deltas = {piece: ToolCallDeltaEvent(**CALL, delta=piece) for piece in set(pieces)}
    start, end = ToolCallStartEvent(**CALL, tool_call_name="write"), ToolCallEndEvent(**CALL)
    return lambda: fold(start, (deltas[piece] for piece in pieces), end)


FOLDS: tuple[tuple[str, Callable[[int], Callable[[], None]], int, int], ...] = (
    ("text deltas", text, TEXT_DELTAS, 1),
    ("bytes of base64 in pieces of 4 KiB", data, DATA_BYTES, DATA_PIECE),
    ("bytes of tool arguments in pieces of 16", arguments, ARGUMENT_BYTES, ARGUMENT_PIECE),
)


def run(effort: Effort) -> Report:
    """Fold inputs of a size and of a quarter of it, in turns; the fastest of each counts."""
    rows = [("", "input", "seconds", "a quarter of it", "seconds", "times as long")]
    findings = []
    for what, make, full, piece in FOLDS:
        quarter = effort.size(full // 4, least=16 * piece) // piece * piece
        sizes = {"whole": 4 * quarter, "quarter": quarter}
        taken = in_turns({name: _timed(make(size)) for name, size in sizes.items()}, effort.rounds)
        whole, part = min(taken["whole"]), min(taken["quarter"])
        ratio = whole / part
        rows.append((what, f"{4 * quarter:,}", f"{whole:.4f}", f"{quarter:,}", f"{part:.4f}", f"{ratio:.2f}"))
        findings.append(Finding(f"four times as many {what} take", ratio, BAR))
    return Report(rows, findings)


def _timed(work: Callable[[], None]) -> Callable[[], float]:
    return lambda: cpu_seconds(work)


BENCH = Bench("folds", "the fold of long text, of much data, and of long tool arguments", run)
