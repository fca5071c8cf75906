"""Measuring: CPU seconds here, and children that measure themselves elsewhere."""

from __future__ import annotations

import gc
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from statistics import median
from typing import Any, TypeVar

__all__ = ["ChildFailedError", "child", "cpu_seconds", "in_turns", "median_of"]

T = TypeVar("T")

ROOT = Path(__file__).parents[1]
PATIENCE = 600.0
"""Seconds after which a child hangs."""


class ChildFailedError(Exception):
    """A child did not end well; the message is the last it said."""


def cpu_seconds(work: Callable[[], object]) -> float:
    """The CPU seconds that `work` takes."""
    gc.collect()
    before = time.process_time()
    work()
    return time.process_time() - before


def child(command: Sequence[str | Path], environment: Mapping[str, str] | None = None) -> dict[str, Any]:
    """Run a Python script in a process of its own; returns the JSON object that is its last line.

    Args:
        command: The script or `-m module`, and its arguments; the interpreter first, when it is not this one.
        environment: What it finds in its environment besides what is in ours.

    Raises:
        ChildFailedError: it fails, or says nothing.
    """
    words = [str(word) for word in command]
    if "python" not in Path(words[0]).name:
        words.insert(0, sys.executable)
    variables = {**os.environ, "PYTHONPATH": str(ROOT), **(environment or {})}
    try:
        done = subprocess.run(words, capture_output=True, text=True, timeout=PATIENCE, env=variables, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise ChildFailedError(str(error)) from error
    said = done.stdout.strip().splitlines()
    if done.returncode or not said:
        complaint = (done.stderr.strip() or "it said nothing").splitlines()[-1]
        raise ChildFailedError(f"exit status {done.returncode}: {complaint}")
    result: dict[str, Any] = json.loads(said[-1])
    return result


def in_turns(contenders: Mapping[str, Callable[[], T]], rounds: int) -> dict[str, list[T]]:
    """Let each contender have its turn, round by round, so that whatever disturbs one disturbs all."""
    results: dict[str, list[T]] = {name: [] for name in contenders}
    for _ in range(rounds):
        for name, run in contenders.items():
            results[name].append(run())
    return results


def median_of(samples: Sequence[Mapping[str, Any]], key: str) -> float:
    """The median of one figure of several samples."""
    return float(median(sample[key] for sample in samples))
