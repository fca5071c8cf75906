"""The Python dialect against the real AgentScope Python 2, in an interpreter of its own.

Its models parse what is written here, its events are read here, and its own fold agrees with this one wherever it is
right; where it is not, the test says so.
"""

from __future__ import annotations

import json
import subprocess
import sys
import venv
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pytest
from hypothesis import HealthCheck, Phase, given, settings

from agentscope_rx.event import (
    AgentEndEvent,
    AgentEvent,
    AgentStartEvent,
    EventWriter,
    MessageBuilder,
    ModelCallEndEvent,
    ModelCallResetEvent,
    UserConfirmResultEvent,
    decode,
    decode_message,
    encode,
    encode_message,
)
from agentscope_rx.message import (
    AssistantMessage,
    DataBlock,
    GenerateReason,
    HintBlock,
    Msg,
    TextBlock,
    ThinkingBlock,
    ToolResultBlock,
    ToolUseBlock,
)
from tests.arbitrary import messages
from tests.strategies import streams

from .differences import differences
from .foreign import fold, outline, read
from .samples import EVENTS, REPLY

pytestmark = pytest.mark.heavy

HOME = Path(__file__).parents[3] / ".venv-agentscope"
SCRIPT = Path(__file__).with_name("agentscope_peer.py")
PACKAGE = "agentscope>=2,<3"


@pytest.fixture(scope="session")
def interpreter() -> Path:
    """The interpreter that has AgentScope; made once, and kept."""
    python = HOME / ("Scripts" if sys.platform == "win32" else "bin") / "python"
    if not python.exists():
        venv.create(HOME, with_pip=True)
    known = subprocess.run([python, "-c", "import agentscope.event"], capture_output=True, check=False)
    if known.returncode:
        install = [python, "-m", "pip", "install", "--quiet", PACKAGE]
        done = subprocess.run(install, capture_output=True, text=True, check=False, timeout=600)
        if done.returncode:
            pytest.skip(f"pip cannot install {PACKAGE}: {done.stderr.strip().splitlines()[-1:]}")
    return python


Peer = Callable[..., list[dict[str, Any]]]


@pytest.fixture(scope="session")
def peer(interpreter: Path) -> Peer:
    def run(*arguments: str, say: str = "") -> list[dict[str, Any]]:
        done = subprocess.run(
            [interpreter, SCRIPT, *arguments], input=say, capture_output=True, text=True, check=False, timeout=300
        )
        assert done.returncode == 0, done.stderr
        return [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]

    return run


# ------------------------------------------------------------------------------------------------ what is written here

CLASSES = {
    "AGENT_START": "ReplyStartEvent",
    "AGENT_END": "ReplyEndEvent",
    "AGENT_RESULT": "CustomEvent",
    "REQUEST_STOP": "CustomEvent",
    "ALL_TOOLS_DENIED": "CustomEvent",
    "SUBAGENT_EXPOSED": "CustomEvent",
    "MODEL_CALL_RESET": "CustomEvent",
}


def test_its_models_parse_every_event_and_write_it_as_it_was(peer: Peer) -> None:
    written = [encode(event, "python") for event in EVENTS]
    *parsed, _ = peer("parse", say="\n".join(written))
    for event, line, seen in zip(EVENTS, written, parsed, strict=True):
        assert seen["class"] == CLASSES.get(event.type, type(event).__name__)
        ours = json.loads(line)
        theirs = seen["event"]
        assert is_in(theirs, ours)
        # What is newer than the sheet of the dialect is null in an event that does not say it.
        assert all(theirs[key] is None for key in theirs.keys() - ours.keys())
        assert differences(decode(theirs), decode(ours)) <= {(TextBlock, "id")}


def is_in(whole: Any, part: Any) -> bool:
    """Tell whether all that `part` says is said in `whole`, where blocks without an id have got one."""
    if isinstance(part, dict):
        return part.keys() <= whole.keys() and all(is_in(whole[key], value) for key, value in part.items())
    if isinstance(part, list):
        return len(whole) == len(part) and all(map(is_in, whole, part))
    return bool(whole == part)


def test_its_models_parse_messages_and_write_them_as_they_were(peer: Peer) -> None:
    written = [encode_message(REPLY, "python")]

    @settings(max_examples=100, phases=[Phase.generate])
    @given(messages())
    def collect(message: Msg) -> None:
        if all("url" not in json.dumps(block) for block in json.loads(encode_message(message, "python"))["content"]):
            written.append(encode_message(message, "python"))

    collect()
    parsed = peer("messages", say="\n".join(written))
    for line, theirs in zip(written, parsed, strict=True):
        # It gives a block without an id one of its own.
        assert differences(decode_message(line), decode_message(theirs)) <= {
            *((TextBlock, "id"), (ThinkingBlock, "id"), (DataBlock, "id"))
        }


# ------------------------------------------------------------------------------------------------ its fold and this one


def comparable(events: Iterable[Any]) -> Iterator[Any]:
    """The events without what its fold does not do: withdraw an attempt, leave out progress, take an edited answer."""
    for event in events:
        if isinstance(event, ModelCallResetEvent):
            continue
        if event.metadata == {"progress": True}:
            event = event.model_copy(update={"metadata": None})
        if isinstance(event, UserConfirmResultEvent):
            answers = tuple(answer.model_copy(update={"confirmed": True}) for answer in event.confirm_results)
            event = event.model_copy(update={"confirm_results": answers})
        yield event.model_copy(update={"seq": None})


def said(message: Msg) -> list[Any]:
    """What a message says, without ids that one side makes up and times that the other does not have."""
    return [_said(block) for block in message.content]


def settled(message: Msg) -> tuple[list[Any], list[Any]]:
    """What a message says, results apart: of a call that is parked it has one already, which is still running."""
    results = [block for block in said(message) if block[0] == "result"]
    return (
        [block for block in said(message) if block[0] != "result"],
        sorted((block for block in results if block[2] != "running"), key=repr),
    )


def _said(block: Any) -> Any:
    if isinstance(block, ToolResultBlock):
        return ("result", block.id, str(block.state), tuple(_said(output) for output in block.output), block.metadata)
    if isinstance(block, ToolUseBlock):
        return ("call", block.id, block.name, block.raw_input, str(block.state))
    if isinstance(block, HintBlock):
        hint = block.hint if isinstance(block.hint, str) else tuple(_said(output) for output in block.hint)
        return ("hint", hint, block.source)
    if isinstance(block, DataBlock):
        # It quotes links.
        return ("data", getattr(block.source, "data", None), unquote(getattr(block.source, "url", "")))
    return (block.type, getattr(block, "text", None) or getattr(block, "thinking", None))


def test_its_fold_and_this_one_agree_where_it_is_right(peer: Peer) -> None:
    collected: list[list[Any]] = []

    @settings(max_examples=150, phases=[Phase.generate], suppress_health_check=list(HealthCheck))
    @given(streams())
    def collect(events: list[AgentEvent]) -> None:
        edits = any("edited" in encode(event) for event in events if isinstance(event, UserConfirmResultEvent))
        if not edits:
            collected.append(list(comparable(events)))

    collect()
    said_here = []
    lines = []
    for events in collected:
        writer = EventWriter("python")
        lines.append("\n".join(line for event in events for line in writer.write(event)))
        said_here.append(settled(fold(_carried(events))))
    replies = [line["reply"] for line in peer("parse", say="\n\n".join(lines)) if "reply" in line]
    assert len(replies) == len(collected) > 50
    for here, reply in zip(said_here, replies, strict=True):
        assert settled(decode_message(reply)) == here


def _carried(events: Iterable[Any]) -> Iterator[Any]:
    for event in events:
        known = {"model_call_id", "resumed", "message"} & type(event).model_fields.keys()
        carried = decode(encode(event, "python"), "python")
        yield carried.model_copy(update={name: getattr(event, name) for name in known})


# ------------------------------------------------------------------------------------------------ its agent


def agent(peer: Peer, scenario: str) -> tuple[list[Any], AssistantMessage, list[Any]]:
    """Run the agent; return what the reader told, the message, and what the agent has stored."""
    *events, last = peer("run", scenario)
    told = read("python", events)
    assert outline(read(None, events)) == outline(told)
    stored = [block for message in last["stored"] for block in said(decode_message(message))]
    return told, fold(told), [block for block in stored if block[0] != "hint"]


def spoken(message: Msg) -> list[Any]:
    return [block for block in said(message) if block[0] != "hint"]


def reasons(told: Iterable[Any]) -> list[GenerateReason]:
    return [event.generate_reason for event in told if isinstance(event, AgentEndEvent)]


@pytest.mark.parametrize(
    "scenario",
    [
        *("text", "thinking", "thinking only", "text, tool, text", "errors", "max iterations"),
        *("allowed", "edited", "denied", "external", "interrupted"),
    ],
)
def test_the_message_is_what_the_agent_has_stored(peer: Peer, scenario: str) -> None:
    told, message, stored = agent(peer, scenario)
    assert spoken(message) == stored
    assert len({event.reply_id for event in told if hasattr(event, "reply_id")}) == 1


def test_text(peer: Peer) -> None:
    told, message, _ = agent(peer, "text")
    assert message.get_text_content() == "Hello"
    assert message.usage is not None
    assert (message.usage.input_tokens, message.usage.output_tokens) == (7, 5)
    assert reasons(told) == ["MODEL_STOP"]


def test_thinking_and_text_in_one_chunk(peer: Peer) -> None:
    _, message, _ = agent(peer, "thinking")
    assert spoken(message) == [("thinking", "hm"), ("text", "Hi!")]


def test_sound_is_kept_though_the_agent_stores_none(peer: Peer) -> None:
    _, message, stored = agent(peer, "sound")
    assert spoken(message) == [("text", "ab"), ("data", "YWJj", "")]
    assert stored == [("text", "ab")]


def test_parallel_tools(peer: Peer) -> None:
    _, message, stored = agent(peer, "parallel")
    assert sorted(spoken(message), key=repr) == sorted(stored, key=repr)
    assert [block[1] for block in spoken(message) if block[0] == "result"] == ["c1", "c2"]
    assert [block[1] for block in stored if block[0] == "result"] == ["c2", "c1"]


def test_calls_whose_pieces_take_turns_are_two_calls(peer: Peer) -> None:
    _, message, stored = agent(peer, "interleaved")
    assert spoken(message) == stored
    assert [block[3] for block in stored if block[0] == "call"] == ["{}", "{}"]


def test_max_iterations(peer: Peer) -> None:
    told, message, _ = agent(peer, "max iterations")
    assert reasons(told) == ["MAX_ITERATIONS"]
    assert [event.max_iters for event in told if event.type == "EXCEED_MAX_ITERS"] == [2]
    assert message.generate_reason is GenerateReason.MAX_ITERATIONS


def test_a_model_that_fails(peer: Peer) -> None:
    told, message, _ = agent(peer, "model error")
    assert reasons(told) == ["ERROR"]
    assert spoken(message) == [("text", "Hel")]
    assert [event.finish_reason for event in told if isinstance(event, ModelCallEndEvent)] == ["error"]


@pytest.mark.parametrize(
    ("scenario", "ends"),
    [
        ("allowed", ["PERMISSION_ASKING", "MODEL_STOP"]),
        ("denied", ["PERMISSION_ASKING", "MODEL_STOP"]),
        ("external", ["TOOL_SUSPENDED", "MODEL_STOP"]),
        ("mixed", ["PERMISSION_ASKING", "TOOL_SUSPENDED", "MODEL_STOP"]),
        ("interrupted", ["PERMISSION_ASKING", "INTERRUPTED"]),
    ],
)
def test_pauses_and_resumes(peer: Peer, scenario: str, ends: list[str]) -> None:
    told, message, stored = agent(peer, scenario)
    assert reasons(told) == ends
    starts = [event for event in told if isinstance(event, AgentStartEvent)]
    assert [event.resumed for event in starts] == [False] + [True] * (len(ends) - 1)
    assert sorted(spoken(message), key=repr) == sorted(stored, key=repr)
    for start in starts[1:]:
        # Every stream folds to the whole message on its own.
        builder = MessageBuilder()
        for event in told[told.index(start) :]:
            builder.apply(event)
        assert builder.message() == message


def test_its_events_come_back_as_it_wrote_them(peer: Peer) -> None:
    *events, _ = peer("run", "mixed")
    for theirs in events:
        ours = json.loads(encode(decode(theirs), "python"))
        assert differences(decode(ours), decode(theirs)) == set()
