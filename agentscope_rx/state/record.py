"""The JSON text that a saved state is: what the stores that outlive the process write and read."""

from __future__ import annotations

import json
from typing import Any, TypeVar

from pydantic import Field, ValidationError

from ..errors import StoreError
from ..message.frozen import LazyModel
from .agent_state import AgentState
from .store import StoredState

__all__ = ["read_record", "read_version", "write_record"]

_FORMAT = 1
"""The format of the records that this version of the package writes, and the newest that it reads."""


class _Header(LazyModel):
    format: int = Field(ge=1)
    version: int = Field(ge=1)


class _Record(_Header):
    state: AgentState


H = TypeVar("H", bound=_Header)


def write_record(state: AgentState, version: int) -> str:
    """Return the record of a state that is saved as a version.

    Raises:
        StoreError: the state holds something that JSON cannot hold.
    """
    for key, value in state.values.items():
        _check_json(key, value)
    try:
        return _Record.model_construct(format=_FORMAT, version=version, state=state).model_dump_json(warnings=False)
    except (TypeError, ValueError, RecursionError) as error:
        raise StoreError(
            f"the state of session {state.session_id!r} cannot be written as JSON; "
            "texts must be valid Unicode, and metadata JSON values"
        ) from error


def read_version(record: str | bytes, where: str) -> int:
    """Return the version of the state that a record holds, without reading the state.

    Args:
        record: What `write_record` returned.
        where: Where the record was, for errors.

    Raises:
        StoreError: it is no record, or one of a newer format.
    """
    return _parse(_Header, record, where).version


def read_record(record: str | bytes, where: str) -> StoredState:
    """Return the state that a record holds; unknown fields are ignored.

    Args:
        record: What `write_record` returned.
        where: Where the record was, for errors.

    Raises:
        StoreError: it is no record, or one of a newer format.
    """
    _parse(_Header, record, where)  # a newer format may well hold another kind of state
    read = _parse(_Record, record, where)
    return StoredState(read.state, read.version)


def _parse(shape: type[H], record: str | bytes, where: str) -> H:
    try:
        parsed = shape.model_validate_json(record)
    except ValidationError as error:
        raise StoreError(
            f"{where} does not hold the state of a session; put back a good copy, or delete the session to begin anew"
        ) from error
    if parsed.format > _FORMAT:
        raise StoreError(
            f"{where} has format {parsed.format}, and this version of agentscope_rx reads formats up to {_FORMAT}; "
            "upgrade agentscope_rx"
        )
    return parsed


def _check_json(key: str, value: Any) -> None:
    """Refuse what JSON has no form for, and what would come back as something else, such as a tuple or NaN."""
    try:
        same = json.loads(json.dumps({key: value}, allow_nan=False)) == {key: value}
    except (TypeError, ValueError, RecursionError) as error:
        raise _no_json(key) from error
    if not same:
        raise _no_json(key)


def _no_json(key: str) -> StoreError:
    return StoreError(
        f"values[{key!r}] of the state is no JSON value; "
        "keep None, booleans, finite numbers, strings, and lists and string-keyed dicts of those"
    )
