"""How a model should answer: every option, to every provider."""

from __future__ import annotations

import json
from dataclasses import fields
from typing import Any

import pytest

from agentscope_rx.message import UserMessage
from agentscope_rx.model import NO_RETRY, ModelOptions, ModelRequest, ToolSchema, providers

from .calling import outcome_of, run
from .loopback import Exchange, serving

TOOLS = [
    ToolSchema(name=name, description="", parameters={"type": "object", "properties": {}}) for name in ("add", "sub")
]
WIRE = [provider for provider in providers() if provider.profile is not None]

CANNOT_REQUIRE = {"dashscope-native", "ollama-native"}
"""Those whose API has no word for it."""

every_provider = pytest.mark.parametrize("provider", WIRE, ids=lambda provider: provider.name)


def sent(provider: Any, **options: Any) -> dict[str, Any]:
    """What a server is sent, options of the model itself included."""
    temperature = options.pop("temperature", None)

    async def refuse(exchange: Exchange) -> None:
        await exchange.respond(b"{}", 400, "application/json")

    async def main() -> Any:
        async with serving(refuse) as server:
            chat = provider.make(
                provider.example,
                api_key="k",
                base_url=server.url,
                retry=NO_RETRY,
                options=ModelOptions(temperature=temperature),
            )
            await outcome_of(chat, ModelRequest([UserMessage("hi")], TOOLS, ModelOptions(**options)))
            return server.exchanges[0].body

    body: dict[str, Any] = run(main())
    return body


@every_provider
@pytest.mark.parametrize("options", [{"temperature": 0.375}, {"max_tokens": 4321}, {"reasoning_effort": "high"}])
def test_every_option_reaches_every_provider(provider: Any, options: dict[str, Any]) -> None:
    body = sent(provider, **options)
    assert body != sent(provider)
    [value] = options.values()
    if not isinstance(value, str):
        assert json.dumps(value) in json.dumps(body)


@every_provider
def test_a_tool_choice_reaches_every_provider(provider: Any) -> None:
    choices = ("auto", "none", "sub", *(["required"] if provider.name not in CANNOT_REQUIRE else []))
    bodies = {choice: json.dumps(sent(provider, tool_choice=choice)) for choice in choices}
    assert len(set(bodies.values())) == len(bodies)


@every_provider
def test_an_extra_body_has_the_last_word_with_every_provider(provider: Any) -> None:
    body = sent(provider, max_tokens=4321)
    extra = {"model": "mine", "brand_new": {"x": 1}}
    assert sent(provider, max_tokens=4321, extra_body=extra) == {**body, **extra}


def test_options_go_over_others_field_by_field() -> None:
    mine = ModelOptions(temperature=0.1, max_tokens=1, extra_body={"a": 1, "b": 1})
    theirs = ModelOptions(temperature=0.0, tool_choice="none", reasoning_effort="low", extra_body={"b": 2})
    merged = mine.merged(theirs)
    assert (merged.temperature, merged.max_tokens, merged.tool_choice, merged.reasoning_effort) == (
        0.0,
        1,
        "none",
        "low",
    )
    assert merged.extra_body == {"a": 1, "b": 2}
    assert mine.merged(None) == mine


@pytest.mark.parametrize("name", [field.name for field in fields(ModelOptions)])
def test_no_field_is_forgotten(name: str) -> None:
    value = {"extra_body": {"x": 1}}.get(name, object())
    options = ModelOptions(**{name: value})
    assert getattr(ModelOptions().merged(options), name) == value
    assert getattr(options.merged(ModelOptions()), name) == value
