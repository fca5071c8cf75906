"""The OpenAI Responses protocol: two pure halves, and the model over them."""

from .decoder import ResponsesDecoder
from .model import OpenAIResponsesModel
from .request import encode_request

__all__ = ["OpenAIResponsesModel", "ResponsesDecoder", "encode_request"]
