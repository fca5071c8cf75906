"""The deltas of one block: most of a stream, and most of what it costs."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Generic, TypeVar

from ..event import ReplyEvent
from ..identity import new_id, now

__all__ = ["Deltas"]

E = TypeVar("E", bound=ReplyEvent)

_new, _set = object.__new__, object.__setattr__


class Deltas(Generic[E]):
    """Makes the deltas of one block, all fresh: `deltas(text)` equals `cls(delta=text, seq=0, **shared)`.

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

    def __call__(self, text: str) -> E:
        """Return the next delta."""
        if type(text) is not str:
            return self._make(delta=text, **self._shared)
        event = _new(self._cls)
        fields = vars(event)
        fields.update(self._fields)
        fields["id"] = new_id()
        fields["created_at"] = now()
        fields["delta"] = text
        _set(event, "__pydantic_fields_set__", self._fields_set)
        _set(event, "__pydantic_extra__", None)
        _set(event, "__pydantic_private__", None)
        return event
