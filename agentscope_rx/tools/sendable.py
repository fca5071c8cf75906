"""Making what a tool gives fit to be stored and sent."""

from __future__ import annotations

from typing import Any, Literal

from pydantic_core import to_jsonable_python

__all__ = ["jsonable", "whole", "whole_text"]


def whole_text(text: str) -> str:
    """Return the text with U+FFFD for each half of a surrogate pair, which no encoding can express.

    Python reads file names, environments and output that are not UTF-8 into such halves.
    """
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text


def whole(value: Any) -> Any:
    """Return the value with every text in its dicts, lists and tuples made whole; tuples become lists."""
    if isinstance(value, str):
        return whole_text(value)
    if isinstance(value, dict):
        return {whole_text(key) if isinstance(key, str) else key: whole(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [whole(item) for item in value]
    return value


def jsonable(value: Any, *, not_finite: Literal["constants", "null"] = "constants") -> Any:
    """Return the value as dicts, lists and scalars of JSON; what has no JSON becomes its `str()`, bytes base64.

    Args:
        value: The value.
        not_finite: Whether NaN and the infinities stay, or become None.

    Raises:
        ValueError: the value refers to itself, or is nested more than about 250 levels deep.
    """

    def converted(value: Any) -> Any:
        return to_jsonable_python(value, bytes_mode="base64", inf_nan_mode=not_finite, fallback=str)

    try:
        return converted(value)
    except UnicodeEncodeError:  # a key, of which pydantic asks more than of any other text
        return converted(whole(value))
