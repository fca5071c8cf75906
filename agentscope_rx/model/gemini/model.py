"""A chat model behind any server that speaks the Gemini protocol."""

from __future__ import annotations

from ..profiles import GEMINI
from ..wire import WireModel, WireProtocol
from .decoder import GeminiDecoder
from .request import encode_request

__all__ = ["GeminiModel"]


def _headers(api_key: str | None) -> dict[str, str]:
    return {} if api_key is None else {"x-goog-api-key": api_key}


class GeminiModel(WireModel):
    """A `ChatModel` over the Gemini protocol.

    The key comes from `GEMINI_API_KEY` or `GOOGLE_API_KEY` and the base URL from `GOOGLE_GEMINI_BASE_URL`, with or
    without `/v1beta` at its end.

    A `reasoning_effort` also asks for summaries of the thinking, which then come as thinking. What the options have no
    field for goes into `extra_body`, where the fields of `generationConfig` and `toolConfig` join those of the options:
    `{"generationConfig": {"topK": 40}}` sets one more, `{"tools": [{"googleSearch": {}}]}` adds a tool that the
    provider runs, `{"generationConfig": {"thinkingConfig": ...}}` replaces what `reasoning_effort` says.
    """

    protocol = WireProtocol(
        profile=GEMINI,
        path="/v1beta/models/{model}:streamGenerateContent?alt=sse",
        headers=_headers,
        encode=encode_request,
        decoder=GeminiDecoder,
        prompt=("systemInstruction", "contents"),
    )
