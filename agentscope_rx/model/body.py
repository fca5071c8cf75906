"""What the request bodies of all protocols have in common."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ..errors import ConfigurationError
from ..tools.schema import ToolSchema

__all__ = ["chosen_tool", "merged_body"]

_GENERAL_CHOICES = frozenset({"auto", "none", "required"})


def chosen_tool(tools: Sequence[ToolSchema], choice: str | None) -> ToolSchema | None:
    """Return the tool that a tool choice names, None when it is `auto`, `none`, `required` or not given.

    Raises:
        ConfigurationError: the choice names none of the tools.
    """
    if choice is None or choice in _GENERAL_CHOICES:
        return None
    for tool in tools:
        if tool.name == choice:
            return tool
    raise ConfigurationError(
        f"tool_choice names {choice!r}, which is none of the tools; expected auto, none, required or one of: "
        + ", ".join(tool.name for tool in tools)
    )


def merged_body(body: Mapping[str, Any], extra: Mapping[str, Any], *nested: str) -> dict[str, Any]:
    """Return a body with the extra fields put over it; extra tools, such as a server runs itself, join the others.

    Args:
        body: what the protocol says.
        extra: the fields to put over it.
        nested: the fields of the body that hold fields themselves, which the extra ones join in the same way.
    """
    merged = {**body, **extra}
    for name in nested:
        if isinstance(body.get(name), Mapping) and isinstance(extra.get(name), Mapping):
            merged[name] = merged_body(body[name], extra[name])
    if "tools" in body and "tools" in extra:
        merged["tools"] = [*body["tools"], *extra["tools"]]
    return merged
