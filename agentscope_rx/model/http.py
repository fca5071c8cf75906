"""HTTP: a JSON request goes out, the bytes of a streamed response come in. The only module that knows httpx.

To use another HTTP client, write `post` with it.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import ssl
from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Any, TypeAlias

import httpx

from ..errors import ConfigurationError, MissingExtraError, ModelHTTPError, ModelStreamError, ModelTruncatedError
from ..stream import LoopLocal, SSEParser
from .failures import Failure, Mask, read_failure
from .retry import parse_retry_after

__all__ = ["HttpClient", "HttpRequest", "post"]

HttpClient: TypeAlias = httpx.AsyncClient
"""The type of `http_client`. The client belongs to whoever made it, and works on one event loop."""

_TIMEOUT = httpx.Timeout(connect=10.0, read=None, write=60.0, pool=None)
"""Reads have no limit of their own: the stall watchdog rules them, and it knows what content is."""
_HTTPX_DEFAULT_TIMEOUT = httpx.Timeout(5.0)
_LIMITS = httpx.Limits(max_connections=None, max_keepalive_connections=20)
_THIS_MACHINE = ("all://localhost", "all://127.0.0.1", "all://[::1]")
"""No proxy of the environment reaches what runs here."""
_MAX_ERROR_BYTES = 64 * 1024
_ERROR_BODY_SECONDS = 5.0
_MAX_RECEIVED_CHUNKS = 10_000


@dataclass(frozen=True, slots=True)
class HttpRequest:
    """One POST of a JSON body to a model server."""

    url: str
    """Where to."""
    body: Mapping[str, Any]
    """The JSON body."""
    headers: Mapping[str, str] = field(repr=False)
    """Headers besides those of the content; they may hold a key."""
    mask: Mask = field(repr=False)
    """Makes the server's text fit to be shown."""


@cache
def _ssl_context() -> ssl.SSLContext:
    """Reading the certificates takes most of the time that it takes to make a client; every loop shares them."""
    return httpx.create_ssl_context()


def _new_client() -> httpx.AsyncClient:
    mounts: dict[str, httpx.AsyncBaseTransport | None] = dict.fromkeys(_THIS_MACHINE)
    try:
        return httpx.AsyncClient(verify=_ssl_context(), timeout=_TIMEOUT, limits=_LIMITS, mounts=mounts)
    except ImportError:
        raise MissingExtraError("a SOCKS proxy", 'pip install "httpx[socks]"') from None
    except ValueError:
        raise ConfigurationError(
            "a proxy of the environment is none that HTTP requests can be sent by; check HTTP_PROXY, HTTPS_PROXY and "
            "ALL_PROXY, which are URLs that start with http://, https:// or socks5://"
        ) from None


_clients: LoopLocal[httpx.AsyncClient] = LoopLocal(_new_client, httpx.AsyncClient.aclose)
"""One client, and so one pool of connections, for each running loop; proxies are those of the environment, except for
what runs on this machine."""


async def post(request: HttpRequest, client: HttpClient | None = None) -> AsyncGenerator[bytes, None]:
    """Send the request and yield the body of the response as it comes. Closing the generator closes the response.

    Args:
        request: what to send.
        client: the client to send it with; None takes the one of the running loop.

    Raises:
        ConfigurationError: the URL, a header or the body cannot be sent, or a proxy of the environment cannot be used.
        ModelHTTPError: no connection (`status` is None), or a response that is not a success.
        ModelTruncatedError: the body broke off.
        ModelStreamError: the body cannot be decompressed.
    """
    if client is None:
        client = _clients.get()
    responded = False
    try:
        async with client.stream(
            "POST",
            request.url,
            content=_encode(request.body),
            headers={
                "Content-Type": "application/json",
                "Accept": "text/event-stream",
                "Accept-Encoding": "identity",
                **request.headers,
            },
            # A client that was left at httpx's default would end every answer that starts after five seconds.
            timeout=_TIMEOUT if client.timeout == _HTTPX_DEFAULT_TIMEOUT else client.timeout,
        ) as response:
            responded = True
            if not response.is_success:
                raise await _refusal(response, request.mask)
            body = _body(response)
            try:
                async for chunk in body:
                    yield chunk
            except (GeneratorExit, asyncio.CancelledError):
                await _unwind(response, body)
                raise
    except (httpx.InvalidURL, httpx.UnsupportedProtocol, httpx.LocalProtocolError) as error:
        raise ConfigurationError(
            f"a request to {_origin(request.url)} cannot be made ({type(error).__name__}); "
            "check base_url, which must start with http:// or https://, and the key"
        ) from None
    except httpx.DecodingError as error:
        raise ModelStreamError(f"the body from {_origin(request.url)} cannot be decompressed") from error
    except httpx.RequestError as error:
        if responded:
            raise ModelTruncatedError(
                f"the connection to {_origin(request.url)} broke in the middle of the answer ({_reason(error)})"
            ) from None
        raise ModelHTTPError(
            f"no answer from {_origin(request.url)} ({_reason(error)}); check that the server runs and can be reached"
        ) from None


def _body(response: httpx.Response) -> AsyncIterator[bytes]:
    """Read the body; one that is not encoded as it comes, because decoding nothing costs more than parsing it."""
    stream = response.stream
    plain = "Content-Encoding" not in response.headers and not response.is_stream_consumed  # by a hook of the client
    return aiter(stream) if plain and isinstance(stream, httpx.AsyncByteStream) else response.aiter_bytes()


def _encode(body: Mapping[str, Any]) -> bytes:
    try:
        text = json.dumps(body, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    except (TypeError, ValueError) as error:
        raise ConfigurationError(
            f"the request cannot be written as JSON ({error}); check the options, extra_body and the schemas of tools"
        ) from None
    return text.encode("utf-8", "replace")


async def _unwind(response: httpx.Response, body: AsyncIterator[bytes]) -> None:
    """Close the response, and with it the generators that httpx reads it through, one inside the other.

    To close the outermost would leave the inner ones to the garbage collector, which starts a task for each of them. A
    read from a closed connection ends them all, as soon as what has been received before is used up.
    """
    await response.aclose()
    with contextlib.suppress(httpx.RequestError, StopAsyncIteration):
        for _ in range(_MAX_RECEIVED_CHUNKS):
            await anext(body)


def _origin(url: str) -> str:
    """Scheme, host and port: a URL may hold a password, and a query a key."""
    try:
        parsed = httpx.URL(url)
    except httpx.InvalidURL:
        return "the base URL"
    return f"{parsed.scheme}://{parsed.netloc.decode('ascii')}"


def _reason(error: httpx.RequestError) -> str:
    """Name the error; only one of the network comes in words of this machine, others quote what the peer sent."""
    said = str(error) if isinstance(error, httpx.NetworkError) else ""
    return f"{type(error).__name__}: {said}" if said else type(error).__name__


async def _refusal(response: httpx.Response, mask: Mask) -> ModelHTTPError:
    failure = _parse(await _beginning(response)).masked(mask)
    described = failure.describe() or mask(response.reason_phrase)
    return ModelHTTPError(
        f"{_origin(str(response.url))} answered HTTP {response.status_code}" + (f": {described}" if described else ""),
        status=response.status_code,
        kind=failure.kind,
        retry_after=parse_retry_after(response.headers.get("Retry-After")),
    )


async def _beginning(response: httpx.Response) -> bytes:
    """Read what comes soon of an error body; a server that cannot even finish it has said enough with its status."""
    parts: list[bytes] = []
    size = 0
    with contextlib.suppress(httpx.RequestError, TimeoutError):
        async with asyncio.timeout(_ERROR_BODY_SECONDS):
            async for part in response.aiter_bytes():
                parts.append(part)
                size += len(part)
                if size >= _MAX_ERROR_BYTES:
                    break
    return b"".join(parts)[:_MAX_ERROR_BYTES]


def _parse(body: bytes) -> Failure:
    """Read JSON, or an event stream: some servers put even a refusal into one, whatever type they say that it has."""
    with contextlib.suppress(ModelStreamError):
        parser = SSEParser()
        texts: list[str | bytes] = [body, *(event.data for event in (*parser.feed(body), *parser.flush()))]
        for text in texts:
            with contextlib.suppress(ValueError, RecursionError):
                return read_failure(json.loads(text)) or Failure()
    return Failure()
