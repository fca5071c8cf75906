"""Model calls by way of a proxy: of the environment, or of the user's own client; and around it on this machine."""

from __future__ import annotations

from importlib.util import find_spec

import httpx
import pytest

from agentscope_rx.errors import ConfigurationError, MissingExtraError, ModelHTTPError
from agentscope_rx.model import NO_RETRY, OpenAIChatModel

from .calling import outcome_of, run
from .loopback import Exchange, Server, serving
from .openai_chat.decoding import DONE, STOP, delta, sse

KEY = "sk-test-1234567890"
WHOLE = sse(delta(content="Hello"), STOP, DONE)
VARIABLES = ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY")


@pytest.fixture(autouse=True)
def _no_proxies(monkeypatch: pytest.MonkeyPatch) -> None:
    for variable in VARIABLES:
        monkeypatch.delenv(variable, raising=False)
        monkeypatch.delenv(variable.lower(), raising=False)


async def answer(exchange: Exchange) -> None:
    """Answer as the server would; a proxy on loopback is one that does."""
    await exchange.respond(WHOLE)


async def refuse(exchange: Exchange) -> None:
    await exchange.respond(b"", 403)


def origin(server: Server) -> str:
    return server.url.removesuffix("/v1")


def paths(server: Server) -> list[str]:
    return [exchange.path for exchange in server.exchanges]


def model(base_url: str, http_client: httpx.AsyncClient | None = None) -> OpenAIChatModel:
    return OpenAIChatModel("m", api_key=KEY, base_url=base_url, retry=NO_RETRY, http_client=http_client)


@pytest.mark.parametrize("variable", ["HTTP_PROXY", "http_proxy", "ALL_PROXY"])
def test_a_proxy_of_the_environment_carries_the_calls_over_one_connection(
    variable: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def main() -> None:
        async with serving(answer) as proxy:
            monkeypatch.setenv(variable, origin(proxy))
            chat = model("http://models.example/v1")
            for _ in range(2):
                assert (await outcome_of(chat)).text == "Hello"
            assert paths(proxy) == ["http://models.example/v1/chat/completions"] * 2
            assert proxy.connections == 1

    run(main())


def test_a_tunnel_that_the_proxy_refuses_is_an_error_without_its_password(monkeypatch: pytest.MonkeyPatch) -> None:
    async def main() -> None:
        async with serving(refuse) as proxy:
            monkeypatch.setenv("HTTPS_PROXY", origin(proxy).replace("//", "//me:hunter2secret@"))
            error = (await outcome_of(model("https://models.example/v1"))).error
            assert isinstance(error, ModelHTTPError)
            assert (error.status, "ProxyError" in str(error), "hunter2secret" in str(error)) == (None, True, False)
            assert paths(proxy) == ["models.example:443"]

    run(main())


def test_no_proxy_is_heeded(monkeypatch: pytest.MonkeyPatch) -> None:
    async def main() -> None:
        async with serving(answer) as proxy, serving(answer) as server:
            monkeypatch.setenv("HTTP_PROXY", origin(proxy))
            chat = model(server.url.replace("127.0.0.1", "0.0.0.0"))
            monkeypatch.setenv("NO_PROXY", "0.0.0.0")
            assert (await outcome_of(chat)).text == "Hello"
            assert (len(server.exchanges), paths(proxy)) == (1, [])

    run(main())


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost"])
def test_what_runs_on_this_machine_is_called_directly(host: str, monkeypatch: pytest.MonkeyPatch) -> None:
    async def main() -> None:
        async with serving(answer) as proxy, serving(answer) as server:
            monkeypatch.setenv("HTTP_PROXY", origin(proxy))
            monkeypatch.setenv("ALL_PROXY", origin(proxy))
            assert (await outcome_of(model(server.url.replace("127.0.0.1", host)))).text == "Hello"
            assert (len(server.exchanges), paths(proxy)) == (1, [])

    run(main())


def test_a_proxy_of_the_users_own_client_is_used(monkeypatch: pytest.MonkeyPatch) -> None:
    async def main() -> None:
        async with serving(answer) as proxy, httpx.AsyncClient(proxy=origin(proxy)) as client:
            monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")
            assert (await outcome_of(model("http://models.example/v1", client))).text == "Hello"
            assert paths(proxy) == ["http://models.example/v1/chat/completions"]

    run(main())


@pytest.mark.parametrize(
    ("url", "error", "said"),
    [
        ("gopher://127.0.0.1:9", ConfigurationError, "check HTTP_PROXY, HTTPS_PROXY and ALL_PROXY"),
        pytest.param(
            *("socks5://me:hunter2secret@127.0.0.1:9", MissingExtraError, r"httpx\[socks\]"),
            marks=pytest.mark.skipif(find_spec("socksio") is not None, reason="SOCKS proxies can be used here"),
        ),
    ],
)
def test_a_proxy_that_cannot_be_used_is_a_configuration_error(
    url: str, error: type[Exception], said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def main() -> None:
        monkeypatch.setenv("ALL_PROXY", url)
        with pytest.raises(error, match=said) as caught:
            await outcome_of(model("http://models.example/v1"))
        assert "hunter2secret" not in str(caught.value)

    run(main())
