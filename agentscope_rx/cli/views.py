"""What the console shows of a stream: each view is an operator, for the end of a `.pipe(...)`."""

from __future__ import annotations

import io
import shutil
import sys
from typing import Any

import reactivex as rx
from reactivex import operators as ops

from ..errors import MissingExtraError
from ..event import AgentEvent, BaseEvent, encode
from ..operators import Operator, from_source
from .event_line import event_line
from .transcript import transcript

__all__ = ["events_view", "json_view", "transcript_view"]


def transcript_view() -> Operator[AgentEvent, Any]:
    """Show the reply as people read it.

    Raises:
        MissingExtraError: rich is not installed.
    """
    try:
        from .paint import painter  # only now: it needs the extra `cli`
    except ImportError:
        raise MissingExtraError("the transcript", 'pip install "agentscope-rx[cli]"') from None
    return rx.compose(from_source(None), transcript(), ops.do_action(painter()))


def events_view() -> Operator[AgentEvent, Any]:
    """Show every event on a line: cut to the terminal, or whole where it goes elsewhere."""

    def line(event: BaseEvent) -> str:
        return event_line(event, shutil.get_terminal_size().columns if sys.stdout.isatty() else None)

    return rx.compose(ops.map(line), ops.do_action(_print))


def json_view() -> Operator[AgentEvent, Any]:
    """Write every event as one line of native JSON, in UTF-8."""
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(encoding="utf-8")
    return rx.compose(ops.map(encode), ops.do_action(_print))


def _print(line: str) -> None:
    print(line, flush=True)
