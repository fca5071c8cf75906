"""A chat model that needs no server and no key: it brings its own."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncGenerator

from ..http import HttpClient
from ..openai_chat import OpenAIChatModel
from ..profiles import ProviderProfile
from ..retry import RetryPolicy
from ..types import ModelChunk, ModelOptions, ModelRequest, OutputSupport
from .catalog import find_model
from .priming import prime
from .sampling import default_options
from .server import SERVERS

__all__ = ["LocalModel"]

_PROFILE = ProviderProfile(
    name="local", base_url="http://127.0.0.1/v1", forces_tool_by_name=False, output=OutputSupport.ALONE
)


class LocalModel:
    """A `ChatModel` that runs on this machine: a small language model behind llama.cpp's own HTTP server.

    All objects of this class share one server, on a loopback port that the system chooses. It starts with the first
    call that needs it and ends with the process. It writes two answers at once; further ones wait.

    The model is real and calls tools, but it is very small: good for trying things out and for tests, not for advice.

    Args:
        model_name: `smollm2` (SmolLM2-135M-Instruct).
        api_key: the key of the server at `base_url`, if it wants one.
        base_url: the API of a llama.cpp server that already runs with the same template; None starts one.
        options: how to answer, where a request does not say otherwise. The defaults are temperature 0 and 512 tokens.
        retry: how often and how patiently a failed call is made again; None takes the defaults of `RetryPolicy`.
        stall_timeout: seconds without content after which a call fails; None takes 300.
        http_client: an `httpx.AsyncClient` to make the calls with; it stays yours, and ties the model to its loop.

    Raises:
        ConfigurationError: there is no such model.
        MissingExtraError: a part of it is not installed; the message holds the commands that install it.
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
    ) -> None:
        self._model = find_model(model_name)
        if base_url is None:
            self._model.locate_weights()
        self.model_name = model_name
        """The model."""
        self.provider = _PROFILE.name
        """The provider, as in front of the colon of a model id."""
        self.options = options or ModelOptions()
        """How to answer, where a request does not say otherwise."""
        self._server = SERVERS[model_name]
        self._base_url = base_url
        self._api_key = api_key
        self._retry = retry
        self._stall_timeout = stall_timeout
        self._http_client = http_client

    @property
    def output_support(self) -> OutputSupport:
        """Whether the server makes the model keep to `ModelOptions.output`: it does, in a request without tools."""
        return _PROFILE.output

    @property
    def server_url(self) -> str | None:
        """Where this process's server listens, for its `/slots`, `/health` and so on; None while it does not run."""
        return self._server.url

    async def stream(self, request: ModelRequest) -> AsyncGenerator[ModelChunk, None]:
        """Answer one request, chunk by chunk; closing the generator makes the server stop at once.

        Raises:
            ModelError: the call failed; what was yielded before stands.
            MissingExtraError: a part of the model has been removed.
        """
        request = prime(request)
        adapter = OpenAIChatModel(
            self.model_name,
            api_key=self._api_key,
            base_url=self._base_url or f"{await self._server.running()}/v1",
            options=default_options(request, self._model).merged(self.options),
            retry=self._retry,
            stall_timeout=self._stall_timeout,
            http_client=self._http_client,
            profile=_PROFILE,
        )
        async with contextlib.aclosing(adapter.stream(request)) as chunks:
            async for chunk in chunks:
                yield chunk

    def __repr__(self) -> str:
        return f"LocalModel({self.model_name!r})"
