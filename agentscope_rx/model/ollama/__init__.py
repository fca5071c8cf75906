"""The protocol of Ollama: two pure halves, how its frames are found, and the model over them."""

from .decoder import OllamaDecoder
from .lines import LineParser
from .model import OllamaModel
from .request import encode_request

__all__ = ["LineParser", "OllamaDecoder", "OllamaModel", "encode_request"]
