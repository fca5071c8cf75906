"""A chat model behind an HTTP API: everything but the wire protocol."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any
from urllib.parse import quote

from ..errors import ConfigurationError
from ..stream import SSEParser
from .call import Decoder, Framing, stream_call
from .failures import Mask, masking
from .http import HttpClient, HttpRequest
from .profiles import ProviderProfile
from .retry import RetryPolicy
from .stall import DEFAULT_STALL_TIMEOUT
from .types import ModelChunk, ModelOptions, ModelRequest, OutputSupport

__all__ = ["WireModel", "WireProtocol", "bearer"]


@dataclass(frozen=True, slots=True, kw_only=True)
class WireProtocol:
    """One protocol: its two pure halves, and what stands around them."""

    profile: ProviderProfile
    """The provider that the protocol is from."""
    path: str
    """Where requests go, under the base URL; `{model}` stands for the name of the model."""
    headers: Callable[[str | None], Mapping[str, str]]
    """Makes the headers from the key."""
    encode: Callable[[str, ModelRequest, ProviderProfile], Mapping[str, Any]]
    """Writes the body from the name of the model, the request with all options, and the profile of the server."""
    decoder: Callable[[Mask], Decoder]
    """Makes the decoder of one stream."""
    framing: Callable[[], Framing] = SSEParser
    """Makes what finds the frames of one stream."""
    prompt: tuple[str, ...]
    """The fields of the body that hold what was said, which no error may repeat."""


class WireModel:
    """A `ChatModel` over HTTP, for a class that names its protocol.

    It holds nothing that belongs to an event loop: one object serves any number of loops and threads at once.

    Args:
        model_name: the model, as the server names it.
        api_key: the key; None takes it from the environment, as the profile says.
        base_url: the API; None takes it from the environment, as the profile says, else the provider's own.
        options: how to answer, where a request does not say otherwise.
        retry: how often and how patiently a failed call is made again; None takes the defaults of `RetryPolicy`.
        stall_timeout: seconds without content after which a call fails, `math.inf` for never; None takes 300.
        http_client: an `httpx.AsyncClient` to make the calls with; it stays yours, and ties the model to its loop.
        profile: another provider that speaks the protocol; None takes the one that it is from.

    Raises:
        ConfigurationError: the URL or the key is unusable, or the provider needs a key and there is none.
    """

    protocol: WireProtocol
    """The protocol that the server speaks."""

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
    ) -> None:
        if not model_name:
            raise ConfigurationError("the model has no name; expected one that the server knows, such as gpt-4o-mini")
        if stall_timeout is not None and not stall_timeout > 0:
            raise ConfigurationError(f"stall_timeout is a positive number of seconds, got {stall_timeout!r}")
        profile = profile or self.protocol.profile
        endpoint = profile.endpoint(api_key, base_url)
        self.model_name = model_name
        """The model, as the server names it."""
        self.provider = profile.name
        """The provider, as in front of the colon of a model id."""
        self.base_url = endpoint.base_url
        """The API that is called."""
        self.options = options or ModelOptions()
        """How to answer, where a request does not say otherwise."""
        self._api_key = endpoint.api_key
        self._profile = profile.served_at(endpoint)
        self._retry = retry or RetryPolicy()
        self._stall_timeout = DEFAULT_STALL_TIMEOUT if stall_timeout is None else stall_timeout
        self._http_client = http_client

    @property
    def output_support(self) -> OutputSupport:
        """Whether the server makes the model keep to `ModelOptions.output`."""
        return self._profile.output

    def stream(self, request: ModelRequest) -> AsyncGenerator[ModelChunk, None]:
        """Answer one request, chunk by chunk; closing the generator closes the connection at once.

        Raises:
            ModelError: the call failed; what was yielded before stands. `UnsupportedContentError` is raised by the call
                itself, and nothing was sent.
        """
        protocol = self.protocol
        request = replace(request, options=self.options.merged(request.options))
        body = protocol.encode(self.model_name, request, self._profile)
        mask = masking(self._api_key, [body.get(name) for name in protocol.prompt])
        path = protocol.path.replace("{model}", quote(self.model_name))
        return stream_call(
            HttpRequest(_joined(self.base_url, path), body, protocol.headers(self._api_key), mask),
            lambda: self._decoder(mask, body),
            framing=protocol.framing,
            retry=self._retry,
            stall_timeout=self._stall_timeout,
            client=self._http_client,
        )

    def _decoder(self, mask: Mask, body: Mapping[str, Any]) -> Decoder:
        """Return the decoder of one answer, for a protocol in which the request decides how it is to be read."""
        return self.protocol.decoder(mask)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.model_name!r}, base_url={self.base_url!r})"


def _joined(base_url: str, path: str) -> str:
    """Join the two; a version that both name stands once: some count it to the base URL and some do not."""
    version = path.split("/")[1]
    return (base_url.removesuffix(f"/{version}") if version.startswith("v") else base_url) + path


def bearer(api_key: str | None) -> dict[str, str]:
    """Return the header that carries a key as most servers want it."""
    return {} if api_key is None else {"Authorization": f"Bearer {api_key}"}
