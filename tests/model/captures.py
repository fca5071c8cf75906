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
    print(f"\n{'family':26}{'recording':52}" + "".join(f"{name:>14}" for name in _PARTS) + "  cut in")
    wrong: list[str] = []
    for recording in found:
        data, outcome = recording.data, expected(recording)
        ways = WAYS if thorough or len(data) < _BIG else {name: WAYS[name] for name in _FEW}
        differing = {way: _differing(decode(*cut(data)), outcome, recording) for way, cut in ways.items()}
        print(_row(recording, outcome, set().union(*differing.values()), len(ways)))
        wrong += [f"{recording.name}, {way}: {', '.join(parts)}" for way, parts in differing.items() if parts]
    return wrong


_PARTS: dict[str, Callable[[Outcome], Any]] = {
    "text": lambda outcome: outcome.text,
    "thinking": lambda outcome: (outcome.thinking, outcome.proofs),
    "calls": lambda outcome: outcome.calls,
    "finish": lambda outcome: (outcome.finish, outcome.raw_finish),
    "usage": lambda outcome: outcome.usage,
}
"""What a stream must come to, part by part."""


def _differing(got: Outcome, expected: Outcome, recording: Recording) -> list[str]:
    differing = [name for name, part in _PARTS.items() if part(got) != part(expected)]
    return differing + ["end"] * (isinstance(got.error, ModelTruncatedError) != recording.is_cut)


def _row(recording: Recording, outcome: Outcome, differing: set[str], ways: int) -> str:
    usage = outcome.usage
    shown = {
        "text": f"{len(outcome.text)}",
        "thinking": f"{len(outcome.thinking)}+{len(outcome.proofs)}" if outcome.proofs else f"{len(outcome.thinking)}",
        "calls": f"{len(outcome.calls)}",
        "finish": f"{outcome.finish or '-'}",
        "usage": f"{usage.input_tokens}/{usage.output_tokens}" if usage else "-",
    }
    cells = (f"{shown[part]:>12} {'≠' if part in differing else '='}" for part in _PARTS)
    ending = ", ended wrong" if "end" in differing else ""
    return f"{recording.family:26}{recording.file[-52:]:52}{''.join(cells)}  {ways} ways{ending}"
