from __future__ import annotations

import pytest

from agentscope_rx.message import HintBlock, TextBlock, ThinkingBlock
from agentscope_rx.model.native import is_foreign, native, native_part


def test_what_a_provider_said_is_told_to_it_alone() -> None:
    block = TextBlock("t", metadata=native("a", item={"id": "1"}))
    assert native_part(block, "a", "item") == {"id": "1"}
    assert native_part(block, "b", "item") == {}
    assert native_part(block, "a", "other") == {}
    assert (is_foreign(block, "a"), is_foreign(block, "b")) == (False, True)


def test_what_is_told_may_be_changed_without_changing_the_block() -> None:
    block = TextBlock("t", metadata=native("a", item={"id": "1"}))
    native_part(block, "a", "item").clear()
    assert native_part(block, "a", "item") == {"id": "1"}


@pytest.mark.parametrize("metadata", [None, {"k": 1}, {"provider": "a", "item": "odd"}])
def test_metadata_of_anyone_else(metadata: dict[str, object] | None) -> None:
    block = ThinkingBlock("t", signature="s", metadata=metadata)
    assert native_part(block, "a", "item") == {}
    assert not is_foreign(block, "a")


def test_a_block_without_metadata() -> None:
    assert native_part(HintBlock(hint="h"), "a", "item") == {}
