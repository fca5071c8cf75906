"""The bases of all models: messages, blocks, events and what is stored of them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, get_args

from pydantic import BaseModel, ConfigDict

__all__ = ["FrozenModel", "LazyModel"]


class LazyModel(BaseModel):
    """A pydantic model that ignores unknown keys and keeps its input out of its errors.

    Schemas are built on first use, which keeps the import of the package fast, and those of inner models first: what
    is built is used as it is, and is not built again inside every model that holds it.
    """

    model_config = ConfigDict(extra="ignore", hide_input_in_errors=True, defer_build=True)

    @classmethod
    def model_rebuild(cls, **options: Any) -> bool | None:
        """Build the schema, and before it the schemas of the models that the fields hold."""
        if not cls.__pydantic_complete__:
            for inner in {inner for field in cls.model_fields.values() for inner in _models_in(field.annotation)}:
                inner.model_rebuild()
        return super().model_rebuild(**options)


class FrozenModel(LazyModel):
    """A `LazyModel` that is a value: nothing of it can be set."""

    model_config = ConfigDict(frozen=True)


def _models_in(annotation: Any) -> Iterator[type[LazyModel]]:
    if isinstance(annotation, type) and issubclass(annotation, LazyModel):
        yield annotation
    for argument in get_args(annotation):
        yield from _models_in(argument)
