"""How a tool says that its call is run elsewhere."""

from __future__ import annotations

from .sendable import whole_text

__all__ = ["ToolSuspend"]


class ToolSuspend(Exception):  # noqa: N818 - not a failure: a tool raises it to hand its call over
    """Raised by a tool: the call is run elsewhere, and its result comes later, from outside.

    The reply pauses with REQUIRE_EXTERNAL_EXECUTION and goes on when it is given the result. A tool raises it before
    it says anything.
    """

    def __init__(self, reason: str = "") -> None:
        super().__init__(reason or "the tool call is run elsewhere")
        self.reason = whole_text(reason)
        """Why, for people; it becomes metadata of the announced call."""
