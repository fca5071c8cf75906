"""The tools of one reply: those that it was given, and those that their sources have by now."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable

from ..context import RuntimeContext
from ..event import CustomEvent
from ..message import HintBlock, Msg
from ..tools import MissingTools, Toolkit

__all__ = ["TOOLS_MISSING", "Equipment"]

TOOLS_MISSING = "tools_missing"
"""Name of the CUSTOM events that say which tools are missing, and source of the hints that tell the model."""

_MISSING = "Some tools are missing now. Do without them, and say so where it matters to the answer."
_BACK = "The tools that were missing are there again."


class Equipment:
    """What a reply acts with. Sources of tools are asked before every model call, and before calls that were paused."""

    def __init__(self, toolkit: Toolkit, context: RuntimeContext) -> None:
        self._given = toolkit
        self._context = context
        self._looked = False
        self.toolkit = toolkit
        """The tools, with what the sources had when they were asked last."""

    async def look(self) -> AsyncIterator[CustomEvent]:
        """Ask the sources; emits CUSTOM `tools_missing` when what is missing has changed in this reply."""
        before = self.toolkit.missing
        self.toolkit = await self._given.found(self._context, first=not self._looked)
        self._looked = True
        if (missing := self.toolkit.missing) != before:
            told = [{"source": one.source, "reason": one.reason} for one in missing]
            yield CustomEvent(name=TOOLS_MISSING, value={"missing": told}, seq=0)

    def hint(self, said: Iterable[Msg]) -> str | None:
        """Return what the model must be told of missing tools, None when it knows.

        Args:
            said: The history and the reply so far.
        """
        hints = [
            block.hint
            for message in said
            for block in message.content
            if isinstance(block, HintBlock) and block.source == TOOLS_MISSING
        ]
        now = _told(self.toolkit.missing)
        return None if now == (hints[-1] if hints else _BACK) else now


def _told(missing: Iterable[MissingTools]) -> str:
    lines = [f"- those of {one.source}: {one.reason}" for one in missing]
    return "\n".join([_MISSING, *lines]) if lines else _BACK
