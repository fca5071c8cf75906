from __future__ import annotations

import pytest

from agentscope_rx.errors import ConfigurationError
from agentscope_rx.model import OutputSupport
from agentscope_rx.model.profiles import DASHSCOPE, DEEPSEEK, OLLAMA, OLLAMA_NATIVE, OPENAI, PROFILES, ProviderProfile


@pytest.fixture(autouse=True)
def _no_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for profile in (*PROFILES.values(), OLLAMA_NATIVE):
        for variable in profile.key_variables + profile.url_variables:
            monkeypatch.delenv(variable, raising=False)


@pytest.mark.parametrize("profile", [OPENAI, DEEPSEEK, DASHSCOPE])
def test_key_and_url_come_from_the_environment(profile: ProviderProfile, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(profile.key_variables[0], " the-key\n")
    endpoint = profile.endpoint()
    assert (endpoint.base_url, endpoint.api_key, endpoint.is_vendor) == (profile.base_url, "the-key", True)
    monkeypatch.setenv(profile.url_variables[0], "http://127.0.0.1:9/v1/")
    endpoint = profile.endpoint()
    assert (endpoint.base_url, endpoint.api_key, endpoint.is_vendor) == ("http://127.0.0.1:9/v1", "the-key", False)


def test_arguments_go_before_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "theirs")
    monkeypatch.setenv("OPENAI_BASE_URL", "http://theirs")
    endpoint = OPENAI.endpoint("mine", "http://mine/v1")
    assert (endpoint.base_url, endpoint.api_key) == ("http://mine/v1", "mine")


@pytest.mark.parametrize("url", [None, "https://api.deepseek.com", "https://api.deepseek.com/beta/"])
def test_the_providers_own_api_needs_a_key(url: str | None) -> None:
    with pytest.raises(ConfigurationError, match="DEEPSEEK_API_KEY"):
        DEEPSEEK.endpoint(base_url=url)


def test_another_server_needs_none() -> None:
    assert OPENAI.endpoint(base_url="http://127.0.0.1:8000/v1").api_key is None
    assert OLLAMA.endpoint().api_key is None


@pytest.mark.parametrize("url", [None, "http://gpu:11434", "https://ollama.com"])
def test_every_server_of_a_provider_that_users_run_is_its_own(url: str | None) -> None:
    endpoint = OLLAMA_NATIVE.endpoint(base_url=url)
    assert (endpoint.api_key, endpoint.is_vendor) == (None, True)
    assert OLLAMA_NATIVE.endpoint("key", url).api_key == "key"
    assert OLLAMA_NATIVE.served_at(endpoint).output is OutputSupport.ALONE


@pytest.mark.parametrize("key", ["sk-ключ", "sk-a\nsk-b", "sk-\x00"])
def test_a_key_that_cannot_be_one_is_refused_and_not_shown(key: str) -> None:
    with pytest.raises(ConfigurationError, match="copy it again") as caught:
        OPENAI.endpoint(key)
    assert "sk-" not in str(caught.value)


@pytest.mark.parametrize(
    "url", ["api.example.com/v1", "ftp://example.com", "http://", "http://x:port/v1", "http://[::1"]
)
def test_a_base_url_that_is_none_is_refused(url: str) -> None:
    with pytest.raises(ConfigurationError, match="base URL for openai"):
        OPENAI.endpoint("key", url)


@pytest.mark.parametrize(
    ("host", "url"),
    [
        ("", "http://127.0.0.1:11434/v1"),
        ("0.0.0.0", "http://127.0.0.1:11434/v1"),
        ("192.168.1.5", "http://192.168.1.5:11434/v1"),
        (":8080", "http://127.0.0.1:8080/v1"),
        ("gpu:8080", "http://gpu:8080/v1"),
        ("[::1]:8080", "http://[::1]:8080/v1"),
        ("http://gpu:8080", "http://gpu:8080/v1"),
        ("https://ollama.example", "https://ollama.example/v1"),
        ("https://ollama.example/api/v1/", "https://ollama.example/api/v1"),
    ],
)
def test_ollama_host_may_leave_things_out(host: str, url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OLLAMA_HOST", host)
    assert OLLAMA.endpoint().base_url == url


def test_the_key_is_not_shown() -> None:
    assert "secret" not in repr(OPENAI.endpoint("secret"))
