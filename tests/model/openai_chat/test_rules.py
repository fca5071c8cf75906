"""Every history as a chat request, by the rules of the API."""

from __future__ import annotations

import pytest
from hypothesis import given

from agentscope_rx.message import Msg
from agentscope_rx.model import ModelRequest
from agentscope_rx.model.openai_chat import encode_request
from agentscope_rx.model.profiles import DEEPSEEK, OPENAI, ProviderProfile

from ..histories import HISTORIES, random_histories
from ..rules import CHAT, violations


@pytest.mark.parametrize("profile", [OPENAI, DEEPSEEK], ids=lambda profile: profile.name)
@pytest.mark.parametrize("name", HISTORIES)
def test_whatever_happened_the_api_accepts_it(name: str, profile: ProviderProfile) -> None:
    assert violations(CHAT, encode_request("m", ModelRequest(HISTORIES[name]), profile)) == []


@given(random_histories())
def test_whatever_may_ever_happen_the_api_accepts_it(history: list[Msg]) -> None:
    assert violations(CHAT, encode_request("m", ModelRequest(history))) == []
