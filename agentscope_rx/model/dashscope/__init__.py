"""DashScope's own protocol: two pure halves, and the model over them."""

from .decoder import DashScopeDecoder
from .model import DashScopeModel
from .request import encode_request

__all__ = ["DashScopeDecoder", "DashScopeModel", "encode_request"]
