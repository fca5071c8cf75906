"""What a bench is: something that is run and reports figures, some of them beside a bar."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

__all__ = ["Bar", "Bench", "Effort", "Finding", "Report", "at_least", "at_most", "table"]


@dataclass(frozen=True, slots=True)
class Effort:
    """How much is measured, and how often."""

    scale: float
    """By how much the sizes are multiplied; ratios change with it, so that only tests take less than 1."""
    rounds: int
    """How often each contender has its turn."""

    def size(self, full: int, least: int = 1) -> int:
        """A size of a full run, scaled."""
        return max(least, round(full * self.scale))


@dataclass(frozen=True, slots=True)
class Bar:
    """What a figure must hold."""

    sign: str
    limit: float
    unit: str

    def holds(self, figure: float) -> bool:
        return figure >= self.limit if self.sign == ">=" else figure <= self.limit

    def __str__(self) -> str:
        return f"{self.sign} {self.limit:g}{self.unit}"


def at_least(limit: float, unit: str = "") -> Bar:
    return Bar(">=", limit, unit)


def at_most(limit: float, unit: str = "") -> Bar:
    return Bar("<=", limit, unit)


@dataclass(frozen=True, slots=True)
class Finding:
    """A figure and its bar."""

    what: str
    figure: float
    bar: Bar

    @property
    def holds(self) -> bool:
        return self.bar.holds(self.figure)

    def __str__(self) -> str:
        verdict = "holds" if self.holds else "MISSED"
        return f"{self.what}: {self.figure:.2f}{self.bar.unit}, bar {self.bar}: {verdict}"


@dataclass(frozen=True, slots=True)
class Report:
    """What a run of a bench has found."""

    rows: Sequence[Sequence[str]] = ()
    """A table of what was measured, headings first."""
    findings: Sequence[Finding] = ()
    """The figures that have a bar."""
    notes: Sequence[str] = field(default=())
    """What was left out, and why."""


@dataclass(frozen=True, slots=True)
class Bench:
    """Something to measure."""

    name: str
    """What the command line calls it."""
    title: str
    """What is measured."""
    run: Callable[[Effort], Report]
    """Measures it."""


def table(rows: Sequence[Sequence[str]]) -> Iterable[str]:
    """The lines of a table; the first column is text, the others are figures."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for first, *others in rows:
        figures = (cell.rjust(width) for cell, width in zip(others, widths[1:], strict=True))
        yield "  ".join((first.ljust(widths[0]), *figures)).rstrip()
