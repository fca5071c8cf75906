"""The embedded model: a small language model on this machine, behind llama.cpp's own HTTP server.

`catalog` knows which models there are and where their parts lie, `server` runs one, `priming` and `sampling` make so
small a model call tools, and `model` puts them together behind the adapter that other servers are reached with, too.
"""

from __future__ import annotations

from .model import LocalModel

__all__ = ["LocalModel"]
