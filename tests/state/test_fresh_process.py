"""A reply that paused in one process goes on in another, which has nothing of it but the store."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from agentscope_rx import (
    AgentState,
    GenerateReason,
    Msg,
    PermissionContext,
    ReActAgent,
    SqliteStateStore,
    TextBlock,
    ThinkingBlock,
    ToolCallState,
    ToolResultBlock,
    ToolUseBlock,
    decode_message,
)
from agentscope_rx.testing import ScriptedModel, text, thinking

from ..agent.shapes import run
from .parked import CASES, FREE, SCRIPTED

ROOT = Path(__file__).parents[2]

Told = list[Mapping[str, tuple[Msg, AgentState]]]
"""By step, and by case: what the events of a process folded to, and what was stored at its end."""


def told(kind: str, folder: Path) -> Told:
    database = folder / "states.db"
    steps = range(1 + max(len(case.answers) for case in CASES[kind].values()))
    return [in_a_process(kind, database, step) for step in steps]


def in_a_process(kind: str, database: Path, step: int) -> Mapping[str, tuple[Msg, AgentState]]:
    command = [sys.executable, "-m", "tests.state.parked", kind, str(database), str(step)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    with closing(SqliteStateStore(database)) as store:
        return {
            name: (decode_message(message), stored(store, name)) for name, message in json.loads(done.stdout).items()
        }


def stored(store: SqliteStateStore, session: str) -> AgentState:
    found = run(store.load(session))
    assert found is not None
    return found.state


@pytest.fixture(scope="module")
def scripted(tmp_path_factory: pytest.TempPathFactory) -> Told:
    return told("scripted", tmp_path_factory.mktemp("scripted"))


@pytest.fixture(scope="module")
def embedded(tmp_path_factory: pytest.TempPathFactory) -> Told:
    return told("embedded", tmp_path_factory.mktemp("embedded"))


def check(kind: str, name: str, told: Told) -> Msg:
    """Every process has stored what its events fold to, under one id; returns the message at the end."""
    last = len(CASES[kind][name].answers)
    reply_id = told[0][name][0].id
    for step, (message, state) in enumerate(told[step][name] for step in range(last + 1)):
        assert message.id == reply_id
        if step < last:
            assert state.paused is not None
            assert state.paused.message == message
            assert message.generate_reason in _PAUSES
        else:
            assert state.paused is None
            assert state.history[-1] == message
    message, state = told[last][name]
    assert message.generate_reason is GenerateReason.MODEL_STOP
    assert {call.state for call in message.get_content_blocks(ToolUseBlock)} == {ToolCallState.FINISHED}
    calls, results = message.get_content_blocks(ToolUseBlock), message.get_content_blocks(ToolResultBlock)
    assert sorted(call.id for call in calls) == sorted(result.id for result in results)
    return message


_PAUSES = {
    GenerateReason.PERMISSION_ASKING,
    GenerateReason.TOOL_SUSPENDED,
    GenerateReason.MIDDLEWARE_STOP_REQUESTED,
}


def gist(message: Msg) -> tuple[list[Any], dict[str, Any]]:
    """What was said and called, in order, and what came of each call; without times and suggested rules."""
    said = [block for block in message.content if not isinstance(block, ToolResultBlock)]
    outputs = {
        block.id: (block.name, [part.text for part in block.output if isinstance(part, TextBlock)], block.state)
        for block in message.get_content_blocks(ToolResultBlock)
    }
    return [_gist(block) for block in said], outputs


def _gist(block: Any) -> Any:
    match block:
        case ThinkingBlock(thinking=thinking):
            return block.type, thinking
        case TextBlock(text=said):
            return block.type, said
        case ToolUseBlock():
            return block.type, block.name, block.input, block.raw_input
    raise AssertionError(f"not expected here: {block.type}")


@pytest.mark.parametrize("name", SCRIPTED)
def test_a_reply_that_paused_goes_on_in_a_fresh_process(name: str, scripted: Told) -> None:
    message = check("scripted", name, scripted)
    calls = SCRIPTED[name].unpaused
    if calls is None:
        return
    first = [thinking("ann should know"), text("I will see to it."), *calls]
    model = ScriptedModel([first, [text("Done.")]])
    unpaused = ReActAgent("friday", model, tools=FREE.values(), permission=PermissionContext(mode="bypass"))  # type: ignore[arg-type]
    assert gist(message) == gist(unpaused.call("Write to Ann.").run())


def test_b3_34_an_approved_tool_runs_with_the_arguments_that_were_shown(scripted: Told) -> None:
    paused, finished = scripted[0]["confirmed"][0], scripted[1]["confirmed"][0]
    [shown], [ran] = paused.get_content_blocks(ToolUseBlock), finished.get_content_blocks(ToolUseBlock)
    assert shown.input == ran.input == {"to": "ann"}
    [result] = finished.get_content_blocks(ToolResultBlock)
    assert result.output == (TextBlock("sent to ann"),)


def test_a_denial_reaches_the_model_of_the_other_process(scripted: Told) -> None:
    [result] = scripted[1]["denied"][0].get_content_blocks(ToolResultBlock)
    assert result.state.value == "denied"
    assert result.output[0].text == "The user denied the tool call."  # type: ignore[union-attr]


@pytest.mark.heavy
@pytest.mark.parametrize("name", CASES["embedded"])
def test_so_it_is_on_the_embedded_model(name: str, embedded: Told) -> None:
    message = check("embedded", name, embedded)
    results = {block.name: block.output for block in message.get_content_blocks(ToolResultBlock)}
    calls = {call.name: call.input for call in message.get_content_blocks(ToolUseBlock)}
    assert set(results) >= {"add", "multiply"}
    assert message.get_text_content().strip()
    for name_, output in results.items():
        assert output[0].text == str(FREE[name_](**calls[name_]))  # type: ignore[union-attr]
