"""The console on a terminal: the prompt, the colours, and Ctrl-C."""

from __future__ import annotations

import os
import re
import select
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from .model_server import ModelServer, call, serve, text

pytest.importorskip("pty", reason="there are no pseudo-terminals here")

CTRL_C, CTRL_D = "\x03", "\x04"

_RUN_ON_A_TERMINAL = "import os, pty, sys; sys.exit(os.waitstatus_to_exitcode(pty.spawn(sys.argv[1:])))"
_STYLES = re.compile(r"\x1b\[[?\d;]*[a-zA-Z]")


class Terminal:
    """A process on a pseudo-terminal, and everything that it has written."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self._process = process
        self._seen = 0
        self.raw = ""

    def until(self, words: str) -> str:
        """Wait for `words` after those that were waited for before; return everything up to them, without colours."""
        while (end := self._plain().find(words, self._seen)) < 0:
            self._read()
        start, self._seen = self._seen, end + len(words)
        return self._plain()[start : self._seen]

    def press(self, keys: str) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(keys.encode())
        self._process.stdin.flush()

    def ended(self) -> tuple[int, str]:
        """Wait for the end; return the exit status, and everything that was not waited for."""
        status = self._process.wait(20)
        assert self._process.stdout is not None
        self.raw += self._process.stdout.read().decode()
        return status, self._plain()[self._seen :]

    def _plain(self) -> str:
        return _STYLES.sub("", self.raw).replace("\r\n", "\n")

    def _read(self) -> None:
        assert self._process.stdout is not None
        output = self._process.stdout.fileno()
        readable, _, _ = select.select([output], [], [], 20)
        piece = os.read(output, 65536) if readable else b""
        assert piece, f"nothing more comes; the screen is {self.raw!r}"
        self.raw += piece.decode()


@contextmanager
def console(server: ModelServer, *arguments: str) -> Iterator[Terminal]:
    command = [sys.executable, "-m", "agentscope_rx.cli", "chat", "--model", "openai:scripted", *arguments]
    settings = {
        "OPENAI_BASE_URL": server.url,
        "OPENAI_API_KEY": "secret",
        "TERM": "xterm-256color",
        "COLUMNS": "60",
        "INPUTRC": os.devnull,
    }
    environment = {name: value for name, value in os.environ.items() if name != "NO_COLOR"} | settings
    with subprocess.Popen(
        [sys.executable, "-c", _RUN_ON_A_TERMINAL, *command],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env=environment,
    ) as process:
        try:
            yield Terminal(process)
        finally:
            process.kill()


def test_ctrl_c_stops_an_answer_and_the_prompt_comes_back() -> None:
    turns = [[text("Once upon "), text("a time")], [text("Hello again.")]]
    with serve(turns, open_turns={0}) as server, console(server) as terminal:
        terminal.until("leaves.\n> ")
        terminal.press("a story\n")
        terminal.until("Once upon a time")
        terminal.press(CTRL_C)
        assert "Traceback" not in terminal.until("interrupted\n> ")
        assert server.hung_up.wait(5)
        terminal.press("hello\n")
        terminal.until("Hello again.\n10 tokens in · 4 tokens out\n> ")
        terminal.press(CTRL_D)
        status, rest = terminal.ended()
    assert (status, rest.strip()) == (0, "")
    said = [(message["role"], message["content"]) for message in server.requests[1]["messages"]]
    assert said == [("user", "a story"), ("assistant", "Once upon a time"), ("user", "hello")]


def test_ctrl_c_ends_a_single_answer_with_status_130() -> None:
    with serve([[text("Once upon ")]], open_turns={0}) as server, console(server, "a story") as terminal:
        terminal.until("Once upon ")
        terminal.press(CTRL_C)
        assert terminal.ended() == (130, "^C\nagentscope-rx: interrupted\n")
        assert server.hung_up.wait(5)


def test_the_transcript_is_in_colour() -> None:
    turns = [[call("c", "calculate", {"expression": "1/0"})], [text("No.")]]
    with serve(turns) as server, console(server, "one by zero") as terminal:
        status, plain = terminal.ended()
    assert (status, plain) == (
        0,
        '▸ calculate {"expression": "1/0"}\n'
        "  calculate → ToolError: the expression divides by zero [error]\n"
        "No.\n"
        "20 tokens in · 8 tokens out\n",
    )
    assert "\x1b[1;36m▸ calculate \x1b[0m" in terminal.raw
    assert "\x1b[33m [error]\x1b[0m" in terminal.raw
    assert "\r\nNo.\r\n" in terminal.raw


def test_events_fit_the_terminal() -> None:
    with serve([[text("x" * 200)]]) as server, console(server, "--events", "hi") as terminal:
        status, plain = terminal.ended()
    lines = plain.splitlines()
    assert status == 0
    assert max(map(len, lines)) == 60
    assert any(line.startswith("   4 TEXT_BLOCK_DELTA ") and line.endswith("…") for line in lines)


@pytest.mark.parametrize("view", ["--json", "--events"])
def test_ctrl_c_in_a_machine_view_leaves_whole_lines(view: str) -> None:
    with serve([[text("Once upon ")]], open_turns={0}) as server, console(server, view, "a story") as terminal:
        terminal.until("TEXT_BLOCK_DELTA")
        terminal.press(CTRL_C)
        status, rest = terminal.ended()
    assert status == 130
    assert rest.endswith("\nagentscope-rx: interrupted\n")
    assert "Traceback" not in rest


def sum_of(expression: str, id: str = "c") -> list[dict[str, object]]:
    return [call(id, "calculate", {"expression": expression})]


def test_it_asks_before_a_tool_runs() -> None:
    with serve([sum_of("1+1"), [text("Two.")]]) as server, console(server, "--ask", "add") as terminal:
        assert 'May calculate run with {"expression": "1+1"}?' in terminal.until("[a]lways? ")
        terminal.press("y\n")
        terminal.until("calculate → 2\nTwo.")
        assert terminal.ended()[0] == 0


def test_no_goes_to_the_model_with_its_reason() -> None:
    with serve([sum_of("1+1"), [text("Well.")]]) as server, console(server, "--ask", "add") as terminal:
        terminal.until("[a]lways? ")
        terminal.press("n\n")
        terminal.until("Why not? ")
        terminal.press("too easy\n")
        terminal.until("Well.")
        assert terminal.ended()[0] == 0
    assert "too easy" in server.requests[1]["messages"][-1]["content"]


def test_arguments_can_be_edited_and_rules_accepted() -> None:
    turns = [sum_of("1+1"), sum_of("2+2", "d"), sum_of("3+3", "e"), [text("Done.")]]
    with serve(turns) as server, console(server, "--ask", "add") as terminal:
        terminal.until("[a]lways? ")
        terminal.press("e\n")
        terminal.until("as JSON: ")
        terminal.press("[1\n")
        terminal.until("no JSON")
        for unfit in ("[1]", '{"sum": "5+5"}'):
            terminal.until("[a]lways? ")
            terminal.press("e\n")
            terminal.until("as JSON: ")
            terminal.press(f"{unfit}\n")
        terminal.until("expression")
        terminal.until("[a]lways? ")
        terminal.press("e\n")
        terminal.until("as JSON: ")
        terminal.press('{"expression": "5+5"}\n')
        terminal.until("→ 10\n")
        terminal.until("[a]lways? ")
        terminal.press("a\n")
        terminal.until("→ 6\nDone.")
        assert terminal.ended()[0] == 0


def test_ctrl_c_at_the_question_stops_the_reply() -> None:
    with serve([sum_of("1+1")]) as server, console(server, "--ask", "add") as terminal:
        terminal.until("[a]lways? ")
        time.sleep(0.1)  # Python overlooks a signal between its prompt and the read behind it, until a line comes
        terminal.press(CTRL_C)
        status, rest = terminal.ended()
    assert status == 0
    assert "INTERRUPTED" in rest
    assert "Traceback" not in rest
