"""Tools (floor 4): functions that a model may call, and how a call runs."""

from .base import Tool
from .channel import ToolCancelled
from .chunk import ToolChunk, ToolData, ToolEnd, ToolStart, ToolStop, ToolSuspended, ToolText
from .emitter import ToolEmitter
from .external import ExternalTool
from .function import FunctionTool, tool
from .groups import HasToolGroups, ToolGroup
from .run import PATIENCE, run_tool
from .schema import ToolSchema
from .source import FoundTools, MissingTools, ToolSource
from .suspend import ToolSuspend
from .toolkit import Toolkit, ToolLike
from .verdict import ToolVerdict

__all__ = [
    "PATIENCE",
    "ExternalTool",
    "FoundTools",
    "FunctionTool",
    "HasToolGroups",
    "MissingTools",
    "Tool",
    "ToolCancelled",
    "ToolChunk",
    "ToolData",
    "ToolEmitter",
    "ToolEnd",
    "ToolGroup",
    "ToolLike",
    "ToolSchema",
    "ToolSource",
    "ToolStart",
    "ToolStop",
    "ToolSuspend",
    "ToolSuspended",
    "ToolText",
    "ToolVerdict",
    "Toolkit",
    "run_tool",
    "tool",
]
