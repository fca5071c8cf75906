"""What two values differ in, down to the fields of the models inside them."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel

from agentscope_rx.event import BaseEvent
from agentscope_rx.message import Msg

__all__ = ["differences"]


def differences(one: Any, other: Any) -> set[tuple[type, str]]:
    """Return the class and field of everything that differs; the field is "" where the class does."""
    return set(_differences(one, other, (type(one), "")))


def _differences(one: Any, other: Any, place: tuple[type, str]) -> list[tuple[type, str]]:
    if isinstance(one, BaseModel) and isinstance(other, BaseModel):
        if type(one) is not type(other):
            return [(type(one), "")]
        found: list[tuple[type, str]] = []
        for name in type(one).model_fields:
            found += _differences(getattr(one, name), getattr(other, name), (_declared(type(one), name), name))
        return found
    if isinstance(one, tuple) and isinstance(other, tuple) and len(one) == len(other):
        return [difference for pair in zip(one, other, strict=True) for difference in _differences(*pair, place)]
    return [] if one == other else [place]


def _declared(cls: type[BaseModel], name: str) -> type:
    """What every message or event has is a field of their base."""
    for base in (Msg, BaseEvent):
        if issubclass(cls, base) and name in base.model_fields:
            return base
    return cls
