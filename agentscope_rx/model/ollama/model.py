"""A chat model behind an Ollama server, by its own protocol."""

from __future__ import annotations

from ..profiles import OLLAMA_NATIVE
from ..wire import WireModel, WireProtocol, bearer
from .decoder import OllamaDecoder
from .lines import LineParser
from .request import encode_request

__all__ = ["OllamaModel"]


def _headers(api_key: str | None) -> dict[str, str]:
    return {"Accept": "application/x-ndjson", **bearer(api_key)}


class OllamaModel(WireModel):
    """A `ChatModel` over the protocol of Ollama's `/api/chat`.

    The server comes from `OLLAMA_HOST`, of which any part may be missing, and is the one of this machine if that is not
    set. A key is sent if there is one: `OLLAMA_API_KEY` is that of Ollama's cloud.

    `reasoning_effort` is what the server calls `think`: a level such as `low` or `high`, which old servers know for few
    models only, and `none` for none. What the options have no field for goes into `extra_body`, where the fields of
    `options` join those that they have: `{"keep_alive": "10m", "options": {"num_ctx": 16384}}`.
    """

    protocol = WireProtocol(
        profile=OLLAMA_NATIVE,
        path="/api/chat",
        headers=_headers,
        encode=encode_request,
        decoder=OllamaDecoder,
        framing=LineParser,
        prompt=("messages",),
    )
