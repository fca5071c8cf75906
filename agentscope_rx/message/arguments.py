"""The arguments of a tool call, as the model writes them."""

from __future__ import annotations

import json
from typing import Any

__all__ = ["parse_arguments"]


def parse_arguments(raw: str) -> dict[str, Any]:
    """Return the JSON object that `raw` is; nothing, blanks and `null` are the empty object.

    Raises:
        ValueError: `raw` is not a JSON object; the message says where it breaks, and holds none of its text.
    """
    if not raw or raw.isspace():
        return {}
    try:
        value = json.loads(raw)
    except json.JSONDecodeError as error:
        raise ValueError(
            f"the arguments are not valid JSON: {error.msg} at character {error.pos} of {len(raw)}"
        ) from None
    except RecursionError:
        raise ValueError("the arguments are nested too deeply") from None
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise ValueError(f"the arguments must be a JSON object, got {type(value).__name__}")
    return value
