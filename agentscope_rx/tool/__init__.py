"""Tools (floor 4): functions that a model may call."""

from .chunk import ToolChunk, ToolData, ToolEnd, ToolStop, ToolText
from .schema import ToolSchema

__all__ = ["ToolChunk", "ToolData", "ToolEnd", "ToolSchema", "ToolStop", "ToolText"]
