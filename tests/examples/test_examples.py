"""The examples, on a scripted model to the letter, and on the embedded one."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from itertools import count
from pathlib import Path

import pytest

from agentscope_rx import ToolResultBlock, set_id_factory
from agentscope_rx.testing import ScriptedModel, delay, text, tool_call, usage


@pytest.fixture(autouse=True)
def _ids() -> Iterator[None]:
    numbers = count(1)
    set_id_factory(lambda: f"id{next(numbers)}")
    yield
    set_id_factory(None)


def example(name: str) -> Callable[..., None]:
    main: Callable[..., None] = importlib.import_module(f"examples.{name}").main
    return main


def adding() -> ScriptedModel:
    return ScriptedModel(
        [
            [text("I will add."), tool_call("add", {"a": 17, "b": 25}, pieces=3)],
            [text("17 plus 25 "), text("is 42.")],
        ]
    )


def output(capsys: pytest.CaptureFixture[str]) -> str:
    captured = capsys.readouterr()
    assert captured.err == ""
    return captured.out


def test_accumulate_events(capsys: pytest.CaptureFixture[str]) -> None:
    example("accumulate_events")(adding())
    assert output(capsys) == (
        "[start reply_id=id2]\n"
        "[tool] add\n"
        "[tool result state=success]\n"
        "\n"
        "[end] full text:\n"
        "I will add.17 plus 25 is 42.\n"
    )


def test_streaming_ui(capsys: pytest.CaptureFixture[str]) -> None:
    example("streaming_ui")(adding())
    assert output(capsys) == (
        "[start reply_id=id2]\nI will add.\n[calling add ...]\n[the tool is done: success]\n17 plus 25 is 42.\n[done]\n"
    )


def test_agent_event_stream(capsys: pytest.CaptureFixture[str]) -> None:
    model = ScriptedModel(
        [
            [tool_call("get_weather", {"city": "Beijing"}, pieces=2), usage(90, 20)],
            [tool_call("get_weather", {"city": "Oslo"}), usage(110, 20)],
            [text("Cloudy "), text("and clear."), usage(120, 9)],
        ]
    )
    example("agent_event_stream")(model)
    assert output(capsys).splitlines() == [
        "User: What is the weather like in Beijing and Shanghai?",
        "",
        "[AGENT_START]        agent=WeatherAgent  reply_id=id2",
        "[MODEL_CALL_START]   model=scripted  iteration=1",
        "[TOOL_CALL_START]    tool=get_weather  call_id=call_1",
        "[TOOL_CALL_DELTA         ] (skipped)",
        "[TOOL_CALL_DELTA         ] (skipped)",
        "[TOOL_CALL_END]      call_id=call_1",
        "",
        "[MODEL_CALL_END]     input_tokens=90  output_tokens=20",
        "[TOOL_RESULT_START       ] (skipped)",
        "[TOOL_RESULT_TEXT_DELTA  ] (skipped)",
        "[TOOL_RESULT_END]    call_id=call_1  state=success",
        "[MODEL_CALL_START]   model=scripted  iteration=2",
        "[TOOL_CALL_START]    tool=get_weather  call_id=call_2",
        "[TOOL_CALL_DELTA         ] (skipped)",
        "[TOOL_CALL_END]      call_id=call_2",
        "",
        "[MODEL_CALL_END]     input_tokens=110  output_tokens=20",
        "[TOOL_RESULT_START       ] (skipped)",
        "[TOOL_RESULT_TEXT_DELTA  ] (skipped)",
        "[TOOL_RESULT_END]    call_id=call_2  state=success",
        "[MODEL_CALL_START]   model=scripted  iteration=3",
        "[TEXT_BLOCK_START        ] (skipped)",
        "Cloudy and clear.[TEXT_BLOCK_END          ] (skipped)",
        "",
        "[MODEL_CALL_END]     input_tokens=120  output_tokens=9",
        "[AGENT_RESULT            ] (skipped)",
        "[AGENT_END]          reply_id=id2",
    ]
    results = model.requests[2].messages[-1].get_content_blocks(ToolResultBlock)
    assert [block.output[0].text for block in results] == ["Beijing: 28°C, partly cloudy", "Oslo: 25°C, clear skies"]


def test_tool_streaming(capsys: pytest.CaptureFixture[str]) -> None:
    model = ScriptedModel(
        [
            [tool_call("research_topic", {"topic": "qubits"})],
            [tool_call("list_sources", {"topic": "qubits"})],
            [text("Much is going on.")],
        ]
    )
    example("tool_streaming")(model, pause=0)
    assert output(capsys).splitlines() == [
        "User: Research the current state of quantum computing",
        "",
        "[Tool started]  research_topic (id=call_1)",
        "  … Searching for: qubits",
        "  … Found 12 sources. Reading them ...",
        "  … Comparing what they say ...",
        "  ▸ Summary of qubits: error rates are falling, qubit counts are rising.",
        "[Tool finished] id=call_1  state=success",
        "",
        "[Tool started]  list_sources (id=call_2)",
        "  ▸ 1. qubits, volume 1",
        "  ▸ 2. qubits, volume 2",
        "  ▸ 3. qubits, volume 3",
        "[Tool finished] id=call_2  state=success",
        "",
        "Done.",
    ]
    assert "Searching" not in model.requests[1].messages[-1].model_dump_json()


def deleting() -> ScriptedModel:
    return ScriptedModel([[tool_call("delete_file", {"path": "notes.txt"})], [text("As you wish.")]])


@pytest.mark.parametrize(("allowed", "state"), [(True, "success"), (False, "denied")])
def test_permission_hitl(allowed: bool, state: str, capsys: pytest.CaptureFixture[str]) -> None:
    example("permission_hitl")(deleting(), lambda call: allowed)
    assert output(capsys) == (
        f"\n[end PERMISSION_ASKING]\n[tool result state={state}]\nAs you wish.\n[end MODEL_STOP]\n"
    )


def test_interruption(capsys: pytest.CaptureFixture[str]) -> None:
    example("interruption")(ScriptedModel([[text("Once "), delay(60)], [text("You are welcome.")]]))
    assert output(capsys) == "Once \n[interrupted: That is enough.]\n[end INTERRUPTED]\nYou are welcome.\n"


def test_hook_stop_agent(capsys: pytest.CaptureFixture[str]) -> None:
    example("hook_stop_agent")(adding())
    assert output(capsys) == "[wants add {'a': 17, 'b': 25}]\nI will add.\n17 plus 25 is 42.\n"


def test_middlewares(capsys: pytest.CaptureFixture[str]) -> None:
    model = ScriptedModel([[tool_call("process_data", {"dataset": "customers"})], [text("1000 "), text("records.")]])
    example("middlewares")(model, now=lambda: datetime(2030, 1, 2, 3, 4, tzinfo=UTC), clock=lambda: 0.0)
    assert output(capsys).splitlines() == [
        "[agent] assistant starts with 1 message(s)",
        "[prompt] user-42 in demo",
        "[reasoning] round 1, 2 messages",
        "[audit 1] scripted: 2 messages, 1 tools",
        "[audit 1] 5 events in 0.0 s",
        "[acting] process_data",
        "[acting] … 50% of customers",
        "[acting] … 100% of customers",
        "[acting] … customers has 1000 records",
        "[acting] done",
        "[reasoning] round 2, 3 messages",
        "[audit 2] scripted: 3 messages, 1 tools",
        "[audit 2] 6 events in 0.0 s",
        "[agent] done",
        "1000 records.",
        "[audit] 2 model calls, 11 events",
    ]
    assert model.requests[0].messages[0].get_text_content() == (
        "You are a helpful assistant.\n\nIt is 2030-01-02 03:04 UTC.\nThe user is user-42, the environment demo."
    )


def test_runtime_context(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    model = ScriptedModel(
        [
            [tool_call("open_ticket", {"subject": "the printer"})],
            [text("It is open.")],
            [text("You are welcome.")],
            [text("Hello, Bob.")],
        ]
    )
    example("runtime_context")(model, tmp_path)
    assert output(capsys).splitlines() == [
        "alice: Open a ticket about the printer",
        "assistant: It is open.",
        "alice: Thank you!",
        "assistant: You are welcome.",
        "bob: Hello!",
        "assistant: Hello, Bob.",
        "[alice has 4 messages]",
        "[bob has 2 messages]",
    ]
    assert [list(tool.parameters["properties"]) for tool in model.requests[0].tools] == [["subject"]]
    [result] = model.requests[1].messages[-1].get_content_blocks(ToolResultBlock)
    assert result.output[0].text == "Acme has a ticket about the printer, by alice (req-1)"  # type: ignore[union-attr]
    assert len(model.requests[2].messages) == 3
    assert len(model.requests[3].messages) == 1
    assert len(list(tmp_path.glob("support-*.json"))) == 2


def test_state_auto_save(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    model = ScriptedModel([[text("Blue.")], [text("Seven.")], [text("It is blue.")]])
    example("state_auto_save")(model, tmp_path / "sessions.db")
    assert output(capsys).splitlines()[-4:] == [
        "[4 messages are saved]",
        "[4 messages are there]",
        "User: What is my favourite colour?",
        "Assistant: It is blue.",
    ]
    assert len(model.requests[-1].messages) == 5


_SAID_IN_ORDER = {
    "accumulate_events": ("[tool] add\n", "[tool result state=success]\n", "\n[end] full text:\n", "42"),
    "agent_event_stream": ("[MODEL_CALL_START]", "[MODEL_CALL_END]", "\n[AGENT_END] "),
    "streaming_ui": ("[calling add ...]\n", "[the tool is done: success]\n", "42", "\n[done]\n"),
    "tool_streaming": ("User: Research", "\nDone.\n"),
    "middlewares": ("[audit 1] ", "[acting] process_data\n", "[audit 2] ", "[agent] done\n", "[audit] 2 model calls"),
}


@pytest.mark.heavy
@pytest.mark.parametrize("name", _SAID_IN_ORDER)
def test_on_the_embedded_model(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    example(name)("local:smollm2")
    said = output(capsys)
    for words in _SAID_IN_ORDER[name]:
        _, found, said = said.partition(words)
        assert found
