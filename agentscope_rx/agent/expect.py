"""Arguments that are not what they must be, said at once and not where they are first used."""

from __future__ import annotations

from types import NoneType

from ..errors import ConfigurationError

__all__ = ["expect"]


def expect(what: str, value: object, *kinds: type) -> None:
    """Do nothing if a value is of one of the kinds.

    Raises:
        ConfigurationError: it is not; the message names the kinds.
    """
    if not isinstance(value, kinds):
        names = " or ".join("None" if kind is NoneType else kind.__name__ for kind in kinds)
        raise ConfigurationError(f"{what} must be of the type {names}: got {type(value).__name__}")
