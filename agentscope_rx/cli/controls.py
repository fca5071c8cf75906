"""What a model or a tool says must not be able to drive the terminal that shows it."""

from __future__ import annotations

__all__ = ["visible"]

_C0_AND_C1 = (*range(0x20), *range(0x7F, 0xA0))

_SHOWN: dict[int, str | None] = dict.fromkeys(_C0_AND_C1, "\N{REPLACEMENT CHARACTER}")
_SHOWN |= {ord("\n"): "\n", ord("\t"): "\t", ord("\r"): None}


def visible(text: str) -> str:
    """Return `text` with control characters replaced, but for tabs and line feeds; carriage returns are left out."""
    return text.translate(_SHOWN)
