"""What a dialect cannot carry: read off its tables, for the documentation and for the tests."""

from __future__ import annotations

from typing import NamedTuple, get_args

from pydantic import BaseModel

from ..base import BaseEvent
from ..types import AgentEvent, UnknownEvent
from .detection import Dialect
from .dialects import foreign
from .shapes import Shape
from .tables import CUSTOM_PREFIX

__all__ = ["Loss", "losses"]


class Loss(NamedTuple):
    """Something of ours that a dialect does not carry as it is."""

    cls: type[BaseModel]
    """The event, block or message."""
    field: str
    """Its field, "" for the whole of it."""
    what: str
    """What becomes of it."""


def losses(dialect: Dialect) -> tuple[Loss, ...]:
    """Return what is lost or changed on the way through a dialect, event by event and field by field.

    Raises:
        ConfigurationError: there is no such dialect.
    """
    tables = foreign(dialect)
    if tables is None:
        return ()
    events = [cls for cls in get_args(AgentEvent) if cls is not UnknownEvent]
    custom = [Loss(cls, "", _as_custom(cls)) for cls in events if cls not in tables.events]
    shapes = [*(tables.events[cls] for cls in events if cls in tables.events), *tables.parts]
    found = [loss for shape in shapes for loss in _losses_of(shape)]
    return (*custom, *dict.fromkeys(found))


def _as_custom(cls: type[BaseModel]) -> str:
    return f"written as CUSTOM {CUSTOM_PREFIX}{cls.model_fields['type'].default}"


def _losses_of(shape: Shape) -> list[Loss]:
    carried = {name for field in shape.fields if field.key for name in (field.name, *field.carries)}
    notes = {field.name: field.loss for field in shape.fields if field.name}
    whole = [Loss(shape.cls, "", shape.loss)] if shape.loss else []
    return whole + [
        Loss(_owner(shape.cls, name), name, notes.get(name) or "left out")
        for name, own in shape.cls.model_fields.items()
        if (name != "type" or own.is_required()) and (notes.get(name) or name not in carried)
    ]


def _owner(cls: type[BaseModel], field: str) -> type[BaseModel]:
    """What is true of every event is said once."""
    return BaseEvent if issubclass(cls, BaseEvent) and field in BaseEvent.model_fields else cls
