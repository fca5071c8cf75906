"""That no recording is left out: the adapters are tried on them in the folders of their protocols.

`pytest -s tests/model -k sdk_makes_of_it` prints the table: every recording, and whether its text, its thinking with
the proofs, its calls, its finish reason and its usage are those that the vendor's SDK makes of it.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from .captures import CAPTURES, needs_captures

TESTS = "".join(path.read_text("utf-8") for path in Path(__file__).parent.glob("*/test_captures.py"))


@needs_captures
@pytest.mark.parametrize("family", sorted(path.parent.name for path in CAPTURES.glob("*/expected.jsonl")))
def test_every_family_of_recordings_is_held_against_what_the_sdks_make_of_it(family: str) -> None:
    assert f'"{family}"' in TESTS
