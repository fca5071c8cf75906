"""Assertions about streams."""

from __future__ import annotations

from collections.abc import Iterable

import reactivex as rx
from reactivex.scheduler import ImmediateScheduler

from ..event import AgentEvent
from ..operators import verify_events

__all__ = ["assert_valid_stream"]


def assert_valid_stream(events: Iterable[AgentEvent]) -> None:
    """Assert that a whole stream keeps the rules: what `verify_events` checks, numbers included if there are any.

    Raises:
        AssertionError: it does not; the message names the rule, the event, what is open and what should have come.
    """
    stream = list(events)
    numbered = any(event.seq for event in stream if event.source is None)
    failures: list[Exception] = []
    # At once, even where a trampoline is running: an assertion that waits for its turn asserts nothing.
    checked = rx.from_iterable(stream, ImmediateScheduler.singleton()).pipe(verify_events(strict=numbered))
    checked.subscribe(on_error=failures.append)
    if failures:
        raise AssertionError(str(failures[0])) from failures[0]
