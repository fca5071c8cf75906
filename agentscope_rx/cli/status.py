"""How it went: for the shell a number, for people a line on stderr."""

from __future__ import annotations

import sys
from collections.abc import Callable

from ..errors import AgentScopeError
from .controls import visible

__all__ = ["BROKEN_PIPE", "DONE", "FAILED", "INTERRUPTED", "attempt"]

DONE = 0
"""All went well."""
FAILED = 1
"""An error of this package."""
INTERRUPTED = 130
"""Ctrl-C, as shells number it: 128 + SIGINT."""
BROKEN_PIPE = 141
"""Nobody reads the output any more: 128 + SIGPIPE."""


def attempt(action: Callable[[], int]) -> int:
    """Do it and return its exit status; if it fails as things may fail, say why and return the status of that."""
    try:
        return action()
    except KeyboardInterrupt:
        print("\nagentscope-rx: interrupted", file=sys.stderr)  # the line feed: the terminal has written ^C
        return INTERRUPTED
    except AgentScopeError as error:
        print(f"agentscope-rx: {type(error).__name__}: {visible(' '.join(str(error).split()))}", file=sys.stderr)
        return FAILED
