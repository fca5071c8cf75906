"""From texts that grow to what is new in them.

A server that is asked for cumulative output says the whole answer, as far as it has come, again in every frame. What
has been shown cannot be taken back, so of each text only what lies beyond the longest one so far is new: a text that
shrinks adds nothing, and one that was written anew goes on from there. The server may have cut its text in the middle
of a character and have put U+FFFD for the half; the next frame has the whole one, so such an end is held back.

The work is linear in the bytes that come, which is all that can be had of a server that says everything again.
"""

from __future__ import annotations

import logging
from collections.abc import Hashable

from ..characters import whole_characters

__all__ = ["Growth"]

logger = logging.getLogger(__name__)

_HALF = "\ufffd"


class Growth:
    """Finds what is new in the texts of one stream."""

    def __init__(self) -> None:
        self._texts: dict[Hashable, str] = {}
        """What the server said last, by the name of the text."""
        self._shown: dict[Hashable, int] = {}
        """How many characters have been returned."""
        self._warned = False

    def new(self, name: Hashable, text: str, *, last: bool) -> str:
        """Return what is new in a text since it came before.

        Args:
            name: which of the texts it is.
            text: all of it, as far as the server has come.
            last: whether nothing more comes, so that nothing is held back.
        """
        if not text:
            return ""
        text = whole_characters(text)
        before, shown = self._texts.get(name, ""), self._shown.get(name, 0)
        self._texts[name] = text
        end = len(text if last else text.rstrip(_HALF))
        if not (self._warned or text.startswith(before[:shown])):
            self._warned = True
            logger.warning("the server has changed what it had said before; what was shown stays as it is")
        self._shown[name] = max(shown, end)
        return text[shown:end]
