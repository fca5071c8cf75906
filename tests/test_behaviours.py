"""The page of behaviours names tests that are there."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[1]
_ROW = re.compile(r"^\| (?!expected)(?P<expected>[^|]+) \| (?P<here>[^|]+) \| (?P<tests>[^|]+) \|$", re.MULTILINE)


def test_every_behaviour_is_shown_by_tests_that_are_there() -> None:
    rows = _ROW.findall((ROOT / "docs" / "behaviours.md").read_text(encoding="utf-8"))
    assert len(rows) > 60
    there = {
        name
        for file in ROOT.glob("tests/**/test_*.py")
        for name in re.findall(r"^def (test_\w+)\(", file.read_text(encoding="utf-8"), re.MULTILINE)
    }
    named = [name for *_, tests in rows for name in re.findall(r"`(test_\w+)`", tests)]
    assert len(named) >= len(rows)
    assert [name for name in named if name not in there] == []
    assert [expected for expected, _, tests in rows if not re.search(r"`test_\w+`", tests)] == []
