"""The pages on the providers: that each has one, and that their tables say what the decoders do."""

from __future__ import annotations

import re
from importlib import import_module
from pathlib import Path

import pytest

from agentscope_rx.event import FinishReason
from agentscope_rx.model import providers

DOCS = Path(__file__).parents[2] / "docs" / "providers"
REASONS = "|".join(reason.value for reason in FinishReason)
ROW = re.compile(rf"^\| (?P<words>`[^|]*`[^|]*) \| `(?P<reason>{REASONS})`[^|]*\|$", re.MULTILINE)
"""A row of a table: the provider's words, and our reason."""

TABLES = {
    "openai-chat": ("openai_chat", "_FINISH_REASONS"),
    "openai-responses": ("openai_responses", "_INCOMPLETE"),
    "anthropic": ("anthropic", "_FINISH_REASONS"),
    "gemini": ("gemini", "_FINISH_REASONS"),
    "ollama": ("ollama", "_DONE_REASONS"),
    "dashscope": ("dashscope", "_FINISH_REASONS"),
}
"""The table of each page, in the code."""


@pytest.mark.parametrize("page", TABLES)
def test_a_page_has_the_words_of_its_provider_for_why_a_model_stops(page: str) -> None:
    folder, name = TABLES[page]
    table: dict[str, FinishReason] = getattr(import_module(f"agentscope_rx.model.{folder}.decoder"), name)
    rows = {
        word: FinishReason(row["reason"])
        for row in ROW.finditer((DOCS / f"{page}.md").read_text("utf-8"))
        for word in re.findall(r"`([^`]+)`", row["words"])
    }
    assert {word: rows.get(word) for word in table} == table


def test_the_index_names_every_provider_and_every_page() -> None:
    index = (DOCS / "index.md").read_text("utf-8")
    assert [provider.name for provider in providers() if f"`{provider.name}`" not in index] == []
    assert sorted(set(re.findall(r"\((\w[\w-]*\.md)\)", index))) == sorted(
        path.name for path in DOCS.glob("*.md") if path.name != "index.md"
    )
