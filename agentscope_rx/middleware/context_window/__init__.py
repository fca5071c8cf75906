"""Long conversations in the window of a model: what is left out, where the cut is, and what is told instead."""

from .estimate import estimate_tokens
from .middleware import ContextWindow

__all__ = ["ContextWindow", "estimate_tokens"]
