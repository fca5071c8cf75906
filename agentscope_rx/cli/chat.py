"""A conversation on the terminal: one question after another, each a stream that is shown as it comes."""

from __future__ import annotations

import sys
from contextlib import suppress
from typing import Any

from ..agent import ReActAgent
from ..event import AgentEvent
from ..operators import Operator, resume_with
from .asking import ask
from .status import DONE, attempt

__all__ = ["Chat"]

_LEAVE = {"", "exit"}


class Chat:
    """One agent, and one view of its replies.

    Args:
        agent: Who answers; it keeps the history.
        view: The last operator of the pipe: shows the events as they come.
    """

    def __init__(self, agent: ReActAgent, view: Operator[AgentEvent, Any]) -> None:
        self._agent = agent
        self._view = view

    def ask(self, question: str) -> int:
        """Answer one question and return the exit status; Ctrl-C cancels the answer and raises KeyboardInterrupt."""
        self._agent.stream_events(question).pipe(resume_with(self._agent, ask), self._view).run()
        return DONE

    def converse(self) -> int:
        """Answer the lines of stdin up to an empty one, `exit` or the end; return the status of the last answer."""
        prompt = ""
        if sys.stdin.isatty() and sys.stdout.isatty():
            prompt = "> "
            with suppress(ImportError):
                import readline  # noqa: F401 - gives input() line editing and a history, where there is one
            print("Ctrl-C stops an answer; an empty line, `exit` or Ctrl-D leaves.")
        status = DONE
        while (question := _next_line(prompt)) not in _LEAVE:
            status = attempt(lambda: self.ask(question))
        return status


def _next_line(prompt: str) -> str:
    """Read a line, "" at the end of the input; Ctrl-C drops the line and begins another."""
    while True:
        try:
            return input(prompt).strip()
        except EOFError:
            return ""
        except KeyboardInterrupt:
            print()
