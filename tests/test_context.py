from __future__ import annotations

from typing import Any

import pytest

from agentscope_rx.context import RuntimeContext
from agentscope_rx.errors import ConfigurationError


class Base: ...


class Derived(Base): ...


def test_attributes_are_kept_by_key_and_by_type():
    thing = Derived()
    context = RuntimeContext("s", "u", tenant=7).put("other", None).put(thing).put(Base, thing)
    assert (context.session_id, context.user_id) == ("s", "u")
    assert (context.get("tenant"), context.get("other", 1), context.get("absent", 2)) == (7, None, 2)
    assert context.get(Derived) is context.get(Base) is thing
    assert context.get(int) is None
    assert context.types() == {Base, Derived}


def test_a_value_may_be_none_and_a_type():
    assert RuntimeContext().put(Base, None).types() == {Base}
    assert RuntimeContext().put("cls", Base).get("cls") is Base


@pytest.mark.parametrize("key", [1, None, ("a",)])
def test_a_key_is_a_string_or_a_type(key: Any):
    context = RuntimeContext()
    with pytest.raises(ConfigurationError, match=f"a string or a type, got {type(key).__name__}"):
        context.put(key, 1)
    assert context.types() == frozenset()


def test_its_form_for_people_shows_no_values():
    context = RuntimeContext("s", key="secret").put(Derived())
    assert repr(context) == "RuntimeContext(session_id='s', user_id=None, attributes=[Derived, key])"
