"""Tools (floor 4): functions that a model may call, and how a call runs."""

from .base import Tool
from .channel import ToolCancelled
from .chunk import ToolChunk, ToolData, ToolEnd, ToolStop, ToolText
from .emitter import ToolEmitter
from .function import FunctionTool, tool
from .run import run_tool
from .schema import ToolSchema
from .toolkit import Toolkit, ToolLike
from .verdict import ToolVerdict

__all__ = [
    "FunctionTool",
    "Tool",
    "ToolCancelled",
    "ToolChunk",
    "ToolData",
    "ToolEmitter",
    "ToolEnd",
    "ToolLike",
    "ToolSchema",
    "ToolStop",
    "ToolText",
    "ToolVerdict",
    "Toolkit",
    "run_tool",
    "tool",
]
