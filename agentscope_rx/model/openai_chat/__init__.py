"""The OpenAI Chat Completions protocol: two pure halves, and the model over them."""

from .decoder import ChatDecoder
from .model import OpenAIChatModel
from .request import encode_request

__all__ = ["ChatDecoder", "OpenAIChatModel", "encode_request"]
