from __future__ import annotations

import subprocess
import sys
from collections.abc import AsyncIterator

import pytest

import agentscope_rx.model
from agentscope_rx import ReActAgent
from agentscope_rx.errors import ConfigurationError
from agentscope_rx.model import (
    ChatModel,
    ModelChunk,
    ModelOptions,
    ModelRequest,
    OpenAIChatModel,
    ProviderProfile,
    RetryPolicy,
    providers,
    register_provider,
    registry,
    resolve_model,
)


@pytest.fixture(autouse=True)
def _keys(monkeypatch: pytest.MonkeyPatch) -> None:
    for provider in ("OPENAI", "DEEPSEEK", "DASHSCOPE"):
        monkeypatch.setenv(f"{provider}_API_KEY", "key")
        monkeypatch.delenv(f"{provider}_BASE_URL", raising=False)
    for variable in ("OPENAI_API_BASE", "OLLAMA_HOST", "OLLAMA_BASE_URL"):
        monkeypatch.delenv(variable, raising=False)


class Parrot:
    """A model of the user's own."""

    model_name = "parrot"

    async def stream(self, request: ModelRequest) -> AsyncIterator[ModelChunk]:
        yield ModelChunk()


@pytest.mark.parametrize(
    ("model_id", "name", "url"),
    [
        ("openai:gpt-4o-mini", "gpt-4o-mini", "https://api.openai.com/v1"),
        ("deepseek:deepseek-chat", "deepseek-chat", "https://api.deepseek.com/v1"),
        ("dashscope:qwen-plus", "qwen-plus", "https://dashscope.aliyuncs.com/compatible-mode/v1"),
        ("ollama:qwen3:0.6b", "qwen3:0.6b", "http://127.0.0.1:11434/v1"),
        ("openai:ft:gpt-4o:org::id", "ft:gpt-4o:org::id", "https://api.openai.com/v1"),
    ],
)
def test_ids(model_id: str, name: str, url: str) -> None:
    model = resolve_model(model_id)
    assert isinstance(model, OpenAIChatModel)
    assert (model.model_name, model.base_url) == (name, url)


def test_ids_of_other_protocols(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "key")
    monkeypatch.delenv("ANTHROPIC_BASE_URL", raising=False)
    assert repr(resolve_model("anthropic:claude")) == "AnthropicModel('claude', base_url='https://api.anthropic.com')"
    assert repr(resolve_model("openai-responses:gpt-5")) == (
        "OpenAIResponsesModel('gpt-5', base_url='https://api.openai.com/v1')"
    )


def test_settings_are_passed_on() -> None:
    options = ModelOptions(temperature=0.1)
    model = resolve_model(
        "openai:x", api_key="k", base_url="http://127.0.0.1:1/v1", options=options, retry=RetryPolicy(), stall_timeout=1
    )
    assert isinstance(model, OpenAIChatModel)
    assert (model.base_url, model.options) == ("http://127.0.0.1:1/v1", options)


def test_a_model_is_returned_as_it_is() -> None:
    parrot = Parrot()
    assert isinstance(parrot, ChatModel)
    assert resolve_model(parrot) is parrot
    with pytest.raises(ConfigurationError, match="api_key"):
        resolve_model(parrot, api_key="k")


@pytest.mark.parametrize("model_id", ["", "gpt-4o", "openai:", ":x", "OpenAI:x", "mystery:x"])
def test_what_is_no_id_is_refused_with_the_known_providers(model_id: str) -> None:
    with pytest.raises(ConfigurationError, match=r"anthropic, dashscope.*, deepseek, gemini, local, ollama.*, openai"):
        resolve_model(model_id)


def test_what_is_no_model_is_refused() -> None:
    with pytest.raises(ConfigurationError, match="got int"):
        resolve_model(3)  # type: ignore[arg-type]


def test_a_missing_key_names_its_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY")
    with pytest.raises(ConfigurationError, match="OPENAI_API_KEY"):
        resolve_model("openai:gpt-4o-mini")


@pytest.fixture
def _registry(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry, "_providers", dict(registry._providers))


GROQ = ProviderProfile(
    name="groq",
    base_url="https://api.groq.com/openai/v1",
    key_variables=("GROQ_API_KEY",),
    url_variables=("GROQ_BASE_URL",),
)


@pytest.mark.usefixtures("_registry")
def test_a_provider_of_the_users_own_takes_its_key_and_its_url_from_its_variables(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv("GROQ_API_KEY", raising=False)
    register_provider("groq", OpenAIChatModel, GROQ, example="llama")
    with pytest.raises(ConfigurationError, match="groq needs a key: set the environment variable GROQ_API_KEY"):
        resolve_model("groq:llama")
    monkeypatch.setenv("GROQ_API_KEY", "key")
    monkeypatch.setenv("GROQ_BASE_URL", "http://127.0.0.1:1/v1")
    model = resolve_model("groq:llama", options=ModelOptions(temperature=0.1))
    assert repr(model) == "OpenAIChatModel('llama', base_url='http://127.0.0.1:1/v1')"
    assert isinstance(model, OpenAIChatModel)
    assert (model.provider, model.options.temperature) == ("groq", 0.1)
    assert [(p.name, p.example, p.problem) for p in providers() if p.name == "groq"] == [("groq", "llama", None)]


@pytest.mark.usefixtures("_registry")
def test_a_provider_may_be_any_function_and_replace_another() -> None:
    register_provider("openai", lambda name, **settings: Parrot())
    assert isinstance(resolve_model("openai:x"), Parrot)
    assert repr(ReActAgent("friday", "openai:x")) == "ReActAgent(name='friday', model='parrot')"


@pytest.mark.parametrize("name", ["", "a:b", "a b", "a\n"])
def test_a_provider_has_a_name_that_an_id_can_begin_with(name: str) -> None:
    with pytest.raises(ConfigurationError, match="a word without a colon"):
        register_provider(name, Parrot)


def test_a_model_can_be_made_of_every_example(monkeypatch: pytest.MonkeyPatch) -> None:
    for provider in providers():
        for variable in provider.profile.key_variables if provider.profile else ():
            monkeypatch.setenv(variable, "key")
        if provider.name != "local":
            assert provider.problem is None
            assert provider.make(provider.example).model_name == provider.example


def test_everything_exported_is_there() -> None:
    for name in agentscope_rx.model.__all__:
        assert getattr(agentscope_rx.model, name) is not None
    assert dir(agentscope_rx.model) == sorted(agentscope_rx.model.__all__)
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        agentscope_rx.model.nothing  # noqa: B018


def test_the_types_load_without_the_http_client() -> None:
    code = "import sys; from agentscope_rx.model import ModelChunk; sys.exit('httpx' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
