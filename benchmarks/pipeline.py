"""Bar 1: the whole pipeline over a model in the same process, beside other packages."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from .bench import Bench, Effort, Finding, Report, at_least
from .measure import ChildFailedError, child, in_turns, median_of
from .peers import OURS, PEERS, Stream

__all__ = ["BENCH"]

DELTAS = 20_000
BAR = at_least(5, "x")


def run(effort: Effort, peers: Sequence[Stream] = PEERS) -> Report:
    """Stream replies with every package that is installed, in turns; the bar is for the first reply of a process."""
    deltas = effort.size(DELTAS, least=50)
    contenders: dict[str, Callable[[], dict[str, Any]]] = {OURS.name: _turn(OURS, deltas)}
    notes = []
    for peer in peers:
        if not peer.installed:
            notes.append(f"{peer.name}: skipped, not installed; python -m benchmarks.peers install {peer.venv}")
            continue
        try:
            _turn(peer, 1)()
        except ChildFailedError as error:
            notes.append(f"{peer.name}: skipped, does not run: {error}")
        else:
            contenders[peer.name] = _turn(peer, deltas)
    samples = in_turns(contenders, effort.rounds)
    rates = {name: _rate(taken, "first_cpu") for name, taken in samples.items()}
    rows = [("", "version", "us/delta", "events/s", "by the wall clock", "we are", "second reply", "we are")]
    for name, taken in sorted(samples.items(), key=lambda item: -rates[item[0]]):
        again = _rate(taken, "second_cpu")
        rows.append(
            (
                name,
                taken[0]["version"],
                f"{median_of(taken, 'first_cpu') / deltas * 1e6:.2f}",
                f"{rates[name]:,.0f}",
                f"{_rate(taken, 'first_wall'):,.0f}",
                f"{rates[OURS.name] / rates[name]:.1f}x",
                f"{again:,.0f}",
                f"{_rate(samples[OURS.name], 'second_cpu') / again:.1f}x",
            )
        )
    beside = {name: rate for name, rate in rates.items() if name != OURS.name}
    if not beside:
        return Report(rows, notes=[*notes, "no peer is installed: nothing to compare with"])
    fastest = max(beside, key=lambda name: beside[name])
    finding = Finding(f"events/s beside the fastest peer, {fastest}", rates[OURS.name] / beside[fastest], BAR)
    return Report(rows, [finding], notes)


def _rate(samples: Sequence[dict[str, Any]], key: str) -> float:
    return float(samples[0]["events"]) / median_of(samples, key)


def _turn(stream: Stream, deltas: int) -> Callable[[], dict[str, Any]]:
    return lambda: child(stream.command(deltas))


BENCH = Bench("pipeline", f"a reply of {DELTAS:,} text deltas, from a model in the same process to `async for`", run)
