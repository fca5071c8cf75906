"""The command line: `python -m benchmarks`."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from .bench import Bench, Effort, Finding, table
from .registry import BENCHES

FULL = Effort(scale=1.0, rounds=7)
QUICK = Effort(scale=1.0, rounds=3)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run benches; returns 1 when a bar is missed."""
    by_name = {bench.name: bench for bench in BENCHES}
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description="Measure what the package costs.")
    parser.add_argument("names", nargs="*", metavar="BENCH", help=f"{', '.join(by_name)}; all when none is named")
    parser.add_argument("--quick", action="store_true", help="fewer rounds")
    given = parser.parse_args(arguments)
    if unknown := [name for name in given.names if name not in by_name]:
        parser.error(f"there is no bench {unknown[0]!r}; known: {', '.join(by_name)}")
    chosen = [by_name[name] for name in given.names] or BENCHES
    findings = [finding for bench in chosen for finding in _run(bench, QUICK if given.quick else FULL)]
    missed = [finding for finding in findings if not finding.holds]
    print(f"\n{len(findings) - len(missed)} of {len(findings)} bars hold")
    return 1 if missed else 0


def _run(bench: Bench, effort: Effort) -> Sequence[Finding]:
    print(f"\n{bench.name}: {bench.title}\n", flush=True)
    report = bench.run(effort)
    for line in (*table(report.rows), *report.notes, "", *map(str, report.findings)):
        print(f"  {line}".rstrip(), flush=True)
    return report.findings


if __name__ == "__main__":
    sys.exit(main())
