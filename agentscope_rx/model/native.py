"""What only a provider understands, kept with the block that it belongs to and told to that provider again.

A provider attaches more to its content than a block has fields for: the id of an item, the sources that a text cites, a
search that it made itself. An adapter puts it into the metadata of the block, with the name of its provider, and back
into the next request. The name also says whose proof a signature is: no provider takes another's.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..message import DataBlock, TextBlock, ThinkingBlock, ToolUseBlock

__all__ = ["is_foreign", "native", "native_part"]

_PROVIDER = "provider"


def native(provider: str, **parts: Any) -> dict[str, Any]:
    """Return the metadata of a block that came from a provider.

    Args:
        provider: whose it is.
        parts: what the provider said besides, as JSON values.
    """
    return {_PROVIDER: provider, **parts}


def native_part(block: Any, provider: str, name: str) -> dict[str, Any]:
    """Return what `native` was given as `name`, {} when it was not, or by another provider."""
    metadata: Mapping[str, Any] = getattr(block, "metadata", None) or {}
    part = metadata.get(name) if metadata.get(_PROVIDER) == provider else None
    return dict(part) if isinstance(part, Mapping) else {}


def is_foreign(block: TextBlock | ThinkingBlock | DataBlock | ToolUseBlock, provider: str) -> bool:
    """Whether a block is known to come from another provider, whose proofs mean nothing to this one."""
    return block.metadata is not None and block.metadata.get(_PROVIDER, provider) != provider
