"""A chat model behind any server that speaks the OpenAI Chat Completions protocol."""

from __future__ import annotations

from ..profiles import OPENAI
from ..wire import WireModel, WireProtocol, bearer
from .decoder import ChatDecoder
from .request import encode_request

__all__ = ["OpenAIChatModel"]


class OpenAIChatModel(WireModel):
    """A `ChatModel` over the OpenAI Chat Completions protocol.

    The key comes from `OPENAI_API_KEY` and the base URL from `OPENAI_BASE_URL`, or from what the profile says.
    """

    protocol = WireProtocol(
        profile=OPENAI,
        path="/chat/completions",
        headers=bearer,
        encode=encode_request,
        decoder=ChatDecoder,
        prompt=("messages",),
    )
