"""A chat model behind any server that speaks the Anthropic Messages protocol."""

from __future__ import annotations

from ..profiles import ANTHROPIC
from ..wire import WireModel, WireProtocol
from .decoder import MessagesDecoder
from .request import encode_request

__all__ = ["AnthropicModel"]

_VERSION = "2023-06-01"


def _headers(api_key: str | None) -> dict[str, str]:
    return {"anthropic-version": _VERSION, **({} if api_key is None else {"x-api-key": api_key})}


class AnthropicModel(WireModel):
    """A `ChatModel` over the Anthropic Messages protocol.

    The key comes from `ANTHROPIC_API_KEY` and the base URL from `ANTHROPIC_BASE_URL`, with or without `/v1` at its end.

    Without `max_tokens`, which the protocol demands, an answer may have 8,192 tokens besides its thinking. What the
    options have no field for goes into `extra_body`: `{"cache_control": {"type": "ephemeral"}}` caches the prompt up to
    its last block, `{"tools": [{"type": "web_search_20250305", "name": "web_search"}]}` adds a tool that the provider
    runs, `{"thinking": ...}` replaces what `reasoning_effort` says.

    A tool of the provider that takes long pauses the answer: the finish reason is `pause`. A request with that answer
    as its last message goes on with it; an agent makes it by itself, as the next iteration of the same reply.
    """

    protocol = WireProtocol(
        profile=ANTHROPIC,
        path="/v1/messages",
        headers=_headers,
        encode=encode_request,
        decoder=MessagesDecoder,
        prompt=("system", "messages"),
    )
