"""Bar 2: the way from the wire to the consumer, beside reading and parsing the same bytes."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from .bench import Bench, Effort, Finding, Report, at_most
from .measure import ROOT, child, in_turns, median_of

__all__ = ["BENCH"]

DELTAS = 20_000
BAR = at_most(1.5, "x")
CLIENTS = {"httpx and json.loads": "raw", "agentscope_rx": "agent"}


def run(effort: Effort) -> Report:
    """Read one reply in processes of their own from a server in another, in turns."""
    deltas = effort.size(DELTAS, least=50)
    with server() as url:
        contenders = {
            name: (lambda mode=mode: child(["-m", "benchmarks.wire_client", url, mode, str(deltas)]))
            for name, mode in CLIENTS.items()
        }
        samples = in_turns(contenders, effort.rounds)
    cost = {name: median_of(taken, "cpu") / deltas * 1e6 for name, taken in samples.items()}
    raw, ours = (cost[name] for name in CLIENTS)
    rows = [("", "us of CPU per delta"), *((name, f"{taken:.2f}") for name, taken in cost.items())]
    return Report(rows, [Finding("CPU per event beside the bare client", ours / raw, BAR)])


@contextmanager
def server() -> Iterator[str]:
    """A server on the loopback; yields its base URL."""
    command = [sys.executable, "-m", "benchmarks.wire_server"]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            yield f"http://127.0.0.1:{int(process.stdout.readline())}/v1"
        finally:
            process.terminate()


BENCH = Bench("wire", f"{DELTAS:,} text deltas over HTTP on the loopback, each in a chunk of its own", run)
