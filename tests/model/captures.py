"""Recorded streams of real servers, against what the vendor's SDK makes of them."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from agentscope_rx.errors import ModelTruncatedError

from ..feeding import at_random, byte_by_byte, whole
from .outcome import Outcome

CAPTURES = Path(__file__).parents[2] / ".." / "shared" / "captures"
HOSTILE = CAPTURES / "hostile"

needs_captures = pytest.mark.skipif(not CAPTURES.is_dir(), reason="the captures are not here")

WAYS: dict[str, Callable[[bytes], list[bytes]]] = {
    "whole": whole,
    "bytes": byte_by_byte,
    **{f"random {seed}": (lambda data, seed=seed: at_random(data, seed)) for seed in range(3)},
    "small random": lambda data: at_random(data, 9, mean=3),
}

_BIG = 60_000
"""Bytes; larger recordings are cut in few ways, unless the test is thorough."""
_FEW = ("whole", "random 0")

thoroughness = pytest.mark.parametrize("thorough", [False, pytest.param(True, marks=pytest.mark.heavy)])
"""Whether large recordings are cut in every way too."""


@dataclass(frozen=True)
class Recording:
    family: str
    file: str
    final: dict[str, Any] | None
    """What the SDK made of it; None when it made nothing."""

    @property
    def name(self) -> str:
        return f"{self.family}/{self.file}"

    @property
    def data(self) -> bytes:
        return (CAPTURES / self.name).read_bytes()

    @property
    def is_cut(self) -> bool:
        return self.file.endswith("disconnect.sse")

    @property
    def request(self) -> dict[str, Any]:
        """The request that was made, {} when it was not recorded."""
        path = CAPTURES / self.family / self.file.replace(".sse", ".req.json")
        body: dict[str, Any] = json.loads(path.read_text("utf-8")) if path.exists() else {}
        return body


def recordings(*families: str) -> Iterator[Recording]:
    for family in families:
        path = CAPTURES / family / "expected.jsonl"
        for line in path.read_text("utf-8").splitlines() if path.exists() else ():
            record = json.loads(line)
            yield Recording(family, record["file"], record["final"])


def judge(
    found: list[Recording],
    decode: Callable[..., Outcome],
    expected: Callable[[Recording], Outcome],
    thorough: bool,
) -> list[str]:
    """Return what was decoded to anything but what is expected, and how it was cut; print the table of all."""
    print(f"\n{'recording':64} {'text':>6} {'thinking':>8} {'proofs':>6} {'calls':>5} {'finish':17} {'tokens':>11}")
    wrong: list[str] = []
    for recording in found:
        data, outcome = recording.data, expected(recording)
        ways = WAYS if thorough or len(data) < _BIG else {name: WAYS[name] for name in _FEW}
        failed = [way for way, cut in ways.items() if not _agrees(decode(*cut(data)), outcome, recording)]
        print(_row(recording.name, outcome, f"wrong: {failed}" if failed else f"equal in {len(ways)} ways"))
        wrong += [f"{recording.name}, {way}" for way in failed]
    return wrong


def _agrees(got: Outcome, expected: Outcome, recording: Recording) -> bool:
    error, got.error = got.error, None
    return got == expected and isinstance(error, ModelTruncatedError) == recording.is_cut


def _row(name: str, outcome: Outcome, verdict: str) -> str:
    usage = outcome.usage
    counts = f"{usage.input_tokens}/{usage.output_tokens}" if usage else "-"
    return (
        f"{name[-64:]:64} {len(outcome.text):6} {len(outcome.thinking):8} {len(outcome.proofs):6} "
        f"{len(outcome.calls):5} {outcome.raw_finish or '-':17} {counts:>11} {verdict}"
    )
