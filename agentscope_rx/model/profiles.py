"""Providers, as data: where they are, where their keys are, how those that speak the OpenAI Chat protocol differ."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from urllib.parse import urlsplit

from ..errors import ConfigurationError
from .types import OutputSupport

__all__ = [
    "ANTHROPIC",
    "DASHSCOPE",
    "DASHSCOPE_NATIVE",
    "DEEPSEEK",
    "GEMINI",
    "OLLAMA",
    "OLLAMA_NATIVE",
    "OPENAI",
    "PROFILES",
    "Endpoint",
    "ProviderProfile",
    "set_variable",
]


@dataclass(frozen=True, slots=True)
class Endpoint:
    """Where requests go."""

    base_url: str
    """The API, without a slash at the end."""
    api_key: str | None = field(default=None, repr=False)
    """The key, None when there is none."""
    is_vendor: bool = False
    """Whether this is the provider's own API, not another server that speaks its protocol."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ProviderProfile:
    """One provider."""

    name: str
    """The name in front of the colon of a model id."""
    base_url: str
    """The provider's own API."""
    key_variables: tuple[str, ...] = ()
    """Environment variables that may hold the key, the first that is set counts; empty when there are no keys."""
    self_hosted: bool = False
    """Whether its users run it, so that every server is the provider's own, and few need a key."""
    url_variables: tuple[str, ...] = ()
    """Environment variables that may hold another base URL; the first that is set counts."""
    completes_url: bool = False
    """Whether a base URL may leave out the scheme, the host, the port and the path."""
    max_tokens_field: str = "max_tokens"
    """The field of the token limit at the provider's own API; any other server is sent `max_tokens`."""
    names_speakers: bool = False
    """Whether the provider's own API is told who speaks; other servers ignore it at best, and some refuse it."""
    replays_reasoning: bool = False
    """Whether assistant turns with tool calls must carry `reasoning_content`, even when it is empty."""
    output: OutputSupport = OutputSupport.NONE
    """Whether the provider's own API makes a model keep to an output format; any other server is not trusted to."""
    forces_tool_by_name: bool = True
    """Whether the server obeys a tool choice that names a tool; to others only that tool is sent, as required."""

    def endpoint(self, api_key: str | None = None, base_url: str | None = None) -> Endpoint:
        """Return where to send requests, and with which key: what is given, else what the environment says.

        Raises:
            ConfigurationError: the URL is not one of HTTP, the key cannot be a key, or it is missing and the
                provider's own API needs one.
        """
        url = self.url(base_url)
        key = (api_key or _first_set(self.key_variables)).strip()
        is_vendor = self.self_hosted or urlsplit(url).hostname == urlsplit(self.base_url).hostname
        if not key and self.key_variables and is_vendor and not self.self_hosted:
            raise ConfigurationError(
                f"{self.name} needs a key: set the environment variable {' or '.join(self.key_variables)}, "
                "or pass api_key="
            )
        if not (key.isascii() and key.isprintable()):
            raise ConfigurationError(f"the key for {self.name} holds characters that no key has; copy it again")
        return Endpoint(url, key or None, is_vendor)

    def served_at(self, endpoint: Endpoint) -> ProviderProfile:
        """Return what is special about the server at an endpoint: of any but the provider's own, little is known."""
        if endpoint.is_vendor:
            return self
        return replace(self, max_tokens_field="max_tokens", names_speakers=False, output=OutputSupport.NONE)

    def url(self, base_url: str | None = None) -> str:
        """Return where the API is: what is given, else what the environment says, else the provider's own.

        Raises:
            ConfigurationError: it is not a URL of HTTP.
        """
        url = (base_url or _first_set(self.url_variables) or self.base_url).strip().rstrip("/")
        try:
            if self.completes_url:
                url = _completed(url, self.base_url)
            parts = urlsplit(url)
            if parts.scheme in ("http", "https") and parts.hostname and (parts.port is None or parts.port > 0):
                return url
        except ValueError:
            pass
        raise ConfigurationError(
            f"the base URL for {self.name} is not one of HTTP; expected something like {self.base_url}"
        )


def _completed(url: str, default: str) -> str:
    """Fill in what `url` leaves out; the default port belongs to a URL without a scheme only."""
    given, base = urlsplit(url if "://" in url else f"//{url}"), urlsplit(default)
    host = given.hostname if given.hostname not in (None, "", "0.0.0.0") else base.hostname
    port = given.port or (None if given.scheme else base.port)
    netloc = (f"[{host}]" if host and ":" in host else host or "") + (f":{port}" if port else "")
    return f"{given.scheme or base.scheme}://{netloc}{given.path or base.path}"


def set_variable(variables: Iterable[str]) -> str | None:
    """Return the first of these environment variables that holds something, None when none does."""
    return next((variable for variable in variables if os.environ.get(variable, "").strip()), None)


def _first_set(variables: Iterable[str]) -> str:
    variable = set_variable(variables)
    return "" if variable is None else os.environ[variable].strip()


OPENAI = ProviderProfile(
    name="openai",
    base_url="https://api.openai.com/v1",
    key_variables=("OPENAI_API_KEY",),
    url_variables=("OPENAI_BASE_URL", "OPENAI_API_BASE"),
    max_tokens_field="max_completion_tokens",
    names_speakers=True,
    output=OutputSupport.BESIDE_TOOLS,
)
"""OpenAI, and any server that speaks its protocol and has no profile of its own."""

DEEPSEEK = ProviderProfile(
    name="deepseek",
    base_url="https://api.deepseek.com/v1",
    key_variables=("DEEPSEEK_API_KEY",),
    url_variables=("DEEPSEEK_BASE_URL",),
    names_speakers=True,
    replays_reasoning=True,
)
"""DeepSeek."""

OLLAMA = ProviderProfile(
    name="ollama",
    base_url="http://127.0.0.1:11434/v1",
    self_hosted=True,
    url_variables=("OLLAMA_BASE_URL", "OLLAMA_HOST"),
    completes_url=True,
    output=OutputSupport.ALONE,
    forces_tool_by_name=False,
)
"""Ollama, at its OpenAI-compatible endpoint."""

DASHSCOPE = ProviderProfile(
    name="dashscope",
    base_url="https://dashscope.aliyuncs.com/compatible-mode/v1",
    key_variables=("DASHSCOPE_API_KEY",),
    url_variables=("DASHSCOPE_BASE_URL",),
)
"""Alibaba Cloud Model Studio (DashScope), in its compatible mode."""

ANTHROPIC = ProviderProfile(
    name="anthropic",
    base_url="https://api.anthropic.com",
    key_variables=("ANTHROPIC_API_KEY",),
    url_variables=("ANTHROPIC_BASE_URL",),
)
"""Anthropic, which speaks a protocol of its own."""

GEMINI = ProviderProfile(
    name="gemini",
    base_url="https://generativelanguage.googleapis.com",
    key_variables=("GEMINI_API_KEY", "GOOGLE_API_KEY"),
    url_variables=("GOOGLE_GEMINI_BASE_URL",),
    output=OutputSupport.ALONE,
)
"""Google, whose Gemini API is a protocol of its own."""

OLLAMA_NATIVE = ProviderProfile(
    name="ollama-native",
    base_url="http://127.0.0.1:11434",
    key_variables=("OLLAMA_API_KEY",),
    self_hosted=True,
    url_variables=("OLLAMA_HOST",),
    completes_url=True,
    output=OutputSupport.ALONE,
)
"""Ollama, by its own protocol; a key is what its cloud wants."""

DASHSCOPE_NATIVE = ProviderProfile(
    name="dashscope-native",
    base_url="https://dashscope.aliyuncs.com/api/v1",
    key_variables=("DASHSCOPE_API_KEY",),
    url_variables=("DASHSCOPE_HTTP_BASE_URL",),
)
"""Alibaba Cloud Model Studio (DashScope), by its own protocol."""

PROFILES = {profile.name: profile for profile in (OPENAI, DEEPSEEK, OLLAMA, DASHSCOPE)}
"""Those that speak the OpenAI Chat protocol, by name."""
