"""Fragments in colour, where the terminal has any."""

from __future__ import annotations

from collections.abc import Callable

from rich.console import Console
from rich.theme import Theme

from .transcript import Fragment, Style

__all__ = ["painter"]

_COLOURS = {
    Style.TEXT: "none",
    Style.THINKING: "dim italic",
    Style.CALL: "bold cyan",
    Style.RESULT: "green",
    Style.PROGRESS: "dim",
    Style.NOTE: "yellow",
    Style.USAGE: "dim",
}


class _Console(Console):
    """A console that lets its caller deal with a closed pipe; rich would exit in the middle of the stream."""

    def on_broken_pipe(self) -> None:
        raise BrokenPipeError


def painter() -> Callable[[Fragment], None]:
    """Return what writes fragments to stdout, each at once."""
    console = _Console(theme=Theme({f"agentscope.{style}": colour for style, colour in _COLOURS.items()}))

    def paint(fragment: Fragment) -> None:
        console.out(fragment.text, end="", style=f"agentscope.{fragment.style}", highlight=False)

    return paint
