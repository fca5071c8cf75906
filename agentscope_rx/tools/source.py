"""Tools that nobody has in hand: they are found out while a reply runs, and may be gone the next time."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

from .base import Tool

__all__ = ["FoundTools", "MissingTools", "ToolSource"]


@dataclass(frozen=True, slots=True)
class MissingTools:
    """Tools that should be there and are not."""

    source: str
    """Whose they are, for people and for the model."""
    reason: str
    """Why they are not there; it holds no secret."""


@dataclass(frozen=True, slots=True)
class FoundTools:
    """What a source has at one time."""

    tools: tuple[Tool, ...] = ()
    """The tools that are there."""
    missing: tuple[MissingTools, ...] = ()
    """What is not."""


class ToolSource(ABC):
    """Where tools come from that change, or that may fail to be there: those of a server, say.

    Given to an agent among its tools. A reply asks it before every model call; what it has to wait for, it waits for
    there, and what does not come in time is missing.
    """

    @abstractmethod
    async def find(self, *, first: bool) -> FoundTools:
        """Return what is there now. What goes wrong is missing: nothing is raised, and no reply kept waiting for long.

        Args:
            first: Whether the reply asks for the first time, which is when to try again what has failed.
        """

    def get(self, name: str) -> Tool | None:
        """Return what stands for a tool that was not found under this name, None when that is nobody's here.

        Its calls should say what is wrong, and nobody should be asked about them.
        """
        return None
