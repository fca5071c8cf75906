"""The base of every message and block."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict

__all__ = ["FrozenModel"]


class FrozenModel(BaseModel):
    """A frozen pydantic model that ignores unknown keys and keeps its input out of its errors.

    Schemas are built on first use, which keeps the import of the package fast.
    """

    model_config = ConfigDict(frozen=True, extra="ignore", hide_input_in_errors=True, defer_build=True)
