"""The console: what it writes, what it says of failures, and its exit status."""

from __future__ import annotations

import io
import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from importlib.metadata import version

import pytest

from agentscope_rx import TextBlockDeltaEvent, decode
from agentscope_rx.cli import main
from agentscope_rx.testing import assert_valid_stream

from .model_server import ModelServer, call, serve, text

SUM = [
    [call("call_1", "calculate", {"expression": "17 + 25"})],
    [text("17 plus 25 "), text("is 42.")],
]
COMMAND = [sys.executable, "-W", "error", "-m", "agentscope_rx.cli", "chat", "--model", "openai:scripted"]


@dataclass
class Outcome:
    """What a run of the console has come to."""

    status: int
    out: str
    err: str


Console = Callable[..., Outcome]


@pytest.fixture
def console(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Console:
    """Run `agentscope-rx chat` in this process, against a server."""

    def run(server: ModelServer, *arguments: str, stdin: str = "") -> Outcome:
        for name, value in environment(server).items():
            monkeypatch.setenv(name, value)
        monkeypatch.setattr(sys, "stdin", io.StringIO(stdin))
        status = main(["chat", "--model", "openai:scripted", *arguments])
        return Outcome(status, *capsys.readouterr())

    return run


def environment(server: ModelServer) -> dict[str, str]:
    return {"OPENAI_BASE_URL": server.url, "OPENAI_API_KEY": "secret"}


def test_one_question_is_answered_with_a_tool(console: Console) -> None:
    with serve(SUM) as server:
        done = console(server, "What is 17 plus 25?", "--system", "Be brief.")
    assert (done.status, done.err) == (0, "")
    assert done.out == (
        '▸ calculate {"expression": "17 + 25"}\n'
        "  calculate → 42\n"
        "17 plus 25 is 42.\n"
        "20 tokens in · 8 tokens out\n"
    )  # fmt: skip
    first = server.requests[0]
    assert [(message["role"], message["content"]) for message in first["messages"]] == [
        ("system", "Be brief."),
        ("user", "What is 17 plus 25?"),
    ]
    assert [tool["function"]["name"] for tool in first["tools"]] == ["get_current_time", "calculate"]
    assert server.requests[1]["messages"][-1] == {"role": "tool", "tool_call_id": "call_1", "content": "42"}


def test_events_are_lines_for_grep(console: Console) -> None:
    with serve(SUM) as server:
        done = console(server, "--events", "What is 17 plus 25?")
    assert (done.status, done.err) == (0, "")
    lines = done.out.splitlines()
    assert [line.split()[0] for line in lines] == [str(number) for number in range(1, len(lines) + 1)]
    deltas = [line for line in lines if " TEXT_BLOCK_DELTA " in line]
    assert [line.split("delta=")[1] for line in deltas] == ["'17 plus 25 '", "'is 42.'"]


def test_as_a_process_json_is_utf_8_and_can_be_read_back() -> None:
    with serve([[text("Grüß dich, 你好")]]) as server:
        done = subprocess.run(
            [*COMMAND, "--json", "Hi"],
            capture_output=True,
            timeout=60,
            env={**os.environ, **environment(server), "PYTHONIOENCODING": "ascii"},
        )
    assert (done.returncode, done.stderr) == (0, b"")
    events = [decode(line) for line in done.stdout.decode("utf-8").splitlines()]
    assert_valid_stream(events)
    assert [event.delta for event in events if isinstance(event, TextBlockDeltaEvent)] == ["Grüß dich, 你好"]


def test_as_a_process_it_copes_with_bytes_and_characters_that_the_terminal_has_none_for() -> None:
    with serve([[text("Grüß dich")]]) as server:
        done = subprocess.run(
            COMMAND,
            input=b"hel\xfflo\n",
            capture_output=True,
            timeout=60,
            env={**os.environ, **environment(server), "PYTHONIOENCODING": "ascii:strict"},
        )
    assert (done.returncode, done.stderr) == (0, b"")
    assert done.stdout == b"Gr?? dich\n10 tokens in ? 4 tokens out\n"
    assert server.requests[0]["messages"] == [{"role": "user", "content": "hel\ufffdlo"}]


@pytest.fixture
def _without_rich(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in sys.modules if name.partition(".")[0] == "rich"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "rich", None)
    monkeypatch.delitem(sys.modules, "agentscope_rx.cli.paint", raising=False)


@pytest.mark.usefixtures("_without_rich")
@pytest.mark.parametrize("view", ["--events", "--json"])
def test_events_and_json_do_not_need_rich(console: Console, view: str) -> None:
    with serve(SUM) as server:
        done = console(server, view, "hi")
    assert (done.status, done.err) == (0, "")


@pytest.mark.usefixtures("_without_rich")
def test_without_rich_the_transcript_names_the_command_that_installs_it(console: Console) -> None:
    with serve(SUM) as server:
        done = console(server, "hi")
    assert (done.status, done.out, server.requests) == (1, "", [])
    assert done.err.startswith("agentscope-rx: MissingExtraError: ")
    assert done.err.endswith('pip install "agentscope-rx[cli]"\n')
    assert done.err.count("\n") == 1


def test_a_conversation_keeps_its_history_and_ends_with_an_empty_line(console: Console) -> None:
    with serve([[text("one")], [text("two")]]) as server:
        done = console(server, stdin="first\nsecond\n\nnever asked\n")
    assert (done.status, done.err) == (0, "")
    assert done.out == "one\n10 tokens in · 4 tokens out\ntwo\n10 tokens in · 4 tokens out\n"
    assert [message["content"] for message in server.requests[1]["messages"]] == ["first", "one", "second"]


@pytest.mark.parametrize("last_words", ["exit\nnever asked\n", "", "   \nnever asked"])
def test_a_conversation_ends_with_exit_or_the_end_of_input(console: Console, last_words: str) -> None:
    with serve([[text("one")]]) as server:
        done = console(server, stdin=f"first\n{last_words}")
    assert (done.status, len(server.requests)) == (0, 1)


def test_ctrl_c_at_the_prompt_drops_the_line(console: Console, monkeypatch: pytest.MonkeyPatch) -> None:
    typed = iter([KeyboardInterrupt, KeyboardInterrupt, "but this", EOFError])

    def read_line(prompt: str) -> str:
        line = next(typed)
        if isinstance(line, str):
            return line
        raise line

    monkeypatch.setattr("builtins.input", read_line)
    with serve([[text("Yes?")]]) as server:
        done = console(server)
    assert (done.status, done.out) == (0, "\n\nYes?\n10 tokens in · 4 tokens out\n")
    assert [message["content"] for message in server.requests[0]["messages"]] == ["but this"]


def test_a_failure_is_one_line_without_traceback_or_secrets(console: Console) -> None:
    with serve(status=404) as server:
        done = console(server, "my private question")
    assert done.status == 1
    assert done.err.startswith("agentscope-rx: ModelHTTPError: ")
    assert done.err.count("\n") == 1
    assert "private" not in done.err
    assert "secret" not in done.err


def test_a_conversation_goes_on_after_a_failure_and_ends_with_the_last_status(console: Console) -> None:
    with serve([[text("one")], [call("c", "no_such_tool", {})], [text("two")]], status=404) as server:
        assert console(server, stdin="first\nsecond\n").status == 1
        assert len(server.requests) == 2
        server.requests.clear()
        server.status = 200
        recovered = console(server, stdin="first\nsecond\n")
    assert recovered.status == 0
    assert "[error]\ntwo\n" in recovered.out


@pytest.mark.parametrize("view", [[], ["--json"], ["--events"]])
def test_when_nobody_reads_on_it_ends_quietly(view: list[str]) -> None:
    with serve([[text(f"{number}\n") for number in range(2_000)]]) as server:
        process = subprocess.Popen(
            [*COMMAND, *view, "count"],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env={**os.environ, **environment(server)},
        )
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.readline()
        process.stdout.close()
        said = process.stderr.read()
        process.stderr.close()
        assert (process.wait(30), said) == (141, b"")


@pytest.mark.parametrize(
    "arguments", [[], ["shout"], ["chat", "--json", "--events"], ["chat", "a", "b"], ["chat", "--model"], ["chat", ""]]
)
def test_wrong_usage_is_status_2(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        main(arguments)
    assert caught.value.code == 2
    assert capsys.readouterr().err.startswith("usage: agentscope-rx")


def test_a_model_that_is_none_is_status_1(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["chat", "--events", "--model", "nobody:knows", "hi"]) == 1
    assert capsys.readouterr().err.startswith("agentscope-rx: ConfigurationError: 'nobody:knows' is no model id")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--help"], ("chat", "models", "--version", "OPENAI_BASE_URL")),
        (["chat", "--help"], ("local:smollm2", "OPENAI_BASE_URL", "agentscope-rx models")),
    ],
)
def test_help_says_where_everything_comes_from(
    arguments: list[str], words: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as caught:
        main(arguments)
    assert caught.value.code == 0
    said = capsys.readouterr().out
    assert [word for word in words if word not in said] == []


def test_the_version_is_that_of_the_package(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        main(["--version"])
    assert caught.value.code == 0
    assert capsys.readouterr().out == f"agentscope-rx {version('agentscope-rx')}\n"


@pytest.mark.heavy
def test_the_embedded_model_calls_a_tool_and_answers() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "agentscope_rx.cli", "chat", "What is 17 plus 25?"],
        capture_output=True,
        encoding="utf-8",
        timeout=120,
    )
    assert (done.returncode, done.stderr) == (0, "")
    called, came, *answer = done.stdout.splitlines()
    assert called.startswith("▸ ")
    assert came.endswith(" → 42")
    assert "42" in "".join(answer)


def test_where_nobody_can_be_asked_the_answer_is_no(console: Console) -> None:
    with serve(SUM) as server:
        done = console(server, "--ask", "What is 17 plus 25?")
    assert done.status == 0
    assert "[denied]" in done.out
    assert "no terminal" in server.requests[1]["messages"][-1]["content"]
