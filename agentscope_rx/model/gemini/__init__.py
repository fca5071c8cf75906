"""The Gemini protocol: two pure halves, and the model over them."""

from .decoder import GeminiDecoder
from .model import GeminiModel
from .request import encode_request

__all__ = ["GeminiDecoder", "GeminiModel", "encode_request"]
