"""The error tree."""

from __future__ import annotations

import copy
import inspect
import pickle
import re
from collections.abc import Callable
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
    error = MissingExtraError("the console", 'pip install "agentscope-rx[cli]"')
    assert isinstance(error, ImportError)
    assert str(error).endswith('Install it with: pip install "agentscope-rx[cli]"')
    assert (error.feature, error.install) == ("the console", 'pip install "agentscope-rx[cli]"')


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


SAMPLES = {
    **{name: cls("what happened") for name, cls in CLASSES.items() if "__init__" not in vars(cls)},
    "MissingExtraError": MissingExtraError("the console", 'pip install "agentscope-rx[cli]"'),
    "ModelHTTPError": ModelHTTPError("x", status=429, kind="rate_limit_error", retry_after=1.5),
    "ModelStallError": ModelStallError("x", seconds=30.0),
    "ModelStreamError": ModelStreamError("x", kind="overloaded", code=529),
}


@pytest.mark.parametrize("name", sorted(CLASSES))
@pytest.mark.parametrize(
    "again",
    [
        copy.copy,
        copy.deepcopy,
        *(lambda error, n=n: pickle.loads(pickle.dumps(error, n)) for n in range(pickle.HIGHEST_PROTOCOL + 1)),
    ],
)
def test_an_error_survives_copies_and_other_processes(name: str, again: Callable[[Any], Any]) -> None:
    error = SAMPLES[name]
    error.add_note("seen in the second turn")
    got = again(error)
    assert got is not error
    assert (type(got), str(got), got.args, vars(got)) == (type(error), str(error), error.args, vars(error))


def test_a_missing_extra_from_another_process_still_has_the_message_of_an_import_error() -> None:
    error = SAMPLES["MissingExtraError"]
    assert pickle.loads(pickle.dumps(error)).msg == error.msg == str(error)


def test_an_error_of_the_users_own_survives_too() -> None:
    error = pickle.loads(pickle.dumps(_Refused("quota", code=7)))
    assert (str(error), error.code) == ("the gateway refused: quota", 7)


class _Refused(AgentScopeError):
    def __init__(self, why: str, *, code: int) -> None:
        super().__init__(f"the gateway refused: {why}")
        self.code = code
