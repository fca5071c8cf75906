"""The context of one call."""

from __future__ import annotations

from typing import Any

import pytest

from agentscope_rx.context import RuntimeContext
from agentscope_rx.errors import ConfigurationError


class Database:
    pass


def test_a_context_names_a_session_and_a_user() -> None:
    context = RuntimeContext(session_id="s", user_id="u")
    assert (context.session_id, context.user_id) == ("s", "u")
    assert (RuntimeContext().session_id, RuntimeContext().user_id) == (None, None)


def test_attributes_are_kept_by_key() -> None:
    context = RuntimeContext(tenant=7).put("colour", "red")
    assert (context.get("tenant"), context.get("colour")) == (7, "red")
    assert context.get("missing") is None
    assert context.get("missing", 5) == 5


def test_objects_are_kept_by_type() -> None:
    database = Database()
    assert RuntimeContext().put(database).get(Database) is database
    assert RuntimeContext().put(object, database).get(object) is database
    assert RuntimeContext().get(Database) is None
    assert RuntimeContext(database=database).types() == frozenset()
    assert RuntimeContext(x=1).put(database).put(int, 5).types() == {Database, int}


def test_none_and_false_are_values_too() -> None:
    assert RuntimeContext(flag=False).get("flag", True) is False
    assert RuntimeContext().put("nothing", None).get("nothing", 5) is None


def test_a_key_is_a_string_or_a_type() -> None:
    key: Any = 5
    with pytest.raises(ConfigurationError, match="a string or a type, got int"):
        RuntimeContext().put(key, "x")


def test_a_repr_shows_no_values() -> None:
    shown = repr(RuntimeContext(session_id="s", token="SECRET").put(Database, "SECRET"))
    assert shown == "RuntimeContext(session_id='s', user_id=None, attributes=[Database, token])"
