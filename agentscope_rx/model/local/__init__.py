"""The embedded model: a small language model on this machine, behind llama.cpp's own HTTP server.

`catalog` knows which models there are and where their parts lie, `server` runs one, `priming` shows so small a model
how tools are called, and `model` puts them together behind the chat adapter that every other server is reached with.
"""

from __future__ import annotations

from .model import LocalModel

__all__ = ["LocalModel"]
