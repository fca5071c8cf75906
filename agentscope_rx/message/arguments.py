"""The arguments of a tool call, as the model writes them."""

from __future__ import annotations

import json
from math import isfinite
from typing import Any

__all__ = ["parse_arguments"]

_MAX_DEPTH = 100
"""Arguments travel inside messages inside events, and a reader of JSON takes about 200 levels in all."""


def parse_arguments(raw: str) -> dict[str, Any]:
    """Return the JSON object that `raw` is; nothing, blanks and `null` are the empty object.

    What is returned can be written as JSON that every reader takes, and read back unchanged. So numbers beyond 64-bit
    floats, half surrogate pairs and endless nesting, which Python's parser lets pass, are refused.

    Raises:
        ValueError: `raw` is not such an object; the message says what is wrong and holds none of its text.
    """
    if not raw or raw.isspace():
        return {}
    try:
        value = json.loads(raw, parse_float=_finite, parse_int=_integer, parse_constant=_finite)
    except json.JSONDecodeError as error:
        raise ValueError(
            f"the arguments are not valid JSON: {error.msg} at character {error.pos} of {len(raw)}"
        ) from None
    except RecursionError:
        raise _too_deep() from None
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise ValueError(f"the arguments must be a JSON object, got {type(value).__name__}")
    if raw.count("{") + raw.count("[") > _MAX_DEPTH and _depth_exceeds(value, _MAX_DEPTH):
        raise _too_deep()
    if ("\\u" in raw or not raw.isascii()) and not _is_unicode(value):
        raise ValueError("a string in the arguments holds half a surrogate pair, which is no character")
    return value


def _finite(text: str) -> float:
    number = float(text)
    if not isfinite(number):
        raise ValueError("a number in the arguments is not finite, or too large to be a 64-bit float")
    return number


def _integer(text: str) -> int:
    _finite(text)
    return int(text)


def _too_deep() -> ValueError:
    return ValueError(f"the arguments are nested more than {_MAX_DEPTH} levels deep")


def _depth_exceeds(value: Any, limit: int) -> bool:
    level = [value]
    for _ in range(limit):
        nested = [item for item in level if isinstance(item, dict | list)]
        level = [child for item in nested for child in (item.values() if isinstance(item, dict) else item)]
    return any(isinstance(item, dict | list) for item in level)


def _is_unicode(value: Any) -> bool:
    try:
        json.dumps(value, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        return False
    return True
