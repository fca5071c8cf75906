"""The code in the documentation runs: every Python block of a page, in order, in one namespace."""

from __future__ import annotations

import re
import runpy
from pathlib import Path
from typing import Any

import pytest

from agentscope_rx import ReActAgent
from agentscope_rx.testing import ScriptedModel, text, tool_call

ROOT = Path(__file__).parents[1]
PAGES = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")])
_COMMENT = re.compile(r"\s*(#|//) .*")
_BLOCK = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def blocks(page: Path) -> list[str]:
    return _BLOCK.findall(page.read_text(encoding="utf-8"))


@pytest.mark.parametrize("page", [page for page in PAGES if blocks(page)], ids=lambda page: page.name)
def test_the_code_of_a_page_runs(page: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    def scripted(model: Any) -> Any:
        """A stand-in for the embedded model: adds, and says the sum."""
        if model != "local:smollm2":
            return model
        turns = [[tool_call("add", {"a": 17, "b": 25})], [text("It is 42.")]]
        return ScriptedModel(turns * 3)

    init = ReActAgent.__init__

    def with_a_double(self: ReActAgent, name: str, model: Any, *args: Any, **settings: Any) -> None:
        init(self, name, scripted(model), *args, **settings)

    monkeypatch.setattr(ReActAgent, "__init__", with_a_double)
    namespace: dict[str, Any] = {"__name__": "page"}
    for number, block in enumerate(blocks(page), 1):
        exec(compile(block, f"{page.name}, block {number}", "exec"), namespace)


TRANSLATIONS = [page for page in PAGES if page.stem.endswith("_zh")]


def outline(page: Path) -> list[str]:
    """What a translation shares with its original: headings by depth, rows of tables, code but for its comments."""
    in_code = False
    lines = []
    for line in page.read_text(encoding="utf-8").splitlines():
        if line.startswith("```"):
            in_code = not in_code
        elif in_code:
            lines.append(_COMMENT.sub("", line))
        elif line.startswith(("#", "|")):
            lines.append(line.split(" ")[0])
    return lines


@pytest.mark.parametrize("page", TRANSLATIONS, ids=lambda page: page.name)
def test_a_translation_says_as_much_as_its_original(page: Path) -> None:
    assert outline(page) == outline(page.with_name(page.name.replace("_zh", "")))


def test_the_generated_pages_are_what_the_tables_say() -> None:
    pages = runpy.run_path(str(ROOT / "docs" / "generate.py"))["PAGES"]
    for name, page in pages.items():
        stored = (ROOT / "docs" / name).read_text(encoding="utf-8")
        assert stored == page(), f"run: python docs/generate.py (it writes {name})"
