"""The deltas of one block: most of a stream, and most of what it costs."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Generic, TypeVar

from pydantic import BaseModel

from ..event import ReplyEvent
from ..identity import new_id, now

__all__ = ["Deltas"]

E = TypeVar("E", bound=ReplyEvent)

_new = object.__new__
_set_fields, _set_fields_set, _set_extra, _set_private = (
    vars(BaseModel)[name].__set__
    for name in ("__dict__", "__pydantic_fields_set__", "__pydantic_extra__", "__pydantic_private__")
)
"""What a model is made of, set without the check that it is frozen."""


class Deltas(Generic[E]):
    """Makes the deltas of one block, all fresh: `deltas.next(text)` equals `cls(delta=text, seq=0, **shared)`.

    One is validated, the others are copies of it with an id, a time and a text of their own; that halves their cost.

    Args:
        cls: The class of the events.
        id: The block or call that they are of.
        shared: The fields that they share.

    Raises:
        pydantic.ValidationError: a shared field, or later a text, is not what it must be.
    """

    __slots__ = ("_cls", "_fields", "_fields_set", "_make", "_shared", "id")

    def __init__(self, cls: Callable[..., E], id: str, shared: Mapping[str, str]) -> None:
        self.id = id
        """The block or call."""
        self._make = cls
        self._shared: dict[str, Any] = {**shared, "seq": 0}
        validated = cls(delta="", **self._shared)
        self._cls = type(validated)
        self._fields = vars(validated)
        self._fields_set = validated.model_fields_set

    def next(self, text: str) -> E:
        """Return the next delta."""
        if type(text) is not str:
            return self._make(delta=text, **self._shared)
        fields = self._fields.copy()
        fields["id"] = new_id()
        fields["created_at"] = now()
        fields["delta"] = text
        event = _new(self._cls)
        _set_fields(event, fields)
        _set_fields_set(event, self._fields_set)
        _set_extra(event, None)
        _set_private(event, None)
        return event
