"""The error tree."""

from __future__ import annotations

import inspect
import re
from typing import Any

import pytest

from agentscope_rx import errors
from agentscope_rx.errors import AgentScopeError, MissingExtraError, ModelHTTPError, ModelStallError, ModelStreamError

CLASSES = {name: value for name, value in vars(errors).items() if inspect.isclass(value)}


def drawn_tree() -> dict[str, str | None]:
    """The tree in the docstring: class -> the class it hangs from."""
    parents: dict[str, str | None] = {}
    path: list[str] = []
    for line in (errors.__doc__ or "").splitlines():
        if found := re.match(r"([│ ├└─]*)([A-Z]\w+)(\s{2,}|$)", line):
            depth, name = len(found[1]) // 4, found[2]
            path[depth:] = [name]
            parents[name] = path[depth - 1] if depth else None
    return parents


def test_the_drawn_tree_is_the_tree() -> None:
    real = {name: None if cls is AgentScopeError else cls.__bases__[0].__name__ for name, cls in CLASSES.items()}
    assert drawn_tree() == real
    assert sorted(CLASSES) == errors.__all__


@pytest.mark.parametrize("name", sorted(set(CLASSES) - {"MissingExtraError", "ModelStallError"}))
def test_an_error_says_what_it_was_told(name: str) -> None:
    error = CLASSES[name]("what happened")
    assert str(error) == "what happened"
    assert isinstance(error, AgentScopeError)


def test_a_missing_extra_holds_the_command_and_is_an_import_error() -> None:
    error = MissingExtraError("the console", "pip install 'agentscope-rx[cli]'")
    assert isinstance(error, ImportError)
    assert str(error).endswith("Install it with: pip install 'agentscope-rx[cli]'")
    assert (error.feature, error.install) == ("the console", "pip install 'agentscope-rx[cli]'")


@pytest.mark.parametrize(
    ("error", "fields"),
    [
        (ModelHTTPError("x", status=429, kind="rate_limit_error"), {"status": 429, "kind": "rate_limit_error"}),
        (ModelHTTPError("x"), {"status": None, "kind": None}),
        (ModelStreamError("x", kind="overloaded", code=529), {"kind": "overloaded", "code": 529}),
        (ModelStallError("x", seconds=30.0), {"seconds": 30.0}),
    ],
)
def test_model_errors_hold_what_the_provider_said(error: Any, fields: dict[str, Any]) -> None:
    assert {name: getattr(error, name) for name in fields} == fields
