"""A chat model of Alibaba Cloud Model Studio (DashScope), by its own protocol."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import partial
from typing import Any

from ..call import Decoder
from ..failures import Mask
from ..http import HttpClient
from ..profiles import DASHSCOPE_NATIVE, ProviderProfile
from ..retry import RetryPolicy
from ..types import ModelOptions
from ..wire import WireModel, WireProtocol, bearer
from .decoder import DashScopeDecoder
from .request import encode_request

__all__ = ["DashScopeModel"]

_MULTIMODAL = re.compile(r"-(vl|ocr|omni|audio|asr)\b|^qvq\b|^qwen3\.([5-7](?!-max)|8)|^kimi-k2\.[56]")
"""The names of models that take more than text."""


def _headers(api_key: str | None) -> dict[str, str]:
    return {"X-DashScope-SSE": "enable", **bearer(api_key)}


def _protocol(task: str, *, multimodal: bool) -> WireProtocol:
    return WireProtocol(
        profile=DASHSCOPE_NATIVE,
        path=f"/services/aigc/{task}/generation",
        headers=_headers,
        encode=partial(encode_request, multimodal=multimodal),
        decoder=DashScopeDecoder,
        prompt=("input",),
    )


_TEXT_GENERATION = _protocol("text-generation", multimodal=False)
_MULTIMODAL_GENERATION = _protocol("multimodal-generation", multimodal=True)


class DashScopeModel(WireModel):
    """A `ChatModel` over DashScope's own protocol.

    The key comes from `DASHSCOPE_API_KEY` and the base URL from `DASHSCOPE_HTTP_BASE_URL`, which ends in `/api/v1`.

    The API serves each model in one of two places, and answers "url error" in the other: models of text, and models
    that take images, sound or video too. Which of them a model is, its name tells, or `multimodal`.

    A `reasoning_effort` also switches the thinking on, and `none` off. What the options have no field for goes into
    `extra_body`, where the fields of `parameters` join those that they have: `{"parameters": {"enable_search": True}}`
    lets the provider search, `{"parameters": {"preserve_thinking": True}}` shows the model its thoughts of before, and
    `{"parameters": {"incremental_output": False}}` asks for cumulative output, which is turned into what is new.

    Args:
        model_name: the model, as the server names it.
        api_key: the key; None takes it from the environment.
        base_url: the API; None takes it from the environment, else the provider's own.
        options: how to answer, where a request does not say otherwise.
        retry: how often and how patiently a failed call is made again; None takes the defaults of `RetryPolicy`.
        stall_timeout: seconds without content after which a call fails, `math.inf` for never; None takes 300.
        http_client: an `httpx.AsyncClient` to make the calls with; it stays yours, and ties the model to its loop.
        profile: another provider that speaks the protocol; None takes the one that it is from.
        multimodal: whether the model takes more than text; None goes by its name.

    Raises:
        ConfigurationError: the URL or the key is unusable, or the provider needs a key and there is none.
    """

    def __init__(
        self,
        model_name: str,
        *,
        api_key: str | None = None,
        base_url: str | None = None,
        options: ModelOptions | None = None,
        retry: RetryPolicy | None = None,
        stall_timeout: float | None = None,
        http_client: HttpClient | None = None,
        profile: ProviderProfile | None = None,
        multimodal: bool | None = None,
    ) -> None:
        if multimodal is None:
            multimodal = _MULTIMODAL.search(model_name.lower()) is not None
        self.protocol = _MULTIMODAL_GENERATION if multimodal else _TEXT_GENERATION
        super().__init__(
            model_name,
            api_key=api_key,
            base_url=base_url,
            options=options,
            retry=retry,
            stall_timeout=stall_timeout,
            http_client=http_client,
            profile=profile,
        )

    def _decoder(self, mask: Mask, body: Mapping[str, Any]) -> Decoder:
        parameters = body["parameters"]
        cumulative = isinstance(parameters, Mapping) and parameters.get("incremental_output") is False
        return DashScopeDecoder(mask, cumulative=cumulative)
