"""A chat model behind any server that speaks the OpenAI Chat Completions protocol."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from dataclasses import replace

from ...errors import ConfigurationError
from ..call import stream_call
from ..failures import masking
from ..http import HttpClient, HttpRequest
from ..profiles import OPENAI, ProviderProfile
from ..retry import RetryPolicy
from ..stall import DEFAULT_STALL_TIMEOUT
from ..types import ModelChunk, ModelOptions, ModelRequest
from .decoder import ChatDecoder
from .request import encode_request

__all__ = ["OpenAIChatModel"]


class OpenAIChatModel:
    """A `ChatModel` over the OpenAI Chat Completions protocol.

    It holds nothing that belongs to an event loop: one object serves any number of loops and threads at once.

    Args:
        model_name: the model, as the server names it.
        api_key: the key; None takes it from the environment (`OPENAI_API_KEY`, or what the profile says).
        base_url: the API, such as `http://127.0.0.1:8000/v1`; None takes it from the environment
            (`OPENAI_BASE_URL`, or what the profile says), else the provider's own.
        options: how to answer, where a request does not say otherwise.
        retry: how often and how patiently a failed call is made again; None takes the defaults of `RetryPolicy`.
        stall_timeout: seconds without content after which a call fails, `math.inf` for never; None takes 300.
        http_client: an `httpx.AsyncClient` to make the calls with; it stays yours, and ties the model to its loop.
        profile: what is special about the provider.

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
        profile: ProviderProfile = OPENAI,
    ) -> None:
        if not model_name:
            raise ConfigurationError("the model has no name; expected one that the server knows, such as gpt-4o-mini")
        if stall_timeout is not None and not stall_timeout > 0:
            raise ConfigurationError(f"stall_timeout is a positive number of seconds, got {stall_timeout!r}")
        endpoint = profile.endpoint(api_key, base_url)
        self.model_name = model_name
        """The model, as the server names it."""
        self.base_url = endpoint.base_url
        """The API that is called."""
        self.options = options or ModelOptions()
        """How to answer, where a request does not say otherwise."""
        self._api_key = endpoint.api_key
        self._profile = profile if endpoint.is_vendor else replace(profile, max_tokens_field="max_tokens")
        self._retry = retry or RetryPolicy()
        self._stall_timeout = DEFAULT_STALL_TIMEOUT if stall_timeout is None else stall_timeout
        self._http_client = http_client

    def stream(self, request: ModelRequest) -> AsyncGenerator[ModelChunk, None]:
        """Answer one request, chunk by chunk; closing the generator closes the connection at once.

        Raises:
            ModelError: the call failed; what was yielded before stands. `UnsupportedContentError` is raised by the call
                itself, and nothing was sent.
        """
        options = self.options.merged(request.options)
        body = encode_request(self.model_name, replace(request, options=options), self._profile)
        mask = masking(self._api_key, body["messages"])
        return stream_call(
            HttpRequest(f"{self.base_url}/chat/completions", body, _headers(self._api_key), mask),
            lambda: ChatDecoder(mask),
            retry=self._retry,
            stall_timeout=self._stall_timeout,
            client=self._http_client,
        )

    def __repr__(self) -> str:
        return f"OpenAIChatModel({self.model_name!r}, base_url={self.base_url!r})"


def _headers(api_key: str | None) -> dict[str, str]:
    return {} if api_key is None else {"Authorization": f"Bearer {api_key}"}
