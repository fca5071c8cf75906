"""A chat model behind any server that speaks the OpenAI Responses protocol."""

from __future__ import annotations

from ..profiles import OPENAI
from ..wire import WireModel, WireProtocol, bearer
from .decoder import ResponsesDecoder
from .request import encode_request

__all__ = ["OpenAIResponsesModel"]


class OpenAIResponsesModel(WireModel):
    """A `ChatModel` over the OpenAI Responses protocol.

    The key comes from `OPENAI_API_KEY` and the base URL from `OPENAI_BASE_URL`.

    Nothing is stored at the provider: each request holds the whole conversation, the encrypted reasoning of the model
    among it. What the options have no field for goes into `extra_body`:
    `{"reasoning": {"effort": "low", "summary": "auto"}}` asks for summaries of the reasoning, which then come as
    thinking, `{"tools": [{"type": "web_search"}]}` adds a tool that the provider runs, and `{"store": True}` stores.
    """

    protocol = WireProtocol(
        profile=OPENAI,
        path="/responses",
        headers=bearer,
        encode=encode_request,
        decoder=ResponsesDecoder,
        prompt=("instructions", "input"),
    )
