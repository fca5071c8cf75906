"""The Anthropic Messages protocol: two pure halves, and the model over them."""

from .decoder import MessagesDecoder
from .model import AnthropicModel
from .request import encode_request

__all__ = ["AnthropicModel", "MessagesDecoder", "encode_request"]
